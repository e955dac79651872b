"""Vectors that are not NumPy's, such as those on a device: what must be known of them, without loading what
they are made of. NumPy's functions apply to them all the same."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from gapfit._types import Vector

__all__ = ["as_floats", "extremes", "fetched", "finite", "is_still", "looped", "loops_of", "noted"]


def loops_of(vector: Any) -> Callable[..., Any] | None:
    """What runs compiled loops over all entries of such a vector; None for NumPy's."""
    return None if type(vector) is np.ndarray else getattr(vector, "loops", None)


def looped(loop: Callable[..., Any], vector: Any) -> Callable[..., Any]:
    """A compiled loop over all entries of such vectors, by which it is run where they are."""
    device = loops_of(vector)
    return loop if device is None else partial(device, loop)


def as_floats(values: Any) -> Vector:
    """float64 numbers, where they are."""
    if loops_of(values) is not None:
        found: Vector = values.astype(np.float64, copy=False)
        return found
    return np.asarray(values, dtype=np.float64)


def finite(vector: Any) -> bool:
    """Are all entries finite numbers?"""
    if type(vector) is np.ndarray and vector.dtype == np.float64 and math.isfinite(np.vdot(vector, vector)):
        return True  # the quickest look; squares of large numbers overflow, though
    if loops_of(vector) is None:
        return bool(np.count_nonzero(np.isfinite(vector)) == np.size(vector))
    return all(map(math.isfinite, extremes(vector)))


def extremes(vector: Any) -> tuple[float, float]:
    """The least and the largest entry; on a device they are waited for once."""
    if loops_of(vector) is None:
        return float(vector.min()), float(vector.max())
    found: tuple[float, float] = vector.extremes()
    return found


def noted(vector: Any) -> Any:
    """What `is_still` knows a vector by: its numbers, or on a device that nobody has written to it."""
    return vector.copy() if loops_of(vector) is None else (vector, vector.version)


def is_still(note: Any, vector: Any) -> bool:
    """Are these the numbers that were noted?"""
    if loops_of(vector) is None:
        return bool(np.array_equal(note, vector))
    return note[0] is vector and note[1] == vector.version


def fetched(values: Any) -> Any:
    """What users give as a tensor, or what a device holds, in memory; anything else as it is."""
    if values is None or type(values) is np.ndarray:  # as is most often so
        return values
    if hasattr(values, "to_host"):
        return values.to_host()
    return _from_torch(values.detach().cpu()) if type(values).__module__ == "torch" else values


def _from_torch(tensor: Any) -> Any:
    """An array, or a CSR matrix; NumPy knows no bfloat16, whose numbers single precision has."""
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.float()
    if str(tensor.layout) == "torch.strided":
        return tensor.numpy()
    rows = tensor.to_sparse_csr()
    parts = (part.numpy() for part in (rows.values(), rows.col_indices(), rows.crow_indices()))
    return sparse.csr_array(tuple(parts), shape=tuple(rows.shape))
