"""A path of alphas: the same answers as separate fits, in fewer steps, because cuts are used again."""

import numpy as np
import pytest

from gapfit import Problem, losses, path, solve

ALPHAS = [1e-4, 1e-2, 1e-3]  # in no order


@pytest.fixture(scope="module")
def problem() -> Problem:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 20))
    y = np.where(X @ rng.standard_normal(20) + 2 * rng.standard_normal(400) > 2, 1.0, -1.0)
    return Problem(X, y, "f_beta", intercept=False)


@pytest.mark.parametrize(
    "loss", [losses.FBeta(), losses.RocArea(), losses.Hinge(), losses.Logistic()], ids=repr
)
def test_a_path_has_the_optima_of_separate_fits(problem: Problem, loss: losses.base.Loss) -> None:
    problem = Problem(problem.design.X, problem.y, loss)
    found = path(problem, ALPHAS, tol=1e-6)
    for alpha, solution in zip(ALPHAS, found, strict=True):
        alone = solve(problem.at(alpha), tol=1e-6).certificate
        assert solution.converged
        assert solution.certificate.primal == pytest.approx(alone.primal, rel=2e-6)


def test_cuts_are_used_again(problem: Problem) -> None:
    alphas = np.geomspace(1e-2, 1e-5, 7)
    alone = sum(solve(problem.at(alpha), tol=1e-3).n_iter for alpha in alphas)
    together = sum(solution.n_iter for solution in path(problem, alphas, tol=1e-3))
    assert together < 0.5 * alone


def test_another_alpha_shares_the_data(problem: Problem) -> None:
    other = problem.at(0.5)
    assert other.alpha == 0.5 and other.design is problem.design and problem.alpha == 1e-4
    with pytest.raises(ValueError, match="alpha must be positive"):
        problem.at(0.0)
