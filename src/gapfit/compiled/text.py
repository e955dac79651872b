"""Lines of svmlight files, parsed from bytes.

Every loop over text ends at a newline, and the caller sees to it that the last byte is one: no
loop has to ask where the text ends.
"""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.numbers import digit, number

TAB, NEWLINE, RETURN, SPACE, HASH, COMMA, COLON = b"\t\n\r #,:"
LETTER_D, LETTER_I, LETTER_Q = b"diq"

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

# A number left to `float`: its place in the data, or -1 - that in the labels, and where it is in the text.
SLOW = np.dtype([(name, np.int64) for name in ("place", "start", "end")])


class Rules(NamedTuple):
    """What the file may hold."""

    base: int  # the lowest index
    columns: int  # how many there may be
    limit: float  # what no value may reach
    multilabel: bool


class Room(NamedTuple):
    """What is written: `count` tells how long the arrays must be."""

    data: Any  # per entry
    indices: Any
    lengths: Any  # per sample, its entries
    labels: Any
    counts: Any  # per sample, its labels, if there may be several
    qid: Any  # per sample
    slow: Any  # of SLOW


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
    d = digit(text, p)
    while d <= 9:
        if query > (LAST_QID - d) // 10:
            return -1, p
        query = query * 10 + d
        p += 1
        d = digit(text, p)
    return (query if p > start and _separates(text[p]) else -1), p


@jit
def _leave(slow, n_slow, place, start, end):
    """Leave a number to `float`; how many there are now."""
    line = slow[n_slow]
    line["place"], line["start"], line["end"] = place, start, end
    return n_slow + 1


@jit
def _read_features(text, p, rules, room, n, n_slow):
    """Put the pairs at p into ``data[n:]``: problem, where it ends, the new n and n_slow, the last index."""
    base, columns, limit, _ = rules
    data, indices = room.data, room.indices
    last = base - 1
    while True:
        p = _skip_blanks(text, p)
        start = p
        index = 0
        d = digit(text, p)
        if d > 9:
            return (0 if _separates(text[p]) else FEATURE), p, n, n_slow, last
        while d <= 9:
            index = index * 10 + d  # more than 18 digits may wrap around; they are refused below
            p += 1
            d = digit(text, p)
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
            n_slow = _leave(room.slow, n_slow, n, p, end)
        elif abs(value) >= limit:
            return VALUE_LARGE, start, n, n_slow, last
        data[n] = value
        indices[n] = index - base
        n += 1
        last = index
        p = end


@jit
def parse_svmlight(text, size, rules, queried, room):
    """Parse the lines in ``text[:size]`` into the room.

    ``queried`` tells whether samples have a qid (-1: not known yet). Returns problem (0: none) and where, the
    numbers of samples, entries, labels, slow numbers and columns, and ``queried``.
    """
    base, multilabel = rules.base, rules.multilabel
    _, _, lengths, labels, counts, qid, _ = room
    problem = p = rows = n = n_labels = n_slow = width = 0
    while p < size:
        p = _skip_blanks(text, p)
        if not _separates(text[p]):
            start, known = p, n_labels
            problem, p, n_labels, exact = _read_labels(text, p, multilabel, labels, n_labels)
            if problem:
                break
            if not exact:
                n_slow = _leave(room.slow, n_slow, -n_labels, start, p)
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
            problem, p, n, n_slow, last = _read_features(text, p, rules, room, n, n_slow)
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
