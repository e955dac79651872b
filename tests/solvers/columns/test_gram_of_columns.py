"""Gram matrices of some columns: right, however they are summed up, and in no more parts than pay."""

import numpy as np
import pytest
from scipy import sparse

from gapfit import Problem, threads
from gapfit.design.forms import Rows
from gapfit.solvers.columns.columns import Columns
from gapfit.solvers.columns.model import ColumnModel, Effort
from gapfit.solvers.columns.terms import Terms


def posed(n, d, density, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    rows = sparse.csr_matrix(X) if density < 1 else X
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return X, Problem(rows, y, "squared_hinge", "l1", 1e-2), rng


@pytest.mark.parametrize("density", [1.0, 0.05])
@pytest.mark.parametrize("n, d", [(40, 700), (300, 600), (3000, 60), (9000, 30)])
def test_grams_are_right_and_their_parts_few(n, d, density, monkeypatch):
    X, problem, rng = posed(n, d, density, seed=n + d)
    D, cells = rng.random(n), []

    def counted(function, items, total=threads.total):
        first = function(items[0])
        cells.append(first.size * (len(items) - 1))
        return total(function, items)

    monkeypatch.setattr("gapfit.solvers.columns.columns.threads.total", counted)
    columns = Columns(problem.form(Rows).matrix, np.arange(d))
    for some in (np.arange(d // 2), np.arange(d), rng.permutation(d)[: d // 3]):
        gram = columns.at(some).gram(D)
        expected = X[:, some].T @ (D[:, None] * X[:, some])
        tight = 1e-12 if density == 1 else 1e-5  # sparse ones are in single precision
        np.testing.assert_allclose(gram, expected, rtol=tight, atol=tight * np.abs(expected).max())
    assert max(cells) <= X.size * d  # what is added from part to part is little beside the products


@pytest.mark.parametrize("n, d", [(30, 200), (150, 400)])
def test_more_columns_than_samples_have_no_matrix(n, d):
    """It would be singular: the way to the solution of its equations is as long as rounding makes it."""
    _, problem, rng = posed(n, d, 1.0, seed=d)
    columns = Columns(problem.form(Rows).matrix, np.arange(d)).at(np.arange(d))
    D, u, w = rng.random(n), rng.normal(size=n), np.zeros(d)
    u *= 3e-2 / np.abs(columns.adjoint(u)).max()  # three times l1
    model = ColumnModel(
        columns, Terms.of(problem), w, columns.adjoint(u), u, D,
        centred=False, settled=True, effort=Effort(passes=1e9),
    )  # fmt: skip
    target = model.minimise(1e-6)
    assert model.passes > 0
    slope = columns.adjoint(u + D * columns.scores(target))
    still = np.where(target != 0, slope + 1e-2 * np.sign(target), np.maximum(np.abs(slope) - 1e-2, 0.0))
    assert np.abs(still).max() <= 1e-3
