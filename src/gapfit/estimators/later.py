"""Attributes of a fit that are made when they are first asked for.

What follows from a certificate may take longer than a small fit, as a history of its steps does, and most
fits of a search are never asked.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar


class SaidLater:
    """An estimator whose fit may leave functions, by the names of what they return: `_later`.

    That table is never changed, but replaced: copies share it, and threads may ask at the same time.
    """

    LATER: ClassVar[tuple[str, ...]] = ()  # what is said of the optimum

    def __getattr__(self, name: str) -> Any:
        """Only of names that are not there."""
        if name in self.__dict__.get("_later", ()):
            self._say(name)
        return super().__getattribute__(name)  # or the error as it was

    def _leave(self, names: Sequence[str], function: Callable[[], dict[str, Any]]) -> None:
        """Let these be said by a function, and forget what was said of them."""
        known = self.__dict__
        for name in names:
            known.pop(name, None)
        known["_later"] = known.get("_later", {}) | dict.fromkeys(names, function)

    def _say(self, name: str) -> None:
        """This, and what comes with it."""
        later = self.__dict__.get("_later", {})
        if name not in later:  # another thread has said it meanwhile
            return
        said = later[name]()
        self.__dict__.update(said)
        left = {other: function for other, function in later.items() if other not in said}
        if left:
            self.__dict__["_later"] = left
        else:
            self.__dict__.pop("_later", None)

    def _say_all(self) -> None:
        while later := self.__dict__.get("_later"):
            self._say(next(iter(later)))

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
