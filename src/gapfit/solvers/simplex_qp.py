"""The small quadratic program of bundle methods, by an active set."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from gapfit._types import Indices, Matrix, Vector

_EPS = float(np.finfo(float).eps)


def maximise_on_simplex(H: Matrix, c: Vector, start: Vector) -> Vector:
    """maximise c'x - x'Hx / 2 over x >= 0, sum x = 1, for a positive semidefinite H.

    A primal active set: go to the maximum on the face of the current support. If a coordinate reaches zero on
    the way, stop there and drop it; on arrival let the most promising coordinate in. Every point is feasible
    and none is worse than the one before it, so ending early is safe.
    """
    x = np.maximum(start, 0.0)
    x /= x.sum()
    support = np.flatnonzero(x)
    size = np.abs(H)
    for _ in range(20 * len(c) + 100):
        direction = _to_face_maximum(H, c - H @ x, support)
        shrinking = np.flatnonzero(direction < 0)
        room = x[support[shrinking]] / -direction[shrinking]
        step = float(room.min(initial=1.0))
        x[support] += step * direction
        x[support[shrinking[room <= step]]] = 0.0
        x = np.maximum(x, 0.0) / np.maximum(x, 0.0).sum()
        support = np.flatnonzero(x)
        if 0.0 < step < 1.0:
            continue
        promise = c - H @ x
        promise -= promise @ x
        entering = int(np.argmax(promise))
        noise = 4 * _EPS * float(np.abs(c).max() + (size @ x).max())
        if promise[entering] <= noise or step == 0.0:  # a step of zero: the last promise was rounding
            break
        support = np.union1d(support, [entering])
    return x


def _to_face_maximum(H: Matrix, gradient: Vector, support: Indices) -> Vector:
    """The d with sum d = 0 that maximises g'd - d'Hd / 2 on the support.

    Differences to one reference cut take care of the sum: k affinely independent cuts give k - 1 independent
    differences, though the cuts themselves may be dependent. A ridge at rounding level keeps the system
    solvable where even those are parallel; along such a direction the step is then very long, and is cut
    short where a coordinate reaches zero.
    """
    reference, others = support[0], support[1:]
    if len(others) == 0:
        return np.zeros(1)
    to_reference = H[others, reference]
    block = H[np.ix_(others, others)] - to_reference - to_reference[:, None] + H[reference, reference]
    ridge = 4 * _EPS * (float(np.diag(H).max()) or 1.0)
    while True:
        try:
            factor = cho_factor(block + ridge * np.eye(len(others)))
            break
        except LinAlgError:
            ridge *= 10
    step = cho_solve(factor, gradient[others] - gradient[reference])
    return np.concatenate([[-step.sum()], step])
