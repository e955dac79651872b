"""Is a kernel matrix one? It must be symmetric, and no function may have a negative square.

A lower bound over all functions sum_i w_i k(x_i, .) rests on w'Kw >= 0 for all w. Of the linear, the Gaussian
and the polynomial kernel that is a theorem. Matrices and functions of the user's own are looked at: whole
where they are not too large, and there "semidefinite up to rounding" is proved by a Cholesky factor; else a
random part of the samples, which can refute it only.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh_tridiagonal

from gapfit._types import Matrix
from gapfit.rounding import EPS

if TYPE_CHECKING:
    from gapfit.design.gram import Tiles

WHOLE = 3000  # samples whose matrix is looked at as a whole
_PART = 1500  # of more samples, so many are looked at
_STRIP = 256
_ALIKE = 1e-8  # of the largest entry, two that should be equal may differ: then their mean is taken
_ROUNDED = 8.0
_PRODUCTS = 40  # of Lanczos' method
INFINITE = "the kernel matrix must hold finite numbers: it contains NaN or infinity"


def symmetric(K: Matrix) -> Matrix:
    """K, made exactly symmetric if it is so up to rounding; else a ValueError that names an entry."""
    apart, largest, where = 0.0, 0.0, (0, 0)
    for first in range(0, len(K), _STRIP):
        rows = K[first : first + _STRIP, first:]
        less = np.abs(rows - K[first:, first : first + _STRIP].T)
        worst = np.unravel_index(int(np.argmax(less)), less.shape)
        largest = max(largest, float(rows.max(initial=0.0)), -float(rows.min(initial=0.0)))
        if not less[worst] <= apart:
            apart, where = float(less[worst]), (first + int(worst[0]), first + int(worst[1]))
    if not np.isfinite(largest + apart):
        raise ValueError(INFINITE)
    if apart > _ALIKE * largest:
        i, j = where
        raise ValueError(
            f"the kernel matrix must be symmetric: K[{i}, {j}] is {K[i, j]:.6g} and K[{j}, {i}] is "
            f"{K[j, i]:.6g}; take (K + K.T) / 2 if that is meant"
        )
    return K if apart == 0 else np.asarray(0.5 * (K + K.T))


def negative_direction(tiles: "Tiles", unit: float) -> str | None:
    """Why the matrix is not positive semidefinite, up to rounding by `unit`; None if it seems to be."""
    n = tiles.n
    some = np.arange(n)
    if n > WHOLE:
        some = np.sort(np.random.default_rng(0).permutation(n)[:_PART])
    i, size = int(np.argmin(tiles.diagonal)), float(np.abs(tiles.diagonal).max(initial=0.0))
    if tiles.diagonal[i] < -_ROUNDED * unit * size:
        return f"its entry [{i}, {i}] is {tiles.diagonal[i]:.3g}"
    K = symmetric(tiles.tile(some, some, np.float64))
    # what rounding the entries, and then the factor, may do to an eigenvalue
    trace = float(np.abs(np.diagonal(K)).sum())
    room = _ROUNDED * (unit * float(np.linalg.norm(K)) + len(some) * EPS * trace)
    if room == 0 or _has_factor(K, room):
        return None
    least = _low_value(K)
    if least >= -room:
        least = float(np.linalg.eigvalsh(K)[0])
    part = "" if n <= WHOLE else f" of the part of {len(some)} samples that was looked at"
    return None if least >= -room else f"its least eigenvalue{part} is {least:.3g} or less"


def _has_factor(K: Matrix, room: float) -> bool:
    try:
        cholesky(K + room * np.eye(len(K)), lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True


def _low_value(K: Matrix) -> float:
    """w'Kw of a w of length one for which it is low, by Lanczos' method: mostly nearly the least eigenvalue,
    and all of them would take a hundred times as long."""
    n = len(K)
    v = np.random.default_rng(0).normal(size=n)
    basis, diagonal, beside = np.zeros((_PRODUCTS, n)), [], []
    for k in range(min(_PRODUCTS, n)):
        length = float(np.linalg.norm(v))
        if length <= EPS * n:
            break
        beside.append(length)
        basis[k] = v / length
        v = K @ basis[k]
        diagonal.append(float(basis[k] @ v))
        v -= basis[: k + 1].T @ (basis[: k + 1] @ v)
    _, vectors = eigh_tridiagonal(np.array(diagonal), np.array(beside[1:]), select="i", select_range=(0, 0))
    lowest = basis[: len(diagonal)].T @ vectors[:, 0]
    return float(lowest @ (K @ lowest)) / float(lowest @ lowest)
