"""Newton's method on the dual proximal point iteration, for the L2 penalty and losses of lines and parabolas.

A hinge has no second derivative. Rounded off near a guess v of the dual solution it has one,

    phi_c(f) = max over lower <= a <= upper of
                   (target - f) a - kink |a| - quad a^2 / 2 - (a - v)^2 / (2 c p),

and only the samples on the rounded part, those whose maximiser lies strictly inside its bounds, enter

    alpha I + sum_i phi_c''(f_i) x_i x_i'.

They are few, and change little from step to step: the matrix is kept and corrected. So a step costs two
passes over X and a Cholesky factorisation. Once the rounded problem is solved well enough, its maximisers
become the next guess and the rounding is halved. By then the error of rounding, in proportion to what v still
moves, vanishes faster than 1/c: tens of steps to eight digits. Of very many samples the first steps see some.
"""

from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.design.forms import RowSums
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import Smooth
from gapfit.minorant import Minorant
from gapfit.penalties.forms import Euclidean
from gapfit.problem import Problem
from gapfit.records import Kept
from gapfit.rounding import EPS
from gapfit.solution import Certificate, Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.second_order.definite import solve_definite
from gapfit.solvers.second_order.few_rows import adjoints_of, gram_of
from gapfit.solvers.second_order.rounded_losses import RoundedLosses
from gapfit.solvers.second_order.share import one_of_each

_SEARCH = 40  # evaluations in a line search at most, each O(n)
_FLAT = 0.1  # of the first slope: there a line search ends


class Tuning(NamedTuple):
    """How the rounding c goes from the first to the last, and what is learnt from some of the samples."""

    solved: float = 0.3  # a rounded problem is solved when its own gap is such a share of the whole
    sharpen: float = 2.0  # the factor of c from one rounded problem to the next
    easy: int = 2  # Newton steps: after no more, c is sharpened
    hard: int = 5  # Newton steps: after more, c goes back
    lost: int = 20  # Newton steps: after so many without a solution, c goes back much further
    blunt: float = 1 / 256  # the factor by which c goes back then
    sharpest: float = 1e12  # the last c, in units of the first
    tail: float = 8.0  # times the mean distance from the targets is as wide as the first rounding may be
    broad: float = 2.0  # times the first c: where a known w is turned into a guess of v
    told: float = 4.0  # times the first c: where to begin with a w that may be anyone's
    learnt: float = 16.0  # times the first c: where to begin with the w of many samples
    foretold: float = 8.0  # times the first c: where to begin with a dual point that others foretell
    share: int = 16  # the first steps see a 16th of the samples
    least_per_feature: int = 100  # samples: a share of fewer would teach too little
    rough: float = 1e-2  # the relative gap at which a share has taught what it can
    lessons: int = 60  # steps on a share, at most


USUAL = Tuning()


def _effort(problem: Problem) -> Effort:
    """A Gram matrix for all steps, of the samples whose pieces change, and a factor each."""
    n, d, product, gram, *_ = work = work_of(problem)
    step = 2e6 + 2 * product + 400.0 * n + 3300.0 * d + 0.05 * gram + 0.07 * d**3
    steps = work.newton(4.0, 0.04, 1600) if problem.has(Smooth) else work.newton(4.8, 0.1, 1600)
    return Effort(5e6 + 20 * product + 25e3 * d + gram, step, steps, 8.0 * 6 * d**2)


@needs(Atoms, Euclidean, RowSums, squares=6, effort=_effort, near=0.5)
def semismooth_newton(
    problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0, tuning: Tuning = USUAL
) -> Steps:
    """One step: one dense factorisation and a line search. For up to some thousand features.

    Parameters
    ----------
    seed : of the choice of samples for the first steps, where there are very many.
    tuning : how the rounding goes from the first to the last, and how much some of the samples teach.
    """
    state = state or {}
    path = _Path(problem, problem, tuning)
    if state.get("same"):
        path.restore(state["path"])
        if not path.step():
            return
    else:
        told = "w" in state
        known = state if told else (yield from _learn_from_a_share(problem, tuning, seed))
        path.start(known, tuning.told if told else tuning.learnt)
    while True:
        estimate = path.look()
        yield Iterate(path.w, path.offsets(), path.bound, None, path.snapshot, estimate, path.primal)
        if not path.step():
            return  # what is left to gain is rounding


def _learn_from_a_share(
    problem: Problem, tuning: Tuning, seed: int
) -> Generator[Iterate, Certificate, dict[str, Any]]:
    """A first point, found on some of the samples if there are enough of them."""
    n, d = problem.design.shape
    if n < tuning.share * tuning.least_per_feature * d:
        return {}
    path = _Path(problem.take(one_of_each(n, tuning.share, seed, problem.y)), problem, tuning)
    path.start({}, tuning.learnt)
    for _ in range(tuning.lessons):
        if path.look() <= tuning.rough * abs(path.primal) or not path.step():
            return {"w": path.w, "b": path.b}
        yield Iterate(path.w, path.offsets(), estimate=np.inf)
    return {}  # this is no place to learn


class _Path(Kept):
    """A point (w, b) on its way, with the rounding c and the guess of the dual solution that it is near."""

    w: Slope
    b: float
    f: Vector  # the scores X w + b; known offsets are in the targets
    told: Vector | None  # a dual point whose product the driver has at hand
    c: float

    def __init__(self, problem: Problem, whole: Problem, tuning: Tuning) -> None:
        self.problem, self.tuning, self.losses = problem, tuning, RoundedLosses(problem)
        self.loops, d = self.losses.compiled, problem.design.shape[1]
        # large means would drown the Hessian; where there is an intercept they can be taken out
        self.mean: Slope = whole.mean if problem.n_offsets else np.zeros(d)
        self.steps = 0  # since the rounding was last sharpened
        nothing = np.zeros_like(problem.weight)
        self.v, self.z = nothing.copy(), np.zeros(d)  # z = X'v
        self.gram, self.in_gram = np.zeros((d, d)), nothing  # see _gram
        self.curved_rows, self.change_of_rows = np.zeros(d), np.zeros(d)  # X'in_gram, X'change
        self.curvature, self.moved, self.change = (np.empty_like(nothing) for _ in range(3))  # see compiled

    def start(self, known: dict[str, Any], sharper: float) -> None:
        """Begin where something is known, or from nothing with a rounding that reaches most samples."""
        losses, p = self.losses, self.losses.p
        self.w = np.array(known.get("w", self.problem.start()))
        seen = getattr(known.get("foretold"), "scores", None)
        scores = self.problem.design.scores(self.w) if seen is None else seen.copy()
        self.b = float(known["foretold"].intercept if "foretold" in known else known.get("b", 0.0))
        if self.problem.n_offsets and known.keys().isdisjoint(("b", "foretold")):
            self.b = float(p @ (losses.target - scores))
        self.f = scores if self.b == 0 else scores + self.b
        spread, squares = losses.sums(self.loops.spread, self.f, p)
        if spread > 0 and not self.w.any():  # the few that are far away shall not be the last to move
            spread = min(squares / spread, self.tuning.tail * spread)
        if spread == 0:  # all targets alike and met: what a step along the mean sample would change
            mean = self.problem.design.adjoint(p)
            spread = float(p @ np.abs(self.problem.design.scores(mean))) / self.problem.alpha or 1.0
        (reach,) = losses.sums(self.loops.reach, 2 * spread)
        self.first_c = reach / (2 * spread)
        centre, c = np.zeros_like(p), self.first_c
        if "foretold" in known:  # by solutions at other alphas
            centre, c = -known["foretold"].u, self.tuning.foretold * c
        elif self.w.any():  # margins tell the dual solution, except of samples near their kinks
            losses.each(self.loops.guess, self.f, p, self.tuning.broad * c, centre)
            c *= sharper
        self._round_off(centre, c)

    def _round_off(self, centre: Vector, c: float) -> None:
        self.centre, self.c = centre, c
        self.losses.round_off(centre, c)

    def snapshot(self) -> dict[str, Any]:
        return {"path": self.state(), "ended": self.c * self._sharper() > self.tuning.sharpest * self.first_c}

    KEPT = (
        "w", "b", "f", "v", "z", "centre", "c", "first_c", "gram", "curved_rows", "in_gram", "steps",
        "curvature", "change", "change_of_rows", "bend", "curved", "changed", "imbalance", "primal", "gap",
        "unsolved",
    )  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._round_off(self.centre, self.c)

    def offsets(self) -> Vector:
        return np.full(self.problem.n_offsets, self.b)

    def bound(self) -> Minorant:
        return self.problem.minorant_at(-self.v if self.told is None else self.told)

    def _asked(self) -> tuple[Slope, Vector]:
        """What the driver asks products of, if it looks at this point."""
        self.told = self.problem.settled(-self.v)
        return self.w, self.told

    def look(self) -> float:
        """Evaluate the losses. Returns a guess of the gap: that at this b, and what b may still gain."""
        alpha, w = self.problem.alpha, self.w
        loss, bound = self._respond(looked_at=True)
        self.primal = 0.5 * alpha * float(w @ w) + loss + self.losses.total * self.b
        dual = bound - float(self.z @ self.z) / (2 * alpha) + self.imbalance * self.b
        residual = alpha * w - self.z
        slack = 0.5 * self.imbalance**2 / max(self.bend, 1e-6 * self.c)
        self.unsolved = float(residual @ residual) / (2 * alpha) + slack
        self.gap = self.primal - dual + slack
        return self.gap

    def _solved(self) -> bool:
        return self.unsolved <= max(self.tuning.solved * self.gap, 4 * EPS * abs(self.primal))

    def _sharper(self) -> float:
        """By what the next step multiplies c."""
        tuning = self.tuning
        if not self._solved():
            return tuning.blunt if self.steps >= tuning.lost else 1.0
        if self.steps <= tuning.hard:
            return tuning.sharpen if self.steps <= tuning.easy else 1.0
        return 1 / tuning.sharpen

    def step(self) -> bool:
        """Sharpen the rounding if that is due, then make a Newton step; False if nothing moves any more."""
        problem, alpha = self.problem, self.problem.alpha
        if self._solved() or self.steps >= self.tuning.lost:
            self._round_off(self.v.copy(), self.c * self._sharper())
            self.steps = 0
            self._respond()
        if self.c > self.tuning.sharpest * self.first_c:
            return False
        self.steps += 1
        hessian = self.c * self._gram()
        hessian[np.diag_indices_from(hessian)] += alpha
        gradient, across, total = alpha * self.w - self.z, np.zeros_like(self.w), 1.0
        if problem.n_offsets:  # in terms of x - mean and b + <w, mean>
            # samples at rest give no curvature in b; a little stands in, and the line search does the rest
            total = self.bend + 1e-6 * self.c
            across = self.c * self.curved_rows - self.bend * self.mean
            there = np.asarray(across, like=hessian)
            hessian -= np.outer(there, there / total)
            gradient -= self.imbalance * self.mean
        dw = -solve_definite(problem.design, hessian, gradient - across * (self.imbalance / total))
        db = -float(self.mean @ dw)
        if problem.n_offsets:
            db -= (self.imbalance + float(across @ dw)) / total
        df = problem.design.scores(dw)
        t = self._line_search(dw, db, df)
        self.w, self.b = self.w + t * dw, self.b + t * db
        self.losses.each(self.loops.advance, self.f, df, db, t)
        return True

    def _respond(self, *, looked_at: bool = False) -> tuple[float, float]:
        """v and curvature at f, and what follows from v; returns the losses and minus their conjugates."""
        arrays = (self.v, self.moved, self.in_gram, self.curvature, self.change)
        sums = self.losses.sums(self.loops.respond, self.f, self.c, *arrays)
        self.told = None
        if looked_at:
            self.problem.design.foresee(self._asked)
        loss, bound, total, self.bend, self.curved, self.changed = sums
        self.imbalance = 0.0
        design = self.problem.form(RowSums).matrix
        if self.problem.n_offsets:  # the samples whose curvature has changed are among those that move
            movement, self.change_of_rows = adjoints_of(design, self.moved, self.change)
            self.imbalance = self.losses.total - total
        else:
            (movement,) = adjoints_of(design, self.moved)
        self.z += movement
        return loss, bound

    def _gram(self) -> Any:
        """sum of curvature (x - mean)(x - mean)' / c; visits only samples whose curvature has changed.

        And, for the intercept, the sum of curvature x / c.
        """
        few = self.changed < self.curved
        self.curved_rows = self.curved_rows + self.change_of_rows
        weight, rows = (self.change, self.change_of_rows) if few else (self.curvature, self.curved_rows)
        gram = gram_of(self.problem.form(RowSums).matrix, weight, self.mean, rows)
        self.gram = self.gram + gram if few else gram
        self.in_gram, self.curvature = self.curvature, self.in_gram
        return self.gram

    def _line_search(self, dw: Slope, db: float, df: Vector) -> float:
        """A step along which the slope of the rounded objective, an increasing function, nearly vanishes."""
        alpha = self.problem.alpha
        constant, linear = alpha * float(self.w @ dw) + self.losses.total * db, alpha * float(dw @ dw)
        initial = float((alpha * self.w - self.z) @ dw) + self.imbalance * db
        t, low, high = 1.0, 0.0, np.inf
        for _ in range(_SEARCH):
            first, second = self.losses.sums(
                self.loops.slope_along, self.f, df, db, t
            )  # of the rounded losses
            slope = constant + t * linear + first
            if abs(slope) <= _FLAT * abs(initial):
                return t
            width = high - low
            low, high = (low, t) if slope > 0 else (t, high)
            t -= slope / max(linear + second, 1e-300)
            if not low < t < high or 0.5 * width < high - low < np.inf:
                t = 0.5 * (low + high) if high < np.inf else 2 * low
        return low if low > 0 else t
