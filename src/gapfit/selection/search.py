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
_SHARE = 0.2  # of the distance of two fits, below which ranges are not cut: an eighth is the narrowest
_ABOUT = 0.2  # of the width of a run, which is near its middle
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
            alpha = self._inside(run)
            if not self._fit_some(alpha, [cell for cell in self.open if cell.least <= alpha <= cell.most]):
                return

    def _fit_some(self, alpha: float, cells: Sequence[Cell]) -> bool:
        """Fit folds at this alpha, the loosest first, until those cells may be settled by it; False if the
        budget is spent."""
        left = [fold for fold in self.folds if alpha not in fold.errors]
        fitted: list[Fold] = []
        while left:
            loosest = max(left, key=lambda fold: fsum(_doubt(fold, *cell[:2]) for cell in cells))
            if not self._fit([loosest], alpha):
                break
            left.remove(loosest)
            fitted.append(loosest)
            floors = [fsum(fold.floor(alpha, *cell[:2]) for fold in self.folds) for cell in cells]
            if max(floors) >= self.goal * len(self.folds):
                break
        self._look_again(fitted, alpha)
        return bool(fitted)

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
            self._cover(least, most)

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

    def _inside(self, run: Cell) -> float:
        """Where to fit next in a run: about its middle; where some folds are fitted already, if they are."""
        middle = sqrt(run.least) * sqrt(run.most)
        there = {one for fold in self.folds for one in fold.errors if run.least < one < run.most}
        nearest = min(there, key=lambda one: abs(log(one / middle)), default=None)
        far = nearest is None or abs(log(nearest / middle)) > _ABOUT * run.width
        return middle if nearest is None or far else nearest

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

    def _cover(self, least: float, most: float) -> None:
        """Settle this range, or cut it in two; leave open what is narrow beside the distance of fits."""
        floor = self._floor(least, most)
        cell = Cell(least, most, floor)
        if floor >= self.goal:
            self.settled.append(cell)
            return
        middle = exp(0.5 * (log(least) + log(most)))
        if cell.width < max(_NARROWEST, _SHARE * min(fold.spacing(middle) for fold in self.folds)):
            self.open.append(cell)
        else:
            self._cover(least, middle)
            self._cover(middle, most)

    def _look_again(self, folds: Sequence[Fold], alpha: float) -> None:
        """At what is open between the neighbours of new fits of these folds."""
        around = [fold.around(alpha) for fold in folds]
        below = min((below for below, _ in around), default=np.inf)
        above = max((above for _, above in around), default=0.0)
        waiting, self.open = self.open, []
        for cell in waiting:
            if cell.most <= below or cell.least >= above:
                # the goal may have come down to it
                (self.settled if cell.floor >= self.goal else self.open).append(cell)
                continue
            inside = [alpha] if cell.least < alpha < cell.most else []
            for least, most in pairwise([cell.least, *inside, cell.most]):
                self._cover(least, most)


def _doubt(fold: Fold, least: float, most: float) -> float:
    """By how much the error may be less than is to be expected."""
    return fold.likely(sqrt(least) * sqrt(most)) - fold.bounds(least, most)[0]


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
