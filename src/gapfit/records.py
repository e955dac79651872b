"""Records that may be part of a solver's state: named tuples that a checkpoint knows by name.

A file names a record, and only one of this table is ever made for it. `@storable` enters a class.
"""

from typing import Any, TypeVar

Record = TypeVar("Record", bound=type)

STORABLE: dict[str, Any] = {}


def storable(record: Record) -> Record:
    """Let records of this class, a NamedTuple, be stored in checkpoints."""
    STORABLE[name_of(record)] = record
    return record


def name_of(record: type) -> str:
    """By which a file knows the class."""
    return f"{record.__module__}.{record.__qualname__}"
