"""The problems of a fitted model with one sample changed: bounds of their scores, without a fit or by one."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from gapfit._types import Indices, Target, Vector
from gapfit.design.base import Design
from gapfit.errors import UnboundedProblem
from gapfit.estimators.linear_parts import LinearParts, Posed
from gapfit.estimators.targets import target_of
from gapfit.problem import Problem
from gapfit.solution import Solution
from gapfit.solve import solve
from gapfit.whereabouts import NewtonCertificate, Nowhere, Optima
from gapfit.whereabouts.changes import Change, ChangeCertificate, absorbed, glance
from gapfit.whereabouts.newton import qualifies

_BASE = 1e-9  # tolerance of the fit that all changes start from
_TIGHTER = (1e-6, 1e-9, 1e-12)  # tolerances of refits, one after the other until all is decided
_NARROW = 1e-6  # width of a decided interval of a regression, in terms of the spread of y

Decided = Callable[[Vector, Vector], NDArray[np.bool_]]


class Altered(NamedTuple):
    """The problems of a fitted model, solved tightly, and which of their rows each sample is."""

    model: Any
    problems: list[Problem]
    solutions: list[Solution]
    place: Indices  # of every sample, -1 if it has no weight
    there: Indices  # samples that have a weight
    share: Vector  # of the weight of its row, for these
    certificates: dict[int, ChangeCertificate]  # of the parts, once they were asked

    @classmethod
    def of(cls, model: Any, posed: Posed) -> "Altered":
        if getattr(model, "class_weight", None) == "balanced":
            raise ValueError(
                'class_weight="balanced" depends on every sample, so nothing stays as it is when one '
                "changes; give the weights as a dictionary"
            )
        if target_of(posed.loss) & (Target.CLASSES | Target.INDICATORS) or getattr(
            model, "multilabel_", False
        ):
            raise ValueError(
                f"{posed.loss!r} fits several scores at once; one_vs_rest models can be asked what if"
            )
        parts, origin = LinearParts(model, posed), posed.samples.origin
        problems = [parts.problem(k) for k in range(parts.count)]
        if (parts.count > 1 and not is_classifier(model)) or problems[0].risk.outputs > 1:
            raise ValueError("what if is asked of one score at a time: fit and ask for each target by itself")
        coefs = model._dense_coef().astype(np.float64)
        solutions = [
            solve(problem, tol=_BASE, start=w.copy(), resumable=False)
            for problem, w in zip(problems, coefs, strict=True)
        ]
        there = np.flatnonzero(origin.place >= 0)
        share = posed.samples.given_weight[there] / origin.weight[origin.place[there]]
        return cls(model, problems, solutions, origin.place, there, np.minimum(share, 1.0), {})

    def change(self, weight: Vector, *, flipped: bool) -> Change:
        """Samples get these weights, in terms of their own, one at a time; or that part another label."""
        row = self.place[self.there]
        whole = self.problems[0].weight[row]
        left = 1 - self.share + self.share * weight
        return Change(row, np.where(left > 1e-12, left, 0.0) * whole, flipped)

    def optimum(self, rows: Design) -> tuple[Vector, Vector]:
        """Bounds of the scores of rows without any change."""
        return _together([self._where(k).score_bounds(rows) for k in range(len(self.problems))])

    def _where(self, k: int) -> Any:
        optima = Optima(self.problems[k])
        optima.add(self.problems[k].alpha, self.solutions[k])
        return optima.at(self.problems[k].alpha)

    def own(self, change: Change, rows: Design) -> tuple[Vector, Vector]:
        """Bounds of the scores of the samples that change, each after its own change."""
        return _together([self._changed(k, change, lambda c: c.own(rows), rows, True) for k in self._numbers])

    def others(self, change: Change, rows: Design) -> tuple[Vector, Vector]:
        """Bounds of the scores of all rows, for all changes."""
        return _together(
            [self._changed(k, change, lambda c: c.others(rows), rows, False) for k in self._numbers]
        )

    @property
    def _numbers(self) -> range:
        return range(len(self.problems))

    def _changed(
        self, k: int, change: Change, ask: Callable[[ChangeCertificate], Any], rows: Design, own: bool
    ) -> tuple[Vector, Vector]:
        problem, solution = self.problems[k], self.solutions[k]
        b = np.atleast_1d(np.asarray(solution.intercept, float))[: problem.n_offsets]
        if qualifies(problem):
            certificate = NewtonCertificate(problem, solution.w, b)
            self.certificates[k] = ChangeCertificate(certificate, problem.alpha, change)
            bounds: tuple[Vector, Vector] = ask(self.certificates[k])
            return bounds
        u = solution.minorant.u
        found = []
        for i in range(len(change.row)):
            asked = rows.take(np.array([i])) if own else rows
            found.append(_glanced(problem, change, i, (solution.w, b, u), asked))
        lo, hi = (np.stack(ends, axis=1) for ends in zip(*found, strict=True))
        return (lo[0], hi[0]) if own else (lo, hi)

    def refitted(self, change: Change, k: int, rows: Design, decided: Decided) -> tuple[Vector, Vector]:
        """Bounds of the scores of rows after the k-th change, by a fit, tighter until all are decided."""
        starts: list[Any] = [solution.w for solution in self.solutions]
        if len(self.certificates) == len(self.problems):  # a Newton step may be enough
            lo, hi = _together([self._stepped(number, change, k, rows) for number in self._numbers])
            if decided(lo, hi).all():
                return lo, hi
        lo = hi = np.zeros(0)
        for tol in _TIGHTER:
            bounds = []
            for number in self._numbers:
                found, starts[number] = _refit(
                    change.problem, self.problems[number], k, starts[number], tol, rows
                )
                bounds.append(found)
            lo, hi = _together(bounds)
            if decided(lo, hi).all():
                break
        return lo, hi

    def _stepped(self, number: int, change: Change, k: int, rows: Design) -> tuple[Vector, Vector]:
        """Bounds by the Newton certificate at the end of a Newton step."""
        try:
            changed = change.problem(self.problems[number], k)
        except (UnboundedProblem, ValueError):
            return Nowhere().score_bounds(rows)
        w, b = self.certificates[number].after(k)
        if not (np.isfinite(w).all() and np.isfinite(b).all()):
            return Nowhere().score_bounds(rows)
        return NewtonCertificate(changed, w, b).between(changed.alpha, changed.alpha).score_bounds(rows)

    def decided_by(self, y: Any) -> Decided:
        """Of which bounds the label is certain, or the number."""
        if not is_classifier(self.model):
            width = _NARROW * float(np.std(np.asarray(y, dtype=float)))
            return lambda lo, hi: hi - lo <= width * (1 + np.abs(lo))
        if len(self.problems) == 1:
            return lambda lo, hi: (lo > 0) | (hi < 0)
        return _one_above_all

    def predicted(self, lo: Vector, hi: Vector) -> NDArray[Any]:
        """Labels, or numbers, by the middles of bounds; zero is the middle of nothing known."""
        known = np.isfinite(lo) & np.isfinite(hi)
        scores = 0.5 * (np.where(known, lo, 0.0) + np.where(known, hi, 0.0))
        if not is_classifier(self.model):
            return np.asarray(self.model._mean(scores))
        winner = scores.argmax(axis=-1) if len(self.problems) > 1 else (scores > 0).astype(np.intp)
        return np.asarray(self.model.classes_[winner])


def _one_above_all(lo: Vector, hi: Vector) -> NDArray[np.bool_]:
    """Is one class certainly the winner?"""
    best = lo.argmax(axis=-1)[..., None]
    rivals = hi.copy()
    np.put_along_axis(rivals, best, -np.inf, axis=-1)
    return np.asarray(np.take_along_axis(lo, best, axis=-1)[..., 0] > rivals.max(axis=-1))


def _glanced(problem: Problem, change: Change, i: int, old: Any, rows: Design) -> tuple[Vector, Vector]:
    """Bounds by the old point and its dual point, for losses that have no Newton certificate."""
    nothing = np.full(rows.shape[0], -np.inf), np.full(rows.shape[0], np.inf)
    w, b, u = old
    if u is None:
        return nothing
    try:
        changed = change.problem(problem, i)
    except (UnboundedProblem, ValueError):
        return nothing
    row, whole = int(change.row[i]), change.weight[i] == 0
    gone = u[row] * (1 - change.weight[i] / problem.weight[row])
    if change.flipped:  # the other label has the opposite slopes
        u = u.copy() if whole else np.append(u, -gone)
        u[row] = -u[row] if whole else u[row] - gone
    else:
        u = absorbed(problem, u, row, gone)
        u = np.delete(u, row) if whole else u
    scale = float(problem.weight.sum() / changed.weight.sum())
    return glance(changed, w.astype(np.float64), b, u * scale).score_bounds(rows)


def _refit(
    make: Callable[[Problem, int], Problem], problem: Problem, k: int, start: Any, tol: float, rows: Design
) -> tuple[tuple[Vector, Vector], Any]:
    try:
        changed = make(problem, k)
        solution = solve(changed, tol=tol, start=start)
    except (UnboundedProblem, ValueError):  # one class is gone, and no intercept is best
        return (np.full(rows.shape[0], -np.inf), np.full(rows.shape[0], np.inf)), start
    optima = Optima(changed)
    optima.add(changed.alpha, solution)
    return optima.at(changed.alpha).score_bounds(rows), solution.w


def _together(bounds: Sequence[tuple[Vector, Vector]]) -> tuple[Vector, Vector]:
    """Of several parts, along a last axis."""
    lo, hi = zip(*bounds, strict=True)
    return (lo[0], hi[0]) if len(lo) == 1 else (np.stack(lo, axis=-1), np.stack(hi, axis=-1))
