"""Errors on held-out samples, and what bounds of the scores say of them.

An error is what one wants small: a loss, or 1 - score where a score is better. Labels are those of the strict
sign, so a score that may be zero leaves its label open.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Vector

Bounds = tuple[float, float]
Mask = NDArray[np.bool_]


class Measure(ABC):
    """An error, for known targets."""

    @abstractmethod
    def error(self, scores: Vector) -> float:
        """At these scores."""

    @abstractmethod
    def bounds(self, lo: Vector, hi: Vector) -> Bounds:
        """The least and the most it can be at scores between lo and hi."""


class Counted(Measure):
    """A function of how many samples of each class are mislabelled, which rises with all of these numbers."""

    def __init__(self, classes: NDArray[np.intp], k: int, of: Callable[[Vector, Vector], float]) -> None:
        self.classes, self.of = classes, of
        self.sizes = np.bincount(classes, minlength=k).astype(float)

    def error(self, scores: Vector) -> float:
        winner = scores.argmax(axis=1) if scores.ndim == 2 else scores > 0
        return self._of(winner != self.classes)

    def bounds(self, lo: Vector, hi: Vector) -> Bounds:
        wrong, right = self._certain(lo, hi)
        return self._of(wrong), self._of(~right)

    def _of(self, wrong: Mask) -> float:
        counts = np.bincount(self.classes[wrong], minlength=len(self.sizes)).astype(float)
        return float(self.of(counts, self.sizes))

    def _certain(self, lo: Vector, hi: Vector) -> tuple[Mask, Mask]:
        """Which samples are mislabelled at all scores between lo and hi, and which at none."""
        if lo.ndim == 1:
            positive = self.classes == 1
            return np.where(positive, hi < 0, lo > 0), np.where(positive, lo > 0, hi < 0)
        rows, own = np.arange(len(lo)), self.classes
        rival_lo, rival_hi = lo.copy(), hi.copy()
        rival_lo[rows, own] = rival_hi[rows, own] = -np.inf
        return rival_lo.max(axis=1) > hi[rows, own], rival_hi.max(axis=1) < lo[rows, own]


class Valued(Measure):
    """The mean of a convex function of each score, which is least at a known score."""

    def __init__(self, of: Callable[[Vector], Vector], least_at: Vector) -> None:
        self.of, self.least_at = of, least_at

    def error(self, scores: Vector) -> float:
        return float(np.mean(self.of(scores)))

    def bounds(self, lo: Vector, hi: Vector) -> Bounds:
        with np.errstate(over="ignore", invalid="ignore"):
            ends = np.maximum(self.of(lo), self.of(hi))
        best = np.minimum(np.maximum(self.least_at, lo), hi)
        return self.error(best), float(np.mean(np.where(np.isnan(ends), np.inf, ends)))


def _error_rate(wrong: Vector, sizes: Vector) -> float:
    return float(wrong.sum() / sizes.sum())


def _balanced(wrong: Vector, sizes: Vector) -> float:
    there = sizes > 0
    return float(np.mean(wrong[there] / sizes[there]))


def _f1(wrong: Vector, sizes: Vector) -> float:
    false_positive, missed = wrong
    hits = sizes[1] - missed
    return float(1.0 - 2 * hits / max(hits + sizes[1] + false_positive, 1.0))


COUNTED = {"accuracy": _error_rate, "balanced_accuracy": _balanced, "f1": _f1}
_SAME = {
    "neg_log_loss": "log_loss",
    "neg_mean_squared_error": "mse",
    "mean_squared_error": "mse",
    "neg_mean_absolute_error": "mae",
    "mean_absolute_error": "mae",
    "neg_mean_pinball_loss": "pinball",
}
# by what scikit-learn calls them, where it has them
SCORERS = {
    **{name: name for name in COUNTED},
    "log_loss": "neg_log_loss",
    "mse": "neg_mean_squared_error",
    "mae": "neg_mean_absolute_error",
}
NUMBERS = ("mse", "mae", "pinball")
LABELS = (*COUNTED, "log_loss")


def measure_of(name: str, target: NDArray[Any], k: int, q: float = 0.5) -> Measure:
    """The measure of this name: for numbers, or for classes 0 to k - 1; `q` is the pinball's quantile."""
    name = _SAME.get(name, name)
    known = LABELS if k else NUMBERS
    if name not in known:
        raise ValueError(f"scoring must be one of {', '.join(known)} here, got {name!r}")
    if name in ("f1", "log_loss") and k != 2:
        raise ValueError(f"scoring={name!r} is for two classes, and y holds {k}; accuracy takes any number")
    if name in COUNTED:
        return Counted(target.astype(np.intp), k, COUNTED[name])
    if name == "log_loss":
        sign = np.where(target == 1, 1.0, -1.0)
        return Valued(lambda f: np.logaddexp(0.0, -sign * f), sign * np.inf)
    y = np.asarray(target, dtype=np.float64)
    functions: dict[str, Callable[[Vector], Vector]] = {
        "mse": lambda f: (f - y) ** 2,
        "mae": lambda f: np.abs(f - y),
        "pinball": lambda f: np.maximum(q * (y - f), (1 - q) * (f - y)),
    }
    return Valued(functions[name], y)
