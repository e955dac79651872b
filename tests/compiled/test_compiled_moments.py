"""Moments of least squares, as NumPy has them, and what follows from them."""

import numpy as np
import pytest

from gapfit.compiled import moments
from gapfit.compiled.rows import dense_rows

close = np.testing.assert_allclose
N, D = 50, 4


def given(alike):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) + 3.0
    weight = np.full(N, 2.0) if alike else rng.integers(1, 5, N).astype(float)
    return X, X[:, 0] + rng.normal(size=N), weight


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("free", [True, False])
def test_products_of_centred_rows(alike, free):
    X, y, weight = given(alike)
    p = weight / weight.sum()
    about = moments.means(dense_rows(X), y, weight, D, free)
    close(about.shares, p)
    assert about.alike == alike
    close(about.centre, p @ X if free else np.zeros(D))
    close(about.level, p @ y if free else 0.0)
    Z = np.empty((N, D + 2))
    for first, last in ((0, 20), (20, N)):
        moments.put_centred(dense_rows(X), y, about, first, last, free, Z[first:last])
    M = Z.T @ Z
    assert moments.scaled(M, about)
    rows = np.column_stack([X - about.centre, y - about.level, np.full(N, float(free))])
    close(M, rows.T @ (p[:, None] * rows), atol=1e-14)


def test_large_numbers_are_seen():
    X, y, weight = given(alike=True)
    about = moments.means(dense_rows(X), y, weight, D, True)
    assert moments.scaled(np.eye(D + 2), about)
    for bad in (1e160, np.inf, np.nan):
        assert not moments.scaled(np.full((D + 2, D + 2), bad), about)
        assert not moments.scaled(np.eye(D + 2), about._replace(centre=np.full(D, bad)))


@pytest.mark.parametrize("l1", [0.0, 0.2])
def test_minimisers_are_such_and_are_proved(l1):
    X, y, weight = given(alike=False)
    about = moments.means(dense_rows(X), y, weight, D, True)
    rows = np.column_stack([X - about.centre, y - about.level, np.ones(N)])
    M = rows.T @ (about.shares[:, None] * rows)
    w = moments.lasso(M, l1, 0.1, 1e-12, 500) if l1 else moments.ridge(M, 0.1)
    slope = M[:D, :D] @ w - M[:D, D] + 0.1 * w
    close(slope, -l1 * np.sign(w) if l1 else np.zeros(D), atol=l1 * (w == 0).any() + 1e-12)
    b, found = moments.proved(M, N, l1, 0.1, w, about)
    close(b, about.shares @ (y - X @ w))
    value = 0.5 * about.shares @ np.square(X @ w + b - y) + l1 * np.abs(w).sum() + 0.05 * w @ w
    close(found.omega + found.risk, value)
    assert value - (found.height - found.conjugate) <= 1e-9
