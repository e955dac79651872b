"""One fold: its problems, fitted at some alphas, and what that says of the held-out error at all alphas."""

from collections.abc import Callable, Sequence
from math import log, sqrt

import numpy as np

from gapfit._types import Vector
from gapfit.design.base import Design
from gapfit.foresight import Foresight
from gapfit.losses.forms import SlowCurvature
from gapfit.problem import Problem
from gapfit.selection.measures import Bounds, Measure
from gapfit.solution import Solution, Status
from gapfit.solve import solve
from gapfit.whereabouts import Optima

_ROUGH, _FINE = 1e-9, 1e-10  # tolerances, where a Newton certificate makes up for the rest and where not


class Part:
    """One problem of a fold, and its fits."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem.sealed()
        self.optima, self.foresight = Optima(self.problem), Foresight(self.problem)
        self.tol = _ROUGH if problem.has(SlowCurvature) else _FINE

    def fit(self, alpha: float, tol: float | None = None) -> None:
        """Fit at this alpha, from what its neighbours foretell."""
        solution = solve(self.problem.at(alpha), tol=tol or self.tol, start=self._start(alpha))
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # which ends the search, and not this fit alone
        self.foresight.add(alpha, solution)
        self.optima.add(alpha, solution)

    def _start(self, alpha: float) -> Solution | None:
        known = self.foresight.known
        if alpha in known:
            return known[alpha]
        above = min((one for one in known if one > alpha), default=None)
        below = max((one for one in known if one < alpha), default=None)
        if above is None or below is None or log(above / below) > _FAR:
            return None
        return self.foresight.between(above, below, alpha)


_FAR = 5.0  # log of the quotient of two alphas that foretell nothing between them


class Fold:
    """Problems on the training samples, and the rows and targets that were left out."""

    def __init__(
        self,
        problems: Sequence[Problem],
        rows: Design,
        measure: Measure,
        mean: Callable[[Vector], Vector] = lambda scores: scores,
    ) -> None:
        self.parts, self.rows, self.measure = [Part(problem) for problem in problems], rows, measure
        self.mean = mean  # from scores to predictions, never falling
        self.errors: dict[float, float] = {}  # of the models held, by alpha
        self._known: dict[tuple[float, float], Bounds] = {}  # until a fit near by says more

    @property
    def possible(self) -> bool:
        """Can anything be said between the alphas that are fitted?"""
        return all(part.optima.possible for part in self.parts)

    def fit(self, alpha: float, tol: float | None = None) -> int:
        """Fit all parts; how many they are."""
        for part in self.parts:
            part.fit(alpha, tol)
        below, above = self.around(alpha)
        self._known = {ends: kept for ends, kept in self._known.items() if not below < _middle(*ends) < above}
        self.errors[alpha] = self._error(alpha)
        return len(self.parts)

    def around(self, alpha: float) -> tuple[float, float]:
        """The nearest other alphas that are fitted; none is zero, or infinity."""
        below = max((one for one in self.errors if one < alpha), default=0.0)
        return below, min((one for one in self.errors if one > alpha), default=np.inf)

    def spacing(self, alpha: float) -> float:
        """The logarithm of the quotient of the nearest alphas that are fitted."""
        below, above = self.around(alpha)
        return log(above / below) if below > 0 and above < np.inf else np.inf

    def likely(self, alpha: float) -> float:
        """The error that is to be expected at this alpha, and hardly more: the larger one near by."""
        near = self.errors.get(alpha)
        return near if near is not None else max(self.errors.get(one, 0.0) for one in self.around(alpha))

    def floor(self, alpha: float, least: float, most: float) -> float:
        """What the error is at least at an alpha of this range: about what is held there, if it is fitted."""
        return self.errors[alpha] if alpha in self.errors else self.bounds(least, most)[0]

    def _error(self, alpha: float) -> float:
        """Of the models held for this alpha."""
        held = [part.optima.known[alpha] for part in self.parts]
        scores = [self.rows.scores(one.w.astype(np.float64)) + float(np.sum(one.intercept)) for one in held]
        return self.measure.error(self.mean(_together(scores)))

    def bounds(self, least: float, most: float) -> Bounds:
        """Of the error of the exact optima, at all alphas from least to most."""
        if (least, most) not in self._known:
            found = [part.optima.between(least, most).score_bounds(self.rows) for part in self.parts]
            lo, hi = (_together(list(ends)) for ends in zip(*found, strict=True))
            self._known[least, most] = self.measure.bounds(self.mean(lo), self.mean(hi))
        return self._known[least, most]


def _middle(least: float, most: float) -> float:
    return sqrt(least) * sqrt(most)


def _together(columns: list[Vector]) -> Vector:
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
