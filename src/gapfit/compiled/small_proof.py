"""What is proved of a small fit: J at a point from above and the optimum from below, rounding counted.

The losses are those of `small`, as data. Nothing is taken from the solver but a point and a dual point; every
sum is taken anew, in the order that the source says. Of k operations in a chain the error is at most gamma(k)
times the absolute values that went in (docs/decisions/023-rounding.md).
"""

import math
from typing import Any, NamedTuple

from gapfit.compiled._jit import jit
from gapfit.compiled.atoms import maximum
from gapfit.compiled.exponentials import LEFT_OUT, ROUNDINGS, put_exponentials, put_logarithms
from gapfit.compiled.small_counts import conjugate_of_count, rise_of_count
from gapfit.compiled.small_feasible import UNIT, feasible
from gapfit.compiled.small_sums import Sums, put_sums

TINY = 2.3e-308  # what underflow may take from a product
LOGARITHMS = 64  # roundings on the way to the loss of a sample, or to its conjugate
SHRINKS = 3  # of a dual point into the domain of an l1 norm


class Proved(NamedTuple):
    """Four numbers, and how far each may be from the exact one."""

    omega: Any  # the penalty at w, alpha included
    omega_error: Any
    risk: Any  # at w and b
    risk_error: Any
    height: Any  # of the minorant where w is zero
    height_error: Any
    conjugate: Any  # of the penalty, at minus its slope; infinite outside of its domain
    conjugate_error: Any


@jit(inline=True)
def gamma(k):
    """What k roundings in a chain may amount to, relatively."""
    return k * UNIT / (1.0 - k * UNIT)


@jit(inline=True)
def _slack(rows, i, size, more):
    """How far the margin may be from the exact one."""
    terms = rows.indptr[i + 1] - rows.indptr[i] + 4
    return 1.01 * (gamma(terms) * size + more) + terms * TINY


@jit
def _risk_of_atoms(rows, losses, b, scores, sizes):
    """Within what rounding leaves open of a score, a loss is highest at one of the ends."""
    n, risk, rise = len(losses.p), 0.0, 0.0
    for i in range(n):
        kink, quad, lower, upper = losses.kink[i], losses.quad[i], losses.lower[i], losses.upper[i]
        slack = _slack(rows, i, sizes[i] + abs(b), 4.0 * UNIT * (abs(losses.target[i]) + kink))
        margin = losses.target[i] - (scores[i] + b)
        here = maximum(margin, kink, quad, lower, upper)[0]
        below = maximum(margin - slack, kink, quad, lower, upper)[0]
        above = maximum(margin + slack, kink, quad, lower, upper)[0]
        risk += here
        rise += max(max(below, above) - here, 0.0)
    return risk, 1.01 * (rise + gamma(n + LOGARITHMS) * risk) + n * TINY


@jit
def _risk_of_entropies(rows, losses, b, scores, sizes, logs):
    """The same. Nowhere is a loss steeper than its entropy is wide. Intercepts are added to scores."""
    n, risk, rise = len(losses.p), 0.0, 0.0
    for i in range(n):
        scores[i] += b
    put_exponentials(losses.target, scores, scores, 0.0, logs)
    put_logarithms(logs, logs)
    for i in range(n):
        entropy, margin = losses.entropy[i], losses.target[i] - scores[i]
        slack = _slack(rows, i, sizes[i] + abs(b), 4.0 * UNIT * abs(losses.target[i]))
        rise += entropy * (slack + LEFT_OUT)
        risk += entropy * (max(margin if losses.lower[i] == 0.0 else -margin, 0.0) + logs[i])
    return risk, 1.01 * (rise + gamma(n + LOGARITHMS + ROUNDINGS) * risk) + n * TINY


@jit
def _risk_of_counts(rows, losses, b, scores, sizes):
    """The same, for counts."""
    n, risk, rise, made = len(losses.p), 0.0, 0.0, 0.0
    for i in range(n):
        slack = _slack(rows, i, sizes[i] + abs(b), 4.0 * UNIT * abs(losses.target[i]))
        here, up, terms = rise_of_count(losses, i, losses.target[i] - (scores[i] + b), slack)
        risk += here
        rise += up
        made += terms
    return risk, 1.01 * (rise + gamma(n + LOGARITHMS) * (risk + made)) + n * TINY


@jit
def _risk(rows, losses, b, room):
    """At these scores and b, of samples of one kind."""
    n, scores, sizes = len(losses.p), room[0], room[1]
    if losses.entropy[0] > 0.0:
        return _risk_of_entropies(rows, losses, b, scores[:n], sizes, scores[n:])
    if losses.entropy[0] < 0.0:
        return _risk_of_counts(rows, losses, b, scores, sizes)
    return _risk_of_atoms(rows, losses, b, scores, sizes)


@jit(inner=True)
def omega_of(net, w):
    """The penalty, and its error."""
    omega = 0.0
    for j in range(len(w)):
        omega += net.l1 * abs(w[j]) + 0.5 * net.l2 * w[j] * w[j]
    return omega, gamma(len(w) + 8) * omega + len(w) * TINY


@jit(inner=True)
def entropy_of(a):
    """a log a."""
    return a * math.log(a) if a > 0.0 else 0.0


@jit
def _height(losses, v):
    """Minus the sum of the conjugates at -v."""
    height = size = 0.0
    for i in range(len(v)):
        a, entropy = v[i], losses.entropy[i]
        first = losses.target[i] * a
        if entropy > 0.0:
            low, high = (a - losses.lower[i]) / entropy, (losses.upper[i] - a) / entropy
            second = entropy * (entropy_of(low) + entropy_of(high))
            size += entropy * (low + high)  # where a is rounded, by this much more
        elif entropy < 0.0:
            second, made = conjugate_of_count(losses, i, a)
            size += made
        else:
            second = losses.kink[i] * abs(a) + 0.5 * losses.quad[i] * a * a
        height += first - second
        size += abs(first) + abs(second)
    return height, gamma(len(v) + LOGARITHMS) * size + len(v) * TINY


@jit
def _conjugate(net, z, spread):
    """Of the penalty at z, whose error is counted; and where there is no l2, how far z reaches, and how much
    of that is rounding."""
    here = there = reach = noise = 0.0
    for j in range(len(z)):
        steep = abs(z[j])
        slack = spread[j] + 4.0 * UNIT * (steep + spread[j] + net.l1)
        here += max(steep - net.l1, 0.0) ** 2
        there += max(steep + slack - net.l1, 0.0) ** 2
        reach, noise = max(reach, steep + slack), max(noise, slack)
    if net.l2 > 0.0:
        here, there = 0.5 * here / net.l2, 0.5 * there / net.l2
        return here, (there - here) + gamma(len(z) + 16) * there + len(z) * TINY, 0.0, 0.0
    return (0.0 if reach <= net.l1 else math.inf), 0.0, reach, noise


@jit
def _sum_up(rows, w, v, sums, scored):
    """Write scores and X'v, and how far each entry of the latter may be from the exact one."""
    n = len(v)
    put_sums(rows, w, v, sums, scored)
    for j in range(len(w)):
        sums.spread[j] = 1.01 * gamma(n + 4) * sums.spread[j] + n * TINY


@jit(inner=True)
def prove(rows, losses, net, w, b, v, z, spread, room):
    """What is proved of w and b by the dual point v, made feasible. X'v and its error are written. There is
    room for two lines of two numbers a sample."""
    omega, omega_error = omega_of(net, w)
    sums = Sums(room[0], room[1], z, spread)
    risk = risk_error = 0.0
    conjugate = conjugate_error = math.inf
    for turn in range(SHRINKS + 1):
        sound = feasible(losses, net, v)
        _sum_up(rows, w, v, sums, turn > 0)
        if turn == 0:
            risk, risk_error = _risk(rows, losses, b, room)
        if not sound:
            break
        conjugate, conjugate_error, reach, noise = _conjugate(net, z, spread)
        if conjugate < math.inf or turn == SHRINKS:
            break
        keep = max(net.l1 - 8.0 * (turn + 1) * noise, 0.0) / reach  # balance takes some more of rounding
        for i in range(len(v)):
            v[i] *= keep
    height, height_error = _height(losses, v)
    return Proved(omega, omega_error, risk, risk_error, height, height_error, conjugate, conjugate_error)
