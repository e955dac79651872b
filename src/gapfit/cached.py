"""Cached properties: of the data alone, and of vectors that are kept where there is room for them."""

from functools import cached_property
from typing import Any, TypeVar

T = TypeVar("T")

__all__ = ["OfTheData", "Spared"]


class OfTheData(cached_property[T]):
    """A cached property that does not depend on alpha: problems of all alphas share what one has computed."""

    def __get__(self, problem: Any, owner: Any = None) -> Any:
        if problem is None:
            return self
        shared = problem.shared
        if self.attrname not in shared:
            shared[self.attrname] = self.func(problem)
        return shared[self.attrname]


class Spared(cached_property[T]):
    """A cached property of vectors; where samples may be very many (`spare`) it is made anew each time."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is not None and instance.spare:
            return self.func(instance)
        return super().__get__(instance, owner)
