"""Points that others foretell: what is proved of them without a product is what a product would prove."""

import numpy as np
import pytest
from scipy import sparse

from gapfit import Problem, losses, path, solve
from gapfit.certify import certify
from gapfit.foresight import Foresight
from gapfit.testing.counting import CountedRows, Counter

LOSSES = ["hinge", "squared_hinge", "logistic", "quantile", "epsilon_insensitive", "huber", "poisson"]


def drawn(seed, loss):
    """Rows dense or sparse, in single precision or not, with weights, offsets, an intercept or not."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(30, 400)), int(rng.integers(2, 40))
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-1, 0.5, d)
    scores = X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=n)
    y = np.where(scores > 0.3, 1.0, -1.0)
    if loss in ("quantile", "epsilon_insensitive", "huber"):
        y = scores
    if loss == "poisson":
        X, y = X / 10, rng.poisson(np.exp(np.clip(scores, -3, 2))).astype(float)
    if seed % 2:
        X[rng.random((n, d)) < 0.5] = 0.0
        X = sparse.csr_matrix(X)
    X = X.astype(np.float32 if seed % 3 == 0 else np.float64)
    weight = rng.uniform(0.1, 2, n) if seed % 4 == 1 else None
    offset = 0.3 * rng.normal(size=n) if seed % 5 == 2 else None
    return Problem(X, y, loss, sample_weight=weight, offset=offset, intercept=bool(seed % 4))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(6))
def test_a_path_agrees_with_fits_of_their_own(seed, loss):
    problem, alphas = drawn(seed, loss), np.geomspace(1e-1, 1e-4, 25)
    found = path(problem, alphas, tol=1e-3)
    for alpha, solution in list(zip(alphas, found, strict=True))[::2]:
        at, proof = problem.at(alpha), solution.certificate
        alone = solve(at, tol=1e-9).certificate
        assert solution.converged and proof.relative_gap <= 1e-3
        assert proof.dual <= alone.primal + 1e-12 * abs(alone.primal)
        assert alone.dual - 1e-12 * abs(alone.dual) <= proof.primal <= proof.dual + proof.gap
        w, b = solution.w.astype(np.float64), np.atleast_1d(solution.intercept)[: at.n_offsets]
        assert at.evaluate(w, b) <= proof.dual + proof.gap
        assert at.evaluate(w, b) == pytest.approx(proof.primal, rel=1e-5 if at.dtype == np.float32 else 1e-12)
        if solution.dual_point is not None:  # from nothing but X, y, w and that
            again = certify(at, w, b, at.again(solution.minorant))
            assert again.dual >= proof.dual - 1e-7 * abs(
                proof.dual
            )  # where conjugates bend, a mixture proves less


@pytest.mark.parametrize("seed", range(6))
def test_scores_that_are_summed_up_are_no_farther_off_than_they_say(seed):
    problem = drawn(seed, "logistic").sealed()
    foresight, alphas = Foresight(problem), [1e-1, 1e-2, 1e-3]
    for alpha in alphas:
        at = problem.at(alpha)
        foresight.add(alpha, solve(at, tol=1e-3), at)
    X = problem.design.X.toarray() if sparse.issparse(problem.design.X) else problem.design.X
    for alpha in (5e-2, 5e-3, 2e-3):
        upper, lower = max(a for a in alphas if a < 10 * alpha), max(a for a in alphas if a < alpha)
        start, scores, slack = foresight.outlook(upper, lower, alpha)[:3]
        exact = X.astype(np.longdouble) @ start.w.astype(np.longdouble) + problem.offset
        assert (np.abs(scores - exact) <= slack + 2.0**-52 * np.abs(scores)).all()
        assert (slack <= 1e-9 * (1 + np.abs(scores).max())).all()


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "huber", "poisson"])
@pytest.mark.parametrize("seed", range(6))
def test_dual_points_on_a_parabola_prove_what_is_true(seed, loss):
    problem = drawn(seed, loss).sealed()
    foresight = Foresight(problem)
    for alpha in (1e-1, 1e-2, 1e-3):
        at = problem.at(alpha)
        foresight.add(alpha, solve(at, tol=1e-3), at)
    X = problem.design.X.toarray() if sparse.issparse(problem.design.X) else problem.design.X
    for alpha in (5e-2, 2e-2, 3e-3):
        at, outlook = (
            problem.at(alpha),
            foresight.outlook(*((1e-1, 1e-2) if alpha > 1e-2 else (1e-2, 1e-3)), alpha),
        )
        b = np.atleast_1d(outlook.start.intercept)[: at.n_offsets]
        best = solve(at, tol=1e-9).certificate.primal
        for _, plane in outlook.tries(at, b):
            assert at.least(plane).below <= best
        bent = outlook.bent()
        assert (bent is None) == problem.shifted
        if bent is not None:
            exact = X.T.astype(np.longdouble) @ bent.u.astype(np.longdouble)
            assert np.linalg.norm((bent.slope - exact).astype(np.float64)) <= bent.off


def test_most_of_a_path_is_proved_without_a_product():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 20))
    y = np.where(X @ rng.normal(size=20) + 3 * rng.normal(size=2_000) > 0, 1.0, -1.0)
    works = []
    for count in (25, 200):
        counter = Counter()
        found = path(
            Problem(CountedRows(X, counter), y, "logistic"), np.geomspace(1e-1, 1e-4, count), tol=1e-3
        )
        works.append(counter.work)
        assert all(solution.converged for solution in found)
    assert works[1] < 1.5 * works[0]  # eight times as many alphas tell nothing new


@pytest.mark.parametrize("base", ["hinge", "logistic"])
@pytest.mark.parametrize("kind", ["all", "immediate"])
def test_offsets_that_are_foretold_are_in_order(kind, base):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 4))
    y = np.digitize(X[:, 0] + rng.normal(size=150), [-1.0, -0.9, 0.8, 2.0])
    problem, alphas = Problem(X, y, losses.OrdinalThresholds(kind, base)), np.geomspace(1e1, 1e-4, 30)
    for alpha, solution in zip(alphas, path(problem, alphas, tol=1e-3), strict=True):
        assert solution.converged and (np.diff(solution.intercept) >= 0).all()
        alone = solve(problem.at(alpha), tol=1e-6).certificate
        assert solution.certificate.primal >= alone.dual * (1 - 1e-12)
