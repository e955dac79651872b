"""What a fit is made of, so that solvers can say what it will take.

The unit is a multiply-add of a product with a dense X, a tenth of a nanosecond when this was measured. All
else is in that unit: the entry of a sparse X, the call of a function, a number for each sample. Seconds would
not repeat; work does.

How many steps a method takes depends on how hard the problem is: on the mean square of a row beside alpha,
which is what the largest curvature of J is to the least, up to that of the loss.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from gapfit.design.base import Design
from gapfit.design.forms import RowSums, WideSums
from gapfit.problem import Problem

__all__ = ["Work", "product", "work_of"]

LOOKED_UP = 5.0  # multiply-adds take the time of an entry whose column has to be looked up
_CACHED = 2**21  # entries that stay near the processor, about
_FAR = 2.0  # times as much is the work of an entry that comes from far
_SCALED = 1e7  # beyond that a problem is not hard but badly scaled
_BLOCKED = 0.2  # of a multiply-add: what one costs in products of matrices
_SPARSE_GRAM = 1.0  # for each pair of entries in a row


class Work(NamedTuple):
    """The sizes of a problem, and how hard it is."""

    n: int  # numbers that the risk looks at
    d: int  # weights
    product: float  # with X
    gram: float  # X'DX
    hard: float  # 1 + mean |x|^2 / alpha
    short: float  # 1 + hard / n: large where samples are too few to settle the weights by themselves
    rank: int  # of X, at most

    def newton(self, steps: float, power: float, crowd: float) -> float:
        """Steps of a Newton method on all samples: a power of how hard it is, up to where that is but scales
        of columns, which it does not notice; half, where samples are a crowd of so many for each feature, of
        which the first steps see some."""
        seen = 0.5 if self.n > crowd * self.d else 1.0
        return float(steps * min(self.hard, _SCALED) ** power * seen)


def work_of(problem: Problem) -> Work:
    """What efforts are made of; many ask, so it is kept."""
    key = work_of, problem.alpha
    if key not in problem.shared:
        problem.shared[key] = _measured(problem)
    found: Work = problem.shared[key]
    return found


def _measured(problem: Problem) -> Work:
    n, d = problem.design.shape
    if problem.risk.outputs == 1:
        n *= max(problem.n_offsets, 1)  # thresholds that a score is held against
    hard = 1.0 + _mean_square(problem) / problem.alpha
    return Work(n, d, product(problem.design), _gram(problem), hard, 1.0 + hard / n, min(n, d))


def product(design: Design) -> float:
    """The work of A w."""
    matrix = design.form(RowSums) or design.form(WideSums)
    is_sparse = matrix is not None and sparse.issparse(getattr(matrix.matrix, "X", None))
    return design.size * (LOOKED_UP if is_sparse else 1.0) * (_FAR if design.size > _CACHED else 1.0)


def _mean_square(problem: Problem) -> float:
    """Of the lengths of rows, as far as the design knows them; whatever alpha is, it is found once."""
    if _mean_square not in problem.shared:
        sizes = problem.design.row_sizes
        of = problem.shares if len(sizes) == len(problem.shares) else np.full(len(sizes), 1 / len(sizes))
        problem.shared[_mean_square] = float(of @ np.square(sizes))
    found: float = problem.shared[_mean_square]
    return found


def _gram(problem: Problem) -> float:
    (n, d), size = problem.design.shape, problem.design.size
    return min(_BLOCKED * n * d**2, _SPARSE_GRAM * size**2 / n + 2.0 * d**2)
