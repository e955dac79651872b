"""Compiled parsers, against Python's own numbers."""

import numpy as np
import pytest

from gapfit.compiled import numbers, text

# Words of 64 bits are meant to overflow; interpreted, NumPy says so.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning")

EXACT = ["0", "-0.0", "7", "+3.25", ".5", "5.", "1e3", "1E-3", "123456789012345678", "1.7e307",
         "9007199254740993", "2.2250738585072014e-308", "8.5e22", "1e23", "0.1", "-1e-300"]  # fmt: skip


def as_bytes(line):
    return np.frombuffer(line.encode() + b"\n", np.uint8)


@pytest.mark.parametrize(
    "given", [*EXACT, *map(repr, (1e5 * np.random.default_rng(0).normal(size=30)).tolist())]
)
def test_numbers_are_those_of_python(given):
    value, end, exact = numbers.number(as_bytes(given), 0)
    assert exact and end == len(given) and value == float(given)
    assert np.signbit(value) == given.startswith("-")


@pytest.mark.parametrize("given", ["12345678901234567890123", "1e-320", "1e400", "1.7976931348623157e308"])
def test_what_is_left_to_python(given):
    _, end, exact = numbers.number(as_bytes(given), 0)
    assert not exact and end == len(given)


@pytest.mark.parametrize("given", ["", "x", "-", "1e", "."])
def test_what_is_no_number(given):
    assert numbers.number(as_bytes(given), 0)[1] == -1


def parse(content, multilabel=False):
    given = as_bytes(content)
    lines, colons, commas = text.count(given, len(given))
    labels, slow = np.empty(lines + commas), np.zeros(lines + colons, text.SLOW)
    room = text.Room(
        np.empty(colons), np.empty(colons, np.int32), np.empty(lines, np.int64), labels,
        np.empty(lines, np.int64), np.empty(lines, np.int64), slow,
    )  # fmt: skip
    rules = text.Rules(1, 2**31 - 1, 1e300, multilabel)
    return room, text.parse_svmlight(given, len(given), rules, -1, room)


def test_lines_become_rows():
    room, found = parse("1 qid:3 1:0.5 4:-2 # first\n\n-1 qid:3\r\n2.5 qid:4 2:1e-320\n")
    problem, _, samples, entries, labels, slow, width, queried = found
    assert (problem, samples, entries, labels, slow, width, queried) == (0, 3, 3, 3, 1, 4, 1)
    assert room.data[:2].tolist() == [0.5, -2.0] and room.indices[:3].tolist() == [0, 3, 1]
    assert room.lengths[:3].tolist() == [2, 0, 1] and room.qid[:3].tolist() == [3, 3, 4]
    assert room.labels[:3].tolist() == [1.0, -1.0, 2.5] and room.slow[0]["place"] == 2


def test_several_labels():
    room, found = parse("1,3 2:1\n 1:2\n0 3:1\n", multilabel=True)
    assert found[0] == 0 and room.counts[:3].tolist() == [2, 0, 1] and room.labels[:3].tolist() == [1, 3, 0]


@pytest.mark.parametrize(
    ("line", "problem"),
    [("x 1:1", text.LABEL), ("1,2 1:1", text.SEVERAL), ("1:1", text.UNLABELLED), ("1 qid:x 1:1", text.QID),
     ("1 2:1 1:1", text.ORDER), ("1 0:1", text.INDEX_ZERO), ("1 1:x", text.VALUE), ("1 1:1e309", 0),
     ("1 1:1e305", text.VALUE_LARGE), ("1 a:1", text.FEATURE), ("1 1:1\nqid:1", text.UNLABELLED),
     ("1 1:1\n1 qid:1 1:1", text.QID_NEW), ("1 qid:1\n1 1:1", text.QID_GONE), ("1\r1:1", text.RETURN_INSIDE),
     ("1 9999999999:1", text.INDEX_LARGE)],
)  # fmt: skip
def test_broken_lines_are_named(line, problem):
    assert parse(line)[1][0] == problem
