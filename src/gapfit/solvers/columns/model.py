"""The quadratic model of the risk on some columns, and its minimisation.

Near a point with derivatives u and second derivatives D of the risk in the scores, J is about

    <u, f> + f'Df / 2 + l1 |w|_1 + l2 |w|^2 / 2     over lower <= w <= upper,

f being the change of the scores: sum_j (w_j - its start) x_j, plus one number for the intercept, which is
eliminated. Sweeps of coordinate descent find out which coordinates are zero. Among the others the model is a
parabola as long as no sign changes. Where the matrix of its second derivatives is quickly set up, nothing
else is needed of X: sweeps read that matrix, and equations are solved directly. Otherwise conjugate gradients
minimise the parabola, in far fewer passes than sweeps do. What they leave is much larger in a few equations
than in all others (those of the heaviest columns), and the largest decides how large the gap is: these few
are solved as a small system in the end.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gapfit import limits
from gapfit._types import Indices, Slope, Vector
from gapfit.records import storable
from gapfit.solvers.columns.bend import AnyBend
from gapfit.solvers.columns.by_matrix import ByMatrix
from gapfit.solvers.columns.columns import Selection
from gapfit.solvers.columns.kinds import AnyTerms

ROUNDS = 20  # of sweeps and of steps among the coordinates that are not zero
_SWEEPS = 5  # in a round, until no sign changes; all of them while it is not settled who is zero
_RUNS = 3  # of steps among the coordinates that are not zero in a round, if each ends at a kink
_PRODUCTS = 200  # in a run of conjugate gradients, at most
_LOOK = 10  # products after which a run looks whether it has passed a kink, and ends if so
_FORCING = 0.003  # of the first gradient: a run ends when so much is left
_SMALL = 100  # equations that are always solved directly
_WORTH = 20  # passes over the entries: to set up a matrix may cost that
_WORST = 32  # equations that a run leaves are solved as a small system of their own
_WRONG = 0.05  # of its way: a model that was good for no more is not worth an exact minimum
_FINER = 0.1  # of the tolerance: a run ends when most residuals are smaller


@storable
class Effort(NamedTuple):
    """What minimising a model is worth, by what the last one was.

    One that was right for a tiny share of its way only is not worth an exact minimum; and one that took many
    passes over the entries would have been worth a matrix.
    """

    rounds: int = ROUNDS
    passes: float = _WORTH

    def after(self, passes: float, share: float) -> "Effort":
        """A model that took so many passes, and was right for such a share of its way."""
        rounds = max(self.rounds // 2, 1) if share < _WRONG else min(2 * self.rounds, ROUNDS)
        return Effort(rounds, max(passes, _WORTH) if passes else self.passes)


class Model:
    """A model around a point. `w` moves away from the point's weights."""

    def __init__(
        self, form: "ByMatrix | _ByColumns", terms: AnyTerms, w: Slope, *, settled: bool, rounds: int
    ) -> None:
        self.form, self.terms, self.w, self.settled, self.rounds = form, terms, w.copy(), settled, rounds

    def minimise(self, tolerance: float) -> Slope:
        """The w near the model's minimum at which no sweep changes a derivative by more than this; only some
        sweeps closer to it if it is not settled which coordinates are zero there."""
        for _ in range(self.rounds):
            for _ in range(self.form.sweeps if self.settled else _SWEEPS):
                limits.look()
                signs = self.terms.signs(self.w)
                if self.form.sweep(self.terms, self.w) <= tolerance:
                    return self.w
                if self.settled and np.array_equal(self.terms.signs(self.w), signs):
                    break
            for _ in range(_RUNS if self.settled else 0):
                limits.look()
                if not self.terms.glide(self.form, self.w, tolerance):
                    return self.w
        return self.w


class ColumnModel(Model):
    """The model on some columns.

    `a` are the derivatives of the risk in the weights there; u and D the first and second ones in the scores.
    The matrix is set up if that is no more work than the passes over the entries that the effort allows, and
    if it can be regular: that of more columns than samples is not, and what its equations answer is anything.
    """

    def __init__(
        self,
        columns: Selection, terms: AnyTerms, w: Slope, a: Slope, u: Vector, D: Vector,
        *, centred: bool, settled: bool, effort: "Effort",
    ) -> None:  # fmt: skip
        per_total = 1.0 / float(D.sum()) if centred else 0.0
        worth = len(w) <= columns.n and columns.gram_work(D) <= effort.passes * columns.entries
        form: ByMatrix | _ByColumns
        if settled and (len(w) <= _SMALL or worth):
            form = ByMatrix.of(columns, a, D, per_total)
        else:
            form = _ByColumns(columns, u, D, per_total)
        super().__init__(form, terms, w, settled=settled, rounds=effort.rounds if settled else 1)

    @property
    def passes(self) -> float:
        """Over the entries, which minimisation has taken."""
        return self.form.passes


class _ByColumns:
    """The same, by products with the columns."""

    def __init__(self, columns: Selection, u: Vector, D: Vector, per_total: float) -> None:
        self.columns, self.D, self.per_total = columns, D, per_total
        self.sweeps = 1 if columns.columns.sparse else _SWEEPS
        self.passes = 0.0
        self.r, self.shift = u.copy(), 0.0
        self.m, self.square = columns.moments(D)
        self.h = np.maximum(self.square - per_total * self.m**2, 1e-15 * self.square)

    def sweep(self, terms: AnyTerms, w: Slope) -> float:
        """See `ByMatrix`."""
        from gapfit.compiled.columns import Model

        self.passes += 1.0
        model = Model(self.h, self.m, self.r, self.D, self.per_total)
        worst, self.shift = terms.sweep(self.columns.flat, self.columns.slots, model, w, self.shift)
        return worst

    @cached_property
    def curved(self) -> Callable[[Slope], Slope]:
        """The second derivatives as a map, the intercept fixed."""
        return self.columns.curved(self.D)

    def derivatives(self, some: Indices) -> Slope:
        """See `ByMatrix`."""
        return self.columns.take(some).adjoint(self.r) + self.shift * self.m[some]

    def solve(self, some: Indices, more: AnyBend, b: Slope, tolerance: float, far_enough: Any) -> Slope:
        """Nearly, or as far as makes sense."""
        m = self.m[some]

        def times(v: Slope) -> Slope:
            self.passes += 2.0
            whole = np.zeros_like(self.m)
            whole[some] = v
            return self.curved(whole)[some] - self.per_total * float(m @ v) * m + more.times(v)

        way, left = _conjugate_gradients(times, b, self.h[some] + more.diagonal(), tolerance, far_enough)
        if not far_enough(way):
            worst = np.sort(np.argsort(-np.abs(left))[:_WORST])
            part = ByMatrix.of(self.columns.take(some[worst]), left[worst], self.D, self.per_total)
            way[worst] += part.solve(
                np.arange(len(worst)), more.take(worst), left[worst], tolerance, far_enough
            )
        return way

    def image(self, some: Indices, step: Slope) -> Vector:
        """The change of the scores."""
        return self.columns.take(some).scores(step)

    def bend(self, some: Indices, step: Slope, image: Vector) -> float:
        """See `ByMatrix`."""
        return float(image @ (self.D * image)) - self.per_total * float(self.m[some] @ step) ** 2

    def go(self, some: Indices, step: Slope, image: Vector) -> None:
        """See `ByMatrix`."""
        self.r += self.D * image
        self.shift -= self.per_total * float(self.m[some] @ step)


def _conjugate_gradients(
    times: Callable[[Slope], Slope],
    b: Slope,
    diagonal: Slope,
    tolerance: float,
    far_enough: Callable[[Slope], bool],
) -> tuple[Slope, Slope]:
    """x with times(x) = b, nearly, or on the way there, and b - times(x); preconditioned by the diagonal."""
    x, r = np.zeros_like(b), b.copy()
    z = r / diagonal
    p, rz = z, float(r @ z)
    goal = _FORCING**2 * rz
    for k in range(1, _PRODUCTS + 1):
        image = times(p)
        bend = float(p @ image)
        if not bend > 0:
            break
        x += (rz / bend) * p
        r -= (rz / bend) * image
        z = r / diagonal
        before, rz = rz, float(r @ z)
        if rz <= goal or _typical(r) <= _FINER * tolerance or (k % _LOOK == 0 and far_enough(x)):
            break
        p = z + (rz / before) * p
    return x, r


def _typical(r: Slope) -> float:
    """The largest number, but for those that a system of their own will take care of."""
    return float(np.partition(np.abs(r), -_WORST - 1)[-_WORST - 1]) if len(r) > _WORST else 0.0
