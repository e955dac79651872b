"""What is proved of least squares by the moments of the data alone, rounding counted.

M is the sum of p z z' over the samples, for z = (x - centre, y - level, 1) and shares p that add up to one.
At weights w, with v = (w, -1, 0), residuals about the centre are a = <v, z>, and with s = (Mv)_1 their mean,

    sum of p a^2 = v'Mv,     sum of p (x - centre) a = (Mv)_x,     sum of p (y - level) a = (Mv)_y.

The dual point has slopes t p (a - s): their sum is zero whatever s is, and 0 < t <= 1 keeps the slope in w
within the domain of an l1 norm. None of this is written down: sums follow from M. By Cauchy's inequality
rounding has moved an entry of M by no more than a share of the root of the product of two diagonal ones.

Without an intercept the last line of M is zero, and so are the centre and the level.
"""

import math

from gapfit.compiled._jit import jit
from gapfit.compiled.small_feasible import UNIT
from gapfit.compiled.small_proof import TINY, Proved, gamma, omega_of

MADE = 32  # roundings of an entry of M beside those of its sum


@jit
def prove_by_moments(M, n, net, v, shift, product, slack):
    """Of v = (w, -1, 0) and an intercept that is off by the shift at most, for n samples. M v is written, and
    how far each entry may be from the exact one."""
    d, size = len(v) - 2, 0.0
    for k in range(len(v)):
        size += abs(v[k]) * math.sqrt(M[k, k])
    off = gamma(n + MADE) + gamma(len(v) + 8)  # M, and its product with v
    size *= 1.0 + off
    square = 0.0
    for k in range(len(v)):
        total = 0.0
        for j in range(len(v)):
            total += M[k, j] * v[j]
        product[k], slack[k] = total, (1.0 + off) * (off * math.sqrt(M[k, k]) * size + n * TINY)
        square += v[k] * total
    square_error = 1.01 * (off + gamma(len(v) + 8)) * size * size + n * TINY
    mean = abs(product[d + 1]) + slack[d + 1]
    steepest = noise = 0.0
    for j in range(d):
        slack[j] += mean * (abs(M[j, d + 1]) + off * math.sqrt(M[j, j])) * 1.01  # the mean residual's part
        slack[j] += 4.0 * UNIT * (abs(product[j]) + slack[j] + net.l1)
        steepest, noise = max(steepest, abs(product[j]) + slack[j]), max(noise, slack[j])
    t = 1.0
    if net.l2 == 0.0 and steepest > net.l1:
        t = net.l1 / steepest * (1.0 - 8.0 * UNIT)
    here = there = 0.0
    for j in range(d):
        here += max(t * abs(product[j]) - net.l1, 0.0) ** 2
        there += max(t * (abs(product[j]) + slack[j]) - net.l1, 0.0) ** 2
    if net.l2 > 0.0:
        here, there = 0.5 * here / net.l2, 0.5 * there / net.l2
    elif there > 0.0:
        here = there = math.inf
    level = mean * (abs(M[d, d + 1]) + off * math.sqrt(M[d, d]))  # what s takes from the height
    height = -t * product[d] - 0.5 * t * t * square
    height_error = 1.01 * (t * (slack[d] + level) + 0.5 * t * t * (square_error + mean * mean))
    height_error += gamma(16) * (abs(product[d]) + abs(square))
    omega, omega_error = omega_of(net, v[:d])
    risk_error = 1.01 * (0.5 * square_error + shift * mean + 0.5 * shift * shift) + gamma(16) * abs(square)
    conjugate_error = (there - here) + gamma(len(v) + 16) * there + len(v) * TINY
    return Proved(omega, omega_error, 0.5 * square, risk_error, height, height_error, here, conjugate_error)
