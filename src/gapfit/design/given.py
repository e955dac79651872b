"""Data that bring what belongs to their rows along: targets, weights, queries."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from gapfit._types import Data
from gapfit.design.base import Design

__all__ = ["Given", "unpacked"]


class Given(ABC):
    """A design, and what is known of its samples."""

    design: Design
    y: Any  # None if there are no targets
    sample_weight: Any  # None if all are the same
    groups: Any  # None if there are no queries
    names: tuple[str, ...] | None  # of the columns

    @abstractmethod
    def __repr__(self) -> str:
        """By which errors call it."""

    @abstractmethod
    def blocks(self) -> Iterator[Data]:
        """Its rows, some at a time."""


def unpacked(X: Any, y: Any, sample_weight: Any, groups: Any) -> tuple[Any, Any, Any, Any]:
    """The design of data that bring more along, and that; what the caller gives goes before it."""
    if not isinstance(X, Given):
        return X, y, sample_weight, groups
    y = X.y if y is None else y
    if y is None:
        raise ValueError(f"{X!r} has no targets: give y")
    return (
        X.design,
        y,
        X.sample_weight if sample_weight is None else sample_weight,
        X.groups if groups is None else groups,
    )
