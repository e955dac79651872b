"""As `in_one_call`, for losses that are no function of one score made of lines, parabolas or the logistic
entropy: softmax, the multiclass support vector machine, ordered levels by logistic thresholds."""

from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np

from gapfit._types import Matrix, Vector
from gapfit.checks import as_tolerance
from gapfit.driver.claims import Way
from gapfit.driver.columns_in_use import ColumnsInUse
from gapfit.driver.in_one_call import Fitted, certificate_of
from gapfit.driver.one_call_given import Plain
from gapfit.driver.one_call_margins import are_worth_sweeps, fit_margins
from gapfit.driver.one_call_targets import Targets, takes, targets_of
from gapfit.solution import as_intercept

ENTRIES = 4_000_000  # of X
WEIGHTS = 2_000_000  # of all scores
ANSWERS = 2_000_000  # of all samples
MATRIX = 100  # features, up to which there is a Hessian of one score; and twice as many as samples at most
ALL = 200  # weights of all classes, up to which a margin loss has a Hessian of them


class Curved(NamedTuple):
    """Samples and how they are to be fitted, to whatever targets."""

    given: Plain  # with the columns in use
    columns: ColumnsInUse
    rows: Any  # of its design: `compiled.rows.Rows`

    @classmethod
    def of(cls, given: Plain) -> Self | None:
        """None, where it takes more than a call."""
        if not takes(given.loss, intercept=given.intercept) or given.net.l1:
            return None
        if given.design.size > ENTRIES:
            return None
        columns = ColumnsInUse.of(given.design)
        return cls(given._replace(design=columns.design), columns, columns.design.stored)

    def fit(self, y: Vector, tol: float) -> Fitted | None:
        """To these targets, which the loss takes. None if that cannot be certified at once."""
        from gapfit.compiled import small_curved  # compiled code is loaded only when it is to run

        as_tolerance(tol)
        began, (design, _, loss, net, intercept) = perf_counter(), self.given
        (n, d), targets = design.shape, targets_of(loss, y)
        kind, target, m, q, attained, costs = targets
        if d * m > WEIGHTS or n * q > ANSWERS or (intercept and not attained):
            return None
        if costs is not None and not are_worth_sweeps(design, m):
            return None
        task = small_curved.Curved(self.rows, kind, d, target, np.empty(n), net.l2, intercept)
        found = _fitted(self.given, task, float(tol), targets)
        b = found.b
        levels = kind in (small_curved.LEVELS, small_curved.NEIGHBOURS)
        if levels and not (np.diff(b) >= 0).all():
            return None
        certificate = certificate_of(found.proved, loss)
        if not certificate.relative_gap <= tol:
            return None
        history = Way(found.way, certificate, perf_counter() - began)
        u = found.dual.ravel() if kind == small_curved.CLASSES else -found.dual.sum(axis=1)
        solver = "newton" if costs is None else "semismooth_newton"
        w = self.columns.of_all(found.w.reshape(d, m)).ravel()
        return Fitted(w, as_intercept(b if intercept else b[:0]), u, certificate, history, solver)


class _Found(NamedTuple):
    """What a call has found: a point, a dual point, what is proved, J and the gap on the way, by guess."""

    w: Vector
    b: Vector
    dual: Matrix
    proved: Any
    way: Matrix


def _fitted(given: Plain, task: Any, tol: float, targets: Targets) -> _Found:
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
    proof = small_curved_proof.Proof(
        dual, np.empty(n), np.empty((n, m)), np.empty((2, d * m)), np.empty((2, d)), np.empty(q)
    )
    if targets.costs is None:
        proved = small_curved_fit.fit(task, None, given.weight, tol, work, proof, W, excess, box)
    else:
        proved = fit_margins(given, task, tol, targets, work, proof, W, excess)
    return _Found(W, work.lines[0, m * d :], dual, proved, way[:, : passed[0]])
