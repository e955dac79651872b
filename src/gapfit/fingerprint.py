"""What data are, in 32 hexadecimal digits: equal for equal bytes, different after any change of one bit.

Bounds hold for the data they were found on, so data are known by their bytes, never by sums of them. Small
arrays go through BLAKE2b as they are. Large ones are first condensed at the speed of memory (see
`compiled.mixing`), in blocks whose size depends on nothing, so that the number of threads plays no part.
Objects are known by their class and what they hold, functions by their code and what they refer to.
"""

import secrets
from collections.abc import Mapping
from functools import cached_property, partial
from hashlib import blake2b
from numbers import Integral, Real
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gapfit import threads

__all__ = ["fingerprint"]

_LARGE = 2**16  # bytes of an array that is condensed
_BLOCK = 2**17  # words of eight bytes that are condensed together


def fingerprint(*things: Any) -> str:
    """The digest of arrays, sparse matrices, numbers, texts, collections, functions and objects of these.

    What cannot be looked into is never equal to anything, itself included.
    """
    known = _Digest()
    known.add(things)
    return known.hash.hexdigest()


class _Digest:
    """What was seen so far. Every part begins with what it is and how long: no two inputs run together."""

    def __init__(self) -> None:
        self.hash = blake2b(digest_size=16)
        self.inside: list[int] = []  # what we are inside of: an object may hold itself

    def add(self, thing: Any) -> None:
        if thing is None or isinstance(thing, (str, bytes, Real, np.generic, type)):
            self._put(*_plain(thing))
        elif id(thing) in self.inside:
            self._put("again", str(self.inside.index(id(thing))).encode())
        else:
            self.inside.append(id(thing))
            self._add_inside(thing)
            self.inside.pop()

    def _put(self, kind: str, content: bytes) -> None:
        self.hash.update(f"{kind} {len(content)}:".encode() + content)

    def _add_inside(self, thing: Any) -> None:
        if isinstance(thing, np.ndarray) and thing.dtype != object:
            self._put("array", f"{thing.dtype.str} {thing.shape}".encode())
            self.hash.update(_condensed(thing))
        elif isinstance(thing, np.dtype):
            self._put("dtype", thing.str.encode())
        elif sparse.issparse(thing):
            thing = thing.tocsr()
            self._parts("csr", [str(thing.shape), thing.data, thing.indices, thing.indptr])
        elif isinstance(thing, Mapping):
            self._parts("mapping", [part for pair in thing.items() for part in pair])
        elif isinstance(thing, (set, frozenset)):
            self._parts("set", sorted(fingerprint(member) for member in thing))
        elif isinstance(thing, (list, tuple, np.ndarray)):
            self._parts(f"{type(thing).__name__} {np.shape(thing) if hasattr(thing, 'shape') else ''}", thing)
        elif isinstance(thing, partial):
            self._parts("partial", [thing.func, thing.args, thing.keywords])
        elif isinstance(thing, FunctionType):
            self._parts("function", _of_function(thing))
        elif isinstance(thing, BuiltinFunctionType) or type(thing).__name__ in ("ufunc", "CPUDispatcher"):
            self._put("builtin", f"{getattr(thing, '__module__', '')}.{thing.__name__}".encode())
        elif getattr(thing, "__self__", None) is not None:
            self._parts("method", [thing.__name__, thing.__self__])
        else:
            self._parts(_name(type(thing)), _held(thing))

    def _parts(self, kind: str, parts: Any) -> None:
        self._put(kind, str(len(parts)).encode())
        for part in parts:
            self.add(part)


def _plain(thing: Any) -> tuple[str, bytes]:
    if isinstance(thing, str):
        return "text", thing.encode("utf-8", "surrogatepass")
    if isinstance(thing, bytes):
        return "bytes", thing
    if isinstance(thing, type):
        return "class", _name(thing).encode()
    if isinstance(thing, Integral):
        return "number", str(int(thing)).encode()
    if isinstance(thing, Real) and float(thing) == thing:  # 1 and 1.0 are the same, 0.0 and -0.0 are not
        return "number", repr(float(thing)).removesuffix(".0").encode()
    return _name(type(thing)), repr(thing).encode()


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _of_function(function: Any) -> list[Any]:
    """Its name, its code and what it refers to."""
    code = function.__code__
    constants = [value for value in code.co_consts if not hasattr(value, "co_code")]
    inner = [value.co_code for value in code.co_consts if hasattr(value, "co_code")]
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    where = f"{function.__module__}.{function.__qualname__}"
    return [where, code.co_code, constants, inner, code.co_names, function.__defaults__, cells]


def _held(thing: Any) -> list[Any]:
    """What an object holds, but for what it has computed from that; what it would pickle, if it says."""
    kind = type(thing)
    if "__getstate__" in {name for base in kind.__mro__[:-1] for name in vars(base)}:
        held = thing.__getstate__()
    elif hasattr(thing, "__dict__"):
        held = vars(thing)
    else:
        return [secrets.token_hex(16)]
    if not isinstance(held, Mapping):
        return [held]
    return [{k: v for k, v in held.items() if not isinstance(getattr(kind, str(k), None), cached_property)}]


def _condensed(array: NDArray[Any]) -> bytes:
    """The bytes of a small array; of a large one, the states after all its blocks, and what is left over."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if data.size < _LARGE:
        return data.tobytes()
    from gapfit.compiled.mixing import LANES, mix  # compiled code is loaded only when it is to run

    whole = data.size // 8 * 8
    words = data[:whole].view(np.uint64)
    starts = range(0, len(words), _BLOCK)
    states = np.empty((len(starts), 2 * LANES), np.uint64)

    def condense(block: int) -> None:
        mix(words[starts[block] : starts[block] + _BLOCK], np.uint64(block), states[block])

    threads.each(condense, range(len(starts)))
    return states.tobytes() + data[whole:].tobytes()
