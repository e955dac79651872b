"""The search for the alpha of the least cross-validated error, over a whole range, with a proof.

A few alphas are fitted on all folds. Between two of them, what the fits prove of the optima in between bounds
the held-out error from below; a range whose bound reaches the least error of a model at hand, less eps, needs
no more attention, and others are cut in two a few times. Of what is left open the longest run gets the next
fit, in its middle. When nothing is left, no alpha of the range does better by more than eps.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import exp, fsum, log, sqrt
from time import perf_counter
from typing import NamedTuple

import numpy as np

from gapfit.selection.folds import Fold
from gapfit.selection.measures import Bounds

_FIRST = 7  # alphas, at least
_SPACING = 1.2  # of the logarithms of the first alphas, at most
_DEPTH = 3  # times a range is cut in two without a fit
_NARROWEST = 1e-7  # logarithm of a quotient of alphas between which no more is fitted
_TIGHT = (1e-10, 1e-12, 1e-14)  # tolerances of the winner, until its labels are certain
_ROUNDING = 1e-12  # of a mean of errors


class Budget(NamedTuple):
    """When to give up: fits of problems in all, and the moment by `perf_counter`."""

    fits: float = np.inf
    until: float = np.inf


class Cell(NamedTuple):
    """A range of alphas, and what no optimum within it has a smaller error than."""

    least: float
    most: float
    floor: float

    @property
    def width(self) -> float:
        return log(self.most / self.least)


class Search:
    """Fits on folds, cells that are settled, and cells that are open."""

    def __init__(self, folds: Sequence[Fold], least: float, most: float, eps: float, budget: Budget) -> None:
        self.folds, self.least, self.most, self.eps, self.budget = folds, least, most, eps, budget
        self.errors: dict[float, float] = {}  # of the models at hand, by alpha
        self.n_fits = 0
        self.settled: list[Cell] = []
        self.open: list[Cell] = []

    def run(self) -> None:
        """Fit and cut until nothing is open, or the budget is spent."""
        inside = np.geomspace(self.least, self.most, self._count())[1:-1].tolist()
        self.fit_all([self.least, *inside, self.most])
        self.look()
        while (run := self._next()) is not None:
            alpha = sqrt(run.least) * sqrt(run.most)
            fold = self._loosest(run, alpha)
            if not self._fit([fold], alpha):
                return
            self._look_again(fold, alpha)

    def fit_all(self, alphas: Sequence[float]) -> None:
        """Fit at these alphas, the ends first, then what lies between."""
        order = sorted(range(len(alphas)), key=lambda k: (min(k, len(alphas) - 1 - k) > 0, k & -k != k, k))
        for k in order:
            if not self._fit(self.folds, alphas[k]):
                return

    def _fit(self, folds: Sequence[Fold], alpha: float) -> bool:
        """Fit these folds at this alpha; False if the budget is spent."""
        parts = sum(len(fold.parts) for fold in folds)
        spent = self.n_fits + parts > self.budget.fits or perf_counter() > self.budget.until
        if spent and len(self.errors) > 1:
            return False
        self.n_fits += sum(fold.fit(alpha) for fold in folds)
        if all(alpha in fold.errors for fold in self.folds):
            self.errors[alpha] = _mean([fold.errors[alpha] for fold in self.folds])
        return True

    def look(self) -> None:
        """Bound the error between all neighbours."""
        self.settled, self.open = [], []
        alphas = sorted({self.least, self.most, *self.errors})
        for least, most in pairwise(alphas):
            self._cover(least, most, _DEPTH)

    @property
    def best(self) -> float:
        """The alpha of the least error of a model at hand; the largest of several."""
        return min(self.errors, key=lambda alpha: (self.errors[alpha], -alpha))

    @property
    def goal(self) -> float:
        """What the error is to be shown to be at least."""
        return self.errors[self.best] - self.eps - _ROUNDING

    def bounds(self, least: float, most: float) -> Bounds:
        """Of the cross-validated error of the exact optima, at all alphas from least to most."""
        lo, hi = zip(*(fold.bounds(least, most) for fold in self.folds), strict=True)
        return _mean(lo), _mean(hi)

    def settle_winner(self) -> tuple[float, Bounds]:
        """The best alpha, fitted tightly, and the bounds of the error of its exact optima."""
        winner = self.best
        bounds = self.bounds(winner, winner)
        for tol in _TIGHT:
            if bounds[1] <= self.errors[winner] + _ROUNDING:
                break  # all labels are certain
            self.n_fits += sum(fold.fit(winner, tol) for fold in self.folds)
            bounds = self.bounds(winner, winner)
        return winner, bounds

    def finish(self) -> float:
        """No optimum in the whole range has a smaller error than this."""
        self.open = [cell._replace(floor=self.bounds(cell.least, cell.most)[0]) for cell in self.open]
        return min(cell.floor for cell in (*self.settled, *self.open))

    def runs(self, apart: bool = False) -> list[Cell]:
        """What is open, neighbours joined, in order; `apart` where there is a fit between them."""
        joined: list[Cell] = []
        for cell in sorted(self.open):
            cut = apart and cell.least in self.errors
            if joined and joined[-1].most == cell.least and not cut:
                last = joined.pop()
                cell = Cell(last.least, cell.most, min(last.floor, cell.floor))
            joined.append(cell)
        return joined

    def _count(self) -> int:
        return max(_FIRST, int(log(self.most / self.least) / _SPACING) + 1)

    def _next(self) -> Cell | None:
        """The longest open run."""
        runs = [run for run in self.runs(apart=True) if run.width > _NARROWEST]
        return max(runs, key=lambda run: run.width, default=None)

    def _loosest(self, run: Cell, alpha: float) -> Fold:
        """The fold that leaves most open there, of those that are not fitted at this alpha."""
        cells = [cell for cell in self.open if run.least <= cell.least and cell.most <= run.most]
        left = [fold for fold in self.folds if alpha not in fold.errors]
        return max(left, key=lambda fold: fsum(_doubt(fold, cell.least, cell.most) for cell in cells))

    def _floor(self, least: float, most: float) -> float:
        """A bound below the error at all alphas from least to most; a poor one, as soon as it seems that the
        goal is not to be reached."""
        likely = [fold.likely(sqrt(least) * sqrt(most)) for fold in self.folds]
        floors: list[float] = []
        for k, fold in enumerate(self.folds):
            floors.append(fold.bounds(least, most)[0])
            if fsum(floors) + fsum(likely[k + 1 :]) < self.goal * len(self.folds):
                break
        return fsum(floors) / len(self.folds)  # no error is negative

    def _cover(self, least: float, most: float, depth: int) -> None:
        floor = self._floor(least, most)
        cell = Cell(least, most, floor)
        if floor >= self.goal:
            self.settled.append(cell)
        elif depth == 0 or cell.width < _NARROWEST:
            self.open.append(cell)
        else:
            middle = exp(0.5 * (log(least) + log(most)))
            self._cover(least, middle, depth - 1)
            self._cover(middle, most, depth - 1)

    def _look_again(self, fold: Fold, alpha: float) -> None:
        """At what is open between the neighbours of a new fit of this fold."""
        below, above = fold.around(alpha)
        goal, waiting, self.open = self.goal, self.open, []
        for cell in waiting:  # the goal may have come down to some
            (self.settled if cell.floor >= goal else self.open).append(cell)
        runs = [run for run in self.runs(apart=True) if run.least < above and run.most > below]
        self.open = [cell for cell in self.open if cell.most <= below or cell.least >= above]
        for run in runs:
            inside = [one for one in (below, alpha, above) if run.least < one < run.most]
            ends = [run.least, *inside, run.most]
            for least, most in pairwise(ends):
                if most <= below or least >= above:
                    self.open.append(Cell(least, most, run.floor))
                else:
                    self._cover(least, most, _DEPTH)


def _doubt(fold: Fold, least: float, most: float) -> float:
    """By how much the error may be less than is to be expected."""
    return fold.likely(sqrt(least) * sqrt(most)) - fold.bounds(least, most)[0]


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
