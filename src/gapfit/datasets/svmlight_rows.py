"""Samples as they come out of the parser: growing arrays, which become sparse matrices."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

INT32_MAX = 2**31 - 1


class Growing:
    """An array with room at its end.

    It grows by a sixteenth, and without a copy where the system can remap memory, so that it never
    takes much more than what is in it.
    """

    def __init__(self, dtype: DTypeLike, size: int = 0) -> None:
        self.array: NDArray[Any] = np.zeros(size, dtype=dtype)
        self.size = size

    def room(self, more: int) -> NDArray[Any]:
        """The free end of the array, for ``more`` elements at least; count what is used in ``size``."""
        capacity = self.array.size
        if self.size + more > capacity:
            self.array.resize(max(self.size + more, capacity + capacity // 16), refcheck=False)
        return self.array[self.size :]

    def take(self) -> NDArray[Any]:
        """What is in it; afterwards it must not grow."""
        self.array.resize(self.size, refcheck=False)
        return self.array


class Rows:
    """Samples that the kernel appends."""

    def __init__(self, dtype: DTypeLike, multilabel: bool) -> None:
        self.multilabel = multilabel
        self.data = Growing(dtype)
        self.indices = Growing(np.int32)
        self.lengths = Growing(np.int32, 1)  # entries per sample, after a zero
        self.labels = Growing(np.float64)
        self.counts = Growing(np.int32, 1)  # labels per sample, after a zero, if there are several
        self.qid = Growing(np.int64)

    def __len__(self) -> int:
        return self.lengths.size - 1

    def room(self, samples: int, entries: int, labels: int, queried: bool) -> tuple[NDArray[Any], ...]:
        """Where the kernel may put so many more."""
        return (
            self.data.room(entries),
            self.indices.room(entries),
            self.lengths.room(samples),
            self.labels.room(labels),
            self.counts.room(samples if self.multilabel else 0),
            self.qid.room(samples if queried else 0),
        )

    def add(self, samples: int, entries: int, labels: int, queried: bool) -> None:
        """The kernel has filled so many."""
        self.data.size += entries
        self.indices.size += entries
        self.lengths.size += samples
        self.labels.size += labels
        self.counts.size += samples if self.multilabel else 0
        self.qid.size += samples if queried else 0

    def take_entries(self, columns: int) -> sparse.csr_array:
        """X."""
        X = _csr(self.data.take(), self.indices.take(), self.lengths.take(), columns)
        X.has_canonical_format = True  # the kernel has seen to it
        return X

    def take_labels(self, columns: int) -> sparse.csr_array:
        """The sets of labels, as ones."""
        labels = self.labels.take().astype(np.int32)
        y = _csr(np.ones(labels.size, dtype=np.int8), labels, self.counts.take(), columns)
        y.sum_duplicates()  # a label that is given twice counts once
        y.data[:] = 1
        return y


def _csr(data: NDArray[Any], indices: NDArray[Any], lengths: NDArray[Any], columns: int) -> sparse.csr_array:
    indptr = lengths if data.size <= INT32_MAX else lengths.astype(np.int64)
    np.cumsum(indptr, out=indptr)  # in place: files with short lines have many rows
    return sparse.csr_array((data, indices, indptr), shape=(indptr.size - 1, columns))
