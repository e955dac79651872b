"""Records of a fit."""

import numpy as np
import pytest

from gapfit import Problem, Status, solve
from gapfit.solution import Certificate, Iterate, as_intercept


@pytest.mark.parametrize(
    ("primal", "dual", "gap", "relative"),
    [
        (2.0, 1.0, 1.0, 0.5),
        (-1.0, -4.0, 3.0, 0.75),
        (0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 1e-20, np.inf),  # nothing to compare it with
        (np.inf, 0.0, np.inf, np.inf),
        (1.0, -np.inf, np.inf, np.inf),
    ],
)
def test_the_relative_gap_is_in_units_of_the_larger_bound(primal, dual, gap, relative):
    assert Certificate(primal, dual, gap).relative_gap == relative


def test_points_may_be_lazy():
    assert Iterate(np.ones(2), np.zeros(0)).point() is not None
    assert Iterate(lambda: "made when asked for", np.zeros(0)).point() == "made when asked for"


def test_offsets_as_users_see_them():
    assert as_intercept(np.zeros(0)) == 0.0 and as_intercept(np.array([1.5])) == 1.5
    several = np.array([1.0, 2.0])
    seen = as_intercept(several)
    several[0] = 9.0
    np.testing.assert_array_equal(seen, [1.0, 2.0])  # a copy


def test_every_status_is_a_sentence_and_one_alone_says_certified():
    assert all(" " in status.value for status in Status)
    assert [status for status in Status if status.value.startswith("certified")] == [Status.CERTIFIED]


def test_a_solution_is_told_in_a_line():
    solution = solve(Problem(np.eye(40), np.ones(40), "squared", alpha=0.1), tol=1e-6)
    told = repr(solution)
    assert told.startswith("Solution(CERTIFIED: ") and "40 weights by auto" in told and len(told) < 160
