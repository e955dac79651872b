"""What work on a card costs, about. The rates are those of an H200; only their ratios count, and those of
other cards for such work are much alike."""

import torch

from gapfit.device.rows import DenseRows, Rows, SparseRows

__all__ = ["hessian_in_passes"]

_READ = 4e12  # bytes a second
_GATHERED = 2e12  # the same, of sparse rows, whose entries come with indices
_START = 1.5e-4  # seconds from the call of a pass until its sums are known to the host
_HALVES = 2.5e14  # products a second, each as two of bfloat16 numbers
_SUMMED = {torch.float32: 2e13, torch.float64: 2.5e13}  # products a second without halves
_FACTOR = 3.3e13  # products a second of Cholesky's method,
_COLUMN = 3e-7  # and seconds for each column, of which one waits for another
_MOVED = 240  # bytes for each entry of a Hessian that are read and written while a step is set up,
_CALLS = 3e-3  # and seconds for the calls of a step, of which there are a hundred


def hessian_in_passes(rows: Rows) -> float:
    """What a Hessian and its factor cost, in the time of passes over all rows. Zero where rows are in
    memory, or come from there: a pass is what costs then."""
    if rows.device.type != "cuda":
        return 0.0
    (n, d), kind = rows.shape, rows.values.dtype
    if isinstance(rows, SparseRows):
        one = rows.entries * 16 / _GATHERED
        made = n * d * (d / _SUMMED.get(kind, _SUMMED[torch.float32]) + 12 / _READ)  # in dense blocks
    elif isinstance(rows, DenseRows):
        one = rows.entries * rows.values.element_size() / _READ
        made = n * d * d / _SUMMED[kind] if kind == torch.float64 else n * d * d / _HALVES
    else:
        return 0.0
    solved = d**3 / 3 / _FACTOR + d * _COLUMN + d * d * _MOVED / _READ + _CALLS
    return (made + solved) / max(one, _START)
