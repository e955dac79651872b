"""Which columns of a table are features, which is the target and which the query."""

from collections.abc import Sequence
from typing import NamedTuple

from gapfit.errors import DataError
from gapfit.names import meant

Column = str | int


class Roles(NamedTuple):
    """What the caller says of the columns of a table."""

    target: Column | None = None
    qid: Column | None = None
    drop: Sequence[Column] = ()  # neither features nor anything else
    only: Sequence[str] | None = None  # the names of all features, in their order; others are left out


class Columns(NamedTuple):
    """Positions in the table."""

    features: list[int]
    target: int | None
    qid: int | None


def choose(names: Sequence[str], roles: Roles, source: str) -> Columns:
    """Find target and query; all others that are not to be dropped are features, and have names."""
    y = None if roles.target is None else _position(names, roles.target, "target", source)
    q = None if roles.qid is None else _position(names, roles.qid, "qid", source)
    if y is not None and y == q:
        raise ValueError(f"target and qid are the same column, {roles.target!r}")
    dropped = {_position(names, column, "drop", source) for column in roles.drop}
    if dropped & {y, q}:
        raise ValueError("drop names the column of the target or of the qid")
    if roles.only is not None:
        return Columns([_position(names, column, "feature", source) for column in roles.only], y, q)
    features = [k for k in range(len(names)) if k not in (y, q) and k not in dropped]
    nameless = [k for k in features if not names[k].strip()]
    if nameless:
        reason = (
            f"column {nameless[0]} has no name; if it only counts the rows, drop={nameless} leaves it out"
        )
        raise DataError(reason, source, 1)
    return Columns(features, y, q)


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
        reason += meant(str(column), names)
        raise DataError(reason, source) from None


def free_name(name: str, names: Sequence[str]) -> str:
    """The name, or the first of name_1, name_2, ... that no column has."""
    candidates = [name, *(f"{name}_{k}" for k in range(1, len(names) + 1))]
    return next(c for c in candidates if c not in names)
