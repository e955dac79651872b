"""Newton's method by conjugate gradients, for losses of one score a sample."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge

from gapfit import Problem, Status, solve
from gapfit.design.memory import MemoryDesign
from gapfit.solvers.auto import plan
from gapfit.solvers.second_order.curved_rows import CurvedRows
from gapfit.solvers.second_order.definite import spectrum
from gapfit.solvers.second_order.kronecker import Kronecker
from gapfit.testing import check_solver

RNG = np.random.default_rng(0)


def problem(loss, *, form=np.asarray, n=60, d=8, intercept=True, alpha=1e-4, scale=1.0, shift=0.0, **options):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    X = X * scale + shift
    return Problem(form(X), y, loss, alpha=alpha, intercept=intercept, **options)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.float32])
@pytest.mark.parametrize("intercept", [False, True])
def test_products_are_those_of_the_matrix(form, intercept):
    rows = problem("logistic", form=form, intercept=intercept, n=300, shift=3.0)
    curved, X = CurvedRows(rows), problem("logistic", n=300, shift=3.0).design.X
    D, v = RNG.random(300), RNG.normal(size=8)
    mean = D @ X / D.sum() if intercept else np.zeros(8)
    f = X @ v - mean @ v
    found, product = curved.product(D, v, float(mean @ v))
    np.testing.assert_allclose(found, f, atol=3e-6 * np.abs(f).max())
    np.testing.assert_allclose(product, X.T @ (D * f), atol=3e-5 * np.abs(X.T @ (D * f)).max())
    np.testing.assert_allclose(curved.mean(D), D @ X / D.sum(), rtol=1e-6)
    np.testing.assert_allclose(curved.spread, ((X - curved.centre) ** 2).mean(axis=0), rtol=1e-5)


@pytest.mark.parametrize(
    "loss", ["logistic", "squared_hinge", "squared", "huber", "exponential", "squared_epsilon_insensitive"]
)
def test_it_keeps_its_promises(loss):
    weight = RNG.integers(0, 4, size=60)
    check_solver(
        "newton_cg",
        [
            problem(loss),
            problem(loss, intercept=False, form=sparse.csr_array, alpha=1e-6),
            problem(loss, sample_weight=weight, offset=RNG.normal(size=60)),
        ],
        tol=1e-8,
    )


@pytest.mark.parametrize("scale", [1e-20, 1e-5, 1e5, 1e20])
def test_single_precision_has_a_short_range(scale):
    """Entries that it cannot hold, or whose squares it cannot, make no difference."""
    plain = solve(problem("logistic"), "newton_cg", tol=1e-8).certificate
    scaled = solve(problem("logistic", scale=scale, alpha=1e-4 * scale**2), "newton_cg", tol=1e-8)
    assert scaled.status is Status.CERTIFIED
    assert scaled.certificate.primal == pytest.approx(plain.primal, rel=1e-7)


def test_large_means_do_not_drown_it():
    far = problem("logistic", shift=1e4)
    assert solve(far, "newton_cg", tol=1e-6).status is Status.CERTIFIED


def test_every_step_can_be_continued_with_the_same_bytes():
    whole = solve(problem("logistic"), "newton_cg", tol=0.0, max_iter=12)
    for first in (1, 4, 5, 9):
        half = solve(problem("logistic"), "newton_cg", tol=0.0, max_iter=first)
        rest = solve(problem("logistic"), "newton_cg", tol=0.0, max_iter=12 - first, start=half)
        for name, value in whole.state["descent"].items():
            if isinstance(value, np.ndarray):
                assert np.array_equal(rest.state["descent"][name], value), (first, name)


def test_the_same_as_elsewhere():
    X, n = RNG.normal(size=(400, 30)), 400
    y = np.where(X[:, 0] + RNG.normal(size=n) > 0.5, 1.0, -1.0)
    ours = solve(Problem(X, y, "logistic", alpha=1e-3), "newton_cg", tol=1e-10)
    theirs = LogisticRegression(C=1 / (1e-3 * n), tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.w, theirs.coef_[0], atol=1e-4)
    assert ours.intercept == pytest.approx(theirs.intercept_[0], abs=1e-4)
    ours = solve(Problem(X, y, "squared", alpha=1e-3), "newton_cg", tol=1e-10)
    np.testing.assert_allclose(ours.w, Ridge(alpha=1e-3 * n).fit(X, y).coef_, atol=1e-4)


def test_auto_takes_it_where_a_hessian_costs_many_passes():
    def names(n, d, loss="logistic"):
        X = RNG.normal(size=(n, d))
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
        return [choice.name for choice in plan(Problem(X, y, loss, alpha=0.1))]

    assert names(2000, 600).index("newton_cg") < names(2000, 600).index("newton")
    assert names(20_000, 20).index("newton_cg") > names(20_000, 20).index("newton")
    assert "newton_cg" not in names(2000, 600, "hinge")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_same_bytes_on_any_number_of_threads(form):
    large = problem("logistic", form=form, n=4000, d=200)
    one, two = (solve(large, "newton_cg", tol=1e-6, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one.w, two.w)
    assert one.certificate == two.certificate


@pytest.mark.parametrize("intercept", [True, False])
def test_where_all_samples_are_saturated_there_is_no_stand_in_and_that_is_no_wrong_call(intercept):
    stand_in = Kronecker(MemoryDesign(np.eye(3)), 3, 0.1, intercept)
    with pytest.raises(ArithmeticError, match="vanish"):
        stand_in.update(np.zeros(3), np.zeros((3, 3)))
    with pytest.raises(OverflowError, match="too large"):
        stand_in.update(np.ones(3), np.full((3, 3), np.nan))


def test_eigenvectors_of_a_matrix_whose_lower_triangle_counts():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    values, vectors = spectrum(np.tril(A))
    whole = np.tril(A) + np.tril(A, -1).T
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, whole, atol=1e-12)
