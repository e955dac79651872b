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

from gapfit._types import Matrix, Vector
from gapfit.checks import as_tolerance
from gapfit.driver.at_once import quietly
from gapfit.driver.claims import Way
from gapfit.driver.in_one_call import Fitted, certificate_of
from gapfit.driver.one_call_given import Plain
from gapfit.losses.regression import Squared

MOST = 128  # features: with more, some passes over X cost less than X'X
SAMPLES = 8  # for each feature, at least
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
        from gapfit.compiled import moments  # compiled code is loaded only when it is to run

        tol = as_tolerance(tol)
        began, (design, weight, loss, net, intercept) = perf_counter(), self.given
        y = y if y.flags.carray else y.copy()  # compiled code has no version for others
        (n, d), rows = design.shape, design.stored
        about = moments.means(rows, y, weight, d, intercept)
        with quietly():
            M = _products(rows, y, about, intercept)
            if not moments.scaled(M, about):
                return None  # who makes a `Problem` of it names what is too large
            fine = min(max(LEFT * tol, 1e-12), 0.1)
            w = moments.lasso(M, *net, fine, SWEEPS) if net.l1 else moments.ridge(M, net.l2)
            b, proved = moments.proved(M, n, net.l1, net.l2, w, about)
            certificate = certificate_of(proved, loss)
            if not certificate.relative_gap <= tol:
                return None
            dual = about.shares * (design.X @ w + (b - y))
        at_zero = 0.5 * float(M[d, d])  # J where no weight is
        history = Way(((at_zero,), (np.inf,)), certificate, perf_counter() - began)
        return Fitted(w, b, dual, certificate, history, "least_squares")


def _products(rows: Any, y: Vector, about: Any, intercept: bool) -> Matrix:
    """Those of centred rows, their targets and ones with each other, summed over the samples. BLAS makes them
    of some rows at a time, which stay in the cache."""
    from gapfit.compiled.moments import put_centred

    n, size = len(y), len(about.centre) + 2
    Z, M = np.empty((min(n, BLOCK), size)), np.zeros((size, size))
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        put_centred(rows, y, about, first, last, intercept, Z)
        some = Z[: last - first]
        M += some.T @ some
    return M
