"""What all penalties have from their base."""

import numpy as np
import pytest

from gapfit.penalties import L2, Box, Constrained, GroupLasso, QuadraticForm

# of the same size, but for one number in the middle of a large array
PAIRS = {
    "group_lasso": lambda one: GroupLasso(np.where(np.arange(2000) == 1000, one, np.arange(2000) // 4)),
    "quadratic_form": lambda one: QuadraticForm(np.diag(np.where(np.arange(60) == 30, one, 1.0))),
    "constrained": lambda one: Constrained(L2(), np.ones((40, 30)), np.where(np.arange(40) == 20, one, 1.0)),
    "box": lambda one: Box(L2(), 0.0, np.where(np.arange(300) == 150, one, 1.0)),
}


@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS)
def test_errors_can_name_a_penalty_on_one_line(make):
    shown = repr(make(3))
    assert "\n" not in shown
    assert len(shown) < 1000


@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS)
def test_what_is_not_shown_still_counts(make):
    assert make(3) == make(3) and hash(make(3)) == hash(make(3))
    assert make(3) != make(4)
