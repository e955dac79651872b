"""Which of two rows the optimum scores higher: differences of rows have scores without an intercept.

i comes before k in every optimum if <m, x_i - x_k> > r |x_i - x_k|, m and r being centre and radius of a ball
that contains all optimal weights.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gapfit._types import Data, Indices, Vector
from gapfit.design.memory import MemoryDesign
from gapfit.rounding import EPS, gamma
from gapfit.statements import Ball

_BLOCK = 2**22  # numbers in a block of pairs


class Order(NamedTuple):
    """Rows from the highest score to the lowest, and which of them are proved to be before the next one."""

    rows: Indices
    proved: NDArray[np.bool_]  # one less


class Top(NamedTuple):
    """The rows of the highest scores, and which of them are proved to be among so many of the optimum."""

    rows: Indices
    proved: NDArray[np.bool_]


def above(ball: Ball, higher: Data, lower: Data) -> NDArray[np.bool_]:
    """Which rows are proved to score higher than those beside them."""
    wide = [part.astype(np.float64) for part in (higher, lower)]
    design = MemoryDesign(
        sparse.csr_array(wide[0] - wide[1]) if sparse.issparse(higher) else wide[0] - wide[1]
    )
    lo, _ = ball._replace(mean=np.zeros_like(ball.mean), lo=0.0, hi=0.0, mean_above=None).score_bounds(design)
    return np.asarray(lo > design.slack(ball.centre))  # differences are rounded, too


def order(ball: Ball, X: Data, scores: Vector) -> Order:
    """All rows, and which neighbours are in the order of the optimum."""
    rows = np.argsort(-scores, kind="stable")
    return Order(rows, above(ball, X[rows[:-1]], X[rows[1:]]))


def top(ball: Ball, X: Data, scores: Vector, k: int) -> Top:
    """The k rows of the highest scores: who is above all but these is among the k of the optimum."""
    rows = np.argsort(-scores, kind="stable")
    others = X[rows[k:]]
    proved = np.ones(k, dtype=bool)
    for i, row in enumerate(rows[:k].tolist()):
        copies = X[np.full(others.shape[0], row)]
        proved[i] = bool(above(ball, copies, others).all())
    return Top(rows[:k], proved)


def pair_bounds(ball: Ball, X: Data, positive: NDArray[np.bool_]) -> tuple[float, float]:
    """The least and the largest share of pairs of a positive and another row that the optimum ranks right."""
    X = X.astype(np.float64)
    scores, lengths = np.asarray(X @ ball.centre), MemoryDesign(X).row_sizes
    slack = MemoryDesign(X).slack(ball.centre)
    pos, neg = np.flatnonzero(positive), np.flatnonzero(~positive)
    right = wrong = 0
    size = max(1, _BLOCK // max(len(neg), 1))
    for first in range(0, len(pos), size):
        some = pos[first : first + size]
        inner = X[some] @ X[neg].T
        inner = inner.toarray() if sparse.issparse(inner) else np.asarray(inner)
        sums = lengths[some, None] ** 2 + lengths[neg] ** 2
        square = np.maximum(sums - 2 * inner, 0.0) + gamma(4 * X.shape[1] + 32) * 4 * sums
        reach = np.sqrt(square) * (ball.radius * ball.penalty.stretch * (1 + 8 * EPS))
        apart = scores[some, None] - scores[neg]
        room = reach + slack[some, None] + slack[neg] + 8 * EPS * np.abs(apart)
        right, wrong = right + int((apart > room).sum()), wrong + int((apart < -room).sum())
    pairs = max(len(pos) * len(neg), 1)
    return right / pairs, 1 - wrong / pairs
