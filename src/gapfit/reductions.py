"""Reductions: from a user's rows, labels and weights to those of a problem, and back.

`apply` makes the targets and weights of a `Problem`, `invert` carries its answer back to the user's rows or
labels. Each preserves J: at the same w and b the reduced problem has the value of the original one.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from gapfit._types import Vector


class Presence(NamedTuple):
    """Weight zero equals absence: only `rows` of the `n` samples take part."""

    rows: NDArray[np.intp]
    n: int

    @classmethod
    def of(cls, weight: Vector) -> "Presence":
        return cls(np.flatnonzero(weight), len(weight))

    def apply(self, values: Any) -> Any:
        """The present rows of an array or matrix, which is not copied if all are present."""
        return values if values is None or len(self.rows) == self.n else values[self.rows]

    def invert(self, values: NDArray[Any], absent: Any) -> NDArray[Any]:
        """One value for every sample: `absent` where it had no weight."""
        everywhere = np.full(self.n, absent, dtype=values.dtype)
        everywhere[self.rows] = values
        return everywhere


class Labels(NamedTuple):
    """Classes as targets -1 and +1: one problem for two classes, else one for each class against the rest."""

    classes: NDArray[Any]

    @classmethod
    def of(cls, y: NDArray[Any]) -> "Labels":
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"y holds one class only, {classes[0]!r}; there is nothing to tell apart")
        return cls(classes)

    def apply(self, y: NDArray[Any]) -> list[Vector]:
        """The targets of each problem. With two classes the second is +1."""
        positives = self.classes[1:] if len(self.classes) == 2 else self.classes
        return [np.where(y == positive, 1.0, -1.0) for positive in positives]

    def invert(self, scores: NDArray[Any]) -> NDArray[Any]:
        """The labels that scores (n,) or (n, k) stand for; a score of zero stands for the first class."""
        winner = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        return np.asarray(self.classes[winner])


def weigh_classes(class_weight: Any, labels: Labels, y: NDArray[Any], weight: Vector) -> Vector:
    """The weights times those of the classes; "balanced" gives every class the same mass of weight.

    Mass, not number: a sample of weight k counts as k samples.
    """
    if class_weight is None:
        return weight
    if class_weight != "balanced" and not isinstance(class_weight, Mapping):
        raise ValueError(f'class_weight must be None, "balanced" or a dictionary, got {class_weight!r}')
    try:
        factors = compute_class_weight(class_weight, classes=labels.classes, y=y, sample_weight=weight)
    except (TypeError, ValueError) as error:
        raise ValueError(f"class_weight must give each class a number: {error}") from error
    if not ((factors > 0) & np.isfinite(factors)).all():
        raise ValueError(f"class_weight must be positive and finite, got {class_weight!r}")
    return np.asarray(weight * factors[np.searchsorted(labels.classes, y)], dtype=np.float64)
