"""Coordinate descent on the weights: sparse models, their corners, and warm starts."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from gapfit import Problem, solve
from gapfit.penalties import L1, Box, ElasticNet
from gapfit.solvers.columns import line
from gapfit.solvers.columns.columns import Columns
from gapfit.solvers.columns.model import ColumnModel, Effort
from gapfit.solvers.primal_cd import Tuning, primal_cd

LOSSES = ["squared", "logistic", "squared_hinge", "huber", "squared_epsilon_insensitive", "poisson"]


def sparse_data(n=200, d=400, density=0.05, seed=0):
    """A sparse X, labels that depend on few of its columns, and counts."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, density, format="csr", random_state=rng, data_rvs=rng.standard_normal)
    scores = X @ np.where(rng.random(d) < 0.05, 3 * rng.normal(size=d), 0.0) + 0.3 * rng.normal(size=n)
    return X, np.where(scores > 0, 1.0, -1.0), rng.poisson(1.0, n).astype(float)


def targets(loss, labels, counts):
    return counts if loss == "poisson" else labels


def largest_alpha(X, y):
    """The alpha of the Lasso without intercept above which all weights are zero."""
    return float(np.abs(X.T @ y).max() / len(y))


def agree(first, second):
    assert first.converged
    assert second.converged
    allowed = first.certificate.gap + second.certificate.gap
    assert abs(first.certificate.primal - second.certificate.primal) <= allowed


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalty", [L1(), ElasticNet(0.1), Box(L1(), 0.0, 0.5)], ids=repr)
def test_agrees_with_the_bundle(loss, intercept, penalty):
    X, labels, counts = sparse_data(n=60, d=20, density=0.3)
    problem = Problem(X, targets(loss, labels, counts), loss, penalty, alpha=0.02, intercept=intercept)
    agree(solve(problem, "primal_cd", tol=1e-9), solve(problem, "bundle", tol=1e-7))


@pytest.mark.parametrize("loss", LOSSES)
def test_layout_and_precision_do_not_matter(loss):
    X, labels, counts = sparse_data()
    y = targets(loss, labels, counts)
    fit = partial(solve, solver="primal_cd", tol=1e-6)
    reference = fit(Problem(X, y, loss, "l1", alpha=0.01))
    dense = X.toarray()
    for same in (dense, np.asfortranarray(dense), X.tocsc(), X.tocoo()):
        agree(fit(Problem(same, y, loss, "l1", alpha=0.01)), reference)
    single = fit(Problem(X.astype(np.float32), y, loss, "l1", alpha=0.01))
    agree(single, fit(Problem(X.astype(np.float32).astype(np.float64), y, loss, "l1", alpha=0.01)))
    assert single.w.dtype == np.float32


def test_weights_are_repetitions():
    X, y, _ = sparse_data(n=100, d=50)
    weight = np.arange(100) % 3
    copies = np.repeat(np.arange(100), weight)
    fit = partial(solve, solver="primal_cd", tol=1e-9)
    weighted = fit(Problem(X, y, "logistic", "l1", alpha=0.01, sample_weight=weight))
    repeated = fit(Problem(X[copies], y[copies], "logistic", "l1", alpha=0.01))
    agree(weighted, repeated)
    assert np.allclose(weighted.w, repeated.w, atol=1e-5)


def test_a_known_offset_is_a_shifted_target():
    X, y, _ = sparse_data()
    offset = np.linspace(-1, 1, len(y))
    with_offset = solve(Problem(X, y, "squared", "l1", 0.01, offset=offset), "primal_cd", tol=1e-9)
    shifted = solve(Problem(X, y - offset, "squared", "l1", 0.01), "primal_cd", tol=1e-9)
    agree(with_offset, shifted)
    assert np.allclose(with_offset.w, shifted.w, atol=1e-6)


def test_nothing_to_do_beyond_the_largest_alpha():
    X, y, _ = sparse_data()
    largest = largest_alpha(X, y)
    for alpha in (largest, 10 * largest):
        solution = solve(Problem(X, y, "squared", "l1", alpha, intercept=False), "primal_cd", tol=1e-9)
        assert solution.converged
        assert solution.n_iter <= 1
        assert not solution.w.any()
    below = solve(Problem(X, y, "squared", "l1", 0.99 * largest, intercept=False), "primal_cd", tol=1e-9)
    assert np.count_nonzero(below.w) == 1


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("layout", [sparse.csr_array, np.asarray])
def test_duplicate_constant_empty_and_single_columns(intercept, layout):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 1))
    y = np.where(x[:, 0] + 0.5 * rng.normal(size=80) > 0, 1.0, -1.0)
    odd = np.hstack([x, x, -2 * x, np.ones((80, 1)), np.zeros((80, 1)), x + 1e-9 * rng.normal(size=(80, 1))])
    for loss in ("squared", "logistic", "squared_hinge"):
        for X in (odd, x, np.zeros((80, 1)), np.ones((80, 2))):
            problem = Problem(layout(X), y, loss, "l1", alpha=0.01, intercept=intercept)
            agree(solve(problem, "primal_cd", tol=1e-8), solve(problem, "bundle", tol=1e-6))


def test_flat_valleys_do_not_hold_it_up():
    """Groups of nearly equal columns: from sweep to sweep their weights hardly move."""
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(100, 40)), 5, axis=1) + 1e-3 * rng.normal(size=(100, 200))
    y = np.where(X[:, ::20].sum(axis=1) + rng.normal(size=100) > 0, 1.0, -1.0)
    for loss in ("squared", "logistic"):
        solution = solve(Problem(X, y, loss, "l1", alpha=1e-3), "primal_cd", tol=1e-8)
        assert solution.converged
        assert solution.n_iter <= 40


@pytest.mark.parametrize("l1_ratio", [1e-3, 0.5])
def test_elastic_net_on_few_rows_and_many_columns(l1_ratio):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2000))
    y = np.where(X[:, :5].sum(axis=1) > 0, 1.0, -1.0)
    solution = solve(Problem(X, y, "logistic", ElasticNet(l1_ratio), alpha=0.05), "primal_cd", tol=1e-8)
    assert solution.converged


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_path_of_alphas_with_warm_starts(loss):
    X, y, _ = sparse_data()
    earlier, warm_steps, cold_steps = None, 0, 0
    for alpha in largest_alpha(X, y) * np.geomspace(0.5, 0.005, 8):
        problem = Problem(X, y, loss, "l1", alpha)
        cold = solve(problem, "primal_cd", tol=1e-7)
        warm = solve(problem, "primal_cd", tol=1e-7, start=earlier)
        agree(cold, warm)
        earlier, warm_steps, cold_steps = warm, warm_steps + warm.n_iter, cold_steps + cold.n_iter
    assert warm_steps <= cold_steps


def test_columns_that_seemed_implausible_are_found(monkeypatch):
    """At a start that interpolates, every derivative is near zero and no column seems to matter."""
    added = []
    monkeypatch.setattr(
        Columns, "add", lambda self, ids, add=Columns.add: added.append(len(ids)) or add(self, ids)
    )
    X, y, _ = sparse_data(n=50, d=200)
    w = np.linalg.lstsq(X.toarray(), y, rcond=None)[0]
    w[50:] = 0.0
    offset = y - X @ w
    problem = Problem(X, y, "squared", "l1", 3e-3, intercept=False, offset=offset)
    warm = solve(problem, "primal_cd", tol=1e-8, start=w)
    assert added[0] <= 50  # what moved at the start
    assert len(added) > 1  # and what turned out to matter
    agree(warm, solve(problem, "primal_cd", tol=1e-8))


def test_it_goes_on_where_it_stopped():
    X, y, _ = sparse_data()
    problem = Problem(X, y, "logistic", "l1", alpha=1e-3)
    whole = solve(problem, "primal_cd", tol=0.0, max_iter=4)
    half = solve(problem, "primal_cd", tol=0.0, max_iter=2)
    rest = solve(problem, "primal_cd", tol=0.0, max_iter=2, start=half)
    assert np.array_equal(rest.w, whole.w)


def test_it_goes_on_where_it_stopped_with_columns_it_has_just_found():
    narrow = partial(primal_cd, tuning=Tuning(margin=0.05))
    X, y, _ = sparse_data()
    problem = Problem(X, y, "logistic", "l1", alpha=1e-3)
    whole = solve(problem, narrow, tol=0.0, max_iter=4, callbacks=[lambda progress: False])
    half = solve(problem, narrow, tol=0.0, max_iter=1)
    rest = solve(problem, narrow, tol=0.0, max_iter=3, start=half, callbacks=[lambda progress: False])
    assert len(half.state["ids"]) > len(half.state["recent"])
    assert np.array_equal(rest.w, whole.w)


@pytest.mark.parametrize("scale", [1e50, 1e-50])
def test_scales_beyond_single_precision(scale):
    X, y, _ = sparse_data(n=500, d=800)
    alpha = largest_alpha(X, y) / 30
    usual = solve(Problem(X, y, "squared", "l1", alpha), "primal_cd", tol=1e-6)
    scaled = solve(Problem(scale * X, y, "squared", "l1", scale * alpha), "primal_cd", tol=1e-6)
    assert scaled.converged
    assert np.isclose(scaled.certificate.primal, usual.certificate.primal, rtol=2e-6)


def test_the_same_bytes_from_any_number_of_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 500))
    y = np.where(X[:, :20].sum(axis=1) + rng.normal(size=3000) > 0, 1.0, -1.0)
    for data in (X, sparse.csr_array(X)):
        problem = Problem(data, y, "logistic", "l1", alpha=1e-3)
        one, two = (solve(problem, "primal_cd", tol=1e-6, n_jobs=n_jobs) for n_jobs in (1, 2))
        assert np.array_equal(one.w, two.w)
        assert one.certificate == two.certificate


@pytest.mark.parametrize("layout", [sparse.csr_array, np.asarray])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_the_matrix_of_second_derivatives_or_products(loss, intercept, layout, monkeypatch):
    X, y, _ = sparse_data(n=1000, d=150, density=0.05)  # more columns than have a matrix in any case
    problem = Problem(layout(X.toarray()), y, loss, "l1", alpha=1e-4, intercept=intercept)
    forms, build = [], ColumnModel.__init__

    def spy(model, *args, **options):
        build(model, *args, **{**options, **given})
        forms.append(type(model.form).__name__)

    given = {}
    monkeypatch.setattr(ColumnModel, "__init__", spy)
    by_matrix = solve(problem, "primal_cd", tol=1e-9)
    assert forms[-1] == "ByMatrix"
    given["effort"] = Effort(passes=0.0)
    agree(by_matrix, solve(problem, "primal_cd", tol=1e-9))
    assert forms[-1] == "_ByColumns"


def test_a_few_newton_steps_do_where_a_rare_column_gets_a_large_weight(monkeypatch):
    X, y, _ = sparse_data(n=1000, d=20, density=0.3)
    rare = sparse.csr_array((np.ones(5), (np.flatnonzero(y > 0)[:5], np.zeros(5, int))), shape=(1000, 1))
    problem = Problem(sparse.hstack([X, rare]).tocsr(), y, "logistic", "l1", alpha=2e-7)
    models, build = [], ColumnModel.__init__
    monkeypatch.setattr(ColumnModel, "__init__", lambda *a, **k: models.append(1) or build(*a, **k))
    assert solve(problem, "primal_cd", tol=1e-6).converged
    assert len(models) <= 40


@pytest.mark.parametrize("layout", [sparse.csr_array, np.asarray])
def test_columns_are_copied_faithfully(layout):
    X, _, _ = sparse_data(n=30, d=20, density=0.3)
    design = Problem(layout(X.toarray()), np.zeros(30), "squared").design
    columns = Columns(design, np.array([3, 7, 19]))
    columns.add(np.array([0, 4]))
    chosen, dense = columns.at(np.array([4, 1, 2])), X.toarray()[:, [4, 7, 19]]
    u, v, D = np.linspace(-1, 1, 30), np.array([1.0, -2.0, 0.5]), np.linspace(0, 1, 30)
    assert np.allclose(chosen.adjoint(u), dense.T @ u)
    assert np.allclose(chosen.scores(v), dense @ v)
    first, second = chosen.moments(D)
    assert np.allclose(first, dense.T @ D)
    assert np.allclose(second, (dense**2).T @ D)
    assert np.array_equal(columns.ids, [3, 7, 19, 0, 4])
    assert np.allclose(columns.adjoint(u), X.toarray()[:, columns.ids].T @ u)


@pytest.mark.parametrize("layout", [sparse.csr_array, np.asarray])
def test_a_gram_matrix_that_grows_and_shrinks(layout):
    X, _, _ = sparse_data(n=30, d=20, density=0.3)
    columns, D = Columns(Problem(layout(X.toarray()), np.zeros(30), "squared").design, np.arange(20)), None
    for positions in ([2, 5], [1, 2, 5, 11], [1, 11], [0, 19]):
        for seed in (0, 0, 1):  # again with the same second derivatives, then with others
            D = np.random.default_rng(seed).random(30)
            some = X.toarray()[:, positions]
            gram = columns.at(np.array(positions)).gram(D)
            assert np.allclose(gram, some.T @ (D[:, None] * some), rtol=1e-6)


def test_a_bound_holds_when_all_columns_were_added_one_after_another():
    """Then they are in another order than in X, and so are their derivatives."""
    narrow = Tuning(margin=0.0)  # only what moves seems plausible
    rng = np.random.default_rng(0)
    X = sparse.random_array((80, 12), density=0.4, format="csr", rng=rng) * np.logspace(-1, 1, 12)
    problem = Problem(X, X @ rng.normal(size=12), "squared", "l1", alpha=1e-5, intercept=False)
    everything = 0
    for iterate in primal_cd(problem, {"w": np.eye(12)[7]}, tuning=narrow):
        minorant, state = iterate.minorant(), iterate.snapshot()
        slope = X.T @ state["point"].u
        shrunk = float(minorant.a @ slope) / float(slope @ slope)
        np.testing.assert_allclose(minorant.a, shrunk * slope, atol=1e-12 * np.abs(slope).max())
        everything = max(everything, len(state["ids"]))
        if iterate.primal is not None:
            break
    assert everything == 12


@pytest.mark.parametrize("digit", [1, 3, 8])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_separable_data_at_a_small_alpha_take_few_looks(loss, digit, monkeypatch):
    """Most samples lie where the loss has no second derivative: the model knows no distance, only a tiny part
    of its way is good, and to halve it down to that would take twenty looks at J."""
    X, y = load_digits(return_X_y=True)
    problem = Problem(X, np.where(y == digit, 1.0, -1.0), loss, "l1", alpha=1e-6)
    models, looks, build, look = [], [], ColumnModel.__init__, line.at_best_offsets
    monkeypatch.setattr(ColumnModel, "__init__", lambda *a, **k: models.append(1) or build(*a, **k))
    monkeypatch.setattr(line, "at_best_offsets", lambda *a: looks.append(1) or look(*a))
    solver = "primal_cd" if loss == "squared_hinge" else "rounded_cd"
    assert solve(problem, solver, tol=1e-4, max_iter=150).converged
    assert len(looks) <= 8 * len(models)
