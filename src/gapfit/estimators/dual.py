"""Which samples a linear model is made of: the dual point behind its bound, as libsvm has it."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from gapfit._types import Matrix, Vector
from gapfit.design.rows import take_rows
from gapfit.estimators.samples import Samples
from gapfit.reductions import Multiset

_DUST = 1e-10  # of the largest coefficient: what rounding leaves of a zero


class Ended(Protocol):
    """A fit that knows the dual point behind its bound, or not."""

    @property
    def dual_point(self) -> Vector | None: ...


class DualPoint(NamedTuple):
    """Slopes of the risk in the scores, for each problem of a fit, and whose they are."""

    slopes: tuple[Vector, ...]
    alpha: float
    origin: Multiset
    weight: Vector  # of every sample that was given

    @classmethod
    def of(cls, ends: Sequence[Ended], alpha: float, samples: Samples) -> "DualPoint | None":
        slopes = [u for end in ends if (u := end.dual_point) is not None]
        if len(slopes) < len(ends):
            return None
        return cls(tuple(slopes), alpha, samples.origin, samples.given_weight)

    def coefficients(self, rows: int) -> Matrix:
        """-u / alpha, a row for each row of weights and a column for each sample that was given; equal ones
        share theirs in the ratio of their weights."""
        each = np.concatenate([u.reshape(len(self.origin.rows), -1).T for u in self.slopes]) / -self.alpha
        if len(each) == 2 and rows == 1:  # a joint fit of two classes
            each = each[1:] - each[:1]
        place = self.origin.place
        share = np.where(place < 0, 0.0, self.weight / self.origin.weight[place])
        each[np.abs(each) <= _DUST * np.abs(each).max(initial=0.0)] = 0.0
        return np.asarray(each[:, place] * share)


class WithDual:
    """A linear model that tells which samples its weights are made of."""

    _dual: DualPoint | None
    coef_: Any

    @property
    def support_(self) -> NDArray[np.intp]:
        """The samples whose dual coefficient is not zero, as rows of X; for a hinge the support vectors, for
        a smooth loss nearly all. They are those of the dual point that the certificate rests on;
        `support_status_` says which are proved to be the optimum's."""
        return np.flatnonzero(self._dual_coefficients().any(axis=0))

    @property
    def dual_coef_(self) -> Matrix:
        """Coefficients of these samples, a row for each row of `coef_`: y_i C times the slope of the loss, as
        libsvm has them. With the L2 penalty dual_coef_ @ X[support_] is `coef_`, up to what the gap leaves
        open; with others it is a slope of Omega there. There until the model is stored."""
        each = self._dual_coefficients()
        return np.asarray(each[:, each.any(axis=0)])

    @property
    def support_vectors_(self) -> Any:
        """The rows X[support_], of X with up to four million entries, of which a model keeps a copy."""
        support = self.support_
        if (kept := self.__dict__.get("_kept")) is None:
            raise AttributeError("the model has not kept X, which is large: support_vectors_ is X[support_]")
        return take_rows(kept.samples.X, kept.samples.origin.place[support])

    def _dual_coefficients(self) -> Matrix:
        check_is_fitted(self)
        point: DualPoint | None = self.__dict__.get("_dual")
        if point is None:
            raise AttributeError(
                "the dual point is not known: it is there after a fit to rows in memory, until the model is "
                "stored, and not where a solver keeps only sums of such points (solver='auto' keeps them)"
            )
        return point.coefficients(1 if self.coef_.ndim == 1 else len(self.coef_))
