"""When a checkpoint is written, what it belongs to, and what becomes of it in the end."""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from reprlib import Repr
from time import perf_counter
from types import TracebackType
from typing import Any, NamedTuple

from numpy.linalg import LinAlgError

from gapfit.checkpoint import file
from gapfit.checkpoint.codec import decode, encode
from gapfit.errors import CheckpointError, CheckpointWarning, ContractError
from gapfit.fingerprint import fingerprint

INTERVAL = 3.0  # seconds, at least, between two files
SHARE = 0.05  # of the time, at most, is spent on writing them
_SHORT = Repr()
_SHORT.maxother = _SHORT.maxstring = 60


class Identity(NamedTuple):
    """What a fit belongs to: for each thing that must be the same, how it is shown, and its fingerprint."""

    things: dict[str, tuple[str, str]]

    @classmethod
    def of(cls, things: Mapping[str, Any]) -> "Identity":
        """The names are those that a user knows."""
        shown = {name: "" if name == "data" else _SHORT.repr(thing) for name, thing in things.items()}
        return cls({name: (shown[name], fingerprint(thing)) for name, thing in things.items()})

    def key(self) -> str:
        """The same for the same things, and for no others."""
        return fingerprint([mark for _, mark in self.things.values()])

    def difference(self, other: Any) -> str | None:
        """The first thing that is not the same there, in words."""
        for name, (here, mark) in self.things.items():
            found = other.get(name) if isinstance(other, dict) else None
            shown, there = found if isinstance(found, list) and len(found) == 2 else ("not known", "")
            if there != mark:
                return f"{name} differs" if shown == here else f"{name} was {shown} and is {here}"
        return None


class _Stored(NamedTuple):
    """A part as it is in a file."""

    content: Any
    arrays: list[Any]


class Checkpoint:
    """One file for one fit, of one part or many.

    It is written at most every few seconds, and when the fit ends before all its parts have. When all have,
    it is removed: the result is in the caller's hands.
    """

    def __init__(self, path: Any, identity: Identity) -> None:
        self.path, self.identity = os.path.abspath(os.fspath(path)), identity
        self.parts: dict[str, _Stored] = {}
        self.open: set[str] = set()  # parts that have begun and not ended
        self.next = perf_counter() + INTERVAL
        self.changed = self.warned = False
        if os.path.exists(self.path):
            with self._naming():
                self._load()

    def _load(self) -> None:
        header, arrays = file.read(self.path)
        version, ours = str(header.get("gapfit"))[:20], version_of_gapfit()
        if version != ours:
            raise CheckpointError(f"gapfit {version} wrote it, and this is {ours}: only the same goes on")
        if difference := self.identity.difference(header.get("identity")):
            raise CheckpointError(f"it belongs to another fit: {difference}")
        parts = header.get("parts")
        if not isinstance(parts, dict):
            raise CheckpointError("it has no parts")
        for key, part in parts.items():
            if not (isinstance(part, list) and len(part) == 3 and all(type(n) is int for n in part[:2])):
                raise CheckpointError("it holds what is no part")
            first, last, content = part
            self.parts[key] = _Stored(content, arrays[max(first, 0) : max(last, 0)])

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Errors name the file and the way out."""
        try:
            yield
        except CheckpointError as error:
            reason = f"{error.reason}. To begin anew, remove the file or name another one"
            raise CheckpointError(reason, self.path) from error

    def part(self, identity: Identity, **shared: Any) -> "Part":
        """The part that belongs to this; `shared` are objects that its states may refer to."""
        key = identity.key()
        self.open.add(key)
        known: Any = {}
        if key in self.parts:
            with self._naming():
                known = decode(*self.parts[key], shared)
                if not isinstance(known, dict):
                    raise CheckpointError("it holds what is no part")
        return Part(self, key, shared, known)

    def keep(self, key: str, known: dict[str, Any], shared: Mapping[str, Any]) -> None:
        """Take a part in, for the next file. What cannot be stored is told once, and the fit goes on."""
        try:
            content, arrays = encode(known, shared)
        except TypeError as error:
            self._warn(f"no checkpoint was written to {self.path}: {error}. The fit goes on")
            return
        self.parts[key] = _Stored(content, [array.copy(order="K") for array in arrays])  # they will move on
        self.changed = True

    def accompany(self, name: str, what: Any, *, ended: bool) -> None:
        """Keep the state of an object that watches a part; give it back if the part had ended before."""
        key = f"beside {name}"
        if not ended:
            self.keep(key, {"beside": what.state()}, {})
        elif key in self.parts:
            with self._naming():
                what.restore(decode(*self.parts[key], {})["beside"])

    def noted(self, name: str) -> Any:
        """What was noted under a name, which is less than a part; None, if nothing was."""
        if (key := f"noted {name}") not in self.parts:
            return None
        with self._naming():
            return decode(*self.parts[key], {})["noted"]

    def note(self, name: str, what: Any, *, instead_of: Iterable[str]) -> None:
        """Keep this under a name, and no longer the parts that it was made of."""
        for key in instead_of:
            self.parts.pop(key, None)
        self.keep(f"noted {name}", {"noted": what}, {})
        if self.due():
            self.write()

    def due(self) -> bool:
        """Is it time for a file?"""
        return perf_counter() >= self.next

    def write(self) -> None:
        """Write all that is known. What goes wrong is told once, and the fit goes on."""
        began, parts = perf_counter(), {}
        arrays: list[Any] = []
        for key, part in self.parts.items():
            parts[key] = [len(arrays), len(arrays) + len(part.arrays), part.content]
            arrays += part.arrays
        header = {"gapfit": version_of_gapfit(), "identity": self.identity.things, "parts": parts}
        try:
            file.write(self.path, header, arrays)
            self.changed = False
        except OSError as error:
            self._warn(f"no checkpoint was written to {self.path}: {error}. The fit goes on")
        now = perf_counter()
        self.next = now + max(INTERVAL, (now - began) / SHARE)

    def _warn(self, text: str) -> None:
        if not self.warned:
            warnings.warn(text, CheckpointWarning, stacklevel=4)
        self.warned = True

    def __enter__(self) -> "Checkpoint":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and not self.open:
            self._remove()
        elif self.changed:
            self.write()

    def _remove(self) -> None:
        try:
            with suppress(FileNotFoundError):
                os.remove(self.path)
        except OSError as error:
            self._warn(f"the checkpoint {self.path} of a finished fit could not be removed: {error}")


class Part:
    """What one problem's driver sees of a checkpoint."""

    def __init__(
        self, checkpoint: Checkpoint, key: str, shared: Mapping[str, Any], known: Mapping[str, Any]
    ) -> None:
        self.checkpoint, self.key, self.shared = checkpoint, key, shared
        self.solution: Any = known.get("solution")  # of a part that has ended
        self.state: Any = known.get("state")  # of one that has not

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """A state that nobody can go on from is the file's fault, whatever those who try stumble over."""
        try:
            yield
        except LinAlgError:  # a ValueError that says nothing of the file
            raise
        except (LookupError, TypeError, ValueError, AttributeError, ContractError) as error:
            with self.checkpoint._naming():
                raise CheckpointError(f"nobody can go on from its state: {error}") from error

    def due(self) -> bool:
        """Is it time to save?"""
        return self.checkpoint.due()

    def save(self, state: dict[str, Any]) -> None:
        """Write a file with this state now."""
        self.checkpoint.keep(self.key, {"state": state}, self.shared)
        self.checkpoint.write()

    def end(self, solution: dict[str, Any] | None) -> None:
        """The part has ended, with a solution that is worth keeping where there are others."""
        self.checkpoint.open.discard(self.key)
        if solution is not None:
            self.checkpoint.keep(self.key, {"solution": solution}, self.shared)
            if self.due():
                self.checkpoint.write()


def version_of_gapfit() -> str:
    """Of this package."""
    from gapfit import __version__  # not at the top: the package is loaded after this module

    return __version__
