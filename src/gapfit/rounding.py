"""Rounding, counted: how far a computed sum can be from the exact one, and sums that are nearly exact.

One operation in double precision has a relative error of at most `UNIT`, and k of them in a chain one of at
most `gamma(k)` in terms of the absolute values that were added up, in whatever order. Where that is too much,
`exact_sum` and `exact_dot` keep what each addition loses. docs/decisions/023-rounding.md derives the rest.
"""

from math import isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Matrix, Vector
from gapfit.elsewhere import loops_of

UNIT = 2.0**-53
EPS = 2 * UNIT  # the distance from 1 to the next number
TINY = float(np.finfo(float).tiny)  # below it, products lose digits: this much is allowed for each
NOTHING = 1e-290  # what underflow alone can make, also where a library has subnormal numbers flushed to zero
SUM = 64  # roundings on the way of a number through NumPy's pairwise sum, of up to 2^40 numbers
_BLOCK = 512  # numbers that are added up in whatever order
_LONG = 2**20  # numbers
_SHORT = 1e-140  # squares of such numbers lose digits
_SPLITTER = 2.0**27 + 1.0
_SAFE = 1e150  # numbers above this are not split: their halves could overflow


def additions(x: Any) -> int:
    """Roundings on the way of a number into the sum of x: few, or on a device, whose order is not known, as
    many as there are numbers."""
    return SUM if isinstance(x, np.ndarray) else max(SUM, x.size)


def gamma(k: float) -> float:
    """The relative error of a chain of k operations."""
    return k * UNIT / (1.0 - k * UNIT) if k * UNIT < 0.5 else np.inf


class Estimate(NamedTuple):
    """A number, and how far it can be from the exact one."""

    value: float
    error: float

    @property
    def above(self) -> float:
        return self.value + self.error * (1 + 4 * EPS) + 4 * EPS * abs(self.value)

    @property
    def below(self) -> float:
        return self.value - self.error * (1 + 4 * EPS) - 4 * EPS * abs(self.value)


def two_sum(x: Vector, y: Vector | float) -> tuple[Vector, Vector]:
    """x + y, rounded, and what rounding has taken from it: their sum is exact."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def two_product(x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """x * y, rounded, and what rounding has taken from it."""
    product = x * y
    x_high, x_low = _split(x)
    y_high, y_low = _split(y)
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def _split(x: Vector) -> tuple[Vector, Vector]:
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high


def exact_sum(x: Vector, more: float = 0.0) -> Estimate:
    """The sum of all entries and `more`, each addition with what it loses: nearly as if summed exactly, then
    rounded."""
    from gapfit.compiled.precise import exact_total  # compiled code is loaded only when it is to run

    if (device := loops_of(x)) is not None:
        value, lost, size = device(exact_total, x, float(more))
        return Estimate(value + lost, UNIT * abs(value) + gamma(x.size) * size + x.size * TINY * UNIT)
    total, lost, size = exact_total(x, 0, x.size, more)
    value = total + lost
    if not isfinite(value):
        return Estimate(float(np.sum(x)) + more, np.inf)
    return Estimate(value, UNIT * abs(value) + gamma(x.size) * size + x.size * TINY * UNIT)


def exact_sums(columns: Matrix) -> tuple[Vector, Vector]:
    """The sum of every column, each addition with what it loses, and their errors."""
    from gapfit.compiled.precise import column_sums  # compiled code is loaded only when it is to run

    n, (total, lost, size) = len(columns), np.zeros((3, columns.shape[1]))
    column_sums(np.ascontiguousarray(columns, dtype=np.float64), total, lost, size)
    values = total + lost
    # what is lost is summed up one after the other, and so small that this does not matter
    errors = UNIT * np.abs(values) + gamma(n) * size + n * TINY * UNIT
    return values, np.where(np.isfinite(values), errors, np.inf)


def exact_dot(x: Vector, y: Vector) -> Estimate:
    """<x, y>, each operation with what it loses; where entries are too large for that, as usual."""
    products, rest = two_product(x, y)
    largest = max(float(np.abs(x).max(initial=0.0)), float(np.abs(y).max(initial=0.0)))
    if not largest < _SAFE:
        return plain_sum(products)
    total, less = exact_sum(products), plain_sum(rest)
    value = total.value + less.value
    return Estimate(value, total.error + less.error + UNIT * abs(value) + x.size * TINY)


def square_sum(x: Vector) -> Estimate:
    """The sum of the squares, block by block: long vectors are not copied."""
    if x.size <= _BLOCK:
        value = float(x @ x)
        return Estimate(value, gamma(_BLOCK + SUM) * value + x.size * TINY)
    whole = x.size // _BLOCK * _BLOCK
    blocks, rest = x[:whole].reshape(-1, _BLOCK), x[whole:]
    value = float(np.einsum("ij,ij->i", blocks, blocks).sum()) + float(rest @ rest)
    return Estimate(value, gamma(_BLOCK + SUM) * value + x.size * TINY)


def absolute_sum(x: Vector) -> float:
    """The sum of absolute values; long vectors are not copied."""
    if x.size <= _LONG or loops_of(x) is not None:
        return float(np.abs(x).sum())
    return float(sum(np.abs(x[first : first + _LONG]).sum() for first in range(0, x.size, _LONG)))


def length(x: Vector) -> float:
    """The Euclidean length, not below the exact one by rounding or underflow, and finite if it can be."""
    norm = sqrt(float(x @ x))
    if not _SHORT < norm < np.inf:
        unit = float(np.abs(x).max(initial=0.0))
        norm = unit * float(np.linalg.norm(x / unit)) if 0 < unit < np.inf else unit
    return norm * (1 + gamma(x.size + 8))


def plain_sum(terms: Vector, roundings: int = 1, size: float | None = None) -> Estimate:
    """The sum of terms that took so many roundings each to compute, in terms of their size in all."""
    size = float(np.abs(terms).sum()) if size is None else size
    return Estimate(float(terms.sum()), gamma(additions(terms) + roundings) * size + terms.size * TINY)
