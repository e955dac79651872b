"""What linear estimators share: the penalty, the way from samples to problems, scores and their bounds."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Slope, Vector
from gapfit.declaration import attribute, declared, parameter
from gapfit.design.memory import MemoryDesign
from gapfit.elsewhere import fetched
from gapfit.estimators.alpha_or_c import AlphaOrC
from gapfit.estimators.certified import CertifiedFit
from gapfit.estimators.dual import DualPoint, WithDual
from gapfit.estimators.handed_over import taken_back
from gapfit.estimators.linear_parts import LinearParts, Posed, statements
from gapfit.estimators.placed import RowsOnADevice
from gapfit.estimators.products import products
from gapfit.estimators.samples import Rows
from gapfit.estimators.sparse_weights import SparseWeights
from gapfit.penalties import Box, Penalty
from gapfit.persistence.agreement import check_linear
from gapfit.persistence.fits import BALLS, MARKS, SIGNS, SUPPORT
from gapfit.persistence.objects import PENALTY
from gapfit.persistence.values import FINITE, NUMBER, floats
from gapfit.registry import as_penalty
from gapfit.statements import Ball

_SMALL = 2**17  # entries of X up to which statements are as sharp as they can be
_KEPT = 2**22  # entries of a copy of X that a model holds on to: statements are made when they are asked for


@declared
class Linear(SparseWeights, Rows):
    """A model with weights of the features, which a penalty keeps small."""

    penalty: Any = parameter(
        """Omega: "l2" (1/2 |w|^2), "l1", "elastic_net", "squared_lp", "entropy", "simplex_entropy", or an
        object of `gapfit.penalties`, such as `ElasticNet()`, `GroupLasso(g)`, `Constrained(L2(), A, b)`.""",
        "str or Penalty", default="l2", form=PENALTY,
    )  # fmt: skip

    coef_: NDArray[Any] = attribute(floats(1), "array of shape (d,)", "w, in the precision of X.")
    C_: float = attribute(NUMBER, "", "1 / (alpha * sum of weights).")

    AS_X: ClassVar[tuple[str, ...]] = ("coef_", "intercept_", "thresholds_", "cuts_")

    @classmethod
    def _check_stored(cls, fit: dict[str, Any]) -> None:
        check_linear(fit)

    def __getstate__(self) -> Any:
        """For files, which are read elsewhere."""
        return taken_back(super().__getstate__())


@declared
class WithIntercept(Linear):
    """A model whose score is x'w + b."""

    intercept_: Any = attribute(FINITE, "float", "b.")

    def _scores(self, X: Any) -> Vector:
        """X coef_' + intercept_, in float64: (n,) for a single model, (n, k) for several."""
        X = self._checked(X)
        return _columns(products(X, self._dense_coef().astype(np.float64)) + fetched(self.intercept_))


@declared
class LinearModel(Linear, WithDual, AlphaOrC, RowsOnADevice, CertifiedFit):
    """A linear model that is the solution of one convex problem or several."""

    LATER = ("support_status_", "certified_zeros_", "certified_signs_", "_balls")

    positive: bool = parameter("Allow only coefficients w >= 0.", default=False)

    support_status_: NDArray[Any] = attribute(
        SUPPORT, "array of str of shape (n,), or (k, n) where k problems are solved",
        """What is proved of each training sample at the exact optimum: "zero" (no support vector), "bound"
        (one, with its dual coefficient at the bound), "support" (one), or "undecided", as in all joint fits,
        rankings and models of levels.""",
    )  # fmt: skip
    certified_zeros_: NDArray[np.bool_] = attribute(
        MARKS, "array of bool, of the shape of coef_",
        """Which coefficients are proved to be zero in every optimum, for losses of bounded curvature and
        penalties with an l1 part.""", optional=True,
    )  # fmt: skip
    certified_signs_: NDArray[np.int8] = attribute(
        SIGNS, "array of shape of coef_",
        "1 or -1 where the coefficient has this sign in every optimum, 0 where that is not proved.",
        optional=True,
    )  # fmt: skip
    _balls: list[Ball | None] = attribute(BALLS)

    def score_bounds(self, X: Any) -> tuple[Vector, Vector]:
        """Bounds lo, hi on the decision function of the exact optimum, true of every optimal model."""
        X = self._checked(X)
        if any(ball is None for ball in self._balls):
            raise ValueError(
                f"penalty {self.penalty!r} is not strongly convex, so that a small gap does not confine the "
                "optimum; L2, ElasticNet with l1_ratio < 1, GroupLasso with ratio < 1, QuadraticForm, "
                "Constrained, SquaredLp and SimplexEntropy are"
            )
        lo, hi = zip(*(ball.score_bounds(X) for ball in self._balls if ball), strict=True)
        return _columns(np.stack(lo, axis=1)), _columns(np.stack(hi, axis=1))

    def _solve(self, posed: Posed) -> None:
        """Solve one problem for each vector of targets, and set the fitted attributes."""
        parts, samples = LinearParts(self, posed), posed.samples
        self._certify(parts)
        small = samples.copied and parts.design.size <= _KEPT
        unwatched = posed if posed.watched is None else posed._replace(watched=None)
        self._kept = unwatched if small else None
        here = isinstance(parts.design, MemoryDesign)
        ends = [one.solution for one in parts.solved]
        self._dual = DualPoint.of(ends, float(parts.alpha), samples) if here else None
        at_once = here and not small
        shape = self.coef_.shape
        sharply = here and small and parts.design.size <= _SMALL
        self._leave(self.LATER, partial(statements, parts.solved, samples.origin, shape, sharply=sharply))
        if at_once:
            self._say_all()  # else on request, for it takes passes over what is elsewhere

    def __getstate__(self) -> Any:
        """Without the samples, and what has a number for each."""
        left = {"_kept", "_dual"}
        return {name: value for name, value in super().__getstate__().items() if name not in left}

    @abstractmethod
    def _point(self, parts: "LinearParts", w: Sequence[Slope], b: Sequence[Any]) -> dict[str, Any]:
        """The fitted attributes that predictions need, from the weights and intercepts of all parts."""

    def _penalty(self) -> Penalty:
        penalty = as_penalty(self.penalty)
        if not self.positive:
            return penalty
        try:
            return Box(penalty, 0.0, np.inf)  # type: ignore[arg-type]  # Box itself says what it takes
        except TypeError as error:
            raise TypeError(f"positive=True and penalty={penalty!r} do not go together: {error}") from error


def _columns(values: NDArray[Any]) -> NDArray[Any]:
    """(n,) instead of (n, 1): a single model has no second axis."""
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
