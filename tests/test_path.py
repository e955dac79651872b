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


@pytest.fixture
def smooth(problem: Problem) -> Problem:
    return Problem(problem.design.X, problem.y, "logistic")


def test_what_need_not_last_is_handed_on_all_the_same(smooth: Problem) -> None:
    """Whether solutions are to be resumed from changes no step, and leaves them without a mark or a state."""
    alphas = np.geomspace(1e-1, 1e-4, 12)
    lasting, passing = (path(smooth, alphas, "newton", tol=1e-3, resumable=keep) for keep in (True, False))
    assert sum(one.n_iter == 0 for one in passing) > 3
    assert [one.n_iter for one in passing] == [one.n_iter for one in lasting]
    assert all(one.fingerprint is None and not one.state for one in passing)
    assert all(one.fingerprint == smooth.fingerprint() for one in lasting)


@pytest.mark.parametrize("resumable", [True, False])
def test_neighbours_that_are_known_foretell(smooth: Problem, resumable: bool) -> None:
    ends = dict(zip([1e-2, 1e-3], path(smooth, [1e-2, 1e-3], tol=1e-4, resumable=resumable), strict=True))
    alphas = [3e-2, 5e-3, 3e-3, 1e-4]  # without, between and beyond
    found = path(smooth, alphas, tol=1e-4, known=ends, resumable=resumable)
    for alpha, solution in zip(alphas, found, strict=True):
        alone = solve(smooth.at(alpha), "bundle", tol=1e-6).certificate
        assert solution.converged and solution.certificate.dual <= alone.primal
        assert solution.certificate.primal <= (1 + 2e-4) * alone.primal
    cold = path(smooth, alphas, tol=1e-4)
    assert sum(one.n_iter for one in found) < sum(one.n_iter for one in cold)
    (again,) = path(smooth, [1e-2], tol=1e-4, known=ends)
    assert again.n_iter == 0  # it is proved already


def test_nothing_is_taken_from_solutions_of_other_problems(smooth: Problem) -> None:
    """Their bounds would prove nothing here."""
    other = Problem(smooth.design.X, -smooth.y, "logistic")
    false = {1e-2: path(other, [1e-2], tol=1e-4)[0], 1e-4: path(other, [1e-4], tol=1e-4)[0]}
    (alone,), (found,) = path(smooth, [1e-3], tol=1e-6), path(smooth, [1e-3], tol=1e-6, known=false)
    assert found.w.tobytes() == alone.w.tobytes() and found.certificate == alone.certificate
