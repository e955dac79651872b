"""What is known before the first step."""

import numpy as np
import pytest

from gapfit import Problem, solve
from gapfit.driver.known import Known
from problems import labels_problem


def test_nothing_is_known_without_a_start():
    assert Known.of(None, labels_problem(), "bundle", None) == Known({}, None)


@pytest.mark.parametrize("start", [np.zeros(4), np.full(5, np.nan), np.zeros((5, 1))])
def test_a_start_that_is_no_point_is_named(start):
    with pytest.raises(ValueError, match="start must be a finite vector of length 5"):
        Known.of(start, labels_problem(), "bundle", None)


def test_bounds_are_taken_over_on_the_same_data_alone():
    problem = labels_problem(alpha=1e-2)
    earlier = solve(problem, "bundle", tol=1e-4)
    mark = problem.fingerprint()
    same = Known.of(earlier, problem, "bundle", mark)
    assert same.state["same"] and same.minorant is earlier.minorant
    np.testing.assert_array_equal(same.state["w"], earlier.w)
    other_alpha = Known.of(earlier, problem.at(1e-3), "bundle", mark)
    assert not other_alpha.state["same"] and other_alpha.minorant is earlier.minorant
    other_solver = Known.of(earlier, problem, "dual_cd", mark)
    assert set(other_solver.state) == {"w", "offsets", "same"}
    changed = Problem(problem.design.X + 1e-9, problem.y, alpha=1e-2)
    known = Known.of(earlier, changed, "bundle", changed.fingerprint())
    assert set(known.state) == {"w"} and known.minorant is None


def test_the_start_is_copied():
    w = np.ones(5)
    known = Known.of(w, labels_problem(), "bundle", None)
    w[:] = 7.0
    assert (known.state["w"] == 1.0).all()
