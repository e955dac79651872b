"""Matrices and weights that hurt: duplicates, constants, rank one, scales and shifts of all sizes."""

from collections.abc import Callable

import numpy as np

Rng = np.random.Generator


def spread(rng: Rng, low: float, high: float, size: int | None = None) -> np.ndarray:
    """Ten to powers between two exponents."""
    return 10.0 ** rng.uniform(low, high, size)


def shape(rng: Rng) -> tuple[int, int]:
    """Samples and features: a single sample, few samples and many features, the other way round."""
    if rng.random() < 0.2:
        return int(rng.integers(1, 5)), int(rng.integers(10, 40))
    return int(rng.choice([1, 2, 3, 6, 10, 16, 24])), int(rng.choice([1, 2, 3, 5, 8]))


def _equal_rows(X: np.ndarray, rng: Rng) -> None:
    X[:] = X[rng.integers(0, len(X), len(X))]


def _equal_columns(X: np.ndarray, rng: Rng) -> None:
    X[:] = X[:, rng.integers(0, X.shape[1], X.shape[1])]


def _constant_column(X: np.ndarray, rng: Rng) -> None:
    X[:, rng.integers(X.shape[1])] = rng.choice([-1.0, 1.0]) * spread(rng, -12, 12)


def _zero_column(X: np.ndarray, rng: Rng) -> None:
    X[:, rng.integers(X.shape[1])] = 0.0


def _zero_row(X: np.ndarray, rng: Rng) -> None:
    X[rng.integers(len(X))] = 0.0


def _rank_one(X: np.ndarray, rng: Rng) -> None:
    X[:] = np.outer(rng.normal(size=len(X)), rng.normal(size=X.shape[1]))


def _column_scales(X: np.ndarray, rng: Rng) -> None:
    X *= spread(rng, -12, 12, X.shape[1])


def _row_scales(X: np.ndarray, rng: Rng) -> None:
    X *= spread(rng, -12, 12, len(X))[:, None]


def _mild_scales(X: np.ndarray, rng: Rng) -> None:
    X *= spread(rng, -3, 3, X.shape[1])


def _scale(X: np.ndarray, rng: Rng) -> None:
    X *= spread(rng, -12, 12)


def _shift(X: np.ndarray, rng: Rng) -> None:
    X += rng.choice([-1.0, 1.0]) * spread(rng, 0, 10)


def _column_shifts(X: np.ndarray, rng: Rng) -> None:
    X += spread(rng, 0, 10, X.shape[1])


def _whole_numbers(X: np.ndarray, rng: Rng) -> None:
    X[:] = np.rint(2 * X)


def _nearly_equal_columns(X: np.ndarray, rng: Rng) -> None:
    X[:] = X[:, :1] * (1 + np.finfo(float).eps * rng.integers(0, 4, X.shape))


def _holes(X: np.ndarray, rng: Rng) -> None:
    X *= rng.random(X.shape) < 0.4


WOUNDS: tuple[Callable[[np.ndarray, Rng], None], ...] = (
    _equal_rows, _equal_columns, _constant_column, _zero_column, _zero_row, _rank_one, _column_scales,
    _row_scales, _mild_scales, _scale, _shift, _column_shifts, _whole_numbers, _nearly_equal_columns, _holes,
)  # fmt: skip


def matrix(rng: Rng, n: int, d: int, wounds: int) -> np.ndarray:
    """A normal matrix with so many wounds."""
    X = rng.normal(size=(n, d))
    for _ in range(wounds):
        WOUNDS[rng.integers(len(WOUNDS))](X, rng)
    return X


def weights(rng: Rng, n: int, hurt: bool, whole: bool) -> np.ndarray | None:
    """None, copies, or anything between 1e-12 and 1e12; some may be absent."""
    if rng.random() < 0.4:
        return None
    if whole:
        made = rng.integers(1, 4, n).astype(float)
    else:
        made = spread(rng, -12, 12, n) if hurt else rng.uniform(0.2, 3.0, n)
    if n > 4 and rng.random() < 0.3:
        made[rng.integers(n)] = 0.0
    return made


def psd_matrix(rng: Rng, n: int) -> np.ndarray:
    """A kernel matrix that is exactly positive semidefinite, of any rank: A A' with small whole A."""
    A = rng.integers(-3, 4, size=(n, int(rng.integers(1, n + 2)))).astype(float)
    return (A @ A.T) * 2.0 ** rng.integers(-20, 20)
