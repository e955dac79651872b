"""Dual points of losses over classes for a proof: exactly on their simplices, and exactly balanced.

Sample i gives shares of p_i to the classes. They are its slopes in the scores of other classes than the
truth, and that in the truth makes them add up to zero. All are multiples of a unit that add up without
rounding.
"""

from gapfit.compiled._jit import jit
from gapfit.compiled.small_feasible import UNIT, unit_of, whole
from gapfit.compiled.small_proof import entropy_of

MOST = 2.0**52  # units: more than anything adds up to
NEAR = 8.0 * UNIT  # of all shares that change hands: an excess that small is rounding


@jit(inner=True)
def _put_excess(task, dual, excess):
    """Write what each class has too much."""
    for k in range(excess.size):
        excess[k] = 0.0
    for i in range(len(dual)):
        for k in range(excess.size):
            excess[k] += dual[i, k]


@jit(inner=True)
def _transport(task, dual, excess, has):
    """Let classes that have too much give all others that have too little a part of each share. Here `dual`
    holds shares, all of them."""
    surplus = lack = 0.0
    K = excess.size
    for k in range(K):
        has[k] = excess[k] = 0.0
    for i in range(len(dual)):
        for k in range(K):
            has[k] += dual[i, k]
        excess[int(task.y[i])] -= task.p[i]
    for k in range(K):
        excess[k] += has[k]
        surplus += max(excess[k], 0.0)
        lack += max(-excess[k], 0.0)
    if not (surplus > NEAR and lack > 0.0):
        return
    for i in range(len(dual)):
        given = 0.0
        for k in range(K):
            if excess[k] > 0.0:
                part = min(excess[k] / has[k], 1.0) * dual[i, k]
                dual[i, k] -= part
                given += part
        for k in range(K):
            if excess[k] < 0.0:
                dual[i, k] -= given * excess[k] / lack


@jit(inline=True)
def _room(p, unit):
    """What a sample can give, as a multiple of the unit: its share, or as much as all give together."""
    return whole(min(p, MOST * unit), unit)


@jit(inner=True)
def _put_on_the_grid(task, dual, unit):
    """From shares to slopes, other classes' first, as long as there is something to give."""
    for i in range(len(dual)):
        truth, left = int(task.y[i]), _room(task.p[i], unit)
        for k in range(dual.shape[1]):
            if k != truth:
                share = whole(min(max(dual[i, k], 0.0), left), unit)
                dual[i, k] = share
                left -= share
        dual[i, truth] = left - _room(task.p[i], unit)


@jit(inner=True)
def _hand_over(task, dual, excess, unit):
    """Take what rounding has left of an excess from samples that can spare it. Could it be done?"""
    for k in range(excess.size):
        for j in range(excess.size):
            for i in range(len(dual)):
                amount = min(excess[k], -excess[j])
                if not amount > 0.0:
                    break
                has = dual[i, k] + (_room(task.p[i], unit) if k == int(task.y[i]) else 0.0)
                amount = min(amount, whole(0.5 * has, unit))
                dual[i, k] -= amount
                dual[i, j] += amount
                excess[k] -= amount
                excess[j] += amount
    left = 0.0
    for k in range(excess.size):
        left += abs(excess[k])
    return left == 0.0


@jit(inner=True)
def put_shares(task, shares, dual, excess, has):
    """Write the slopes of about these shares of the weights. Could it be done?"""
    size = 0.0
    for i in range(len(dual)):
        for k in range(dual.shape[1]):
            dual[i, k] = task.p[i] * shares[i, k]
            if k != int(task.y[i]):
                size += 2.0 * dual[i, k]
    if task.free:
        _transport(task, dual, excess, has)
        size = 0.0
        for i in range(len(dual)):
            for k in range(dual.shape[1]):
                size += 2.0 * dual[i, k] if k != int(task.y[i]) else 0.0
    unit = unit_of(size)
    if not unit > 0.0:
        for i in range(len(dual)):
            for k in range(dual.shape[1]):
                dual[i, k] = 0.0
        return size == 0.0
    _put_on_the_grid(task, dual, unit)
    if not task.free:
        return True
    _put_excess(task, dual, excess)
    return _hand_over(task, dual, excess, unit)


@jit(inner=True)
def shares_entropy(dual, p, truth):
    """The sum of a log a over the shares of a sample, divided by its weight; and what was added up."""
    value = size = 0.0
    for k in range(dual.size):
        a = (dual[k] + p if k == truth else dual[k]) / p
        value += entropy_of(max(a, 0.0))
        size += 1.0
    return value, size + 3.0
