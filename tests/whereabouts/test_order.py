"""Orders, tops and shares of pairs that every optimum has."""

import numpy as np
import pytest
from scipy import sparse

from gapfit import Problem, solve
from gapfit.statements import optimal_ball
from gapfit.whereabouts.order import above, order, pair_bounds, top

RNG = np.random.default_rng(6)
X = RNG.normal(size=(70, 4))
Y = np.where(X @ [1.0, -1.0, 0.5, 0.0] + RNG.normal(size=70) > 0, 1.0, -1.0)
TIGHT = solve(Problem(X, Y, "logistic", alpha=0.05), tol=1e-12).w


def ball_of(tol, data=X):
    problem = Problem(data, Y, "logistic", alpha=0.05)
    fit = solve(problem, tol=tol)
    return optimal_ball(problem, fit), X @ fit.w


@pytest.mark.parametrize(
    "data", [X, sparse.csr_array(X), X.astype(np.float32)], ids=["dense", "csr", "float32"]
)
def test_proved_neighbours_are_in_this_order(data):
    shares = []
    for tol in (1e-2, 1e-4, 1e-8):
        ball, scores = ball_of(tol, data)
        found = order(ball, data, scores)
        assert sorted(found.rows.tolist()) == list(range(70)) and found.proved.shape == (69,)
        best = X @ TIGHT
        fine = data.dtype == np.float64  # in float32 the optimum is that of the rounded data
        assert not fine or (best[found.rows[:-1]] > best[found.rows[1:]])[found.proved].all()
        shares.append(found.proved.mean())
    assert shares[0] <= shares[1] <= shares[2] and shares[2] > 0.9


def test_the_top_is_that_of_the_optimum():
    best = set(np.argsort(-(X @ TIGHT))[:10].tolist())
    proved = []
    for tol in (1e-1, 1e-4, 1e-9):
        found = top(*ball_of(tol)[:1], X, ball_of(tol)[1], 10)
        assert set(found.rows[found.proved].tolist()) <= best
        proved.append(int(found.proved.sum()))
    assert proved[0] <= proved[1] <= proved[2] == 10


def test_a_row_is_not_above_itself():
    ball, _ = ball_of(1e-8)
    assert not above(ball, X[:3], X[:3]).any()


@pytest.mark.parametrize("data", [X, sparse.csr_array(X)], ids=["dense", "csr"])
def test_shares_of_pairs_are_bounded(data):
    scores = X @ TIGHT
    exact = np.mean(scores[Y > 0][:, None] > scores[Y < 0])
    widths = []
    for tol in (1e-2, 1e-5, 1e-9):
        lo, hi = pair_bounds(ball_of(tol, data)[0], data, Y > 0)
        assert lo <= exact <= hi
        widths.append(hi - lo)
    assert widths[0] > widths[1] >= widths[2] and widths[2] < 1e-3
