"""States as data: JSON and arrays, and back, to the last bit.

A state is made of None, flags, numbers, texts, lists, tuples, dictionaries, arrays, and records of
`gapfit.records`. Objects that the reader has anyway, such as the penalty, are passed as `shared` and stored
by their names. Nothing else can be in a file, and nothing else comes out of one.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit.checkpoint.file import KINDS
from gapfit.errors import CheckpointError
from gapfit.records import STORABLE, name_of
from gapfit.registry import SOLVERS, as_solver


def encode(value: Any, shared: Mapping[str, Any]) -> tuple[Any, list[NDArray[Any]]]:
    """JSON and arrays that stand for the value; TypeError if nothing does."""
    encoder = _Encoder(shared)
    return encoder.encode(value), encoder.arrays


def decode(content: Any, arrays: Sequence[NDArray[Any]], shared: Mapping[str, Any]) -> Any:
    """What `encode` was given, arrays copied; CheckpointError if the content is none of its making."""
    try:
        return _Decoder(arrays, shared).decode(content)
    except RecursionError as error:
        raise CheckpointError("it holds what is nested too deeply") from error


class _Encoder:
    """Writes states; the arrays gather on the way."""

    def __init__(self, shared: Mapping[str, Any]) -> None:
        self.shared = shared
        self.arrays: list[NDArray[Any]] = []

    def encode(self, value: Any) -> Any:
        """JSON that stands for the value."""
        if value is None or type(value) in (bool, str, int):
            return value
        if type(value) is float:
            return value if isfinite(value) else {"float": str(value)}
        if isinstance(value, np.ndarray | np.generic):
            return self._put(value)
        if type(value) is list:
            return [self.encode(part) for part in value]
        if type(value) is dict:
            return {"dict": [[self.encode(part) for part in pair] for pair in value.items()]}
        if isinstance(value, tuple) and (type(value) is tuple or name_of(type(value)) in STORABLE):
            parts = [self.encode(part) for part in value]
            return {"tuple": parts} if type(value) is tuple else {name_of(type(value)): parts}
        for name, known in self.shared.items():
            if value is known:
                return {"shared": name}
        raise TypeError(f"a state cannot hold {type(value).__name__}")

    def _put(self, value: Any) -> Any:
        array = np.asarray(value)
        if array.dtype.kind not in KINDS:
            raise TypeError(f"a state cannot hold arrays of dtype {array.dtype}")
        by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
        kind = "scalar" if value is not array else "transposed" if by_columns else "array"
        self.arrays.append(array.T if by_columns else array)
        return {kind: len(self.arrays) - 1}


_ARRAYS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "array": lambda array: array,
    "transposed": lambda array: array.T,  # a file knows one order only
    "scalar": lambda array: array[()],
}


class _Decoder:
    """Reads states, from JSON that may hold anything."""

    def __init__(self, arrays: Sequence[NDArray[Any]], shared: Mapping[str, Any]) -> None:
        self.arrays, self.shared = arrays, shared

    def decode(self, value: Any) -> Any:
        """What `encode` was given; arrays are copies."""
        if value is None or type(value) in (bool, str, int, float):
            return value
        if isinstance(value, list):
            return [self.decode(part) for part in value]
        if not isinstance(value, dict) or len(value) != 1:
            raise CheckpointError("it holds what is no state")
        ((name, content),) = value.items()
        if name == "float" and content in ("inf", "-inf", "nan"):
            return float(content)
        if name in _ARRAYS and type(content) is int and 0 <= content < len(self.arrays):
            return _ARRAYS[name](self.arrays[content].copy(order="K"))
        if name == "shared" and isinstance(content, str) and content in self.shared:
            return self.shared[content]
        if not isinstance(content, list):
            raise CheckpointError("it holds what is no state")
        parts = [self.decode(part) for part in content]
        if name == "tuple":
            return tuple(parts)
        if name == "dict":
            return self._dict(parts)
        return _record(name, parts)

    def _dict(self, parts: list[Any]) -> dict[Any, Any]:
        try:
            return dict(parts)
        except (TypeError, ValueError) as error:
            raise CheckpointError("it holds what is no dictionary") from error


def _record(name: str, parts: list[Any]) -> Any:
    if name not in STORABLE:
        for solver in SOLVERS:  # which enter their records when they are loaded
            as_solver(solver)
    if name not in STORABLE or len(parts) != len(STORABLE[name]._fields):
        raise CheckpointError(f"it holds a record {name[:80]!r}, which this version of gapfit does not know")
    return STORABLE[name](*parts)
