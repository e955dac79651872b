"""The memory of L-BFGS as a few matrix products: its inverse Hessian in compact form.

Each pair is a step s and the change y of the gradient along it. With S and Y their matrices (a row a pair, in
order), R the upper triangle of S Y', D its diagonal and H_0 = scale * Q^-1,

    H = H_0 + [S' H_0 Y'] [R^-T (D + Y H_0 Y') R^-1   -R^-T] [S    ]
                          [-R^-1                          0] [Y H_0]

is the same matrix that the usual two loops over all pairs apply.
"""

from typing import Any

import numpy as np
from scipy.linalg.blas import dtrsm

from gapfit._types import Slope, Vector
from gapfit.penalties import Penalty

_EPS = float(np.finfo(float).eps)


class Memory:
    """The last pairs, and the products of all of them with each other."""

    def __init__(self, size: int, penalty: Penalty) -> None:
        self.size, self.penalty = size, penalty
        self.order: list[int] = []  # slots, the oldest pair first

    def add(self, step: Slope, change: Slope) -> None:
        """Remember a pair, and forget the oldest if there are too many."""
        if not self.order:
            shape = (self.size, len(step))
            self.S, self.Y = np.empty(shape), np.empty(shape)
            self.Z = self.Y if self.penalty.euclidean else np.empty(shape)  # Y Q^-1
            self.SY, self.YZ = np.zeros((self.size, self.size)), np.zeros((self.size, self.size))
        dual = self.penalty.argmax(change)
        product = float(step @ change)
        if not product > _EPS * float(np.abs(step) @ np.abs(change)):
            return  # no curvature along it, up to rounding
        slot = self.order.pop(0) if len(self.order) == self.size else len(self.order)
        self.S[slot], self.Y[slot], self.Z[slot] = step, change, dual
        self.order.append(slot)
        used = len(self.order)
        self.SY[:used, slot] = self.S[:used] @ change
        self.SY[slot, :used] = self.Y[:used] @ step
        self.YZ[slot, :used] = self.YZ[:used, slot] = self.Y[:used] @ dual

    def direction(self, gradient: Slope, first: float) -> Slope:
        """-H gradient; `first` is the scale while nothing is remembered."""
        if not self.order:
            return -first * self.penalty.argmax(gradient)
        last, used, order = self.order[-1], len(self.order), np.array(self.order)
        scale = self.SY[last, last] / self.YZ[last, last]
        # nobody reads below the diagonal of R
        R, D = self.SY.T.take(order, 0).take(order, 1).T, self.SY[order, order]
        along, across = (self.S[:used] @ gradient)[order], scale * (self.Z[:used] @ gradient)[order]
        q = _solve(R, along)
        inner = D * q + scale * (self.YZ.take(order, 0).take(order, 1) @ q) - across
        shares, duals = np.zeros(used), np.zeros(used)
        shares[order], duals[order] = _solve(R, inner, transposed=True), q
        answer = scale * (self.penalty.argmax(gradient) - duals @ self.Z[:used]) + shares @ self.S[:used]
        return np.asarray(-answer)

    def clear(self) -> None:
        """Forget everything."""
        self.order = []

    def state(self) -> dict[str, Any]:
        """A copy of all that is remembered."""
        names = ("S", "Y", "Z", "SY", "YZ") if self.order else ()
        return {"order": list(self.order)} | {name: getattr(self, name).copy() for name in names}

    def restore(self, state: dict[str, Any]) -> None:
        """Remember what a copy holds."""
        for name, value in state.items():
            setattr(self, name, value.copy())
        if self.order and self.penalty.euclidean:
            self.Z = self.Y


def _solve(R: Any, x: Vector, *, transposed: bool = False) -> Vector:
    """R^-1 x, or R'^-1 x."""
    return np.asarray(dtrsm(1.0, R, x[:, None], trans_a=int(transposed))[:, 0])
