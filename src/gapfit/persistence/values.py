"""Values as data: how each kind of value is written to a model file, and read again.

Which kind a value has is a fixed fact of the class and the name it belongs to, never of the file. So a file
cannot ask for anything: it answers questions, and an answer that is none is a ModelFileError.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from math import isfinite
from reprlib import repr as show
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapfit.container import storable
from gapfit.errors import ModelFileError
from gapfit.persistence.container import need
from gapfit.solution import Status


class Shelf:
    """The arrays of a file. `put` gives a reference to one, `take` each of them once."""

    def __init__(self, arrays: Iterable[NDArray[Any]] = ()) -> None:
        self.arrays: list[Any] = list(arrays)  # None: taken

    def put(self, array: Any) -> dict[str, int]:
        """Store an array."""
        self.arrays.append(np.asarray(array))
        return {"array": len(self.arrays) - 1}

    def take(self, value: Any, dtypes: str, *ndim: int) -> NDArray[Any]:
        """A copy of the array, which must have one of these dimensions, and of these dtypes or kinds."""
        (k,) = fields(value, "array")
        array = self.arrays[k] if type(k) is int and 0 <= k < len(self.arrays) else None
        if array is None:
            raise ModelFileError(f"array {show(k)} is missing or used twice")
        self.arrays[k] = None
        known = {array.dtype.kind, array.dtype.str} & set(dtypes.split())
        need(known, f"an array of dtype {array.dtype} where {dtypes} is needed")
        need(array.ndim in ndim, f"an array of shape {array.shape} where {ndim} dimensions are needed")
        return np.asarray(array.astype(array.dtype.newbyteorder("=")))


class Kind(NamedTuple):
    """How values of one kind are written as JSON and arrays, and how they are read."""

    write: Callable[[Any, Shelf], Any]
    read: Callable[[Any, Shelf], Any]


def fields(value: Any, *names: str) -> list[Any]:
    """The values of a JSON object that has exactly these names."""
    need(isinstance(value, dict) and value.keys() == set(names), f"not an object with {', '.join(names)}")
    return [value[name] for name in names]


def one_of(name: Any, names: Collection[str]) -> str:
    """The name, which must be one of these."""
    need(isinstance(name, str) and name in names, f"{show(name)} is none of {', '.join(names)}")
    return str(name)


# -- numbers, flags, names ----------------------------------------------------------------------------


def write_plain(value: Any, shelf: Shelf | None = None) -> Any:
    """None, a flag, a text or a number. JSON has no infinity: that is an object."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int and -(2**63) <= value < 2**63:
        return value
    if type(value) is float and value == value:
        return value if isfinite(value) else {"float": str(value)}
    raise TypeError("not None, a flag, a text or a number")


def read_plain(value: Any, shelf: Shelf | None = None) -> Any:
    """What `write_plain` wrote."""
    if isinstance(value, dict):
        (text,) = fields(value, "float")
        need(text in ("inf", "-inf"), f"{show(text)} is not an infinite number")
        return float(text)
    need(value is None or type(value) in (bool, str, int, float), "not None, a flag, a text or a number")
    need(type(value) is not int or -(2**63) <= value < 2**63, "the number is too large")
    need(type(value) is not float or isfinite(value), "the number is too large")
    return value


def _typed(kind: type, what: str, holds: Callable[[Any], bool] = lambda value: True) -> Kind:
    """One type of plain values; `holds` tells the allowed ones."""

    def read(value: Any, shelf: Shelf) -> Any:
        value = read_plain(value)
        need(type(value) is kind and holds(value), f"{show(value)} is not {what}")
        return value

    return Kind(lambda value, shelf: write_plain(kind(value)), read)


def _write_one_or_several(value: Any, shelf: Shelf) -> Any:
    """A plain value, or a list or tuple of them."""
    if type(value) not in (list, tuple):
        return write_plain(value)
    return {type(value).__name__: [write_plain(part) for part in value]}


def _read_one_or_several(value: Any, shelf: Shelf) -> Any:
    make = next((kind for kind in (list, tuple) if isinstance(value, dict) and kind.__name__ in value), None)
    if make is None:
        return read_plain(value)
    (parts,) = fields(value, make.__name__)
    need(isinstance(parts, list), "not a list of plain values")
    return make(read_plain(part) for part in parts)


PLAIN = Kind(write_plain, read_plain)
ONE_OR_SEVERAL = Kind(_write_one_or_several, _read_one_or_several)
NUMBER = _typed(float, "a number")
FINITE = _typed(float, "a finite number", isfinite)
COUNT = _typed(int, "a count", lambda n: n >= 0)
FLAG = _typed(bool, "a flag")
TEXT = _typed(str, "a text")
NOWHERE = Kind(lambda value, shelf: None, lambda value, shelf: None)  # it belongs to the program that fits
STATUS = Kind(
    lambda status, shelf: status.name,
    lambda name, shelf: Status[one_of(name, Status.__members__)],
)

# -- arrays -------------------------------------------------------------------------------------------


def floats(*ndim: int) -> Kind:
    """Finite numbers in single or double precision, in as many dimensions as one of these."""

    def read(value: Any, shelf: Shelf) -> NDArray[Any]:
        array = shelf.take(value, "<f4 <f8", *ndim)
        need(np.isfinite(array).all(), "it holds infinite numbers")
        return array

    return Kind(lambda array, shelf: shelf.put(_dense(array, ndim)), read)


def _dense(array: Any, ndim: tuple[int, ...]) -> Any:
    """Sparse weights as an array; those of a single model may have no second axis."""
    if not hasattr(array, "toarray"):
        return array
    return array.toarray().ravel() if 1 in ndim and array.shape[0] == 1 else array.toarray()


def _write_number_or_numbers(value: Any, shelf: Shelf) -> Any:
    return shelf.put(value) if np.ndim(value) else FINITE.write(value, shelf)


def _read_number_or_numbers(value: Any, shelf: Shelf) -> Any:
    stored = isinstance(value, dict) and "array" in value
    return floats(1).read(value, shelf) if stored else FINITE.read(value, shelf)


ONE_OR_A_ROW = Kind(_write_number_or_numbers, _read_number_or_numbers)  # of finite numbers


def integers(dtype: str, *ndim: int) -> Kind:
    """Integers of one size."""
    return Kind(lambda array, shelf: shelf.put(array), lambda value, shelf: shelf.take(value, dtype, *ndim))


def write_sizes(sizes: Sequence[int], shelf: Shelf) -> Any:
    """The sizes of consecutive parts, as the ends of these."""
    return shelf.put(np.cumsum(sizes, dtype=np.int64))


def read_slices(value: Any, total: int, shelf: Shelf) -> Iterator[slice]:
    """The parts, which must make up `total`; one by one, since there may be many."""
    ends = shelf.take(value, "<i8", 1)
    edges = np.concatenate([[0], ends])
    need((edges[1:] >= edges[:-1]).all() and edges[-1] == total, "its parts do not fit")
    return (slice(first, last) for first, last in pairwise(edges.tolist()))


def write_texts(texts: Iterable[str], shelf: Shelf) -> Any:
    """UTF-8, one after another; not in the header, whose size is limited."""
    coded = [text.encode("utf-8", "surrogatepass") for text in texts]
    joined = np.frombuffer(b"".join(coded), np.uint8)
    return {"utf8": shelf.put(joined), "ends": write_sizes(list(map(len, coded)), shelf)}


def read_texts(value: Any, shelf: Shelf) -> list[str]:
    """What `write_texts` wrote."""
    utf8, ends = fields(value, "utf8", "ends")
    coded = shelf.take(utf8, "|u1", 1).tobytes()
    parts = read_slices(ends, len(coded), shelf)
    return [coded[part].decode("utf-8", "surrogatepass") for part in parts]  # its error is a ValueError


def _read_names(value: Any, shelf: Shelf) -> NDArray[Any]:
    texts = read_texts(value, shelf)
    names = np.empty(len(texts), dtype=object)
    names[:] = texts
    return names


def _write_labels(labels: NDArray[Any], shelf: Shelf) -> Any:
    if labels.dtype == object and all(isinstance(label, str) for label in labels):
        return write_texts(labels, shelf)
    if not storable(labels.dtype):
        raise TypeError(f"labels of dtype {labels.dtype} cannot be stored; encode them as numbers or texts")
    return shelf.put(labels)


def _read_labels(value: Any, shelf: Shelf) -> NDArray[Any]:
    labels = _read_levels(value, shelf)
    need((labels[1:] > labels[:-1]).all(), "not two labels or more, in order")
    return labels


def _read_levels(value: Any, shelf: Shelf) -> NDArray[Any]:
    """Labels in an order that is for the model to know."""
    texts = isinstance(value, dict) and "utf8" in value
    labels = _read_names(value, shelf) if texts else shelf.take(value, "b i u f U", 1)
    need(len(labels) >= 2 and len(set(labels.tolist())) == len(labels), "not two labels or more, in order")
    need(labels.dtype.kind != "f" or np.isfinite(labels).all(), "a label is infinite")
    return labels


NAMES = Kind(write_texts, _read_names)
LABELS = Kind(_write_labels, _read_labels)
LEVELS = Kind(_write_labels, _read_levels)
