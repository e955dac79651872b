"""Statements about the exact optimum that wait until somebody asks: many fits are asked for scores alone."""

from collections.abc import Callable
from typing import Any, ClassVar

from sklearn.base import BaseEstimator


class Deferring(BaseEstimator):
    """An estimator some of whose fitted attributes are made when first read, or when it is stored."""

    DEFERRED: ClassVar[tuple[str, ...]] = ()

    def _defer(self, make: Callable[[], dict[str, Any]]) -> None:
        """Let `make` return the attributes that the fit before this one may have left."""
        for name in self.DEFERRED:
            self.__dict__.pop(name, None)
        self._make = make

    def _complete(self) -> None:
        """Make what is still to be made."""
        make = self.__dict__.pop("_make", None)
        if make is not None:
            self.__dict__.update(make())

    def __getattr__(self, name: str) -> Any:
        if name in self.DEFERRED and "_make" in vars(self):
            self._complete()
            return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        self._complete()
        state: dict[str, Any] = super().__getstate__()
        return state
