"""Decimal numbers, parsed from bytes, to the nearest float64.

Every loop over text ends at a newline, and the caller sees to it that the last byte is one: no loop has to
ask where the text ends.
"""

import math

import numpy as np

from gapfit.compiled._jit import jit

PLUS, MINUS, POINT, ZERO, LETTER_E = b"+-.0e"


def _power_of_five(q):
    """The leading 128 bits of 5^q, in two halves; some reciprocals are rounded up (see `_scaled`)."""
    five = 5 ** abs(q)
    if q < 0:
        bits = (1 << (127 + five.bit_length())) // five + (q >= -27)
    else:
        bits = (five << 128) >> five.bit_length()
    return bits >> 64, bits & (2**64 - 1)


FIRST_POWER, LAST_POWER = -342, 308
FIVES = np.array(
    [_power_of_five(q) for q in range(FIRST_POWER, LAST_POWER + 1)],
    dtype=[("high", np.uint64), ("low", np.uint64)],
)
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
    five = FIVES[q - FIRST_POWER]
    high, low = _product(w, five["high"])
    if high & LOW_9 == LOW_9:  # what lies below might still carry
        more, _ = _product(w, five["low"])
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
    return math.ldexp(float(np.int64((m + (m & U1)) >> U1)), int(power))


@jit(inline=True)
def digit(text, p):
    """The digit at p; more than 9 if there is none."""
    return np.int64(text[p] ^ ZERO)


@jit(inline=True)
def _digits(text, p, w):
    """The number w with the digits from p on at its end, and where they end."""
    d = digit(text, p)
    while d <= 9:
        w = w * U10 + np.uint64(d)
        p += 1
        d = digit(text, p)
    return w, p


@jit
def number(text, p):
    """The number that starts at p: its value, where it ends (-1: there is none), and whether it is exact.

    Without a value (more than 19 digits, subnormal, or too large) it is left to `float`.
    """
    negative = text[p] == MINUS
    if negative or text[p] == PLUS:
        p += 1
    start = p
    w, p = _digits(text, p, np.uint64(0))
    digits = p - start
    q = 0
    if text[p] == POINT:
        point = p + 1
        w, p = _digits(text, point, w)
        q = point - p
        digits -= q
    if digits == 0:
        return 0.0, -1, True
    if text[p] | 32 == LETTER_E:
        p += 1
        down = text[p] == MINUS
        if down or text[p] == PLUS:
            p += 1
        d = digit(text, p)
        if d > 9:
            return 0.0, -1, True
        e = 0
        while d <= 9:
            e = min(e * 10 + d, 10**17)  # no text has so many digits before or behind the point
            p += 1
            d = digit(text, p)
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
