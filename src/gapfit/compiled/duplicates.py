"""Which rows are equal, byte for byte: one pass, with a table of hashes.

Arrays to write to are given: to make one, which numba compiles in every function, is a tenth of a second of a
first fit.
"""

import numpy as np

from gapfit.compiled._jit import jit, prefetch
from gapfit.compiled.packing import pack

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
def number_rows(rows, codes, hashes, slots, different, number):
    """Write the rows that equal none before them, and for every row that has a hash its number among these.
    Returns how many they are.

    Slots are zero, a power of two of them, and at least twice as many as hashes. There may be 2^32 - 2 rows,
    no more.
    """
    last = np.uint64(slots.size - 1)
    count = np.int64(0)
    for i in range(hashes.size):
        if i + AHEAD < hashes.size:
            prefetch(slots, np.int64(hashes[i + AHEAD] & last))
        h = hashes[i]
        slot = h & last
        while True:
            j = np.int64(slots[slot]) - 1  # 1 + the number of a row; zero: free
            if j < 0:
                slots[slot] = i + 1
                different[count], number[i] = i, count
                count += 1
                break
            if hashes[j] == h and codes[j] == codes[i] and _same(rows, i, j):
                number[i] = number[j]
                break
            slot = (slot + np.uint64(1)) & last
    return count


@jit
def sort_by_buckets(numbers, count, begins, ordered):
    """Write so many numbers, whose first bits are evenly spread, in their order: put near their places by
    these bits, then moved past the few neighbours that are larger. There is a zero for each bucket, and one
    more."""
    bits = 0
    while (1 << bits) < begins.size - 1:
        bits += 1
    shift = np.uint64(64 - bits)
    for k in range(count):
        begins[(numbers[k] >> shift) + np.uint64(1)] += 1
    for k in range(1, begins.size):
        begins[k] += begins[k - 1]
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


@jit
def put_set(words, codes, weight, slots, begins, keys, places, merged, copy):
    """Write the different rows in the order of their hashes and, for every row, its number among them: the
    first two places. Weights are added to those that are there, and the rows are copied side by side. Returns
    how many they are.

    The last bits of a hash, of which there are enough, make room for the number of its row: so equal hashes
    stay in order.
    """
    hashes, order, ordered = keys[0], keys[1], keys[2]
    rows, number, different, new = places[0], places[1], places[2], places[3]
    hash_rows(words, codes, 0, hashes.size, hashes)
    count, mask = number_rows(words, codes, hashes, slots, different, number), np.uint64(1)
    while mask < np.uint64(count):
        mask *= np.uint64(2)
    mask -= np.uint64(1)
    for k in range(count):
        order[k] = (hashes[different[k]] & ~mask) | np.uint64(k)
    sort_by_buckets(order, count, begins, ordered)
    for k in range(count):
        old = np.int64(ordered[k] & mask)
        rows[k], new[old] = different[old], k
    for i in range(hashes.size):
        number[i] = new[number[i]]
        merged[number[i]] += weight[i]
    copy.indptr[0] = 0
    for k in range(count):
        copy.indptr[k + 1] = copy.indptr[k] + words.indptr[rows[k] + 1] - words.indptr[rows[k]]
    pack(words, rows, 0, count, copy)
    return count


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
