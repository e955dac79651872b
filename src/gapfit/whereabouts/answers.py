"""What an answer to "where is the optimum?" can be asked in turn, and how answers are put together."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from gapfit._types import Data, Vector
from gapfit.design.base import Design
from gapfit.design.memory import MemoryDesign


class Answer(Protocol):
    """A set that contains every optimum."""

    def score_bounds(self, X: Data | Design) -> tuple[Vector, Vector]:
        """Bounds on X w* + b* that hold for every optimal (w*, b*)."""


class Hull(NamedTuple):
    """The optimum is in one of them, or between: each score is convex there in what tells them apart."""

    parts: Sequence[Answer]

    def score_bounds(self, X: Data | Design) -> tuple[Vector, Vector]:
        lo, hi = zip(*(part.score_bounds(X) for part in self.parts), strict=True)
        return np.minimum.reduce(lo), np.maximum.reduce(hi)


class Overlap(NamedTuple):
    """The optimum is in all of them."""

    parts: Sequence[Answer]

    def score_bounds(self, X: Data | Design) -> tuple[Vector, Vector]:
        lo, hi = zip(*(part.score_bounds(X) for part in self.parts), strict=True)
        return np.maximum.reduce(lo), np.minimum.reduce(hi)


class Nowhere(NamedTuple):
    """Nothing is known."""

    def score_bounds(self, X: Data | Design) -> tuple[Vector, Vector]:
        n = as_rows(X).shape[0]
        return np.full(n, -np.inf), np.full(n, np.inf)


def as_rows(X: Data | Design) -> Design:
    """Rows as a design."""
    return X if isinstance(X, Design) else MemoryDesign(X)
