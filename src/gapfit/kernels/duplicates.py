"""Which rows are equal, byte for byte: one pass, with a table of hashes."""

import numpy as np

from gapfit.kernels._jit import jit


@jit
def first_equal(words, indices, indptr, codes, count):
    """For each of the first ``count`` rows, the first one that equals it.

    ``words`` are the entries as unsigned integers; rows with different ``codes`` (uint64) differ.
    """
    size = 16
    while size < 2 * count:
        size *= 2
    slots = np.full(size, -1, np.int64)
    hashes = np.empty(count, np.uint64)
    first = np.empty(count, np.int64)
    for i in range(count):
        start, stop = indptr[i], indptr[i + 1]
        h = (codes[i] + np.uint64(stop - start)) * np.uint64(0x9E3779B97F4A7C15)
        for k in range(start, stop):  # a sum of terms that do not wait for each other
            place = np.uint64(indices[k] if indices.size else k - start)
            word = np.uint64(words[k]) ^ (place * np.uint64(0xC4CEB9FE1A85EC53))
            h += (word ^ (word >> np.uint64(31))) * np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
        hashes[i] = h
        slot = np.int64(h & np.uint64(size - 1))
        first[i] = i
        while slots[slot] >= 0:
            j = slots[slot]
            if hashes[j] == h and codes[j] == codes[i] and _same(words, indices, indptr, i, j):
                first[i] = j
                break
            slot = (slot + 1) & (size - 1)
        if first[i] == i:
            slots[slot] = i
    return first


@jit
def _same(words, indices, indptr, i, j):
    length = indptr[i + 1] - indptr[i]
    if indptr[j + 1] - indptr[j] != length:
        return False
    for k in range(length):
        if words[indptr[i] + k] != words[indptr[j] + k]:
            return False
        if indices.size and indices[indptr[i] + k] != indices[indptr[j] + k]:
            return False
    return True
