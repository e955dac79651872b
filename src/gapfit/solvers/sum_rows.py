"""Sums of scores as rows: joint quantiles as a problem of lines with one score a row.

A loss of several scores that is made of functions of sums of these,

    R(X W) = sum_i p_i sum_j phi_ij(s_j'(W'x_i + b)),

is one of one score a row, of the rows x_i s_j' of all weights. Offsets become weights of columns that are so
long that the penalty does not notice them; from where quantiles of the targets alone would put them.
"""

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from gapfit._types import Slope, Vector
from gapfit.design.forms import WideRows
from gapfit.design.memory import MemoryDesign
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import Combined, Conjugate
from gapfit.losses.row_atoms import RowAtoms
from gapfit.minorant import Minorant
from gapfit.penalties.forms import Everywhere, Net
from gapfit.problem import Problem
from gapfit.projections import project_dual_box
from gapfit.room import ask_for
from gapfit.rounding import Estimate, gamma
from gapfit.solvers.auto import auto
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.bundle import effort_of_cuts
from gapfit.solvers.choice.other_rows import OtherRows

_LONG = 1e5  # times the largest entry of X are those of the offsets' columns
_STEPS = 40.0  # in which it is done, or will not be
_NUMBERS = 24  # for each row, beside its entries: what the methods for lines hold


def _effort(problem: Problem) -> Effort:
    """A fifth of what cuts take, as far as is known; rows are made."""
    sums, n, cuts = problem.form(Combined).sums, problem.design.shape[0], effort_of_cuts(problem)
    entries = problem.design.size / problem.risk.outputs * np.count_nonzero(sums)
    rows = n / problem.risk.outputs * len(sums)
    return Effort(0.0, 0.2 * cuts.total / _STEPS, _STEPS, 16.0 * entries + 8.0 * _NUMBERS * rows)


@needs(Combined, Net, Everywhere, WideRows, effort=_effort)
def sum_rows(problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0) -> Steps:
    """One step: one of the solver that `auto` takes for the sums. For joint quantiles.

    Parameters
    ----------
    seed : for the solvers that draw at random.
    """
    yield from _Sums(problem).steps(state or {}, partial(auto, seed=seed))


class _Sums(OtherRows):
    """The problem that the sums of scores pose."""

    def __init__(self, problem: Problem) -> None:
        what = "solver sum_rows, which makes a row for each sum of scores"
        ask_for(_effort(problem).memory, what, "solver='bundle' takes the problem without making rows")
        self.outer, combined = problem, problem.form(Combined)
        matrix, self.k = problem.form(WideRows)
        self.sums, self.shares, n = combined.sums, combined.shares, matrix.shape[0]
        self.total = float(len(self.sums))
        self.first = problem.at_zero.b
        self.long = _LONG * (matrix.largest or 1.0) if problem.n_offsets else 0.0
        known = problem.offset.reshape(n, -1) + (self.first if problem.n_offsets else 0.0)
        self.problem = Problem(
            self._rows(matrix), np.arange(n * len(self.sums), dtype=np.float64), RowAtoms(combined.atoms()),
            problem.penalty, problem.alpha / self.total, np.repeat(combined.shares, len(self.sums)), False,
            (known @ self.sums.T).ravel(),
        )  # fmt: skip

    def _rows(self, matrix: MemoryDesign) -> sparse.csr_array:
        X = sparse.csr_array(matrix.X)
        if self.long:
            X = sparse.hstack([X, sparse.csr_array(np.full((X.shape[0], 1), self.long))])
        return sparse.csr_array(sparse.kron(X, sparse.csr_array(self.sums), format="csr"))

    def inside(self, w: Slope) -> Slope:
        return np.concatenate([w, np.zeros(self.k if self.long else 0)])

    def outside(self, w: Slope) -> tuple[Slope, Vector]:
        if not self.long:
            return w, np.zeros(0)
        return w[: -self.k], self.first + self.long * w[-self.k :]

    def plane(self, u: Vector) -> Minorant:
        """Slopes in sums of scores are slopes in scores; the height is that of the functions of the sums."""
        problem, there = self.outer, self.problem
        made = self._balanced(there.form(Conjugate).project(u / self.total, balanced=False))
        conjugate = there.risk.conjugate_above(made, exact=False)
        U = self.total * made.reshape(-1, len(self.sums))
        # sums, and weights, as far as the risk rounds them
        lost = gamma(problem.risk.roundings(u)) * (np.abs(U) @ np.abs(self.sums))
        size = there.form(Atoms).conjugate_sums(made)[1]  # whose terms weights round one by one
        c = Estimate(-self.total * conjugate.value, self.total * (conjugate.error + gamma(64) * size))
        return problem.accumulated((U @ self.sums).ravel(), c, problem.design.reach(lost.ravel()))

    def _balanced(self, u: Vector) -> Vector:
        """The dual point with no slope in an offset: what the long columns leave of it, each score's own
        functions take away, as far as they can."""
        if not self.long:
            return u
        U, atoms, others = u.reshape(-1, len(self.sums)).copy(), self.problem.form(Atoms), self.sums[self.k :]
        rest = -U[:, self.k :].sum(axis=0) @ others
        lower, upper = (np.asarray(-end).reshape(U.shape) for end in (atoms.hi, atoms.lo))
        for q in range(self.k):
            box = lower[:, q].copy(), upper[:, q].copy()
            if box[0].sum() < rest[q] < box[1].sum():
                U[:, q] = project_dual_box(U[:, q].copy(), *box, self.shares, float(rest[q]))
        return U.ravel()
