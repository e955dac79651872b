"""What machines about some of the samples need of the kernel matrix of all."""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit


class Parts(NamedTuple):
    """Which samples each machine is about. Most come in runs of rows one after the other: the r-th run is
    the places run[r] to run[r + 1], and the k-th machine has the runs runs[k] to runs[k + 1]."""

    rows: Any
    first: Any
    run: Any
    runs: Any


class Block(NamedTuple):
    """The matrix of one machine. Rows are copied when they are first asked for: a machine that takes few
    steps asks for few."""

    K: Any
    there: Any  # which rows are; empty, if all are
    diagonal: Any
    whole: Any  # the matrix of all samples,
    parts: Any
    k: Any  # of which this is the k-th machine's


def alone(K):
    """All of a matrix, for a machine about all samples."""
    none = np.zeros(0, np.int64)
    diagonal = np.array(np.diagonal(K), dtype=np.float64)
    return Block(K, np.zeros(0, np.bool_), diagonal, K, Parts(none, none, none, none), 0)


@jit(inner=True)
def row_of(block, i):
    """Its i-th row."""
    if block.there.size and not block.there[i]:
        block.there[i] = True
        copy_row(block.whole, block.parts, block.k, i, block.K[i])
    return block.K[i]


@jit(inner=True)
def copy_row(K, parts, k, i, out):
    """The columns of the k-th machine, of the row of its i-th sample."""
    rows, run, start = parts.rows, parts.run, parts.first[k]
    row = K[rows[start + i]]
    for r in range(parts.runs[k], parts.runs[k + 1]):
        base = rows[run[r]] - run[r]
        for j in range(run[r], run[r + 1]):
            out[j - start] = row[base + j]
