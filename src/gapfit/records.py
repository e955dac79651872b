"""What states are made of: records that a checkpoint knows by name, and objects that tell their own state.

A file names a record, a named tuple, and only one of this table is ever made for it. `@storable` enters a
class. An object that is `Kept` names the attributes from which it can go on as if nothing had happened.
"""

from typing import Any, ClassVar, TypeVar

import numpy as np

from gapfit.elsewhere import loops_of

Record = TypeVar("Record", bound=type)

STORABLE: dict[str, Any] = {}


def storable(record: Record) -> Record:
    """Let records of this class, a NamedTuple, be stored in checkpoints."""
    STORABLE[name_of(record)] = record
    return record


def name_of(record: type) -> str:
    """By which a file knows the class."""
    return f"{record.__module__}.{record.__qualname__}"


class Kept:
    """An object that can be left and taken up again: by the attributes named in KEPT, if they are there."""

    KEPT: ClassVar[tuple[str, ...]] = ()

    def state(self) -> dict[str, Any]:
        """A copy of what `restore` needs to go on with the same bytes."""
        return {name: copied(vars(self)[name]) for name in self.KEPT if name in vars(self)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there. A state that lacks what this object has is none of its kind."""
        for name in self.KEPT:
            if isinstance(there := vars(self).get(name), np.random.Generator):
                there.bit_generator.state = state[name]
            elif name in vars(self) or name in state:
                setattr(self, name, copied(state[name]))


def copied(value: Any) -> Any:
    """Arrays, however deep in tuples and lists, as they are now; a random generator as its state."""
    if isinstance(value, np.ndarray):
        return np.copy(value)
    if loops_of(value) is not None:
        return value.copy()
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if isinstance(value, tuple | list):
        parts = [copied(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value
