"""svmlight files, written."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gapfit.datasets.output import Target, written
from gapfit.datasets.record import Data, check_writable
from gapfit.datasets.svmlight_rows import INT32_MAX


def write_svmlight(target: Target, data: Data, *, zero_based: bool = False) -> None:
    """Write a svmlight file that `read_svmlight` reads back to equal numbers.

    Parameters
    ----------
    target : path, binary file or "-"
        "-" is standard output; ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` at the end of a path packs.
    data : Data
        The stored entries of a sparse X are written, zeros included; of a dense one those that are
        not zero. Without y the label is 0. Names are lost, and so are empty columns at the end.
    zero_based : bool
        Whether indices count from 0; from 1 by default.
    """
    X, y, qid, _ = check_writable(data)
    if y is not None and not sparse.issparse(y) and y.dtype.kind == "U":
        raise ValueError("y must be numbers: svmlight files have no words as labels")
    if X.shape[1] > INT32_MAX:
        raise ValueError(f"X has {X.shape[1]} columns, more than {INT32_MAX}")
    form = "{}:{:.9g} ".format if X.dtype == np.float32 else "{}:{!r} ".format
    with written(target) as file:
        for start in range(0, X.shape[0], 1000):
            rows = slice(start, start + 1000)
            block = sparse.csr_array(X[rows])
            indices, values = (block.indices + int(not zero_based)).tolist(), block.data.tolist()
            entries = list(map(form, indices, values))
            ends = block.indptr.tolist()
            heads = _heads(y, qid, rows, len(ends) - 1)
            lines = [
                (head + "".join(entries[a:b])).replace(".0 ", " ").rstrip(" ")
                for head, a, b in zip(heads, ends, ends[1:], strict=False)
            ]
            if "" in lines:
                raise ValueError(
                    f"sample {start + lines.index('')} has neither labels nor features: no line says so"
                )
            file.write("".join(line + "\n" for line in lines).encode("ascii"))


def _heads(y: Any, qid: NDArray[np.int64] | None, rows: slice, size: int) -> list[str]:
    """Label and qid of every sample, with a blank behind each."""
    if y is None:
        labels = ["0 "] * size
    elif sparse.issparse(y):
        block = y[rows]
        block.sum_duplicates()
        block.eliminate_zeros()
        labels = [",".join(map(str, k.tolist())) + " " for k in np.split(block.indices, block.indptr[1:-1])]
    else:
        labels = [f"{label!r} " for label in (y[rows] + 0 if y.dtype.kind == "b" else y[rows]).tolist()]
    if qid is None:
        return labels
    return [f"{label}qid:{query} " for label, query in zip(labels, qid[rows].tolist(), strict=True)]
