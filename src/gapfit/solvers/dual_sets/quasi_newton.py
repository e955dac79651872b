"""The memory of L-BFGS as a few matrix products: its inverse Hessian in compact form.

Each pair is a step s and the change y of the gradient along it. With S and Y their matrices (a row a pair, in
order), R the upper triangle of S Y', D its diagonal and H_0 = scale * Q^-1,

    H = H_0 + [S' H_0 Y'] [R^-T (D + Y H_0 Y') R^-1   -R^-T] [S    ]
                          [-R^-1                          0] [Y H_0]

is the same matrix that the usual two loops over all pairs apply.
"""

from typing import Any

import numpy as np

from gapfit._types import Slope
from gapfit.penalties import Penalty
from gapfit.records import Kept
from gapfit.rounding import EPS


class Memory(Kept):
    """The last pairs, and the products of all of them with each other."""

    KEPT = ("used", "oldest", "S", "Y", "Z", "SY", "YZ")

    def __init__(self, size: int, penalty: Penalty) -> None:
        from gapfit.compiled import compact_memory  # compiled code is loaded only when it is to run

        self.compiled, self.size, self.penalty = compact_memory, size, penalty
        self.used = self.oldest = 0  # pairs, and the slot of the oldest

    def add(self, step: Slope, change: Slope) -> None:
        """Remember a pair, and forget the oldest if there are too many."""
        if not self.used:
            shape = (self.size, len(step))
            self.S, self.Y = np.empty(shape), np.empty(shape)
            self.Z = self.Y if self.penalty.euclidean else np.empty(shape)  # Y Q^-1
            self.SY, self.YZ = np.zeros((self.size, self.size)), np.zeros((self.size, self.size))
        if not step @ change > EPS * (np.abs(step) @ np.abs(change)):
            return  # no curvature along it, up to rounding
        slot = (self.oldest + self.used) % self.size
        self.used, self.oldest = (
            min(self.used + 1, self.size),
            (self.oldest + self.used // self.size) % self.size,
        )
        self.S[slot], self.Y[slot] = step, change
        if self.Z is not self.Y:
            self.Z[slot] = self.penalty.argmax(change)
        self.compiled.multiply(self.S, self.Y, self.Z, self.SY, self.YZ, slot, self.used)

    def direction(self, gradient: Slope, first: float) -> Slope:
        """-H gradient; `first` is the scale while nothing is remembered."""
        answer = self.penalty.argmax(gradient)
        if not self.used:
            return -first * answer
        self.compiled.apply(self.S, self.Z, self.SY, self.YZ, self.oldest, self.used, gradient, answer)
        return answer

    def clear(self) -> None:
        """Forget everything."""
        self.used = self.oldest = 0

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        if self.used and self.penalty.euclidean:
            self.Z = self.Y
