"""Attributes of a fit that are computed when they are first asked for.

What follows from a certificate may take longer than a small fit, and most fits of a search are never asked.
"""

from typing import Any, ClassVar


class SaidLater:
    """An estimator whose fit may leave `_later`, a function that returns what is still to be said."""

    LATER: ClassVar[tuple[str, ...]]  # the names of what it returns

    def __getattr__(self, name: str) -> Any:
        """Only of names that are not there."""
        if name in self.LATER and "_later" in self.__dict__:
            self._say_all()
        return super().__getattribute__(name)  # or the error as it was

    def _say_all(self) -> None:
        if "_later" in self.__dict__:
            self.__dict__.update(self.__dict__["_later"]())
            del self.__dict__["_later"]

    def _unsay(self) -> None:
        """Forget what was said of an earlier fit."""
        for name in (*self.LATER, "_later"):
            self.__dict__.pop(name, None)

    def __copy__(self) -> Any:
        """Which says nothing."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> Any:
        """For files, which hold no functions."""
        self._say_all()
        return super().__getstate__()
