"""Assignments: which item goes to which place. Rankings, matchings of two graphs' nodes."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from gapfit._types import Matrix, Vector
from gapfit.structures.base import Structure


class Assignment(Structure):
    """x[i, j] are the features of item i in place j, and y[i] is the place of item i, each place taken once.

    The joint features are the sum of x[i, y[i]]; the loss is the number of items in a wrong place.
    """

    def joint_features(self, x: Any, y: Any) -> Vector:
        return np.asarray(np.asarray(x)[np.arange(len(y)), np.asarray(y)].sum(axis=0), np.float64)

    def loss_augmented_argmax(self, x: Any, y: Any, w: Vector) -> Any:
        gain = np.asarray(x) @ w + 1.0
        gain[np.arange(len(y)), np.asarray(y)] -= 1.0
        return _best(gain)

    def argmax(self, x: Any, w: Vector) -> Any:
        return _best(np.asarray(x) @ w)


def _best(gain: Matrix) -> Any:
    return linear_sum_assignment(gain, maximize=True)[1]
