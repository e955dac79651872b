"""The squared loss by its moments: what it finds, what it reads of X, what rounding leaves to later steps."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import ElasticNet as SklearnElasticNet
from sklearn.linear_model import Lasso

from gapfit import IncompatibleSolver, Problem, path, solve
from gapfit.design.memory import MemoryDesign
from gapfit.penalties import L1, Box, ElasticNet, QuadraticForm
from gapfit.solvers.least_squares import least_squares
from gapfit.testing.counting import CountedRows, Counter


def table(n=300, d=12, seed=0, far=3.0):
    """Columns with means that are not small, and targets that few of them matter for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + far * rng.normal(size=d)
    return X, X[:, :4] @ rng.normal(size=4) + rng.normal(size=n) + 5, rng.integers(0, 4, n).astype(float)


def nearly_dependent(seed=1):
    """Without an intercept, means that are large beside all else make columns alike."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 12)) + 1000
    return X, X @ rng.normal(size=12) + 0.1 * rng.normal(size=200)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("as_X", [np.asarray, sparse.csr_array, np.float32])
def test_ridge_is_what_its_equations_say(intercept, as_X):
    X, y, weight = table()
    X, known = np.asarray(X, np.float32).astype(float), np.linspace(-1, 1, len(y))  # the same in both
    Q = np.eye(12) + 0.5
    problem = Problem(as_X(X), y, "squared", QuadraticForm(Q), 0.1, weight, intercept, known)
    solution = solve(problem, "least_squares", tol=1e-10)
    assert solution.converged
    A = np.hstack([X, np.ones((len(X), 1))]) if intercept else X
    p, form = weight / weight.sum(), np.zeros((A.shape[1], A.shape[1]))
    form[:12, :12] = 0.1 * Q
    expected = np.linalg.solve(A.T @ (p[:, None] * A) + form, A.T @ (p * (y - known)))
    found = np.r_[solution.w, solution.intercept] if intercept else solution.w
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("share", [1.0, 0.7, 0.2])
@pytest.mark.parametrize("alpha", [1.0, 0.1, 0.003])
def test_lasso_and_elastic_net_are_as_low_as_anyones(share, alpha):
    X, y, weight = table()
    problem = Problem(X, y, "squared", ElasticNet(share) if share < 1 else L1(), alpha, weight)
    solution = solve(problem, "least_squares", tol=1e-9)
    assert solution.converged
    assert solution.n_iter == 1
    kind = Lasso(alpha) if share == 1 else SklearnElasticNet(alpha, l1_ratio=share)
    theirs = kind.set_params(tol=1e-12, max_iter=100_000).fit(X, y, sample_weight=weight)
    J = problem.evaluate(theirs.coef_, np.array([theirs.intercept_]))
    assert solution.certificate.primal == pytest.approx(J, rel=1e-8)
    assert ((solution.w != 0) == (np.abs(theirs.coef_) > 1e-9)).all()


def test_a_box_is_kept_to():
    X, y, _ = table()
    lo, hi = np.full(12, -0.1), np.linspace(0.0, 0.3, 12)
    problem = Problem(X, y, "squared", Box(L1(), lo, hi), 0.01)
    solution, other = (solve(problem, solver, tol=1e-9) for solver in ("least_squares", "bundle"))
    assert solution.converged and ((lo <= solution.w) & (solution.w <= hi)).all()
    assert solution.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-8)


def test_what_moments_lose_is_corrected_from_x():
    X, y = nearly_dependent()
    problem = Problem(X, y, "squared", "l1", 1e-3, intercept=False)
    solution = solve(problem, "least_squares", tol=1e-8)
    assert solution.converged
    assert solution.n_iter > 1  # the moments alone do not know these columns apart


def test_a_second_step_is_nearer_to_the_minimum():
    """By far as a rule: how near one step comes is a matter of rounding, and so of the processor."""
    shares = []
    for seed in range(8):
        X, y = nearly_dependent(seed)
        steps = least_squares(Problem(X, y, "squared", "l2", 1e-9, intercept=False))
        exact, target = X.astype(np.longdouble), y.astype(np.longdouble)
        first, second = (
            float(np.abs(exact.T @ (exact @ w - target) / len(y) + 1e-9 * w).max())
            for w in (next(steps).w, next(steps).w)
        )
        assert second < first
        shares.append(second / first)
    assert np.exp(np.mean(np.log(shares))) < 0.1


def test_other_losses_are_refused():
    X, y, _ = table()
    with pytest.raises(IncompatibleSolver, match="least_squares needs the squared loss"):
        solve(Problem(X, y, "huber"), "least_squares")


class Watched(MemoryDesign):
    """Counts the Gram matrices that are asked for."""

    grams = 0

    def weighted_gram(self, *arguments):
        type(self).grams += 1
        return super().weighted_gram(*arguments)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_a_path_takes_the_moments_once_and_reads_x_twice_a_fit(penalty):
    X, y, _ = table(n=2_000)
    Watched.grams = 0
    alphas = np.geomspace(1, 1e-4, 12)
    found = path(Problem(Watched(X), y, "squared", penalty), alphas, tol=1e-6)
    assert all(solution.converged and solution.n_iter == 1 for solution in found)
    assert Watched.grams == 1
    counter = Counter()
    problem = Problem(CountedRows(X, counter), y, "squared", penalty)
    path(problem, alphas[:2], tol=1e-6)
    before = counter.work
    path(problem, alphas, tol=1e-6)
    assert counter.work - before <= (2 * len(alphas) + 0.5) * X.size
