"""Parameters that may be objects: those of gapfit are stored by their name and parameters."""

from collections.abc import Collection, Mapping
from inspect import signature
from typing import Any

import numpy as np

from gapfit.metrics import BY_CLASS
from gapfit.metrics import NAMES as METRICS
from gapfit.persistence.container import need
from gapfit.persistence.values import Kind, Shelf, fields, one_of, read_plain, write_plain
from gapfit.registry import LOSSES, PENALTIES, SOLVERS

_ARRAYS = {
    "Q": (2,),
    "lo": (0, 1),
    "hi": (0, 1),
    "costs": (2,),
    "quantiles": (1,),
    "groups": (1,),
    "weights": (1,),
    "A": (2,),
    "b": (1,),
}  # parameters, and their dimensions

_AROUND = ("box", "constrained")  # penalties with another one inside


def registered(kind: str, table: Mapping[str, Any], names: Collection[str]) -> Kind:
    """One of the names, or an object of one of the classes in the table: {kind: name, parameters: {...}}."""

    def write(thing: Any, shelf: Shelf) -> Any:
        if isinstance(thing, str):
            return str(thing)
        name = next((name for name, known in table.items() if type(thing) is known), None)
        if name is None:
            raise TypeError(f"not a {kind} that comes with gapfit")
        names = signature(type(thing)).parameters
        return {kind: name, "parameters": {key: write_one(key, getattr(thing, key), shelf) for key in names}}

    def write_one(name: str, value: Any, shelf: Shelf) -> Any:
        if name == "penalty":
            return write(value, shelf)
        return (
            shelf.put(np.asarray(value, np.float64))
            if name in _ARRAYS and value is not None
            else write_plain(value)
        )

    def read(value: Any, shelf: Shelf) -> Any:
        if isinstance(value, str):
            return one_of(value, names)
        name, parameters = fields(value, kind, "parameters")
        make = table[one_of(name, table)]
        need(isinstance(parameters, dict), f"the parameters of {name} are not an object")
        found = {key: read_one(key, part, shelf, name) for key, part in parameters.items()}
        with np.errstate(all="ignore"):  # the class itself says what it does not take
            return make(**found)

    def read_one(name: str, value: Any, shelf: Shelf, outer: str) -> Any:
        if name == "penalty":
            inner, _ = fields(value, "penalty", "parameters")
            need(inner not in _AROUND, f"a {inner} inside a {outer}")
            return read(value, shelf)
        if name in _ARRAYS and value is not None:
            return shelf.take(value, "<f8", *_ARRAYS[name])
        return read_plain(value)

    return Kind(write, read)


def named_loss(*names: str) -> Kind:
    """A loss, which the estimator may also know by these names."""
    return registered("loss", LOSSES, [*LOSSES, *names])


LOSS = named_loss()
METRIC = named_loss(*METRICS, *BY_CLASS)
PENALTY = registered("penalty", PENALTIES, PENALTIES)


def name_among(names: Collection[str]) -> Kind:
    """One of the names."""

    def write(name: Any, shelf: Shelf) -> str:
        if not isinstance(name, str):
            raise TypeError("a function, not the name of one that comes with gapfit")
        return str(name)

    return Kind(write, lambda name, shelf: one_of(name, names))


SOLVER = name_among(SOLVERS)


def _write_class_weight(weight: Any, shelf: Shelf) -> Any:
    """A dictionary is a list of pairs: JSON has names only for keys."""
    if not isinstance(weight, Mapping):
        return write_plain(weight)
    return {"map": [[write_plain(label), write_plain(number)] for label, number in weight.items()]}


def _read_class_weight(value: Any, shelf: Shelf) -> Any:
    if not isinstance(value, dict) or "map" not in value:
        return read_plain(value)
    (pairs,) = fields(value, "map")
    pairwise = isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
    need(pairwise, "not a list of pairs")
    weight = {read_plain(label): read_plain(number) for label, number in pairs}
    need(len(weight) == len(pairs), "a label appears twice")
    return weight


CLASS_WEIGHT = Kind(_write_class_weight, _read_class_weight)
