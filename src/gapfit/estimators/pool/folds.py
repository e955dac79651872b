"""Choosing in a pool by cross-validation on the measure, threshold and all.

A member is fitted on each fold's training part. Its score is the best value, over thresholds, of the mean
over folds of the measure on the parts left out; that threshold goes with it. The curve over thresholds is
jagged where samples are few, and the best of many members would be the one with the luckiest peak. So it is
averaged over neighbouring thresholds first, those that label a tenth of the errors more or fewer.
"""

from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np

from gapfit._types import Indices, Vector
from gapfit.estimators.pool.members import Done, Fitted, Member, Settings, TwoClasses
from gapfit.metrics import Mask, Metric, balanced_accuracy, between, middle_of_best

_THRESHOLDS = 4096  # of a curve, at most
_NEIGHBOURS = 0.1  # of the errors at the best threshold: so many labels more or fewer make a neighbour


class Result(NamedTuple):
    """How a member did on samples that it had not seen."""

    score: float
    spread: float  # standard deviation over folds, at the threshold
    threshold: float
    gap: float  # the largest relative gap of its convex fits


class Seen(NamedTuple):
    """Scores of samples left out of a fit."""

    scores: Vector
    positive: Mask
    weight: Vector
    share: float


class Fold(NamedTuple):
    """TwoClasses to fit on, samples to look at, and what has been fitted."""

    train: TwoClasses
    test: TwoClasses
    done: Done

    def look(self, fitted: Fitted) -> Seen:
        """Its scores on the samples left out."""
        test = self.test
        return Seen(fitted.scores(test.design), test.positive, test.weight, test.share)


def fold_of(samples: TwoClasses, train: Indices, test: Indices) -> Fold:
    """The fold that fits on some rows and looks at others."""
    return Fold(samples.take(train), samples.take(test), {})


class CrossValidation:
    """Members and their results, on the same folds for all."""

    def __init__(self, folds: Sequence[Fold], settings: Settings) -> None:
        self.folds, self.settings = folds, settings
        self.results: dict[Member, Result] = {}

    def add(self, members: Sequence[Member]) -> None:
        """Fit and judge them, one at least, until time is up."""
        for member in members:
            if self.results and perf_counter() > self.settings.deadline:
                return
            fits = []
            for fold in self.folds:
                fold.done[member] = member.fit(fold.train, self.settings, fold.done)
                fits.append(fold.done[member])
            gap = max(fit.certificate.relative_gap for fit in fits)
            seen = [fold.look(fit) for fold, fit in zip(self.folds, fits, strict=True)]
            self.results[member] = judge(self.settings.metric, seen, gap)

    def best(self, count: int | None = None) -> list[Member]:
        """The members with the highest scores, best first."""
        return sorted(self.results, key=lambda member: -self.results[member].score)[:count]

    def judge_average(self, members: Sequence[Member]) -> Result:
        """The result of the average of some members."""
        seen = [fold.look(self.average(members, fold.train, fold.done)) for fold in self.folds]
        return judge(self.settings.metric, seen, max(self.results[member].gap for member in members))

    def average(self, members: Sequence[Member], samples: TwoClasses, done: Done) -> Fitted:
        """The mean of their scores, each less its threshold and in units of its spread over the samples."""
        w, b = np.zeros(samples.design.shape[1]), 0.0
        for member in members:
            fit = done[member]
            unit = _spread(fit.scores(samples.design), samples.weight)
            w += fit.w / unit / len(members)
            b += (fit.b - self.results[member].threshold) / unit / len(members)
        worst = max((done[member] for member in members), key=lambda fit: fit.certificate.relative_gap)
        return worst._replace(w=w, b=float(b))


def judge(metric: Metric, seen: Sequence[Seen], gap: float) -> Result:
    """The measure on samples left out, at the best threshold for the mean of the folds."""
    thresholds = _candidates(seen)
    tables = [[_mass_above(part, of, thresholds) for of in (part.positive, ~part.positive)] for part in seen]
    curves = np.stack([_curve(metric, part, *table) for part, table in zip(seen, tables, strict=True)])
    curve = curves.mean(axis=0)
    if not metric.thresholded:  # what is judged does not depend on the threshold
        values = np.array([metric.value(p.scores, p.positive, p.weight, share=p.share) for p in seen])
        best = thresholds[middle_of_best(curve)]
        return Result(float(values.mean()), float(values.std()), float(best), gap)
    tp, fp = np.sum(tables, axis=0)
    k = middle_of_best(curve)
    curve = _smoothed(curve, tp + fp, _NEIGHBOURS * (fp[k] + tp[0] - tp[k]))
    k = middle_of_best(curve)
    return Result(float(curve[k]), float(curves[:, k].std()), float(thresholds[k]), gap)


def _smoothed(curve: Vector, labelled: Vector, width: float) -> Vector:
    """The curve, averaged over all thresholds that label up to `width` more or fewer as positive."""
    if not (width > 0.0 and np.isfinite(curve).all()):
        return curve
    labelled, curve = labelled[::-1], curve[::-1]  # in ascending order
    area = np.r_[0.0, np.cumsum(0.5 * (curve[1:] + curve[:-1]) * np.diff(labelled))]
    ends = [np.clip(labelled + step, labelled[0], labelled[-1]) for step in (-width, width)]
    below, above = (np.interp(end, labelled, area) for end in ends)
    return np.asarray((above - below) / (ends[1] - ends[0]))[::-1]


def _candidates(seen: Sequence[Seen]) -> Vector:
    """All thresholds that make a difference; if these are very many, a choice by rank."""
    levels = np.unique(np.concatenate([part.scores for part in seen]))
    if len(levels) > _THRESHOLDS:
        hits = np.sort(np.concatenate([part.scores[part.positive] for part in seen]))
        half = _THRESHOLDS // 2
        levels = np.unique(np.r_[_thin(levels, half), _thin(hits, half)])
    return between(levels)


def _thin(values: Vector, count: int) -> Vector:
    return values[np.unique(np.linspace(0, len(values) - 1, count).astype(np.intp))]


def _curve(metric: Metric, part: Seen, tp: Vector, fp: Vector) -> Vector:
    """The measure at the table of each threshold; for those that have none, what makes a sensible one."""
    P, N = float(part.weight[part.positive].sum()), float(part.weight[~part.positive].sum())
    if metric.thresholded:
        return metric.at(tp, fp, P, N)
    if metric.table is None:
        return np.asarray(balanced_accuracy(tp, fp, P - tp, N - fp))
    return -np.abs(tp + fp - metric.chosen(part.positive, part.weight, part.share))


def _mass_above(part: Seen, of: Mask, thresholds: Vector) -> Vector:
    """The weight of the samples of one class with scores above each threshold."""
    order = np.argsort(part.scores[of])
    scores, weight = part.scores[of][order], part.weight[of][order]
    mass = np.r_[np.cumsum(weight[::-1])[::-1], 0.0]
    return np.asarray(mass[np.searchsorted(scores, thresholds, side="right")])


def _spread(scores: Vector, weight: Vector) -> float:
    """The standard deviation; one, if there is none."""
    mean = np.average(scores, weights=weight)
    spread = float(np.sqrt(np.average((scores - mean) ** 2, weights=weight)))
    return spread if spread > 0 else 1.0
