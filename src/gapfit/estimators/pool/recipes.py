"""Which members a pool has: what is worth trying for a measure, a penalty and these samples."""

from itertools import product

import numpy as np

from gapfit.estimators.pool.members import LOSSES, Cost, Member, Settings, TwoClasses
from gapfit.metrics import Metric

_COSTS = 5  # from plain to balanced


def costs(samples: TwoClasses, settings: Settings, alphas: tuple[float, ...]) -> list[Member]:
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


def _first_few(samples: TwoClasses, metric: Metric) -> bool:
    """Is the measure about no more samples than there are positives?"""
    return metric.k is not None and metric.k <= samples.masses[0]
