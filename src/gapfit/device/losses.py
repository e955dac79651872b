"""Losses in Triton's words, for passes over X: phi(f) and its slope, from a score and a sample's numbers.

What compiled loops do to one sample is taken from them.
"""

from typing import Any

import triton
import triton.language as tl

from gapfit.compiled import atoms
from gapfit.device.formulas import renamed

__all__ = ["FORMULAS"]


@triton.jit
def _chosen(condition, yes, no):
    return tl.where(condition, yes, no)


@triton.jit
def _smaller(x, y):
    return tl.minimum(x, y)


@triton.jit
def _larger(x, y):
    return tl.maximum(x, y)


# what compiled loops do to one sample, in Triton's words
_maximum = triton.jit(renamed(atoms.maximum, {"tl": tl, "min": _smaller, "max": _larger, "chosen": _chosen}))


@triton.jit
def _atoms(f, numbers):
    sign, lin, kink, quad, lo, hi = numbers
    value, a = _maximum(lin - sign * f, kink, quad, lo, hi)
    return value, -sign * a


@triton.jit
def _log_of_one_more(t):
    """log(1 + t) for t from 0 to 1; in single precision by a polynomial, since every thread that holds a part
    of a row computes it again, and the library's logarithm takes three times as many instructions."""
    if t.dtype == tl.float32:
        high = ((-0.0085746762 * t + 0.0442141923) * t - 0.107853679) * t + 0.17757024
        return ((((high * t - 0.244996117) * t + 0.332761766) * t - 0.499974494) * t + 0.99999981) * t
    else:
        u = 1.0 + t
        return tl.log(u) + (t - (u - 1.0)) / u


@triton.jit
def _logistic(f, numbers):
    y, p = numbers[0], numbers[1]
    margin = y * f
    t = tl.exp(-tl.abs(margin))
    value = tl.maximum(-margin, 0.0) + _log_of_one_more(t)
    return p * value, -p * y * tl.where(margin < 0, 1.0, t) / (1.0 + t)


@triton.jit
def _exponential(f, numbers):
    y, p = numbers[0], numbers[1]
    value = p * tl.exp(-y * f)
    return value, -y * value


@triton.jit
def _poisson(f, numbers):
    y, p, centre = numbers[0], numbers[1], numbers[2]
    r = f - centre
    grown = tl.exp(r) - 1.0
    value = tl.where(y > 0, y * (grown - r), grown + 1.0)
    return p * value, p * tl.where(y > 0, y * grown, grown + 1.0)


@triton.jit
def _parabola(f, numbers):
    weight = numbers[0]
    return 0.5 * weight * f * f, weight * f


FORMULAS: dict[str, Any] = {
    "atoms": _atoms, "logistic": _logistic, "exponential": _exponential, "poisson": _poisson,
    "parabola": _parabola,
}  # fmt: skip
