"""Devices by name, and whether they have room: asked before anything is moved there."""

from typing import Any

import torch

from gapfit.errors import TooLarge

__all__ = ["check_room", "device_of", "free"]

_SHARE = 0.9  # of the free memory may be asked for


def device_of(name: Any) -> torch.device:
    """The device of this name, if it is there."""
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"device must be one that torch knows, such as 'cuda', 'cuda:1' or 'cpu', got {name!r}"
        ) from error
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(
                f"device={name!r} needs a card, and torch sees none: install torch with CUDA on a machine "
                "that has one, or leave device=None"
            )
        if (device.index or 0) >= torch.cuda.device_count():
            raise ValueError(f"device={name!r}: there are {torch.cuda.device_count()} cards, from cuda:0 on")
    return device


def free(device: torch.device) -> float:
    """Bytes that may be asked for; infinite where nobody says."""
    if device.type != "cuda":
        return float("inf")
    return float(torch.cuda.mem_get_info(device)[0]) * _SHARE


def check_room(device: torch.device, needed: float, what: str) -> None:
    """Raise a TooLarge that names what is needed and what there is, unless there is room."""
    if needed > free(device):
        raise TooLarge(
            f"{what} need {needed / 1e9:.1f} GB of {device}, where {free(device) / 1e9:.1f} are free: "
            "use float32 or bfloat16, fewer rows, or device=None"
        )
