"""Least squares under L1 at many alphas: what is proved of all at once is what each would prove by itself."""

import numpy as np
import pytest
from scipy import sparse

from gapfit import Problem, path, solve
from gapfit.alphas import Alphas, shares_a_matrix
from gapfit.certify import certify
from gapfit.solvers.least_squares import along_alphas


def drawn(seed):
    """Tall, wide, sparse, weighted, with columns that are alike, empty, or of other sizes."""
    rng = np.random.default_rng(seed)
    n, d = [(int(rng.integers(40, 300)), int(rng.integers(1, 30))), (40, 700)][int(seed % 3 == 2)]
    X = rng.normal(size=(n, d)) + rng.uniform(0, 2) * rng.normal(size=(n, 1))
    X *= 10 ** rng.uniform(-1, 1, d)
    X[:, rng.random(d) < 0.1] = 0.0
    if seed % 2:
        X[rng.random((n, d)) < 0.6] = 0.0
        X = sparse.csr_matrix(X)
    y = np.asarray(X @ (rng.normal(size=d) * (rng.random(d) < 0.3))) + rng.normal(size=n) + 3
    weight = rng.uniform(0, 2, n) if seed % 5 == 0 else None
    problem = Problem(X, y, "squared", "l1", sample_weight=weight, intercept=bool(seed % 4))
    return problem, np.abs(Alphas(problem).pulls()).max() * np.geomspace(1.2, 1e-2, 12)


@pytest.mark.parametrize("seed", range(12))
def test_a_path_agrees_with_fits_of_their_own(seed):
    problem, alphas = drawn(seed)
    found = path(problem, alphas, tol=1e-4, resumable=False)
    for alpha, solution in zip(alphas, found, strict=True):
        at, proof = problem.at(alpha), solution.certificate
        alone = solve(at, tol=1e-9).certificate
        assert solution.converged and proof.relative_gap <= 1e-4
        assert proof.dual <= alone.primal * (1 + 1e-12)
        assert alone.dual * (1 - 1e-12) <= proof.primal <= proof.dual + proof.gap
        b = np.atleast_1d(solution.intercept)[: at.n_offsets]
        assert at.evaluate(solution.w, b) == pytest.approx(proof.primal, rel=1e-12)
        # from nothing but X, y, w and the dual point
        again = certify(at, solution.w, b, at.minorant_at(solution.dual_point))
        assert again.dual == pytest.approx(proof.dual, rel=1e-9, abs=1e-9 * proof.primal)


@pytest.mark.parametrize("seed", range(6))
def test_planes_lie_below_the_risk(seed):
    problem, alphas = drawn(seed)
    rng = np.random.default_rng(seed)
    for one in Alphas(problem).proved(alphas, along_alphas(problem, alphas, 1e-2)):
        plane = one.minorant
        for _ in range(5):
            w, b = rng.normal(size=len(one.w)), rng.normal(size=problem.n_offsets)
            risk = problem.risk.value_and_subgradient(problem.scores(w), b)[0]
            room = plane.noise + plane.spread * np.linalg.norm(w) + 1e-10 * risk
            assert plane.a @ w + plane.c <= risk + room
        assert np.abs(plane.a).max() + plane.spread <= problem.alpha * 1e9  # a number


@pytest.mark.parametrize("seed", range(6))
def test_points_are_near_the_optimum_by_steps_on_moments_alone(seed):
    problem, alphas = drawn(3 * seed)
    proved = Alphas(problem).proved(alphas, along_alphas(problem, alphas, 1e-7))
    assert max(one.certificate.relative_gap for one in proved[1:]) <= 1e-7


def test_an_infeasible_point_proves_no_more_than_it_does():
    """Weights from nowhere: the dual point is scaled until no slope exceeds alpha."""
    problem, alphas = drawn(4)
    W = np.random.default_rng(0).normal(size=(len(alphas), problem.design.shape[1]))
    for alpha, one in zip(alphas, Alphas(problem).proved(alphas, W), strict=True):
        assert np.abs(one.minorant.a).max() <= alpha
        assert one.certificate.dual <= solve(problem.at(alpha), tol=1e-9).certificate.primal


def test_who_is_not_served():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30.0)
    assert shares_a_matrix(Problem(X, y, "squared", "l1"))
    assert not shares_a_matrix(Problem(X, y, "squared", "l2"))
    assert not shares_a_matrix(Problem(X, y, "huber", "l1"))
    assert not shares_a_matrix(Problem(X.astype(np.float32), y, "squared", "l1"))
    assert not shares_a_matrix(Problem(X, y, "squared", "l1", offset=y))
