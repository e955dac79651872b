"""One label of several for each row of features: multiclass classification as a structure."""

from typing import Any

import numpy as np

from gapfit._types import Matrix, Vector
from gapfit.structures.base import Structure


class Labels(Structure):
    """A label 0, ..., K - 1; the joint features are x in the place of the label.

    Parameters
    ----------
    n_labels : K.
    costs : what label y' costs where y is right, as costs[y][y']; by default 1 for an error.
    """

    def __init__(self, n_labels: int, costs: Any = None) -> None:
        self.n_labels = n_labels
        self.costs: Matrix = 1.0 - np.eye(n_labels) if costs is None else np.asarray(costs, np.float64)

    def joint_features(self, x: Any, y: Any) -> Vector:
        features = np.zeros((self.n_labels, len(x)))
        features[self._place(y)] = _row(x)
        return features.ravel()

    def loss_augmented_argmax(self, x: Any, y: Any, w: Vector) -> int:
        return int(np.argmax(self.costs[self._place(y)] + w.reshape(self.n_labels, -1) @ _row(x)))

    def loss(self, y: Any, other: Any) -> float:
        return float(self.costs[int(y), int(other)])

    def argmax(self, x: Any, w: Vector) -> int:
        return int(np.argmax(w.reshape(self.n_labels, -1) @ _row(x)))

    def _place(self, y: Any) -> int:
        if np.ndim(y) or y not in range(self.n_labels):
            raise ValueError(f"y must be a label from 0 to {self.n_labels - 1}, got {y!r}")
        return int(y)


def _row(x: Any) -> Vector:
    row = np.asarray(x, np.float64)
    if row.ndim != 1:
        raise ValueError(f"x must be a row of features, got shape {row.shape}")
    return row
