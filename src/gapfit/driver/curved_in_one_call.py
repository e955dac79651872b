"""As `in_one_call`, for smooth losses that are no function of one score made of lines, parabolas or the
logistic entropy: softmax, ordered levels by logistic thresholds, counts."""

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np

from gapfit._types import Vector
from gapfit.checks import as_tolerance
from gapfit.design.memory import MemoryDesign
from gapfit.driver.in_one_call import Fitted, certificate_of, history_of
from gapfit.errors import as_positive
from gapfit.losses.base import Loss
from gapfit.losses.multiclass import count_classes
from gapfit.losses.ordinal import MANY, OrdinalThresholds
from gapfit.losses.ranking import levels_of
from gapfit.losses.regression import Poisson
from gapfit.losses.softmax import Softmax
from gapfit.penalties import Penalty
from gapfit.penalties.forms import Everywhere, Net
from gapfit.solution import as_intercept

ENTRIES = 30_000  # of X, and as many numbers of all weights
ANSWERS = 30_000  # of all samples
MATRIX = 100  # features, up to which there is a Hessian of one score; and twice as many as samples at most


class Targets(NamedTuple):
    """What a loss makes of y: what compiled code calls it, a number a sample, scores and offsets."""

    kind: int
    y: Vector
    scores: int
    offsets: int


def _classes(loss: Any, y: Vector) -> Targets:
    from gapfit.compiled.small_curved import CLASSES

    K = count_classes(y, loss.n_classes)
    return Targets(CLASSES, y, K, K)


def _levels(loss: Any, y: Vector) -> Targets:
    from gapfit.compiled.small_curved import LEVELS, NEIGHBOURS

    levels, level = levels_of(loss, y, MANY)
    kind = LEVELS if loss.kind == "all" else NEIGHBOURS
    return Targets(kind, level.astype(np.float64), 1, len(levels) - 1)


def _counts(loss: Any, y: Vector) -> Targets:
    from gapfit.compiled.small_curved import COUNTS

    loss.check_target(y)
    return Targets(COUNTS, y, 1, 1)


KNOWN: dict[type[Loss], Callable[[Any, Vector], Targets]] = {
    Softmax: _classes, OrdinalThresholds: _levels, Poisson: _counts,
}  # fmt: skip


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
        if type(loss) not in KNOWN or design.size > ENTRIES:
            return None
        if isinstance(loss, OrdinalThresholds) and not (intercept and loss.base == "logistic"):
            return None
        alpha = float(as_positive("alpha", alpha)) * net.l2
        return cls(design, as_rows(*design.rows()), weight, loss, alpha, intercept)

    def fit(self, y: Vector, tol: float) -> Fitted | None:
        """To these targets, which the loss takes. None if that cannot be certified at once."""
        from gapfit.compiled import small_curved, small_curved_fit, small_curved_newton, small_curved_proof

        as_tolerance(tol)
        began, (n, d) = perf_counter(), self.design.shape
        kind, target, m, q = KNOWN[type(self.loss)](self.loss, y)
        if d * m > ENTRIES or n * q > ANSWERS or (self.intercept and self._unattained(kind, y, q)):
            return None
        (answers, dual), W = np.empty((2, n, q)), np.empty(d * m)
        task = small_curved.Curved(self.rows, kind, d, target, np.empty(n), self.alpha, self.intercept)
        excess = np.empty((2, q)) if kind == small_curved.CLASSES else None
        single = d + (q if m == 1 else 1)
        side = single if d <= min(MATRIX, 2 * n) else 0
        F, V, U = np.zeros((3, n, m))
        matrix, way = np.empty((side, side)), np.empty((2, small_curved_newton.MOST))
        work = small_curved_newton.Work(
            np.zeros((7, m * d + q)), F, V, U, answers, matrix, np.empty((3, single)), np.empty((q, q)),
            np.zeros(2, np.int64), way,
        )  # fmt: skip
        proof = small_curved_proof.Proof(dual, np.empty((3, n)), np.empty((3, d)), np.empty(m), np.empty(q))
        found = small_curved_fit.fit(task, self.weight, float(tol), work, proof, W, excess)
        b = work.lines[0, m * d :]
        levels = kind in (small_curved.LEVELS, small_curved.NEIGHBOURS)
        if levels and not (np.diff(b) >= 0).all():
            return None
        certificate = certificate_of(found, self.loss)
        if not certificate.relative_gap <= tol:
            return None
        passed = way[:, : work.passed[0]].T.tolist()
        history = history_of(passed, certificate, perf_counter() - began)
        u = None if levels else dual.ravel() if kind == small_curved.CLASSES else -dual[:, 0]
        return Fitted(W, as_intercept(b if self.intercept else b[:0]), u, certificate, history, "newton")

    def _unattained(self, kind: int, y: Vector, q: int) -> bool:
        """Has an offset no best value?"""
        from gapfit.compiled.small_curved import CLASSES, COUNTS

        if kind == CLASSES:
            return len(np.unique(y)) < q
        return kind == COUNTS and not y.any()
