"""Classes and their weights, as all classifiers have them."""

from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from gapfit._types import Vector
from gapfit.declaration import attribute, declared, parameter
from gapfit.persistence.objects import CLASS_WEIGHT
from gapfit.persistence.values import LABELS, floats


@declared
class Classes(BaseEstimator):
    """A model that tells classes apart."""

    classes_: NDArray[Any] = attribute(LABELS, "array of shape (k,)", "The labels, sorted.")


@declared
class WeightedClasses(Classes):
    """Classes may weigh differently."""

    class_weight: Any = parameter(
        'Weights by class. "balanced" gives every class the same total weight.',
        'dict, "balanced" or None', default=None, form=CLASS_WEIGHT,
    )  # fmt: skip

    class_weight_: Vector = attribute(
        floats(1),
        "array of shape (k,)",
        "The weight of each class, in the order of `classes_`.",
        optional=True,
    )
