"""Losses made of lines and parabolas: values and conjugates.

Certificates rest on these, so the arithmetic is strict, and what is to be added up is written down for a sum
that takes care of rounding.
"""

import math

from gapfit.kernels._jit import jit


@jit
def maximise(sign, lin, kink, quad, lo, hi, f, start, stop, value, a):
    """Write phi(f) = max over lo <= a <= hi of (lin - sign f) a - kink |a| - quad a^2 / 2, and a."""
    for i in range(start, stop):
        z = lin[i] - sign[i] * f[i]
        beyond = z - min(max(z, -kink[i]), kink[i])
        x = beyond / quad[i] if quad[i] > 0.0 else (0.0 if beyond == 0.0 else math.inf * beyond)
        x = min(max(x, lo[i]), hi[i])
        value[i] = (beyond - 0.5 * quad[i] * x) * x
        a[i] = x


@jit
def conjugate(sign, lin, kink, quad, u, start, stop, value):
    """Write the conjugates of the losses at u = -sign a:  -lin a + kink |a| + quad a^2 / 2."""
    for i in range(start, stop):
        a = -sign[i] * u[i]
        value[i] = -lin[i] * a + kink[i] * abs(a) + 0.5 * quad[i] * a * a
