"""Reductions: from a user's rows, labels and weights to those of a problem, and back.

`apply` makes the targets and weights of a `Problem`, `invert` carries its answer back to the user's rows or
labels. Each preserves J: at the same w and b the reduced problem has the value of the original one.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.class_weight import compute_class_weight

from gapfit._types import Data, Vector
from gapfit.design.rows import different_rows, other_of_two, rows_as_set, take_rows


class Multiset(NamedTuple):
    """The samples as a set with multiplicities: equal ones are one, those of weight zero are none.

    J depends on nothing else. Samples of few entries are put in a canonical order as well, so that weight k
    equals k copies, and one order of the rows the other, to the last bit.
    """

    rows: NDArray[np.intp]  # of the n samples, one for each that is different
    weight: Vector  # of these
    place: NDArray[np.intp]  # among these, of every sample; -1: it has no weight

    @classmethod
    def of(cls, X: Data, y: NDArray[Any], weight: Vector, offset: Vector | None) -> "Multiset":
        """Of samples of which nothing else is wanted."""
        return cls.with_rows(X, y, weight, offset)[0]

    @classmethod
    def with_rows(
        cls, X: Data, y: NDArray[Any], weight: Vector, offset: Vector | None
    ) -> tuple["Multiset", Data | None]:
        """Their set, and its rows of X, a copy, if that was made on the way."""
        rows = everything = np.arange(len(weight))
        if np.count_nonzero(weight) < len(weight):
            rows = np.flatnonzero(weight)
        size = X.nnz if type(X) is not np.ndarray and sparse.issparse(X) else X.size
        few = len(rows) <= _ROWS and size <= _ENTRIES
        ordered, plain = few and size <= _ORDERED, offset is None and rows is everything
        if few:
            alike = ordered or not plain or _seem_alike(X, y)
        else:
            alike = plain and _repetitive(X, y)
        if not alike:
            place = rows if rows is everything else _places(len(weight), rows, everything[: len(rows)])
            return cls(rows, weight[rows], place), None
        if rows is not everything:
            X, y, offset = take_rows(X, rows), y[rows], None if offset is None else offset[rows]
        if ordered:
            codes = _codes(y)
            if y.dtype.kind in "iu" and not other_of_two(codes):
                # numbers of what is there, whatever else there was
                codes = _codes(np.unique(y, return_inverse=True)[1])
            codes = codes if offset is None else _pair_codes(codes, offset)
            if rows is everything:  # as is most often so
                different, merged, place, copied = rows_as_set(X, codes, weight.copy())  # without gaps
                return cls(different, merged, place), copied
            different, merged, number, copied = rows_as_set(X, codes, weight[rows])
            return cls(rows[different], merged, _places(len(weight), rows, number)), copied
        different, number, _ = different_rows(X, _codes(y, offset), len(y))
        if sparse.issparse(X):  # loops of one length after the other are faster
            lengths = np.minimum(np.diff(X.indptr), 2**16 - 1).astype(np.uint16)  # few bits sort fast
            different, number = _sorted(different, number, lengths[different])
        merged = np.bincount(number, weight[rows]).astype(np.float64, copy=False)
        return cls(rows[different], merged, _places(len(weight), rows, number)), None

    @classmethod
    def unlike(cls, weight: Vector) -> "Multiset":
        """Of samples that are not compared."""
        rows = np.arange(len(weight))
        return cls(rows, weight, rows)

    @property
    def reduces(self) -> bool:
        """Are samples in other places, or fewer?"""
        return self.rows is not self.place

    def ordered(self, order: NDArray[np.intp]) -> "Multiset":
        """The same in another order; those that are left out have no weight."""
        new = np.full(len(self.rows), -1)
        new[order] = np.arange(len(order))
        return Multiset(self.rows[order], self.weight[order], np.where(self.place < 0, -1, new[self.place]))

    def apply(self, values: Any) -> Any:
        """The rows that stand for all; no copy is made if these are all of them, in their order."""
        if values is None or not self.reduces:
            return values
        return take_rows(values, self.rows)

    def invert(self, values: NDArray[Any], absent: Any) -> NDArray[Any]:
        """A value for every sample: `absent` where it had no weight."""
        if not self.reduces:
            return values
        everywhere, none = values[self.place], self.place < 0
        return np.where(none, absent, everywhere) if none.any() else everywhere


_ROWS, _ENTRIES = 10_000, 2**22  # up to which samples are compared whatever they look like,
_ORDERED = 2**17  # and up to which copying them in another order costs next to nothing
_FIRST = 8  # columns, by which samples that differ do so nearly always
_PROBE, _PROBE_ENTRIES = 4096, 2**16  # samples that tell whether comparing all of them is worth it,
_WORTH = 0.02  # which it is if so many of them are equal
_MOST = 2**32 - 1  # samples: they are numbered in 32 bits


def _seem_alike(X: Data, y: NDArray[Any]) -> bool:
    """Are some samples equal in their first columns?"""
    if sparse.issparse(X):
        return True  # these may be empty
    different, _, _ = different_rows(np.ascontiguousarray(X[:, :_FIRST]), _codes(y), len(y))
    return len(different) < len(y)


def _repetitive(X: Data, y: NDArray[Any]) -> bool:
    """Are there many equal samples, by the first of them?"""
    n, d = X.shape
    if n >= _MOST:
        return False
    count = int(np.searchsorted(X.indptr, _PROBE_ENTRIES)) if sparse.issparse(X) else _PROBE_ENTRIES // d
    count = min(count, _PROBE, n)
    different, _, _ = different_rows(X, _codes(y[:count]), count)
    return bool(count - len(different) > _WORTH * count)


def _sorted(
    rows: NDArray[np.intp], number: NDArray[np.intp], keys: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows in the order of their keys, and the numbers of the samples in it."""
    order = np.argsort(keys, kind="stable")
    new = np.empty_like(order)
    new[order] = np.arange(len(order))
    return rows[order], new[number]


def _places(n: int, rows: NDArray[np.intp], numbers: NDArray[np.intp]) -> NDArray[np.intp]:
    """The numbers of these rows, -1 for all others of n."""
    if len(rows) == n:
        return numbers
    places = np.full(n, -1)
    places[rows] = numbers
    return places


def _codes(y: NDArray[Any], offset: Vector | None = None) -> NDArray[np.uint64]:
    """An integer for each target and offset, equal where these are; of the values, not of their order."""
    if y.dtype.kind in "fiub":
        codes = np.asarray(y, dtype=np.float64 if y.dtype.kind == "f" else np.int64).view(np.uint64)
    else:
        codes = np.unique(y, return_inverse=True)[1].astype(np.uint64)
    return codes if offset is None else _pair_codes(codes, offset)


def _pair_codes(codes: NDArray[np.uint64], offset: Vector) -> NDArray[np.uint64]:
    """The same for pairs of a code and an offset."""
    pairs = np.column_stack([codes, np.asarray(offset, dtype=np.float64).view(np.uint64)])
    return np.unique(pairs, axis=0, return_inverse=True)[1].ravel().astype(np.uint64)


class Labels(NamedTuple):
    """Classes as targets -1 and +1: one problem for two classes, else one for each class against the rest."""

    classes: NDArray[Any]
    factors: Any = None  # by which the samples of each are weighed

    @classmethod
    def of(cls, y: NDArray[Any]) -> "Labels":
        pair = two_numbers(y)
        classes = np.unique(y) if pair is None else pair
        if len(classes) < 2:
            raise ValueError(f"y holds one class only, {classes[0]}; there is nothing to tell apart")
        return cls(classes)

    def apply(self, y: NDArray[Any]) -> list[Vector]:
        """The targets of each problem. With two classes the second is +1."""
        if y.dtype == np.float64 and self.classes.tolist() == [-1.0, 1.0]:  # as they are
            return [y.copy()]
        positives = self.classes[1:] if len(self.classes) == 2 else self.classes
        return [np.where(y == positive, 1.0, -1.0) for positive in positives]

    def invert(self, scores: NDArray[Any]) -> NDArray[Any]:
        """The labels that scores (n,) or (n, k) stand for; a score of zero stands for the first class."""
        winner = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        return np.asarray(self.classes[winner])


def two_numbers(y: NDArray[Any]) -> NDArray[Any] | None:
    """The labels in their order if they are two numbers, found without sorting."""
    if y.dtype.kind not in "fiub" or y.dtype.itemsize > 8 or not len(y):
        return None
    one, other = y[0], y[other_of_two(_codes(y))]
    if one == other:  # or zeros of both signs
        return None
    return np.array([one, other] if one < other else [other, one])


def class_factors(class_weight: Any, labels: Labels, y: NDArray[Any], weight: Vector) -> Vector:
    """The weight of each class; "balanced" gives every class the same mass of weight.

    Mass, not number: a sample of weight k counts as k samples.
    """
    if class_weight is None:
        return np.ones(len(labels.classes))
    balanced = isinstance(class_weight, str) and class_weight == "balanced"
    if not balanced and not isinstance(class_weight, Mapping):
        raise ValueError(f'class_weight must be None, "balanced" or a dictionary, got {class_weight!r}')
    try:
        factors = compute_class_weight(class_weight, classes=labels.classes, y=y, sample_weight=weight)
    except (TypeError, ValueError) as error:
        raise ValueError(f"class_weight must give each class a number: {error}") from error
    if not ((factors >= 0) & np.isfinite(factors)).all():
        raise ValueError(f"class_weight must be finite and not negative, got {class_weight!r}")
    return np.asarray(factors, dtype=np.float64)


def weigh_classes(
    class_weight: Any, labels: Labels, y: NDArray[Any], weight: Vector
) -> tuple[Vector, Vector]:
    """The weights times those of the classes, and these."""
    factors = class_factors(class_weight, labels, y, weight)
    if class_weight is None:
        return weight, factors
    each = factors[np.searchsorted(labels.classes, y)]
    weighted = np.asarray(weight * each, dtype=np.float64)
    if not np.isfinite(weighted).all() or ((weighted == 0) & (each > 0)).any():
        raise ValueError(f"class_weight times sample_weight overflows or underflows: {class_weight!r}")
    if len(np.unique(y[weighted > 0])) < 2:
        raise ValueError(f"class_weight leaves fewer than two classes: {class_weight!r}")
    return weighted, factors
