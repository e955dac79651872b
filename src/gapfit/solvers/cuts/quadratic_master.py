"""The master of quadratic penalties, where all that counts is in the Gram matrix of the cuts."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.rounding import EPS
from gapfit.solvers.cuts.master import Master
from gapfit.solvers.cuts.simplex_qp import Face, maximise_on_simplex

_LEVEL = 0.3  # where the level lies between the lower bound and the best value known
_MISSED = 0.3  # of a level, by which a point may miss it
_RIGHT = 0.1  # the model was right if J came down to within this share of what it promised
_LOWEST = 1e-3  # level of a model that keeps being right
_TRIES = 6  # to meet a level; the first is nearly always enough
_STRONGEST = 1e9  # hold: beyond this, rounding decides
_ROUNDED = 1e-10  # of the model's minimum, that rounding of the Gram matrix may hide
REFINEMENTS = 3  # each leaves about as much of an error as the factor has


class QuadraticMaster(Master):
    """Omega*(mu) = <mu, mu> / 2 in some inner product: one QP on the Gram matrix of the cuts."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.gram: Matrix = np.empty((16, 16))[:0, :0]  # the filled corner of a larger array
        self.known: Matrix | None = None  # a Gram matrix of the cuts that are about to be restored
        self.held = np.zeros(0)  # the shares at the last point that was asked to be at a level
        self.hold = 1.0  # how strongly it was held near the best point
        self.promised = 0.0  # the value of the model there
        self.level = _LEVEL

    def at_level(self, centre: Slope, J: float) -> Slope:
        """The point nearest to `centre`, in Omega's metric, where the model is down to the level (nearly).

        For some hold it minimises  model + alpha * Omega(w) + hold * alpha * Omega(w - centre).  The shares
        there maximise

            sum_i x_i (c_i + hold * (c_i + <a_i, centre>)) - x'Gx / (2 alpha),

        the master's own QP with other constants, and the model's height follows from the Gram matrix. It
        rises with hold, for which the last step's is a good guess.
        """
        alpha, c, shares = self.problem.alpha, self.constants, self.shares
        inner = np.array([self.problem.design.inner(cut.a, centre) for cut in self.cuts])
        penalty = self.problem.penalty.value(centre)
        bottom = float(c @ shares - shares @ self.gram @ shares / (2 * alpha))
        top = min(J, float((c + inner).max()) + alpha * penalty)
        if not top > bottom:
            return self.problem.penalty.argmax(self.mixed_slope(shares) / -alpha)

        def height(hold: float) -> float:
            """How far up from the bottom to the top."""
            start = self.held if self.held.any() else shares
            x = self.held = self._maximised(c + hold * (c + inner), start)
            slope = self.gram @ x / alpha
            model = float((c + (hold * inner - slope) / (1 + hold)).max())
            square = hold * hold * 2 * penalty + float((slope - 2 * hold * inner) @ x) / alpha
            self.promised = model + 0.5 * alpha * square / (1 + hold) ** 2
            return (self.promised - bottom) / (top - bottom)

        self.hold = _solve_roughly(height, self.level, self.hold)
        free = self.problem.penalty.argmax(self.mixed_slope(self.held) / -alpha)
        return np.asarray((self.hold * centre + free) / (1 + self.hold))

    def learn(self, best: float, there: float) -> None:
        """J is `there` at the point asked for last. A model that was right is trusted with a lower level."""
        right = there - self.promised <= _RIGHT * (best - self.promised)
        self.level = max(0.1 * self.level, _LOWEST) if right else _LEVEL

    def state(self) -> dict[str, Any]:
        level = {"held": self.held, "hold": self.hold, "level": self.level, "promised": self.promised}
        return {**super().state(), **level, "gram": self.gram, "metric": self.problem.penalty}

    def restore(self, state: dict[str, Any]) -> None:
        here, there = self.problem.penalty, state.get("metric")
        same = there is not None and (there is here or (there.euclidean and here.euclidean))
        self.known = state["gram"] if same and not self.cuts else None
        super().restore(state)
        self.known = None
        if "held" in state and len(state["held"]) == len(self.cuts):
            self.held, self.hold, self.level = state["held"].copy(), state["hold"], state["level"]
            self.promised = state["promised"]

    def _solve(self) -> Slope | None:
        self.shares = self._maximised(self.constants, self.shares)
        alpha, roots = self.problem.alpha, np.sqrt(np.maximum(self.gram.diagonal(), 0.0))
        height = float(self.constants @ self.shares - self.shares @ self.gram @ self.shares / (2 * alpha))
        rounded = EPS * float(roots.max() * (roots @ self.shares)) / alpha
        return self._refined() if rounded > _ROUNDED * abs(height) else None

    def _refined(self) -> Slope:
        """The minimiser, where cuts are so much larger than their mixture that their Gram matrix knows it
        roughly. Heights at w are computed from the cuts themselves. What they differ by on the face tells how
        to change the shares, and w moves by the mixture of that change: far less than shares can express."""
        alpha, shares, argmax = self.problem.alpha, self.shares, self.problem.penalty.argmax
        members = np.flatnonzero(shares)
        w = argmax(self.mixed_slope(shares) / -alpha)
        face = Face(self.gram, members, float(self.gram.diagonal() @ shares))
        for _ in range(REFINEMENTS):
            inner = [self.problem.design.inner(self.cuts[i].a, w) for i in members]
            heights = self.constants[members] + inner
            change = np.zeros(len(shares))
            change[members] = face.to_maximum(alpha * (heights - heights @ shares[members]))
            w = w + argmax(self.mixed_slope(change) / -alpha)
            moved = shares + change
            if (moved[members] > 0).all():
                shares = moved / moved.sum()
        self.shares = shares
        return np.asarray(w)

    def _maximised(self, c: Vector, start: Vector) -> Vector:
        """The shares x that maximise c'x - x'Gx / (2 alpha), scaled so that nothing overflows."""
        alpha = self.problem.alpha
        if alpha > 1:
            return maximise_on_simplex(self.gram / alpha, c, start)
        return maximise_on_simplex(self.gram, alpha * c, start)

    def _append(self, cut: Minorant) -> None:
        super()._append(cut)
        t = len(self.cuts)
        if self.known is not None:
            row = self.known[t - 1, :t]
        else:
            mapped = self.problem.penalty.argmax(cut.a)
            row = np.array([self.problem.design.inner(old.a, mapped) for old in self.cuts])
        room = self.gram.base
        if room is None or len(room) < t:
            room = np.empty((2 * t, 2 * t))
            room[: t - 1, : t - 1] = self.gram
        room[t - 1, :t] = room[:t, t - 1] = row
        self.gram = room[:t, :t]
        self.held = np.append(self.held, 1.0 if t == 1 else 0.0)

    def _in_use(self) -> NDArray[np.bool_]:
        return super()._in_use() | (self.held > 0)

    def _keep(self, kept: Indices) -> None:
        super()._keep(kept)
        self.gram, self.held = self.gram[np.ix_(kept, kept)], self.held[kept]


def _solve_roughly(rising: Callable[[float], float], wanted: float, guess: float) -> float:
    """A positive number at which the function, called there last, is near the wanted value."""
    lo, hi, at_lo, at_hi = 0.0, np.inf, 0.0, 1.0
    value = rising(guess)
    for _ in range(_TRIES - 1):
        if abs(value - wanted) <= _MISSED * wanted:
            break
        if value < wanted:
            lo, at_lo = guess, value
        else:
            hi, at_hi = guess, value
        if hi == np.inf:
            guess *= min(max(wanted / max(value, 1e-9), 2.0), 10.0)
        elif lo == 0:
            guess /= min(max(2 * value / wanted, 2.0), 10.0)
        else:
            share = (wanted - at_lo) / (at_hi - at_lo)
            guess = lo * (hi / lo) ** min(max(share, 0.1), 0.9)
        guess = min(max(guess, 1.0 / _STRONGEST), _STRONGEST)
        value = rising(guess)
    return guess
