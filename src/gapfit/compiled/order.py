"""Sorting scores, stably and in descending order: faster than comparing, and exact.

Scores are dealt into cells of equal width by two counting passes, about four cells a score. Cells are in
order, so only scores that share one remain to be compared: few by insertion, many (outliers have taken all
the room, or scores come in clusters) by dealing them again, within their own range. Scores that are equal
stay as they are.

All arrays come from the caller: NumPy asks the system for large pages, which makes new memory much cheaper.
"""

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.precise import two_sum

_FEW = 24  # scores that are sorted by insertion
_OFTEN = 3  # dealt so often in vain, a run is left to a sort by comparisons
_BITS = 11  # at most, of each of the two passes
_INDEX = np.uint64(32)  # low bits of a packed word: the index; above them: the cell
_MASK = np.uint64(0xFFFFFFFF)


@jit
def descending(scores, starts, order, values, kept, words, spare):
    """Sort each run scores[starts[k]:starts[k + 1]] into `values`, and say where they were, in `order`.

    All scores must be finite, and fewer than 2^32. `kept`, `words` and `spare` are room to work in.
    """
    for i in range(len(scores)):
        order[i] = i
        values[i] = scores[i]
    room = len(scores) // _FEW + 1
    begin = np.empty(room, np.int64)  # of runs to be dealt
    end = np.empty(room, np.int64)
    dealt = np.empty(room, np.int64)  # how often they have been
    for k in range(len(starts) - 1):
        begin[0], end[0], dealt[0] = starts[k], starts[k + 1], 0
        pending = 1
        while pending > 0:
            pending -= 1
            start, stop, times = begin[pending], end[pending], dealt[pending]
            if stop - start <= _FEW or _constant(values, start, stop):
                continue
            run = slice(start, stop)
            if times >= _OFTEN or not _deal(
                scores, values[run], order[run], words[run], spare[run], kept[run]
            ):
                _compare(values[run], order[run], spare.view(np.float64)[run], kept[run])
                continue
            i = start
            while i < stop - _FEW:
                cell = words[i] >> _INDEX
                if cell == words[i + _FEW] >> _INDEX:
                    first = i
                    i += _FEW
                    while i < stop and words[i] >> _INDEX == cell:
                        i += 1
                    begin[pending], end[pending], dealt[pending] = first, i, times + 1
                    pending += 1
                else:
                    i += 1
        _insert(values, order, starts[k], starts[k + 1])


@jit
def _constant(values, start, stop):
    i = start + 1
    while i < stop and values[i] == values[start]:
        i += 1
    return i == stop


@jit
def _insert(values, order, start, stop):
    """Sort a run in which each value is close to its place."""
    for i in range(start + 1, stop):
        value = values[i]
        if values[i - 1] < value:
            index, j = order[i], i
            while j > start and values[j - 1] < value:
                values[j] = values[j - 1]
                order[j] = order[j - 1]
                j -= 1
            values[j] = value
            order[j] = index


@jit
def _deal(scores, values, order, words, spare, kept):
    """Order a run by cells of equal width, leaving each one's cell in `words`; False if that is in vain."""
    n = len(values)
    highest = values[0]
    lowest = values[0]
    for i in range(n):
        highest = max(highest, values[i])
        lowest = min(lowest, values[i])
    bits = 1
    while bits < _BITS and 1 << (2 * bits) < 4 * n:
        bits += 1
    room = float((1 << (2 * bits)) - 1)
    scale = room / (highest - lowest)
    if not 0.0 < scale < np.inf:  # the range overflows, or is too small to divide
        return False
    low_digit, high_digit = (1 << bits) - 1, np.uint64(32 + bits)
    low = np.zeros(1 << bits, np.int64)
    high = np.zeros(1 << bits, np.int64)
    for i in range(n):
        cell = np.int64(min((highest - values[i]) * scale, room))
        words[i] = (np.uint64(cell) << _INDEX) | np.uint64(i)
        low[cell & low_digit] += 1
        high[cell >> bits] += 1
    before_low = 0
    before_high = 0
    for k in range(1 << bits):
        before_low, low[k] = before_low + low[k], before_low
        before_high, high[k] = before_high + high[k], before_high
    for i in range(n):
        word = words[i]
        digit = np.int64(word >> _INDEX) & low_digit
        spare[low[digit]] = word
        low[digit] += 1
    for i in range(n):
        word = spare[i]
        digit = np.int64(word >> high_digit)
        words[high[digit]] = word
        high[digit] += 1
    for i in range(n):
        kept[i] = order[i]
    for i in range(n):
        index = kept[np.int64(words[i] & _MASK)]
        order[i] = index
        values[i] = scores[index]
    return True


@jit
def _compare(values, order, other_values, other_order):
    """Sort a run by merging longer and longer parts."""
    n = len(values)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for k in range(start, stop):
                if j >= stop or (i < middle and values[i] >= values[j]):
                    other_values[k], other_order[k] = values[i], order[i]
                    i += 1
                else:
                    other_values[k], other_order[k] = values[j], order[j]
                    j += 1
        for k in range(n):
            values[k], order[k] = other_values[k], other_order[k]
        width *= 2


@jit
def prefix_sums(values, weights, order, mass, moment):
    """Sums of the first k weights into `mass`, and of the first k weights times values into `moment`.

    Values are in order already, weights are not. The error of each addition is carried along, so that a sum
    of a million terms is as good as one of two.
    """
    mass[0] = 0.0
    moment[0] = 0.0
    total, lost = 0.0, 0.0
    count, dropped = 0.0, 0.0
    for i in range(len(values)):
        weight = weights[order[i]]
        count, less = two_sum(count, weight)
        dropped += less
        mass[i + 1] = count + dropped
        total, less = two_sum(total, weight * values[i])
        lost += less
        moment[i + 1] = total + lost
