"""Which rows are equal, byte for byte: one pass, with a table of hashes."""

import numpy as np

from gapfit.compiled._jit import jit, prefetch
from gapfit.compiled.packing import pack
from gapfit.compiled.rows import Rows

FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC4CEB9FE1A85EC53), np.uint64(0xFF51AFD7ED558CCD))
AHEAD = 8  # rows are looked up, their places in the table are asked for from memory


@jit
def hash_rows(rows, codes, first, last, hashes):
    """Write a hash of each of the rows from ``first`` to ``last``.

    Entries are given as unsigned integers; rows with different ``codes`` (uint64) differ.
    """
    words, indices, indptr = rows
    for i in range(first, last):
        start, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        h = (codes[i] + (stop - start)) * FACTORS[0]
        for k in range(start, stop):  # a sum of terms that do not wait for each other
            place = np.uint64(indices[k]) if indices.size else k - start
            word = np.uint64(words[k]) ^ (place * FACTORS[1])
            word = (word ^ (word >> np.uint64(31))) * FACTORS[2]
            h += word ^ (
                word >> np.uint64(29)
            )  # a product alone would let equal changes of two entries cancel
        hashes[i] = h ^ (h >> np.uint64(32))


@jit
def number_rows(rows, codes, hashes):
    """The rows that equal none before them, and for every row that has a hash its number among these.

    There may be 2^32 - 2 rows, no more.
    """
    size = 16
    while size < 2 * hashes.size:
        size *= 2
    last = np.uint64(size - 1)
    slots = np.zeros(size, np.uint32)  # 1 + the number of a row; zero: free
    different, number = np.empty(hashes.size, np.int64), np.empty(hashes.size, np.int64)
    count = 0
    for i in range(hashes.size):
        if i + AHEAD < hashes.size:
            prefetch(slots, np.int64(hashes[i + AHEAD] & last))
        h = hashes[i]
        slot = h & last
        while True:
            j = np.int64(slots[slot]) - 1
            if j < 0:
                slots[slot] = i + 1
                different[count], number[i] = i, count
                count += 1
                break
            if hashes[j] == h and codes[j] == codes[i] and _same(rows, i, j):
                number[i] = number[j]
                break
            slot = (slot + np.uint64(1)) & last
    return different[:count], number


@jit
def sorted_by_buckets(numbers):
    """Numbers whose first bits are evenly spread, in their order: put near their places by these bits, then
    moved past the few neighbours that are larger."""
    count, bits = len(numbers), 0
    while (1 << bits) < count:
        bits += 1
    shift = np.uint64(64 - bits) if bits else np.uint64(63)
    begins = np.zeros((1 << max(bits, 1)) + 1, np.int64)
    for k in range(count):
        begins[(numbers[k] >> shift) + np.uint64(1)] += 1
    for k in range(1, len(begins)):
        begins[k] += begins[k - 1]
    ordered = np.empty(count, np.uint64)
    for k in range(count):
        bucket = numbers[k] >> shift
        ordered[begins[bucket]] = numbers[k]
        begins[bucket] += 1
    for k in range(1, count):
        one, at = ordered[k], k
        while at > 0 and ordered[at - 1] > one:
            ordered[at] = ordered[at - 1]
            at -= 1
        ordered[at] = one
    return ordered


@jit
def as_set(words, codes, weight):
    """The different rows in the order of their hashes, the weight of each, its number for every row, and a
    copy of them: entries, columns and where rows begin.

    The last bits of a hash, of which there are enough, make room for the number of its row: so equal hashes
    stay in order.
    """
    n = len(codes)
    hashes = np.empty(n, np.uint64)
    hash_rows(words, codes, 0, n, hashes)
    different, number = number_rows(words, codes, hashes)
    count, mask = len(different), np.uint64(1)
    while mask < np.uint64(count):
        mask *= np.uint64(2)
    mask -= np.uint64(1)
    order = np.empty(count, np.uint64)
    for k in range(count):
        order[k] = (hashes[different[k]] & ~mask) | np.uint64(k)
    order = sorted_by_buckets(order)
    rows, new, merged = np.empty(count, np.int64), np.empty(count, np.int64), np.zeros(count)
    for k in range(count):
        old = np.int64(order[k] & mask)
        rows[k], new[old] = different[old], k
    for i in range(n):
        number[i] = new[number[i]]
        merged[number[i]] += weight[i]
    entries, columns, starts = _copied(words, rows)
    return rows, merged, number, entries, columns, starts


@jit
def _copied(words, rows):
    """These rows, side by side."""
    entries, indices, indptr = words
    starts = np.zeros(len(rows) + 1, np.int64)
    for k in range(len(rows)):
        starts[k + 1] = starts[k] + indptr[rows[k] + 1] - indptr[rows[k]]
    size = starts[len(rows)]
    copy = Rows(np.empty(size, entries.dtype), np.empty(size if indices.size else 0, np.uint32), starts)
    pack(words, rows, 0, len(rows), copy)
    return copy.data, copy.indices, starts


@jit
def other_of_two(codes):
    """Where the first code stands that is not that of the first sample, if there are two of them; else 0."""
    other = 0
    for i in range(1, len(codes)):
        if codes[i] != codes[0]:
            if other == 0:
                other = i
            elif codes[i] != codes[other]:
                return 0
    return other


@jit(inline=True)
def _same(rows, i, j):
    words, indices, indptr = rows
    start, stop, other = np.uint64(indptr[i]), np.uint64(indptr[i + 1]), np.uint64(indptr[j])
    if stop - start != np.uint64(indptr[j + 1]) - other:
        return False
    ahead = other - start  # modulo 2^64: the sum below is right all the same
    different = False
    for k in range(start, stop):
        different |= words[k] != words[k + ahead]
    if indices.size:
        for k in range(start, stop):
            different |= indices[k] != indices[k + ahead]
    return not different
