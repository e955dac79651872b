"""What happens to bytes: flips, cuts, repetitions, exchanges, and numbers made huge."""

import re
import struct

import numpy as np

Rng = np.random.Generator

_TEXTS = (
    b"nan", b"inf", b"-inf", b"1e999", b"-1", b"0", b"2147483648", b"9223372036854775808", b"9" * 20, b"1:1",
    b":", b"::", b"#", b'"', b",", b"\n", b"\r", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"qid:",
    b"-DOCSTART-", b"null", b"{}", b"[]", b"true", b"1e308", b"0x10", b"\xe2\x80\xa8", b" " * 200, b"1" * 400,
)  # fmt: skip
_NUMBERS = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**64 - 1)


def damaged(good: bytes, rng: Rng) -> bytes:
    """One to four changes."""
    made = bytearray(good)
    for _ in range(int(rng.choice([1, 1, 2, 4]))):
        if made:
            _CHANGES[rng.integers(len(_CHANGES))](made, rng)
    return bytes(made)


def _place(made: bytearray, rng: Rng) -> int:
    """Anywhere, but more often near the beginning, where formats keep their counts."""
    return int(rng.integers(min(len(made), 200)) if rng.random() < 0.4 else rng.integers(len(made)))


def _flip(made: bytearray, rng: Rng) -> None:
    made[_place(made, rng)] ^= 1 << int(rng.integers(8))


def _byte(made: bytearray, rng: Rng) -> None:
    made[_place(made, rng)] = int(rng.integers(256))


def _truncate(made: bytearray, rng: Rng) -> None:
    del made[_place(made, rng) :]


def _cut(made: bytearray, rng: Rng) -> None:
    k = _place(made, rng)
    del made[k : k + int(rng.integers(1, 40))]


def _repeat(made: bytearray, rng: Rng) -> None:
    k = _place(made, rng)
    made[k:k] = made[k : k + int(rng.integers(1, 60))] * int(rng.integers(1, 5))


def _exchange(made: bytearray, rng: Rng) -> None:
    i, j, size = _place(made, rng), _place(made, rng), int(rng.integers(1, 30))
    made[i : i + size], made[j : j + size] = made[j : j + size], made[i : i + size]


def _insert(made: bytearray, rng: Rng) -> None:
    k = _place(made, rng)
    made[k:k] = _TEXTS[rng.integers(len(_TEXTS))]


def _huge(made: bytearray, rng: Rng) -> None:
    """A binary count."""
    k = _place(made, rng) & ~3
    form, size = (("<Q", 8), ("<I", 4))[rng.integers(2)]
    made[k : k + size] = struct.pack(form, _NUMBERS[rng.integers(len(_NUMBERS))] % 2 ** (8 * size))


def _number(made: bytearray, rng: Rng) -> None:
    """A number in a text."""
    found = list(re.finditer(rb"-?[0-9][0-9.e+-]*", bytes(made)))
    if found:
        token = found[rng.integers(len(found))]
        made[token.start() : token.end()] = _TEXTS[rng.integers(len(_TEXTS))]


_CHANGES = (_flip, _byte, _truncate, _cut, _repeat, _exchange, _insert, _huge, _number)
