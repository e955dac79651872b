"""How fast a gap falls, and how long it may still take."""

from math import inf

import pytest

from gapfit.progress import Pace


def test_a_gap_that_halves_every_second_needs_ten_more_for_a_thousandth():
    pace = Pace(tol=2.0**-20)
    for second in range(11):
        line = pace.line(second, float(second), 1.0, 1.0 - 2.0**-second, 2.0**-second)
    assert pace.seconds_left() == pytest.approx(10.0)
    assert "halves in 1.0 s" in line and line.endswith("10.0 s, about 10.0 s left")
    assert "step 10" in line and "gap 9.8e-04 (9.8e-04)" in line


def test_only_the_later_half_counts():
    pace = Pace(tol=1e-9)
    for time, gap in ((0.0, 1.0), (5.0, 1e-3), (10.0, 9e-4)):
        pace.line(1, time, 1.0, 1.0 - gap, gap)
    assert pace.rate() == pytest.approx(0.0210721, rel=1e-5)


def test_nothing_is_said_of_what_is_not_known():
    pace = Pace()
    assert "left" not in pace.line(1, 0.5, inf, -inf, inf)
    assert pace.rate() == 0.0 and pace.seconds_left() == inf
    pace.line(2, 1.0, 1.0, 0.0, 1.0)
    assert "left" not in pace.line(3, 2.0, 1.0, 0.5, 0.5) and pace.rate() > 0


def test_another_problem_begins_anew():
    pace = Pace(tol=1e-6)
    pace.line(8, 1.0, 1.0, 0.9, 0.1)
    pace.line(9, 2.0, 1.0, 0.99, 0.01)
    pace.line(1, 3.0, 1.0, 0.0, 1.0)
    assert pace.rate() == 0.0


@pytest.mark.parametrize(("seconds", "told"), [(0.25, "0.25 s"), (300.0, "5 min"), (7200.0, "2 h")])
def test_long_times_are_in_minutes_and_hours(seconds, told):
    assert Pace().line(1, seconds, 1.0, 0.5, 0.5).endswith(told)
