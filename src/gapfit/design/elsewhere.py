"""Collections of Dask and tensors of torch, known by their names: nothing is loaded for who has none."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["answered", "as_device", "as_parted", "beside", "is_collection", "is_on_a_card", "is_tensor"]
__all__ += ["kernel_tiles", "mapped", "on_device"]

_KNOWN = re.compile(r"(cpu|cuda|hip|mps|xpu)(:\d+)?")


def is_collection(X: Any) -> bool:
    """Is it an array or a data frame of Dask's?"""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def is_tensor(X: Any) -> bool:
    """Is it a tensor of torch's?"""
    return type(X).__module__ == "torch" and hasattr(X, "is_cuda")


def is_on_a_card(X: Any) -> bool:
    """Is it a tensor that is not in memory?"""
    return is_tensor(X) and X.is_cuda


def as_device(X: Any) -> Any:
    """The design of a tensor, whose rows stay where they are."""
    from gapfit.device import DeviceDesign

    return DeviceDesign(X)


def on_device(X: Any, device: Any) -> Any:
    """The design of rows in memory, moved to a device."""
    _check_name(device)
    with _extra("device"):
        from gapfit.device import moved

    return moved(X, device)


def kernel_tiles(X: Any, kernel: Any, device: Any) -> Any:
    """Tiles of a kernel matrix that a device computes, of samples in memory."""
    _check_name(device)
    with _extra("device"):
        from gapfit.device.tiles import DeviceTiles

    return DeviceTiles(X, kernel, device)


def _check_name(device: Any) -> None:
    """Before torch is loaded, which need not be there."""
    if not is_device(device) and not (isinstance(device, str) and _KNOWN.fullmatch(device)):
        raise ValueError(f"device must be a name such as 'cuda', 'cuda:1' or 'cpu', got {device!r}")


def is_device(device: Any) -> bool:
    """Is it one of torch's?"""
    return type(device).__module__ == "torch" and type(device).__name__ == "device"


@contextmanager
def _extra(name: str) -> Iterator[None]:
    """Say what to install where torch is missing."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{name} needs torch: pip install 'gapfit[gpu]', or {name}=None") from error


def answered(function: Callable[[Any], Any], X: Any) -> Any:
    """The function of a tensor's rows, products on its device, as a tensor there; labels that are no numbers
    stay in memory."""
    from gapfit.device import answered as on_device

    return on_device(function, X)


def beside(values: Any, X: Any) -> Any:
    """Numbers as a tensor where the tensor X is, in their own precision; other arrays as they are."""
    from gapfit.device import beside as on_device

    return on_device(values, X)


def as_parted(X: Any) -> Any:
    """The design of a collection, whose rows stay where they are."""
    from gapfit.cluster import as_design

    return as_design(X)


def mapped(function: Callable[[Any], Any], X: Any) -> Any:
    """The function of each block, as a collection."""
    from gapfit.cluster import mapped as over_blocks

    return over_blocks(function, X)
