"""Losses of a contingency table, smoothed by an entropy over all labellings.

A contingency loss is a maximum over labellings ybar of all samples together. With a distribution over them in
place of the best one, and mu times its entropy as a bonus,

    R_mu(f) = mu log of the mean over ybar of exp((Delta(y, ybar) + (1/n) sum_i c_i f_i (ybar_i - y_i)) / mu)

is differentiable, and R - mu log(number of labellings) <= R_mu <= R. A labelling counts through how many
positives and negatives it labels positive, so that sums over all 2^n of them take O(n^2).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from gapfit._types import Matrix, Vector
from gapfit.bracket import Bracket
from gapfit.errors import IncompatibleSolver, as_positive
from gapfit.losses.base import Loss, Risk
from gapfit.losses.contingency import MOST_LABELLED, ContingencyLoss, ContingencyRisk
from gapfit.losses.forms import Smooth
from gapfit.records import storable
from gapfit.rounding import EPS


@storable
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
        if risk.P + risk.N > MOST_LABELLED:
            raise ValueError(f"{risk.P + risk.N:g} samples are too many to sum over labellings: O(n^2)")
        self.risk = risk
        copies = np.repeat(np.arange(len(risk.weight)), risk.weight.astype(np.intp))
        self.copies = tuple(copies[risk.positive[copies] == side] for side in (True, False))
        counts = np.arange(risk.P + 1.0)[:, None], np.arange(risk.N + 1.0)[None, :]
        self.loss: Matrix = risk.delta(*np.broadcast_arrays(*counts))
        self.allowed = np.isfinite(self.loss)
        self.loss = np.where(self.allowed, self.loss, 0.0)
        # what a unit of the offset adds to each table
        self.lift: Matrix = risk.scale[0] * (counts[0] - risk.P) + risk.scale[1] * counts[1]
        ways = sum(_log_binomial(count.size - 1, count) for count in counts)
        self.log_count = float(logsumexp(np.where(self.allowed, ways, -np.inf)))

    def gibbs(self, sharpness: float, exponent: Vector) -> Gibbs:
        """The distribution with weights sharpness * Delta + <u(ybar), exponent>; one number a sample."""
        from gapfit.compiled.marginals import marginals  # compiled code is loaded only when it is to run

        risk, theta = self.risk, self._theta(exponent)
        height = np.where(self.allowed, sharpness * self.loss, -np.inf)
        shares, tables = [np.empty(len(rows)) for rows in self.copies], np.empty_like(height)
        log_z = marginals(*theta, height, tables, *shares)
        tables /= tables.sum()
        labelled = sum(
            np.bincount(rows, _attainable(share, tables.sum(axis=1 - side)), len(risk.weight))
            for side, (rows, share) in enumerate(zip(self.copies, shares, strict=True))
        )
        truth = float(theta[0].sum())  # <u, exponent> counts from ybar = y
        u = np.where(risk.positive, *risk.scale) * (labelled - risk.weight * risk.positive)
        return Gibbs(float(log_z) - truth, float((tables * self.loss).sum()), u)

    def balanced(self, sharpness: float, exponent: Vector, shift: float) -> tuple[Gibbs, float]:
        """The distribution with a shift of all exponents that makes the sum of u vanish, and the shift.

        A shift adds to a labelling's weight what its table says, so that it is sought among tables.
        """
        from gapfit.compiled.marginals import log_counts

        rows, columns = (log_counts(theta) for theta in self._theta(exponent))
        height = np.where(self.allowed, sharpness * self.loss, -np.inf) + rows[:, None] + columns
        shift = _level(height[self.allowed], self.lift[self.allowed], shift)
        gibbs = self.gibbs(sharpness, exponent + shift)
        return self._without_rest(gibbs), shift

    def _theta(self, exponent: Vector) -> list[Vector]:
        return [scale * exponent[rows] for scale, rows in zip(self.risk.scale, self.copies, strict=True)]

    def _without_rest(self, gibbs: Gibbs) -> Gibbs:
        """Mix in a little of labellings at the other end: what rounding left of the sum of u goes."""
        rest, risk = float(gibbs.u.sum()), self.risk
        lift = np.where(self.allowed, self.lift, 0.0)
        tp, fp = np.unravel_index(lift.argmin() if rest > 0 else lift.argmax(), lift.shape)
        far = float(lift[tp, fp])
        if rest * far >= 0:
            return gibbs
        share = rest / (rest - far)
        u = risk.step * np.where(risk.positive, tp / risk.P - 1.0, fp / risk.N)
        delta = (1 - share) * gibbs.delta + share * float(self.loss[tp, fp])
        return Gibbs(gibbs.log_z, delta, (1 - share) * gibbs.u + share * u)

    def smooth(self, scores: Vector, mu: float) -> tuple[float, Vector]:
        """R_mu and its gradient."""
        gibbs = self.gibbs(1.0 / mu, scores / mu)
        return mu * (gibbs.log_z - self.log_count), gibbs.u


def _attainable(shares: Vector, counts: Vector) -> Vector:
    """The shares, mixed with equal ones as far as some distribution over labellings has both: these shares of
    the samples labelled positive, and these probabilities of how many they are.

    That is so if they add up to the mean, and any k of them to no more than that of the lesser of k and the
    count. Sums over logarithms keep to it up to rounding that grows with their size; bounds must keep to it.
    """
    if len(shares) == 0:
        return shares
    most = np.cumsum(np.cumsum(counts[::-1])[::-1][1:])  # the means of min(count, k), k = 1, 2, ...
    mean = float(most[-1])
    total = float(shares.sum())
    if total == 0:
        return np.full_like(shares, mean / len(shares))
    shares = shares * (mean / total)
    highest = np.cumsum(np.sort(shares)[::-1])
    equal = np.arange(1, len(shares) + 1) * (mean / len(shares))
    over = highest - most > 4 * len(shares) * EPS * mean  # what is less is rounding of these sums
    if not over.any():
        return shares
    share = min(float(((highest - most)[over] / (highest - equal)[over]).max()), 1.0)
    return np.asarray((1 - share) * shares + share * mean / len(shares))


def _level(height: Vector, lift: Vector, b: float) -> float:
    """The b at which the weights exp(height + b lift) give the lift a mean of zero: Newton's method within a
    bracket."""
    if not lift.min() < 0 < lift.max():
        if lift.any():
            raise IncompatibleSolver("no intercept suits all labellings that are allowed: they lean one way")
        return 0.0
    bracket = Bracket()
    while True:
        weights = height + b * lift
        weights = np.exp(weights - weights.max())
        weights /= weights.sum()
        pulls = weights * lift
        mean = float(pulls.sum())
        if abs(mean) <= 4 * EPS * float(np.abs(pulls).sum()):
            return b
        variance = float(pulls @ lift) - mean * mean
        if (following := bracket.after(b, mean, variance)) is None:
            return b
        b = following


def _log_binomial(n: int, k: Vector) -> Vector:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


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
        self.loss, self.mu = loss, as_positive("mu", mu)

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        return SmoothedRisk(self, Labellings(self.loss.bind(y, weight, groups)))


class SmoothedRisk(Risk):
    """R_mu."""

    def __init__(self, loss: Smoothed, labellings: Labellings) -> None:
        self.loss, self.mu, self.labellings = loss, loss.mu, labellings
        self.offsets = labellings.risk.offsets
        self.infimum = labellings.risk.infimum - loss.mu * labellings.log_count

    def forms(self) -> Iterator[Any]:
        yield Smooth()

    def rise(self, slack: Vector) -> float | None:
        return self.labellings.risk.rise(slack)

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        f = scores + b.sum()
        if not np.isfinite(f).all():
            return np.inf, np.zeros_like(f), np.zeros(b.shape)
        value, u = self.labellings.smooth(f, self.mu)
        return value, u, np.full(b.shape, u.sum())
