"""When a fit is given up."""

import numpy as np

from gapfit import Problem, Status, solve
from gapfit.driver.patience import Patience
from gapfit.losses import PrecisionAtK
from gapfit.penalties import GroupLasso
from gapfit.solution import Certificate


def found(primal, gap):
    return Certificate(primal, primal - gap, gap, "cuts")


def test_a_gap_that_shrinks_notably_is_progress_and_a_lower_objective_is_not():
    patience = Patience(0.5, 1.0, 10)
    assert patience.after(found(0.9, 0.5), 20) is patience
    assert patience.after(found(1.0, 0.4999), 20) is patience
    assert patience.after(found(1.0, 0.49), 20) == Patience(0.49, 1.0, 20)


def test_a_lower_objective_is_progress_where_no_bound_is_known():
    patience = Patience(np.inf, 1.0, 10)
    slow = patience
    for step in range(300):  # each too little to be noticed
        slow = slow.after(found(1.0 - 3e-4 * step, np.inf), step)
    assert slow.at > 290
    assert patience.after(found(1.0, np.inf), 20) is patience


def test_half_of_a_long_run_without_progress_is_enough():
    assert not Patience(1.0, 1.0, 300).lost(600) and Patience(1.0, 1.0, 300).lost(601)
    assert not Patience(1.0, 1.0, 3).lost(203) and Patience(1.0, 1.0, 3).lost(204)


def test_a_fit_whose_first_bound_comes_late_is_not_given_up():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 46)) * 10.0 ** rng.uniform(-2, 2, size=46)
    y = np.where(X @ rng.normal(size=46) / np.abs(X).max() + rng.normal(size=300) > 0, 1.0, -1.0)
    problem = Problem(X, y, PrecisionAtK(k=95.0), GroupLasso(np.arange(46) % 3), 1e-3)
    assert solve(problem, "bundle", tol=1e-3, max_time=60).status is Status.CERTIFIED
