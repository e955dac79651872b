"""As `in_one_call`, for least squares on many samples of few features: X'X and X'y are all that it takes.

`least_squares` proves what it has found by passes over X, which takes longer than to find it where features
are few. Here the proof rests on moments as well (`compiled.moments_proof`). They are differences of large
numbers where a model fits very well or columns are nearly dependent: then the proof does not do, and the
fit goes the other way.
"""

from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from gapfit._types import Matrix, Slope, Vector
from gapfit.checks import as_tolerance
from gapfit.driver.at_once import quietly
from gapfit.driver.claims import Way
from gapfit.driver.in_one_call import Fitted, certificate_of
from gapfit.driver.one_call_given import Plain
from gapfit.losses.regression import Squared
from gapfit.penalties.forms import Net

MOST = 128  # features: with more, some passes over X cost less than X'X
SAMPLES = 8  # for each feature, at least
LARGE = 1e75  # squares of such numbers are far from an overflow
LEFT = 0.1  # of the tolerance, in units of l1: what sweeps leave of a derivative
BLOCK = 2048  # rows
SWEEPS = 500  # at most


class ByMoments(NamedTuple):
    """Samples and how they are to be fitted, to whatever targets."""

    given: Plain

    @classmethod
    def of(cls, given: Plain) -> Self | None:
        """None, where others are faster, or it would not do."""
        if type(given.loss) is not Squared or sparse.issparse(given.design.X):
            return None
        n, d = given.design.shape
        return cls(given) if d <= MOST and n >= SAMPLES * d else None

    def fit(self, y: Vector, tol: float) -> Fitted | None:
        """To these targets. None if that cannot be certified by moments."""
        as_tolerance(tol)
        began, (design, weight, loss, net, intercept) = perf_counter(), self.given
        with quietly():
            moments = Moments.of(design.X, y, weight, intercept)
            if not (np.abs(moments.M).max() <= LARGE**2 and np.abs(moments.centre).max() <= LARGE):
                return None  # who makes a `Problem` of it names what is too large
            w = moments.minimiser(net, tol)
            if w is None:
                return None
            b = moments.level - float(moments.centre @ w)
            certificate = certificate_of(moments.proved(net, w, b, len(y)), loss)
        if not certificate.relative_gap <= tol:
            return None
        residuals = design.X @ w + (b - y)
        history = Way(((moments.at_zero,), (np.inf,)), certificate, perf_counter() - began)
        return Fitted(w, b, moments.shares * residuals, certificate, history, "least_squares")


class Moments(NamedTuple):
    """Those of `compiled.moments_proof`."""

    M: Matrix
    centre: Slope
    level: float
    shares: Vector  # of the samples in the mean

    @classmethod
    def of(cls, X: Matrix, y: Vector, weight: Vector, intercept: bool) -> "Moments":
        """About the means, if there is an intercept."""
        (n, d), shares = X.shape, weight / weight.sum()
        centre, level = np.zeros(d), 0.0
        if intercept:
            centre, level = shares @ X, float(shares @ y)
        alike = shares.min() == shares.max()
        room, M = np.zeros((min(n, BLOCK), d + 2)), np.zeros((d + 2, d + 2))
        for first in range(0, n, BLOCK):  # some rows at a time: they stay in the cache
            some = slice(first, min(first + BLOCK, n))
            Z = room[: some.stop - first]
            np.subtract(X[some], centre, out=Z[:, :d])
            np.subtract(y[some], level, out=Z[:, d])
            Z[:, d + 1] = intercept
            if not alike:
                Z *= np.sqrt(shares[some])[:, None]
            M += Z.T @ Z
        return cls(shares[0] * M if alike else M, centre, level, shares)

    @property
    def at_zero(self) -> float:
        """J where no weight is."""
        return 0.5 * float(self.M[-2, -2])

    def minimiser(self, net: Net, tol: float) -> Slope | None:
        """By one factorisation; with an l1 part by sweeps and conjugate gradients on the matrix. None, where
        columns are dependent and rounding takes what the penalty adds to them."""
        d = len(self.centre)
        bend, cross = self.M[:d, :d] + net.l2 * np.eye(d), np.ascontiguousarray(self.M[:d, d])
        if not net.l1:
            try:
                return np.asarray(np.linalg.solve(bend, cross), np.float64)
            except np.linalg.LinAlgError:
                return None
        # compiled code is loaded only when it is to run
        from gapfit.compiled.lasso_path import descend_alphas

        alphas, fines = np.array([net.l1]), np.array([min(max(LEFT * tol, 1e-12), 0.1)])
        W, H, inside, active = np.zeros((1, d)), np.empty((d, d)), np.zeros(d), np.zeros(d, np.int64)
        descend_alphas(bend, cross, alphas, fines, SWEEPS, inside, active, np.zeros((8, d)), H, W)
        return np.asarray(W[0])

    def proved(self, net: Net, w: Slope, b: float, n: int) -> Any:
        """What is proved of w and b, about the level of the targets less what the centre is worth."""
        from gapfit.compiled import moments_proof, small_model

        d, size = len(w), abs(self.level) + float(np.abs(self.centre) @ np.abs(w))
        shift = (d + 8) * 2.0**-52 * (size + abs(b))  # how far b may be from level - <centre, w>
        v, room = np.concatenate((w, (-1.0, 0.0))), np.empty((2, d + 2))
        terms = small_model.Net(net.l1, net.l2, True, 0.0, 0.0, 0.0)
        return moments_proof.prove_by_moments(self.M, n, terms, v, shift, room[0], room[1])
