"""Which columns of a table are features, which is the target and which the query."""

from collections.abc import Sequence
from typing import NamedTuple

from gapfit.errors import DataError

Column = str | int


class Columns(NamedTuple):
    """Positions in the table."""

    features: list[int]
    target: int | None
    qid: int | None


def choose(names: Sequence[str], target: Column | None, qid: Column | None, source: str) -> Columns:
    """Find target and query; all others are features."""
    y = None if target is None else _position(names, target, "target", source)
    q = None if qid is None else _position(names, qid, "qid", source)
    if y is not None and y == q:
        raise ValueError(f"target and qid are the same column, {target!r}")
    return Columns([k for k in range(len(names)) if k not in (y, q)], y, q)


def _position(names: Sequence[str], column: Column, role: str, source: str) -> int:
    """By name; if there is no such name, by position (from 0, or from the end if negative)."""
    if isinstance(column, bool) or not isinstance(column, str | int):
        raise TypeError(f"{role} must be a column's name or position, got {column!r}")
    if isinstance(column, str):
        matches = [k for k, name in enumerate(names) if name == column]
        if len(matches) > 1:
            raise DataError(f"{len(matches)} columns have the name {column!r} of the {role}", source)
        if matches:
            return matches[0]
    try:
        return range(len(names))[int(column)]
    except (ValueError, IndexError):
        listed = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
        reason = f"no column {column!r} for the {role}; there are {len(names)}: {listed}"
        raise DataError(reason, source) from None


def free_name(name: str, names: Sequence[str]) -> str:
    """The name, or the first of name_1, name_2, ... that no column has."""
    candidates = [name, *(f"{name}_{k}" for k in range(1, len(names) + 1))]
    return next(c for c in candidates if c not in names)
