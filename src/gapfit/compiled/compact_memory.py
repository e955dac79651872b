"""The memory of L-BFGS in compact form: products of all pairs, and the inverse Hessian times a vector.

Pairs are rows of S, Y and Z = Y Q^-1, in a ring of slots: pair i, the oldest first, is in slot
(oldest + i) % size.
"""

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import dense_dot


@jit
def multiply(S, Y, Z, SY, YZ, slot, used):
    """Write the products of the pair in a slot with all pairs: S Y' and Y Z'."""
    for i in range(used):
        SY[i, slot] = dense_dot(S[i], Y[slot])
        SY[slot, i] = dense_dot(S[slot], Y[i])
        YZ[slot, i] = YZ[i, slot] = dense_dot(Y[i], Z[slot])


@jit(fast=True)
def _add(share, x, total):
    for j in range(x.size):
        total[j] += share * x[j]


@jit
def apply(S, Z, SY, YZ, oldest, used, gradient, answer):
    """Turn ``answer``, which holds Q^-1 gradient, into minus the inverse Hessian times the gradient."""
    size = len(S)
    slots = np.empty(used, np.int64)
    for i in range(used):
        slots[i] = (oldest + i) % size
    last = slots[used - 1]
    scale = SY[last, last] / YZ[last, last]
    q, shares = np.empty(used), np.empty(used)
    for i in range(used - 1, -1, -1):  # q = R^-1 S g, R the upper triangle of S Y'
        row = SY[slots[i]]
        total = dense_dot(S[slots[i]], gradient)
        for j in range(i + 1, used):
            total -= row[slots[j]] * q[j]
        q[i] = total / row[slots[i]]
    for i in range(used):
        row = YZ[slots[i]]
        total = 0.0
        for j in range(used):
            total += row[slots[j]] * q[j]
        shares[i] = SY[slots[i], slots[i]] * q[i] + scale * (total - dense_dot(Z[slots[i]], gradient))
    for i in range(used):  # R' shares = that
        shares[i] /= SY[slots[i], slots[i]]
        row = SY[slots[i]]
        for j in range(i + 1, used):
            shares[j] -= row[slots[j]] * shares[i]
    for j in range(answer.size):
        answer[j] *= -scale
    for i in range(used):
        _add(scale * q[i], Z[slots[i]], answer)
        _add(-shares[i], S[slots[i]], answer)
