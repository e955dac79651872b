"""What a structure must say of itself for a model to be learnt that predicts it."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from gapfit._types import Vector


class Structure(ABC):
    """Objects y that belong to inputs x, scored by <w, joint_features(x, y)>.

    Objects of other classes with these methods do as well. If `loss_augmented_argmax` does not always find
    the maximum, `exact` must be False: bounds on the optimum then no longer hold.
    """

    exact: bool = True

    @abstractmethod
    def joint_features(self, x: Any, y: Any) -> Vector:
        """The features of the pair; always of the same length."""

    @abstractmethod
    def loss_augmented_argmax(self, x: Any, y: Any, w: Vector) -> Any:
        """The y' that maximises loss(y, y') + <w, joint_features(x, y')>."""

    def loss(self, y: Any, other: Any) -> float:
        """What it costs to predict `other` where y is right: not negative, and zero for y itself. By default
        the number of places in which they differ."""
        return float((np.asarray(y) != np.asarray(other)).sum())

    @abstractmethod
    def argmax(self, x: Any, w: Vector) -> Any:
        """The y that maximises <w, joint_features(x, y)>."""
