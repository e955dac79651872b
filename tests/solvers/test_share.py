"""Some of the samples, for first steps that need not see all."""

import numpy as np
import pytest

from gapfit import Problem
from gapfit.registry import as_solver
from gapfit.solvers.second_order.few_rows import where_not_zero
from gapfit.solvers.second_order.share import one_of_each


@pytest.mark.parametrize("neighbours", [4, 16, 24, 64, 256, 1024])
@pytest.mark.parametrize("n", [1, 1000, 4099, 100_000])
def test_one_of_each(n, neighbours):
    chosen = one_of_each(n, neighbours, 3, np.zeros(n))
    blocks = chosen // neighbours
    assert chosen.dtype == np.intp
    assert (chosen < n).all()
    whole = n // neighbours
    np.testing.assert_array_equal(blocks[:whole], np.arange(whole))
    assert whole <= len(chosen) <= whole + 1
    if whole > 200:  # every place of a block is as likely as any other
        assert abs(np.mean(chosen % neighbours) / (neighbours - 1) - 0.5) < 5 / whole**0.5
    np.testing.assert_array_equal(chosen, one_of_each(n, neighbours, 3, np.zeros(n)))


@pytest.mark.parametrize("n", [20_000, 300_000])
def test_newton_learns_from_a_share_of_many_samples_and_of_very_many(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 12 if n < 10**5 else 2))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    first = next(as_solver("newton")(Problem(X, y, "logistic", alpha=1e-3)))
    assert first.estimate == np.inf  # it has not seen all


def test_rows_without_weight_are_left_out_where_that_is_cheap():
    rng = np.random.default_rng(0)
    X, u, v = rng.normal(size=(100, 3)), np.zeros(100), np.zeros(100)
    u[[3, 50]], v[[50, 99]] = 1.0, 2.0
    design = Problem(X, np.ones(100), "squared").design
    few, (first, second) = where_not_zero(design, u, v)
    assert few.shape == (3, 3)
    np.testing.assert_allclose(few.adjoints(first, second), [X.T @ u, X.T @ v], rtol=1e-12)
    assert where_not_zero(design, u + 1.0)[0] is design
