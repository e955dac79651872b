"""Rows in memory, moved to a device; and answers, moved back to where rows are."""

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse

from gapfit.device.design import DeviceDesign
from gapfit.device.room import check_room, device_of, free
from gapfit.device.rows import quietly
from gapfit.device.streamed import PartedRows

__all__ = ["answered", "beside", "moved"]

logger = logging.getLogger("gapfit")

_BLOCKS = 2**32  # bytes for blocks of rows that come and go
_VECTORS = 30  # of float64 numbers a sample that a fit has at once, about


def answered(function: Callable[[Any], Any], X: torch.Tensor) -> Any:
    """What a function makes of the rows of a tensor, with products on its device; numbers go back there."""
    return beside(np.asarray(function(DeviceDesign(X, fetched=True))), X)


def beside(values: np.ndarray[Any, Any], X: torch.Tensor) -> Any:
    """A copy of the numbers as a tensor, on the device of X; what are no numbers stays in memory."""
    return torch.tensor(values, device=X.device) if values.dtype.kind in "biuf" else values


def moved(X: Any, device: Any) -> DeviceDesign:
    """The design of an array or CSR matrix in memory, on a device, if that has room for it."""
    there = device_of(device)
    n, d = X.shape
    stored = X.data if sparse.issparse(X) else X
    kind = np.float64 if stored.dtype == np.float64 else np.float32
    needed = stored.size * (np.dtype(kind).itemsize + 28 * sparse.issparse(X)) + _VECTORS * 8 * n
    if not sparse.issparse(X) and needed > free(there) > _VECTORS * 8 * n + _BLOCKS:
        logger.info("%.1f GB of rows stay in memory: %s has too little for them", 1e-9 * X.nbytes, there)
        return DeviceDesign(PartedRows([torch.as_tensor(np.ascontiguousarray(X, dtype=kind))], there))
    check_room(there, needed, f"{n} rows of {d} features and a fit's vectors")
    if sparse.issparse(X):
        parts = (torch.as_tensor(np.asarray(part, dtype=np.int64)) for part in (X.indptr, X.indices))
        values = torch.as_tensor(np.asarray(X.data, dtype=kind))
        with quietly():
            rows = torch.sparse_csr_tensor(*parts, values, X.shape, check_invariants=True)
            return DeviceDesign(rows.to(there))
    return DeviceDesign(torch.as_tensor(np.ascontiguousarray(X, dtype=kind)).to(there))
