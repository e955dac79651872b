"""Numbers and svmlight lines, parsed from bytes.

Every loop over text ends at a newline, and the caller sees to it that the last byte is one: no
loop has to ask where the text ends.
"""

import math

import numpy as np

from gapfit.kernels._jit import jit

TAB, NEWLINE, RETURN, SPACE, HASH, PLUS, COMMA, MINUS, POINT, ZERO, COLON = b"\t\n\r #+,-.0:"
LETTER_D, LETTER_E, LETTER_I, LETTER_Q = b"deiq"

LAST_INDEX = 2**31 - 1  # then the columns, 0 to 2^31 - 2, and their number fit 32 bits
LAST_QID = 2**63 - 1

# What may be wrong with a line; the reader puts it into words.
(
    LABEL,  # no number where the label should be
    SEVERAL,  # a list of labels, and not multilabel
    UNLABELLED,  # a feature where the label should be, and not multilabel
    LABEL_KIND,  # multilabel, and not an integer from 0
    QID,  # not an integer from 0 to 2^63 - 1
    QID_NEW,  # the first sample had none
    QID_GONE,  # the first sample had one
    FEATURE,  # not index:value
    INDEX_ZERO,  # and the base is 1
    INDEX_LARGE,
    ORDER,  # indices do not increase
    VALUE,  # no number after the colon
    VALUE_LARGE,
    RETURN_INSIDE,  # a carriage return that does not end the line
) = range(1, 15)


def _power_of_five(q):
    """The leading 128 bits of 5^q, in two halves; some reciprocals are rounded up (see `_scaled`)."""
    five = 5 ** abs(q)
    if q < 0:
        bits = (1 << (127 + five.bit_length())) // five + (q >= -27)
    else:
        bits = (five << 128) >> five.bit_length()
    return bits >> 64, bits & (2**64 - 1)


FIRST_POWER, LAST_POWER = -342, 308
FIVES = np.array([_power_of_five(q) for q in range(FIRST_POWER, LAST_POWER + 1)], dtype=np.uint64)
TENS = 10.0 ** np.arange(23)  # those that float64 holds exactly

# uint64 and int64 do not mix: numba would turn both into float64.
U1, U3, U9, U10, U32, U63 = (np.uint64(k) for k in (1, 3, 9, 10, 32, 63))
LOW_9, LOW_32, TWO_53 = np.uint64(2**9 - 1), np.uint64(2**32 - 1), np.uint64(2**53)


@jit
def _product(a, b):
    """The high and the low half of a * b."""
    a1, a0 = a >> U32, a & LOW_32
    b1, b0 = b >> U32, b & LOW_32
    low = a0 * b0
    middle = a1 * b0 + (low >> U32)
    other = a0 * b1 + (middle & LOW_32)
    return a1 * b1 + (middle >> U32) + (other >> U32), (other << U32) | (low & LOW_32)


@jit
def _scaled(w, q):
    """The float64 nearest to w * 10^q, for 0 < w < 2^64; zero where that might not be a normal number.

    The algorithm of Eisel and Lemire, without fallback: D. Lemire, "Number parsing at a gigabyte
    per second", 2021; N. Mushtak and D. Lemire, "Fast number parsing without fallback", 2023.
    """
    if q < FIRST_POWER or q > LAST_POWER:
        return 0.0
    zeros = 0
    for shift in (32, 16, 8, 4, 2, 1):  # shift w until its highest bit is a one
        if w >> np.uint64(64 - shift) == 0:
            w <<= np.uint64(shift)
            zeros += shift
    high, low = _product(w, FIVES[q - FIRST_POWER, 0])
    if high & LOW_9 == LOW_9:  # what lies below might still carry
        more, _ = _product(w, FIVES[q - FIRST_POWER, 1])
        low += more
        if low < more:
            high += U1
    upper = high >> U63
    m = high >> (upper + U9)  # 54 bits, one more than float64 keeps
    power = ((217706 * q) >> 16) + np.int64(upper) - zeros + 11  # 217706 / 2^16 = log2(10)
    if power < -1074 or power > 970:
        return 0.0
    if low <= U1 and -4 <= q <= 23 and m & U3 == U1 and m << (upper + U9) == high:
        m -= U1  # half way between two numbers, and the lower one is even
    return math.ldexp(float(np.int64((m + (m & U1)) >> U1)), power)


@jit
def number(text, p):
    """The number that starts at p: its value, where it ends (-1: there is none), and whether it is exact.

    Without a value (more than 19 digits, subnormal, or too large) it is left to `float`.
    """
    negative = text[p] == MINUS
    if negative or text[p] == PLUS:
        p += 1
    start = p
    w = np.uint64(0)
    d = text[p] ^ ZERO
    while d <= 9:
        w = w * U10 + np.uint64(d)
        p += 1
        d = text[p] ^ ZERO
    digits = p - start
    q = 0
    if text[p] == POINT:
        p += 1
        point = p
        d = text[p] ^ ZERO
        while d <= 9:
            w = w * U10 + np.uint64(d)
            p += 1
            d = text[p] ^ ZERO
        q = point - p
        digits -= q
    if digits == 0:
        return 0.0, -1, True
    if text[p] | 32 == LETTER_E:
        p += 1
        down = text[p] == MINUS
        if down or text[p] == PLUS:
            p += 1
        d = text[p] ^ ZERO
        if d > 9:
            return 0.0, -1, True
        e = 0
        while d <= 9:
            e = min(e * 10 + d, 10**17)  # no text has so many digits before or behind the point
            p += 1
            d = text[p] ^ ZERO
        q += -e if down else e
    if digits > 19:
        while text[start] == ZERO or text[start] == POINT:
            digits -= text[start] == ZERO
            start += 1
        if digits > 19:
            return 0.0, p, False
    if w == 0:
        value = 0.0
    elif w <= TWO_53 and -22 <= q <= 22:  # one exact operand each side, one rounding
        value = float(np.int64(w))
        if q < 0:
            value /= TENS[-q]
        elif q > 0:
            value *= TENS[q]
    else:
        value = _scaled(w, q)
        if value == 0.0:
            return 0.0, p, False
    return (-value if negative else value), p, True


@jit
def count(text, size):
    """How many lines, colons and commas: no fewer than samples, entries and further labels."""
    lines = colons = commas = 0
    for p in range(size):
        lines += text[p] == NEWLINE
        colons += text[p] == COLON
        commas += text[p] == COMMA
    return lines, colons, commas


@jit
def _separates(c):
    return c in (SPACE, NEWLINE, TAB, RETURN, HASH)


@jit
def _skip_blanks(text, p):
    while text[p] in (SPACE, TAB):
        p += 1
    return p


@jit
def _read_labels(text, p, multilabel, labels, n):
    """Put what stands at p into ``labels[n:]``: problem, where it ends, the new n, whether exact."""
    value, end, exact = number(text, p)
    unlabelled = text[p] == LETTER_Q or (end >= 0 and text[end] == COLON)
    if not multilabel:
        if unlabelled:
            return UNLABELLED, p, n, True
        if end >= 0 and text[end] == COMMA:
            return SEVERAL, p, n, True
        if end < 0 or not _separates(text[end]):
            return LABEL, p, n, True
        labels[n] = value
        return 0, end, n + 1, exact
    if unlabelled:
        return 0, p, n, True
    while end >= 0 and exact and value == np.floor(value) and 0 <= value < LAST_INDEX:
        labels[n] = value
        n += 1
        if _separates(text[end]):
            return 0, end, n, True
        if text[end] != COMMA:
            break
        p = end + 1
        value, end, exact = number(text, p)
    return LABEL_KIND, p, n, True


@jit
def _read_query(text, p):
    """The integer after ``qid:`` at p (-1: there is none), and where it ends."""
    if not (text[p + 1] == LETTER_I and text[p + 2] == LETTER_D and text[p + 3] == COLON):
        return -1, p
    p += 4
    start = p
    query = 0
    d = text[p] ^ ZERO
    while d <= 9:
        if query > (LAST_QID - d) // 10:
            return -1, p
        query = query * 10 + d
        p += 1
        d = text[p] ^ ZERO
    return (query if p > start and _separates(text[p]) else -1), p


@jit
def _read_features(text, p, base, columns, limit, data, indices, n, slow, n_slow):
    """Put the pairs at p into ``data[n:]``: problem, where it ends, the new n and n_slow, the last index."""
    last = base - 1
    while True:
        p = _skip_blanks(text, p)
        start = p
        index = 0
        d = text[p] ^ ZERO
        if d > 9:
            return (0 if _separates(text[p]) else FEATURE), p, n, n_slow, last
        while d <= 9:
            index = index * 10 + d  # more than 18 digits may wrap around; they are refused below
            p += 1
            d = text[p] ^ ZERO
        if text[p] != COLON:
            return FEATURE, start, n, n_slow, last
        if p - start > 18 or index - base >= columns:
            return INDEX_LARGE, start, n, n_slow, last
        if index <= last:
            return (INDEX_ZERO if index < base else ORDER), start, n, n_slow, last
        p += 1
        value, end, exact = number(text, p)
        if end < 0 or not _separates(text[end]):
            return VALUE, start, n, n_slow, last
        if not exact:
            slow[n_slow, 0], slow[n_slow, 1], slow[n_slow, 2] = n, p, end
            n_slow += 1
        elif abs(value) >= limit:
            return VALUE_LARGE, start, n, n_slow, last
        data[n] = value
        indices[n] = index - base
        n += 1
        last = index
        p = end


@jit
def parse_svmlight(
    text, size, base, columns, limit, multilabel, queried, data, indices, lengths, labels, counts, qid, slow
):
    """Parse the lines in ``text[:size]``; the arrays after ``queried`` are written.

    ``base`` is the lowest index, ``columns`` how many there may be, ``limit`` what no value may
    reach. ``queried`` tells whether samples have a qid (-1: not known yet). Per entry there is a
    place in ``data`` and ``indices``; per sample one in ``lengths`` (its entries) and in ``qid``, and
    its labels are in ``labels``, with their number in ``counts`` if ``multilabel``. The rows of
    ``slow`` are numbers left to `float`: a place in ``data``, or -1 - a place in ``labels``, and
    where they start and end in the text. `count` tells how long the arrays must be.

    Returns problem (0: none) and where, the numbers of samples, entries, labels, slow numbers and
    columns, and ``queried``.
    """
    problem = p = rows = n = n_labels = n_slow = width = 0
    while p < size:
        p = _skip_blanks(text, p)
        if not _separates(text[p]):
            start, known = p, n_labels
            problem, p, n_labels, exact = _read_labels(text, p, multilabel, labels, n_labels)
            if problem:
                break
            if not exact:
                slow[n_slow, 0], slow[n_slow, 1], slow[n_slow, 2] = -n_labels, start, p
                n_slow += 1
            if multilabel:
                counts[rows] = n_labels - known

            p = _skip_blanks(text, p)
            has_query = text[p] == LETTER_Q
            if has_query:
                query, end = _read_query(text, p)
                if query < 0 or queried == 0:
                    problem = QID if query < 0 else QID_NEW
                    break
                qid[rows] = query
                p = end
            elif queried == 1:
                problem, p = QID_GONE, start
                break
            queried = np.int64(has_query)

            before = n
            problem, p, n, n_slow, last = _read_features(
                text, p, base, columns, limit, data, indices, n, slow, n_slow
            )
            if problem:
                break
            lengths[rows] = n - before
            rows += 1
            width = max(width, last - base + 1)
        if text[p] == RETURN:
            p += 1
            if text[p] != NEWLINE:
                problem = RETURN_INSIDE
                break
        while text[p] != NEWLINE:  # a comment
            p += 1
        p += 1
    return problem, p, rows, n, n_labels, n_slow, width, queried
