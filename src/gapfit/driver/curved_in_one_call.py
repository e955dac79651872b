"""As `in_one_call`, for losses that are no function of one score made of lines, parabolas or the logistic
entropy: softmax, the multiclass support vector machine, ordered levels by logistic thresholds."""

from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np

from gapfit._types import Matrix, Vector
from gapfit.checks import as_tolerance
from gapfit.design.memory import MemoryDesign
from gapfit.driver.in_one_call import Fitted, certificate_of, history_of
from gapfit.driver.one_call_margins import are_worth_sweeps, fit_margins, grown
from gapfit.driver.one_call_targets import Targets, takes, targets_of
from gapfit.errors import as_positive
from gapfit.losses.base import Loss
from gapfit.penalties import Penalty
from gapfit.penalties.forms import Everywhere, Net
from gapfit.solution import as_intercept

ENTRIES = 500_000  # of X
WEIGHTS = 200_000  # of all scores
ANSWERS = 60_000  # of all samples
MATRIX = 100  # features, up to which there is a Hessian of one score; and twice as many as samples at most
ALL = 200  # weights of all classes, up to which a margin loss has a Hessian of them


class Curved(NamedTuple):
    """Samples and how they are to be fitted, to whatever targets."""

    design: MemoryDesign
    rows: Any  # of it: `compiled.rows.Rows`
    weight: Vector
    loss: Loss
    alpha: float
    intercept: bool

    @classmethod
    def of(
        cls, design: MemoryDesign, weight: Vector, loss: Loss, penalty: Penalty, alpha: float, intercept: bool
    ) -> Self | None:
        """None, where it takes more than a call."""
        from gapfit.compiled.rows import as_rows  # compiled code is loaded only when it is to run

        net = penalty.form(Net)
        if design.dtype != np.float64 or net is None or net.l1 or not penalty.has(Everywhere):
            return None
        if not takes(loss, intercept=intercept) or design.size > ENTRIES * grown(loss):
            return None
        alpha = float(as_positive("alpha", alpha)) * net.l2
        return cls(design, as_rows(*design.rows()), weight, loss, alpha, intercept)

    def fit(self, y: Vector, tol: float) -> Fitted | None:
        """To these targets, which the loss takes. None if that cannot be certified at once."""
        from gapfit.compiled import small_curved

        as_tolerance(tol)
        began, (n, d) = perf_counter(), self.design.shape
        targets = targets_of(self.loss, y)
        kind, target, m, q, attained, costs = targets
        if d * m > WEIGHTS * grown(self.loss) or n * q > ANSWERS or (self.intercept and not attained):
            return None
        if costs is not None and not are_worth_sweeps(self.design, m):
            return None
        task = small_curved.Curved(self.rows, kind, d, target, np.empty(n), self.alpha, self.intercept)
        found = _fitted(self, task, float(tol), targets)
        b = found.b
        levels = kind in (small_curved.LEVELS, small_curved.NEIGHBOURS)
        if levels and not (np.diff(b) >= 0).all():
            return None
        certificate = certificate_of(found.proved, self.loss)
        if not certificate.relative_gap <= tol:
            return None
        history = history_of(found.way, certificate, perf_counter() - began)
        u = found.dual.ravel() if kind == small_curved.CLASSES else -found.dual.sum(axis=1)
        solver = "newton" if costs is None else "semismooth_newton"
        return Fitted(found.w, as_intercept(b if self.intercept else b[:0]), u, certificate, history, solver)


class _Found(NamedTuple):
    """What a call has found: a point, a dual point, what is proved, J and the gap on the way, by guess."""

    w: Vector
    b: Vector
    dual: Matrix
    proved: Any
    way: list[list[float]]


def _fitted(given: Curved, task: Any, tol: float, targets: Targets) -> _Found:
    """Make room for a call, and make it."""
    from gapfit.compiled import small_curved_fit, small_curved_newton, small_curved_proof
    from gapfit.compiled.small_curved import CLASSES

    n, d, m, q = len(given.weight), task.d, targets.scores, targets.offsets
    (answers, dual), W = np.empty((2, n, q)), np.empty(d * m)
    excess, box = (np.empty((2, q)), None) if task.kind == CLASSES else (None, np.empty((2, n)))
    single = d + (q if m == 1 else 1)
    side = single if d <= min(MATRIX, 2 * n) else 0
    if targets.costs is not None:
        side = d * m if d * m <= ALL else 0
    F, V, U = np.zeros((3, n, m))
    passed, way = np.zeros(2, np.int64), np.empty((2, small_curved_newton.POINTS))
    work = small_curved_newton.Work(
        np.zeros((7, m * d + q)), F, V, U, answers, np.empty((side, side)), np.empty((3, single)),
        np.empty((q, q)), passed, way,
    )  # fmt: skip
    proof = small_curved_proof.Proof(dual, np.empty(n), np.empty((3, d)), np.empty(m), np.empty(q))
    if targets.costs is None:
        proved = small_curved_fit.fit(task, None, given.weight, tol, work, proof, W, excess, box)
    else:
        proved = fit_margins(given, task, tol, targets, work, proof, W, excess)
    return _Found(W, work.lines[0, m * d :], dual, proved, way[:, : passed[0]].T.tolist())
