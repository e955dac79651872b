"""Numbers long enough that nothing cancels: 600 bits hold 1e-60 beside 1e120.

Every float64 and float32 is taken over exactly, so that the only error left is one part in 2^600 of the
largest term. Terms beyond 1e60 aside, that is less than `OWN_ERROR`, which every verdict allows for.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from mpmath import mp

mp.prec = 600
INFINITY = mp.inf
OWN_ERROR = mp.mpf("1e-120")


def number(value: Any) -> Any:
    """A float as it is."""
    return mp.mpf(float(value))


def numbers(values: Any) -> list[Any]:
    """The entries of a vector as they are."""
    return [number(value) for value in np.asarray(values, dtype=np.float64).ravel()]


def total(terms: Iterable[Any]) -> Any:
    """The sum."""
    return mp.fsum(terms)


def dot(left: Iterable[Any], right: Iterable[Any]) -> Any:
    """The inner product."""
    return mp.fdot(left, right)


def positive_part(value: Any) -> Any:
    """max(0, value)."""
    return value if value > 0 else mp.mpf(0)


def x_log_x(value: Any) -> Any:
    """x log x, zero at zero."""
    return value * mp.log(value) if value > 0 else mp.mpf(0)
