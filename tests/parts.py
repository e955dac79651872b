"""Designs in parts, and problems of every loss to try them on."""

from itertools import pairwise

import numpy as np

import metrics
import tables
import vectors
from gapfit import Problem, registry
from gapfit.design.parted import PartedDesign
from gapfit.design.parts import MemoryParts

EVERY_LOSS = {**tables.LOSSES, **metrics.METRICS, **vectors.VECTORS}


def cut(n, count):
    """The rows of so many parts, of unequal sizes."""
    edges = np.unique(np.r_[0, np.sort(np.random.default_rng(count).choice(n - 1, count - 1, False)) + 1, n])
    return [slice(a, b) for a, b in pairwise(edges)]


def in_parts(X, count, **options):
    return PartedDesign(MemoryParts([X[rows] for rows in cut(X.shape[0], count)]), **options)


def targets(name, n, rng):
    if name in tables.LOSSES:
        return tables.targets(name, n)
    return (metrics if name in metrics.METRICS else vectors).targets(name, n, rng)


def data_of(name, n=48, d=4):
    rng = np.random.default_rng(len(name))
    loss = registry.LOSSES[metrics.registry_name(name)](**EVERY_LOSS[name])
    y = targets(name, n, rng)
    X = rng.normal(size=(n, d))
    X[:, 0] += (y if y.ndim == 1 else y[:, 0]) * 0.5
    return X, y, loss


def problems(name, counts, **more):
    """The problem in memory, and with its rows in so many parts."""
    X, y, loss = data_of(name)
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)

    def problem(design):
        return Problem(design, y, loss, alpha=0.05, sample_weight=weight, **more)

    return problem(X), [problem(in_parts(X, count)) for count in counts]
