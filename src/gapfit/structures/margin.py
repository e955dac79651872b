"""The margin loss of user structures, as a risk of the weights themselves.

R(w) = sum_i p_i max over y' of  loss(y_i, y') + <w, joint_features(x_i, y') - joint_features(x_i, y_i)>
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.design.base import Design
from gapfit.design.forms import Plain
from gapfit.losses.base import Loss, Risk
from gapfit.losses.forms import Planes

_HUGE = 1e100  # squares of larger numbers, summed, overflow

if TYPE_CHECKING:
    from gapfit.penalties.base import Penalty


class WeightDesign(Design):
    """Scores that are the weights: for risks that evaluate their own features."""

    largest = 1.0

    def __init__(self, samples: int, weights: int) -> None:
        self.samples = samples
        self.shape = (weights, weights)
        self.dtype = np.dtype(np.float64)
        self.size = weights * samples

    def forms(self) -> Iterator[Any]:
        yield Plain()

    @property
    def n_samples(self) -> int:
        return self.samples

    def scores(self, w: Slope) -> Vector:
        return w.copy()

    def adjoint(self, u: Vector) -> Slope:
        return u.copy()

    def take(self, rows: Any) -> "WeightDesign":
        return WeightDesign(len(rows), self.shape[1])

    def distances(self, penalty: "Penalty", centre: Slope) -> Vector:
        return penalty.dual_norms(np.eye(self.shape[1]), centre)


class StructuredMargin(Loss):
    """The margin loss of a structure and the pairs (x, y) it is to be learnt from.

    A Problem is given the numbers of the pairs as its y, and a `WeightDesign`.
    """

    def __init__(self, structure: Any, X: Sequence[Any], Y: Sequence[Any]) -> None:
        self.structure, self.X, self.Y = structure, X, Y

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"StructuredMargin({type(self.structure).__name__})"

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        return _StructuredRisk(self, y.astype(int), weight / weight.sum())


def joint_features(structure: Any, X: Sequence[Any], Y: Sequence[Any], i: int) -> Vector:
    """Of pair i as it was given, looked at: whatever a structure makes of what it does not expect."""
    try:
        features = np.asarray(structure.joint_features(X[i], Y[i]), np.float64)
    except Exception as error:
        raise ValueError(f"structure {structure!r} cannot take sample {i} of X and y: {error}") from error
    if features.ndim != 1 or not len(features):
        raise ValueError(f"X: the joint features of sample {i} have shape {features.shape}, not (d,)")
    if not (size := float(np.abs(features).max())) <= _HUGE:
        raise ValueError(f"X: the joint features of sample {i} hold {size:.3g}; scale X down")
    return features


class _StructuredRisk(Risk):
    """The sum over samples of the highest of their planes."""

    infimum = 0.0

    def __init__(self, loss: StructuredMargin, numbers: Any, p: Vector) -> None:
        self.loss, self.numbers, self.p = loss, numbers, p
        self.truth = [joint_features(loss.structure, loss.X, loss.Y, i) for i in numbers]

    def forms(self) -> Iterator[Any]:
        yield Planes(self.p, self.plane)

    def plane(self, k: int, w: Slope) -> tuple[Slope, float]:
        """Slope and offset of the highest plane of sample k at w; y itself is one of no height."""
        loss: Any = self.loss
        x, y = loss.X[self.numbers[k]], loss.Y[self.numbers[k]]
        other = loss.structure.loss_augmented_argmax(x, y, w)
        change = loss.structure.joint_features(x, other) - self.truth[k]
        cost = float(loss.structure.loss(y, other))
        return (change, cost) if cost + float(change @ w) > 0 else (np.zeros(len(w)), 0.0)

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        value, slope = 0.0, np.zeros(len(scores))
        for k, p in enumerate(self.p):
            change, cost = self.plane(k, scores)
            value += p * (cost + float(change @ scores))
            slope += p * change
        return value, slope, np.zeros(0)
