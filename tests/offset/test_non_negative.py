"""Non-negative least squares that may have no answer."""

import numpy as np
import pytest

from gapfit.offset.non_negative import non_negative


def test_no_other_shares_come_nearer():
    rng = np.random.default_rng(0)
    for _ in range(50):
        columns, wanted = rng.normal(size=(4, 6)), rng.normal(size=4)
        shares = non_negative(columns, wanted)
        slopes = columns.T @ (columns @ shares - wanted)
        assert (shares >= 0).all() and (slopes >= -1e-10).all() and abs(slopes @ shares) <= 1e-10


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_where_numbers_have_overflowed_there_is_no_answer(bad):
    columns, wanted = np.eye(3), np.ones(3)
    columns[1, 2] = bad
    assert non_negative(columns, wanted) is None
    assert non_negative(np.eye(3), wanted * bad) is None
