"""Kernels of samples that are no rows of numbers: texts, graphs, whatever a function compares."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Matrix

_NUMBERS = "fiubc"


class ObjectKernel(NamedTuple):
    """A function of two collections of objects, as one of matrices that hold their numbers."""

    function: Callable[[Any, Any], Any]
    objects: NDArray[Any]  # the training samples

    def __call__(self, first: Matrix, second: Matrix) -> Any:
        return self.function(*(self.named(numbers) for numbers in (first, second)))

    def named(self, numbers: Matrix) -> NDArray[Any]:
        """The objects of these numbers."""
        return np.asarray(self.objects[numbers[:, 0].astype(np.intp)])

    def between(self, objects: NDArray[Any], support: NDArray[Any]) -> Matrix:
        """Kernel values of other objects and the support vectors."""
        values = np.asarray(self.function(objects, support), dtype=np.float64)
        if values.shape != (wanted := (len(objects), len(support))):
            raise ValueError(f"kernel returned an array of shape {values.shape}, not {wanted}")
        return values

    def numbers(self) -> Matrix:
        """A row for each training sample: its number."""
        return np.arange(len(self.objects), dtype=np.float64)[:, None]


def as_objects(X: Any) -> NDArray[Any] | None:
    """X as an array of objects, if it is a collection of such; None for all else."""
    if not hasattr(X, "__len__") or (hasattr(X, "shape") and len(X.shape) != 1):
        return None
    try:
        plain = np.asarray(X)
    except ValueError:  # sequences of different lengths
        plain = np.empty(len(X), dtype=object)
    if plain.ndim != 1 or plain.dtype.kind in _NUMBERS:
        return None
    objects = np.empty(len(X), dtype=object)
    objects[:] = list(X)
    return objects
