"""Losses of a contingency table, smoothed by an entropy over all labellings.

A contingency loss is a maximum over labellings ybar of all samples together. With a distribution over them in
place of the best one, and mu times its entropy as a bonus,

    R_mu(f) = mu log of the mean over ybar of exp((Delta(y, ybar) + (1/n) sum_i c_i f_i (ybar_i - y_i)) / mu)

is differentiable, and R - mu log(number of labellings) <= R_mu <= R. A labelling counts through how many
positives and negatives it labels positive, so that sums over all 2^n of them take O(n^2).
"""

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from gapfit._types import Matrix, Vector
from gapfit.errors import as_number
from gapfit.losses.base import Loss, Risk
from gapfit.losses.contingency import ContingencyLoss, ContingencyRisk
from gapfit.losses.f_measure import RatioRisk
from gapfit.losses.selection import SelectionRisk
from gapfit.losses.table import TableRisk

_MOST = 20_000  # samples, by weight; the tables of more do not fit into memory


class Gibbs(NamedTuple):
    """A distribution over labellings: proportional to exp(sharpness * Delta + <slope, exponent>)."""

    log_z: float
    delta: float  # the mean of Delta
    u: Vector  # the mean slope of the risk in the scores


class Labellings:
    """All labellings of the samples of a contingency risk."""

    def __init__(self, risk: Risk) -> None:
        if not isinstance(risk, ContingencyRisk):
            raise TypeError(f"{risk.loss!r} is no loss of a contingency table")
        if not risk.whole:
            raise ValueError(f"sample_weight must hold whole numbers to smooth {risk.loss!r}")
        if risk.P + risk.N > _MOST:
            raise ValueError(f"{risk.P + risk.N:g} samples are too many to sum over labellings: O(n^2)")
        self.risk = risk
        copies = np.repeat(np.arange(len(risk.weight)), risk.weight.astype(np.intp))
        self.copies = tuple(copies[risk.positive[copies] == side] for side in (True, False))
        counts = np.arange(risk.P + 1.0)[:, None], np.arange(risk.N + 1.0)[None, :]
        self.loss: Matrix = delta_of(risk)(*np.broadcast_arrays(*counts))
        self.allowed = np.isfinite(self.loss)
        self.loss = np.where(self.allowed, self.loss, 0.0)
        ways = sum(_log_binomial(count.size - 1, count) for count in counts)
        self.log_count = float(logsumexp(np.where(self.allowed, ways, -np.inf)))

    def gibbs(self, sharpness: float, exponent: Vector) -> Gibbs:
        """The distribution with weights sharpness * Delta + <u(ybar), exponent>; one number a sample."""
        from gapfit.kernels.marginals import marginals  # compiled code is loaded only when it is to run

        risk = self.risk
        theta = [scale * exponent[rows] for scale, rows in zip(risk.scale, self.copies, strict=True)]
        height = np.where(self.allowed, sharpness * self.loss, -np.inf)
        shares = [np.empty(len(rows)) for rows in self.copies]
        log_z, delta = marginals(*theta, height, self.loss, *shares)
        labelled = sum(
            np.bincount(rows, share, len(risk.weight))
            for rows, share in zip(self.copies, shares, strict=True)
        )
        truth = float(theta[0].sum())  # <u, exponent> counts from ybar = y
        u = np.where(risk.positive, *risk.scale) * (labelled - risk.weight * risk.positive)
        return Gibbs(float(log_z) - truth, float(delta), u)

    def smooth(self, scores: Vector, mu: float) -> tuple[float, Vector]:
        """R_mu and its gradient."""
        gibbs = self.gibbs(1.0 / mu, scores / mu)
        return mu * (gibbs.log_z - self.log_count), gibbs.u


def _log_binomial(n: int, k: Vector) -> Vector:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


@singledispatch
def delta_of(risk: ContingencyRisk) -> Callable[[Vector, Vector], Matrix]:
    """Delta as a function of true and false positives; -inf where a labelling is not allowed."""
    raise TypeError(f"{risk.loss!r} does not say what its contingency tables cost")


@delta_of.register
def _(risk: RatioRisk) -> Callable[[Vector, Vector], Matrix]:
    c, x, d = risk.coefficients
    return lambda tp, fp: np.maximum(1.0 - c * tp / (x * tp + fp + d), 0.0)


@delta_of.register
def _(risk: TableRisk) -> Callable[[Vector, Vector], Matrix]:
    return risk.delta


@delta_of.register
def _(risk: SelectionRisk) -> Callable[[Vector, Vector], Matrix]:
    base, miss, alarm, chosen = risk.prices
    if chosen is not None and chosen != round(chosen):
        raise ValueError(f"k must be a whole number to smooth {risk.loss!r}")

    def delta(tp: Vector, fp: Vector) -> Matrix:
        cost = base + miss * (risk.P - tp) + alarm * fp
        return np.asarray(cost if chosen is None else np.where(tp + fp == chosen, cost, -np.inf))

    return delta


class Smoothed(Loss):
    """A contingency loss smoothed by mu times an entropy: R - mu log(number of labellings) <= R_mu <= R.

    Differentiable, so that `lbfgs` fits it. A value and gradient take O(n^2) time and memory: for up to some
    thousand samples. Weights must be whole numbers: they count copies.

    Parameters
    ----------
    loss : a loss of a contingency table: `FBeta`, `PrecisionAtK`, `Contingency`, ...
    mu : positive number
    """

    unit_free = False

    def __init__(self, loss: ContingencyLoss, mu: float = 0.01) -> None:
        if not isinstance(loss, ContingencyLoss):
            raise TypeError(f"loss must be a loss of a contingency table, got {loss!r}")
        if not 0 < as_number("mu", mu) < np.inf:
            raise ValueError(f"mu must be positive and finite, got {mu!r}")
        self.loss, self.mu = loss, mu

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        return SmoothedRisk(self, Labellings(self.loss.bind(y, weight, groups)))


class SmoothedRisk(Risk):
    """R_mu."""

    capabilities = frozenset({"smooth"})

    def __init__(self, loss: Smoothed, labellings: Labellings) -> None:
        self.loss, self.mu, self.labellings = loss, loss.mu, labellings
        self.offsets = labellings.risk.offsets
        self.infimum = labellings.risk.infimum - loss.mu * labellings.log_count

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        f = scores + b.sum()
        if not np.isfinite(f).all():
            return np.inf, np.zeros_like(f), np.zeros(b.shape)
        value, u = self.labellings.smooth(f, self.mu)
        return value, u, np.full(b.shape, u.sum())
