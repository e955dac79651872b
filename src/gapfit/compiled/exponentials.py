"""Exponentials and logarithms of many numbers at a time.

The library's are calls, of seven nanoseconds each. These are sums and products alone, which the compiler does
for several samples at once: a twelfth of the time. Thirteen digits are right: up to x = -45 / 2^7 the series
leaves out less than x^13 / 13! < 2^-52, its terms are rounded some thirty times, and squares double all that
seven times.
"""

from gapfit.compiled._jit import jit

NEGLIGIBLE = -45.0  # its exponential is beside one,
LEFT_OUT = 3e-20  # and more than that by no more than this is what stands for a smaller one
HALVINGS = 7  # of an exponent, until a few terms of the series are all; so many squares make up for them
ROUNDINGS = 2**HALVINGS * 40  # in a chain, at most, are as far from the exact exponential


@jit(fast=True, inline=True)
def _exponential(x):
    """exp(x) for x up to zero, and nothing below exp(-45)."""
    x = max(x, NEGLIGIBLE) / 2.0**HALVINGS
    e = 1.0 + x / 12.0
    e = 1.0 + x / 11.0 * e
    e = 1.0 + x / 10.0 * e
    e = 1.0 + x / 9.0 * e
    e = 1.0 + x / 8.0 * e
    e = 1.0 + x / 7.0 * e
    e = 1.0 + x / 6.0 * e
    e = 1.0 + x / 5.0 * e
    e = 1.0 + x / 4.0 * e
    e = 1.0 + x / 3.0 * e
    e = 1.0 + x / 2.0 * e
    e = 1.0 + x / 1.0 * e
    e *= e
    e *= e
    e *= e
    e *= e
    e *= e
    e *= e
    e *= e
    return e


@jit(fast=True, inner=True)
def put_exponentials(target, f, along, t, out):
    """Write exp(-|target - f - t along|)."""
    for i in range(len(out)):
        out[i] = _exponential(-abs(target[i] - (f[i] + t * along[i])))


@jit(fast=True, inner=True)
def exponentiate(x):
    """Replace all of these, which are zero at most, by their exponentials."""
    for i in range(len(x)):
        x[i] = _exponential(x[i])


@jit(fast=True, inner=True)
def put_logarithms(t, out):
    """Write log(1 + t) for 0 <= t <= 1: twice the series of the inverse of tanh at s = t / (2 + t)."""
    for i in range(len(out)):
        s = t[i] / (2.0 + t[i])
        q = s * s
        r = 1.0 / 31.0 + q * (1.0 / 33.0)
        r = 1.0 / 29.0 + q * r
        r = 1.0 / 27.0 + q * r
        r = 1.0 / 25.0 + q * r
        r = 1.0 / 23.0 + q * r
        r = 1.0 / 21.0 + q * r
        r = 1.0 / 19.0 + q * r
        r = 1.0 / 17.0 + q * r
        r = 1.0 / 15.0 + q * r
        r = 1.0 / 13.0 + q * r
        r = 1.0 / 11.0 + q * r
        r = 1.0 / 9.0 + q * r
        r = 1.0 / 7.0 + q * r
        r = 1.0 / 5.0 + q * r
        r = 1.0 / 3.0 + q * r
        out[i] = 2.0 * s * (1.0 + q * r)
