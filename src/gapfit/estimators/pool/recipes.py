"""Which members a pool has: what is worth trying for a measure, a penalty and these samples."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from gapfit.estimators.pool.members import LOSSES, Cost, Member, Settings, Surrogate, TwoClasses
from gapfit.estimators.pool.tilt import Tilt
from gapfit.losses import Contingency, ContingencyLoss, Matthews, PrecisionAtRecall, RecallAtPrecision
from gapfit.metrics import Metric

_COSTS = 5  # from plain to balanced
_MANY = 20_000  # samples for which the convex risks of measures take too long to be tried in passing
_SLOPES, _STRENGTHS = (1.0, 3.0), (0.3, 0.1, 0.03, 0.01)
_ANCHORS = 2
_COPIES_ONLY = (Matthews, PrecisionAtRecall, RecallAtPrecision)  # risks for whole weights only


def costs(samples: TwoClasses, settings: Settings, alphas: Sequence[float]) -> list[Member]:
    """Prices of a positive, in negatives, each along a path of falling alphas."""
    ts = [2.0 / (1.0 + price) for price in _prices(samples, settings.metric)]
    return [Cost(loss, t, alpha) for loss, t, alpha in product(LOSSES, ts, alphas)]


def _prices(samples: TwoClasses, metric: Metric) -> list[float]:
    """From plain to balanced. More to choose from would be more noise, so for some measures there are fewer.

    Balanced only, if the measure knows no share of positives. For the first few, the classifier of least cost
    is to label about k samples, and at a price of one it labels about P: so k / P, and plain in case that
    is too much of it.
    """
    P, N = samples.masses
    if metric.of_rates:
        return [N / P]
    if _first_few(samples, metric):
        return list(dict.fromkeys((metric.chosen(samples.positive, samples.weight) / P, 1.0)))
    return np.geomspace(1.0, N / P, 1 if N == P else _COSTS).tolist()


def surrogates(samples: TwoClasses, settings: Settings, alphas: Sequence[float]) -> list[Member]:
    """Convex risks of the measure, where they are quick enough and have a minimum; scores are weighted where
    w = 0 might be optimal otherwise.

    None if there are tilts to try, beside which they gained nothing on dense data.
    """
    loss = settings.metric.loss
    if _tilted(settings):
        return []
    whole = bool((samples.weight == np.rint(samples.weight)).all())
    if len(samples.y) > _MANY or isinstance(loss, Contingency) or not settings.penalty.modulus:
        return []
    if isinstance(loss, _COPIES_ONLY) and not whole:
        return []
    if not isinstance(loss, ContingencyLoss):  # areas know no weight of scores, and never collapse
        return [Surrogate(1.0, alpha) for alpha in alphas]
    P, N = samples.masses
    some = alphas[1::2] or alphas
    if _first_few(samples, settings.metric):  # weighted scores rank them no better
        return [Surrogate(1.0, alpha) for alpha in some]
    return [Surrogate(weight, alpha) for weight in sorted({np.sqrt(N / P), N / P}) for alpha in some]


def tilts(samples: TwoClasses, settings: Settings, ranked: list[Member]) -> list[Member]:
    """Around the best logistic models, where measure and penalty have derivatives.

    A model with more features than samples separates them: there is nothing to bend.
    """
    n, d = samples.design.shape
    if not _tilted(settings) or d > n:
        return []
    anchors = [m for m in ranked if isinstance(m, Cost) and m.loss == "logistic"][:_ANCHORS]
    return [Tilt(*parts) for parts in product(anchors, _SLOPES, _STRENGTHS)]


def _tilted(settings: Settings) -> bool:
    return settings.metric.smoothed is not None and settings.penalty.smooth


def _first_few(samples: TwoClasses, metric: Metric) -> bool:
    """Is the measure about no more samples than there are positives?"""
    return metric.k is not None and metric.k <= samples.masses[0]
