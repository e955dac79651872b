"""The quadratic model of the risk on some columns, and its minimisation.

Near a point with derivatives u and second derivatives D of the risk in the scores, J is about

    <u, f> + f'Df / 2 + l1 |w|_1 + l2 |w|^2 / 2     over lower <= w <= upper,

f being the change of the scores: sum_j (w_j - its start) x_j, plus one number for the intercept, which is
eliminated. Sweeps of coordinate descent find out which coordinates are zero. Among the others the model is a
parabola as long as no sign changes, and conjugate gradients minimise it in far fewer passes than sweeps do.
What they leave is much larger in a few equations than in all others (those of the heaviest columns), and the
largest decides how large the gap is: these few are solved as a small system in the end.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.problem import Problem
from gapfit.solvers.columns import Selection

_ROUNDS = 20  # of one sweep and some runs of conjugate gradients
_SWEEPS = 5  # as long as it is not settled which coordinates are zero
_RUNS = 3  # in a round, if each ends at a kink
_PRODUCTS = 200  # in a run,
_LOOK = 10  # which ends at the next look after it has passed a kink, looking every so many products,
_FORCING = 0.003  # or when the gradient has shrunk so much
_SMALL = 100  # equations that are solved directly,
_WORTH = 20  # or more, if that is no more work than so many passes over the entries
_SOLVED = 32  # equations, the worst that are left, which are solved as a small system of their own
_FINER = 0.1  # or is typically so much below the tolerance


class Terms(NamedTuple):
    """alpha * Omega(w) = l1 |w|_1 + l2 |w|^2 / 2 over lower <= w <= upper."""

    l1: float
    l2: float
    lower: Vector
    upper: Vector

    @classmethod
    def of(cls, problem: Problem) -> "Terms":
        inner: Any = getattr(problem.penalty, "penalty", problem.penalty)
        bounds = (np.array(bound) for bound in problem.penalty.bounds(problem.design.shape[1]))
        return cls(problem.alpha * inner.l1_ratio, problem.alpha * inner.modulus, *bounds)

    def take(self, columns: Indices) -> "Terms":
        """Those of some columns."""
        return self._replace(lower=self.lower[columns], upper=self.upper[columns])

    def value(self, w: Slope) -> float:
        """alpha * Omega(w), for w within the bounds."""
        return self.l1 * float(np.abs(w).sum()) + 0.5 * self.l2 * float(w @ w)

    def changes(self, w: Slope, target: Slope) -> Vector:
        """How much each coordinate's penalty grows from w to the target, also where that is little."""
        middle = 0.5 * (target + w)
        return self.l1 * (np.abs(target) - np.abs(w)) + self.l2 * (target - w) * middle

    def urges(self, a: Slope, w: Slope) -> Vector:
        """See `kernels.columns.urges`."""
        from gapfit.kernels.columns import urges

        return np.asarray(urges(a, w, self.lower, self.upper, self.l1, self.l2))


class ColumnModel:
    """The model around a point, on some columns. `w` moves away from the point's weights."""

    def __init__(
        self, columns: Selection, terms: Terms, w: Slope, u: Vector, D: Vector, *, centred: bool
    ) -> None:
        self.columns, self.terms = columns, terms
        self.w, self.r, self.D, self.shift = w.copy(), u.copy(), D, 0.0
        self.m, self.square = columns.moments(D)
        self.per_total = 1.0 / float(D.sum()) if centred else 0.0
        # where the difference cancels, rounding is all there is to know of it
        self.h = np.maximum(self.square - self.per_total * self.m**2, 1e-15 * self.square)

    def minimise(self, tolerance: float, *, settled: bool) -> Slope:
        """The w near the model's minimum at which no sweep changes a derivative by more than this; only some
        sweeps closer to it if it is not settled which coordinates are zero there."""
        for _ in range(_ROUNDS if settled else _SWEEPS):
            if self.sweep() <= tolerance:
                break
            for _ in range(_RUNS if settled else 0):
                if not self.glide(tolerance):
                    return self.w
        return self.w

    @cached_property
    def small(self) -> bool:
        """Is it quicker to solve the equations directly?"""
        k = len(self.w)
        return k <= _SMALL or self.columns.gram_work + k**3 / 30 <= _WORTH * self.columns.entries

    @cached_property
    def curved(self) -> Callable[[Slope], Slope]:
        """The second derivatives as a map, the intercept fixed."""
        return self.columns.curved(self.D)

    @cached_property
    def gram(self) -> Matrix:
        """The second derivatives as a matrix, the intercept fixed."""
        return self.columns.gram(self.D, np.arange(len(self.w)))

    def bend(self, f: Vector) -> float:
        """What the quadratic part adds to the model when the scores change by f, and the offset with them."""
        return 0.5 * (float(f @ (self.D * f)) - self.per_total * float(self.D @ f) ** 2)

    def sweep(self) -> float:
        """One pass of coordinate descent; the largest change of a derivative by its own coordinate."""
        from gapfit.kernels.columns import sweep

        l1, l2, lower, upper = self.terms
        worst, self.shift = sweep(
            *self.columns.flat, self.columns.positions, self.w, self.h, self.m, lower, upper, l1, l2,
            self.r, self.D, self.per_total, self.shift,
        )  # fmt: skip
        return float(worst)

    def glide(self, tolerance: float) -> bool:
        """Conjugate gradients among the coordinates at which the model is smooth; did a kink stop them?"""
        l1, l2, lower, upper = self.terms
        smooth = np.flatnonzero((self.w > lower) & (self.w < upper) & ((self.w != 0) | (l1 == 0)))
        if not len(smooth):
            return False
        columns, m, here = self.columns.take(smooth), self.m[smooth], self.w[smooth]
        low, high = lower[smooth], upper[smooth]
        if l1 > 0:  # no further than to zero
            low = np.where(here > 0, np.maximum(low, 0.0), low)
            high = np.where(here < 0, np.minimum(high, 0.0), high)
        gradient = columns.adjoint(self.r) + self.shift * m + l1 * np.sign(here) + l2 * here

        def times(v: Slope) -> Slope:
            whole = np.zeros_like(self.w)
            whole[smooth] = v
            return self.curved(whole)[smooth] - self.per_total * float(m @ v) * m + l2 * v

        def beyond_a_kink(v: Slope) -> bool:
            return bool(((here + v < low) | (here + v > high)).any())

        def system(some: Indices, gram: Matrix, b: Slope) -> Slope:
            """Some of the equations, solved on their own."""
            gram = gram - self.per_total * np.outer(m[some], m[some])
            rounding = 16 * self.columns.precision * self.square[smooth[some]]
            gram[np.diag_indices(len(some))] += l2 + rounding  # it must stay positive definite
            return np.asarray(np.linalg.solve(gram, b))

        among: Matrix | None = None  # the second derivatives among these, if they are known
        if self.small:
            among = self.gram[np.ix_(smooth, smooth)]
            way = system(np.arange(len(smooth)), among, -gradient)
        else:
            way, left = _conjugate_gradients(times, -gradient, self.h[smooth] + l2, tolerance, beyond_a_kink)
            if not beyond_a_kink(way):
                worst = np.sort(np.argsort(-np.abs(left))[:_SOLVED])
                way[worst] += system(worst, self.columns.gram(self.D, smooth[worst]), left[worst])
        if not np.isfinite(way).all():
            return False  # beyond single precision; sweeps are not
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(way > 0, (high - here) / way, np.where(way < 0, (low - here) / way, np.inf))
        f_way = columns.scores(way) if among is None else np.empty(0)

        def falls(step: Slope, bend: float) -> float:
            """How far on a straight line the model falls; it is a parabola, since no sign changes."""
            slope, shift = float(gradient @ step), float(m @ step)
            curvature = bend - self.per_total * shift**2 + l2 * float(step @ step)
            return 1.0 if curvature <= -slope else max(-slope / curvature, 0.0)

        def towards(length: float) -> tuple[float, Slope, Vector]:
            """Go that length, each coordinate up to its kink: how far on the straight line to that target the
            model falls, the target, and the change of the scores if that was needed to know."""
            target = np.clip(here + length * way, low, high)
            there = np.flatnonzero(reach <= length)
            target[there] = np.where(way > 0, high, low)[there]
            step = target - here
            if among is not None:
                return falls(step, float(step @ (among @ step))), target, f_way
            f = length * f_way + columns.take(there).scores((step - length * way)[there])
            return falls(step, float(f @ (self.D * f))), target, f

        kinks = np.unique(reach[reach < 1])
        share, target, f = towards(1.0)
        if share < 1 and len(kinks):
            # to the last kink up to which the model falls all the way; to the first it does
            near, far = 0, len(kinks)
            share, target, f = towards(float(kinks[0]))
            while far - near > 1:
                middle = (near + far) // 2
                trial = towards(float(kinks[middle]))
                if trial[0] == 1:
                    near, (share, target, f) = middle, trial
                else:
                    far = middle
        if among is not None:  # which may be of single precision
            f = columns.scores(target - here)
            share = falls(target - here, float(f @ (self.D * f)))
        self.r += share * self.D * f
        self.shift -= share * self.per_total * float(m @ (target - here))
        self.w[smooth] = target if share == 1 else here + share * (target - here)
        return len(kinks) > 0


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
    return float(np.partition(np.abs(r), -_SOLVED - 1)[-_SOLVED - 1]) if len(r) > _SOLVED else 0.0
