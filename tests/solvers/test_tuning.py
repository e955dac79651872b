"""Numbers of a solver are an option: they change its way and not the optimum."""

from functools import partial

import numpy as np
import pytest

from gapfit import CheckpointError, Problem, solve
from gapfit.solvers import dual_cd, newton, primal_cd, rounded_cd, semismooth_newton

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 30))
Y = np.sign(X[:, 0] + RNG.normal(size=400))

CASES = {
    "newton": (newton.newton, newton.Tuning(again=0.0), "logistic", "l2"),
    "semismooth_newton": (
        semismooth_newton.semismooth_newton,
        semismooth_newton.Tuning(sharpen=8.0),
        "hinge",
        "l2",
    ),
    "dual_cd": (dual_cd.dual_cd, dual_cd.Tuning(revisits=1), "hinge", "l2"),
    "primal_cd": (primal_cd.primal_cd, primal_cd.Tuning(fewest=2, growth=1), "logistic", "l1"),
    "rounded_cd": (rounded_cd.rounded_cd, primal_cd.Tuning(fewest=2, growth=1), "hinge", "l1"),
}


@pytest.mark.parametrize("name", CASES)
def test_tuning_changes_the_way_and_not_the_optimum(name, tmp_path):
    solver, tuning, loss, penalty = CASES[name]
    problem, tuned = Problem(X, Y, loss, penalty, 1e-3), partial(solver, tuning=tuning)
    usual, other = solve(problem, solver, tol=1e-8), solve(problem, tuned, tol=1e-8)
    assert usual.converged and other.converged
    assert other.certificate.primal == pytest.approx(usual.certificate.primal, rel=2e-8)
    assert not np.array_equal(other.w, usual.w)
    solve(problem, tuned, tol=1e-8, max_iter=2, checkpoint=tmp_path / "fit")
    with pytest.raises(CheckpointError, match="options"):
        solve(problem, solver, tol=1e-8, checkpoint=tmp_path / "fit")
    assert np.array_equal(solve(problem, tuned, tol=1e-8, checkpoint=tmp_path / "fit").w, other.w)
