"""Which rows are equal, byte for byte: one pass, with a table of hashes."""

import numpy as np

from gapfit.kernels._jit import jit

FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC4CEB9FE1A85EC53), np.uint64(0xFF51AFD7ED558CCD))


@jit
def hash_rows(words, indices, indptr, codes, first, last, hashes):
    """Write a hash of each of the rows from ``first`` to ``last``.

    ``words`` are the entries as unsigned integers; rows with different ``codes`` (uint64) differ.
    """
    for i in range(first, last):
        start, stop = indptr[i], indptr[i + 1]
        row, columns = words[start:stop], indices[start:stop]
        h = (codes[i] + np.uint64(row.size)) * FACTORS[0]
        for k in range(row.size):  # a sum of terms that do not wait for each other
            place = np.uint64(columns[k] if columns.size else k)
            word = np.uint64(row[k]) ^ (place * FACTORS[1])
            h += (word ^ (word >> np.uint64(31))) * FACTORS[2]
        hashes[i] = h ^ (h >> np.uint64(32))


@jit
def first_equal(words, indices, indptr, codes, hashes):
    """For each of the rows that have a hash, the first one that equals it."""
    size = 16
    while size < 2 * hashes.size:
        size *= 2
    last = np.uint64(size - 1)
    slots = np.full(size, -1, np.int64)
    first = np.empty(hashes.size, np.int64)
    for i in range(hashes.size):
        h = hashes[i]
        slot = h & last
        first[i] = i
        while slots[slot] >= 0:
            j = slots[slot]
            if hashes[j] == h and codes[j] == codes[i] and _same(words, indices, indptr, i, j):
                first[i] = j
                break
            slot = (slot + np.uint64(1)) & last
        if first[i] == i:
            slots[slot] = i
    return first


@jit
def _same(words, indices, indptr, i, j):
    row, other = words[indptr[i] : indptr[i + 1]], words[indptr[j] : indptr[j + 1]]
    columns, others = indices[indptr[i] : indptr[i + 1]], indices[indptr[j] : indptr[j + 1]]
    if row.size != other.size:
        return False
    for k in range(row.size):
        if row[k] != other[k]:
            return False
    different = False
    for k in range(columns.size):
        different |= columns[k] != others[k]
    return not different
