"""Every estimator with data that it takes: what the areas that fit estimators draw from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import gapfit
from gapfit.structures import Labels

Rng = np.random.Generator


@dataclass(frozen=True)
class Kind:
    """An estimator, how to make it, and targets for a matrix of samples."""

    name: str
    make: Callable[..., Any]
    target: Callable[[np.ndarray, Rng], Any]
    samples: Callable[[np.ndarray], Any] = lambda X: X

    def data(self, rng: Rng, n: int = 24, d: int = 3) -> tuple[Any, Any]:
        """Samples and targets."""
        X = rng.normal(size=(n, d))
        return self.samples(X), self.target(X, rng)


def binary(X: np.ndarray, rng: Rng) -> np.ndarray:
    """Two classes, both there, that overlap."""
    y = np.where(X @ rng.normal(size=X.shape[1]) + 0.5 * rng.normal(size=len(X)) > 0, 1, -1)
    y[0], y[-1] = 1, -1
    return y


def real(X: np.ndarray, rng: Rng) -> np.ndarray:
    """A linear function and noise."""
    return np.asarray(X @ rng.normal(size=X.shape[1]) + 0.3 * rng.normal(size=len(X)))


def levels(X: np.ndarray, rng: Rng) -> np.ndarray:
    """Three ordered levels, all there."""
    y = np.digitize(real(X, rng), [-0.5, 0.5])
    y[:3] = 0, 1, 2
    return y


def nothing(X: np.ndarray, rng: Rng) -> None:
    """No target."""


def _sequences(X: np.ndarray) -> list[np.ndarray]:
    return np.array_split(X, max(len(X) // 4, 1))


def _labels_of_sequences(X: np.ndarray, rng: Rng) -> list[Any]:
    return np.array_split(levels(X, rng), max(len(X) // 4, 1))


KINDS = (
    Kind("LinearClassifier", gapfit.LinearClassifier, binary),
    Kind("LinearRegressor", gapfit.LinearRegressor, real),
    Kind("NoveltyDetector", gapfit.NoveltyDetector, nothing),
    Kind("OrdinalClassifier", gapfit.OrdinalClassifier, levels),
    Kind("KernelSVC", gapfit.KernelSVC, binary),
    Kind("KernelSVR", gapfit.KernelSVR, real),
    Kind("KernelNoveltyDetector", gapfit.KernelNoveltyDetector, nothing),
    Kind("MetricClassifier", gapfit.MetricClassifier, binary),
    Kind("Ranker", gapfit.Ranker, levels),
    Kind("SequenceLabeler", gapfit.SequenceLabeler, _labels_of_sequences, _sequences),
    Kind(
        "StructuredClassifier", lambda **given: gapfit.StructuredClassifier(Labels(3), **given), levels, list
    ),
)
