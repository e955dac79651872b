"""The master problem of the bundle: minimise alpha * Omega(w) + the maximum of the cuts collected so far.

It is solved in the dual: cut i has a share x_i, the shares lie on the simplex, and

    D(x) = sum_i x_i c_i - alpha * Omega*(-sum_i x_i a_i / alpha)

is to be maximised. The mixture of cuts with *any* shares is a minorant, so an inexact answer costs tightness
and never validity.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import daxpy

from gapfit._types import Indices, Slope, Vector
from gapfit.minorant import Minorant, combine
from gapfit.problem import Problem

_KEEP_IDLE = 25  # steps that a cut is kept without a share
_BATCH = 16  # so many are dropped at once
_MEMORY = 2**27  # numbers that the slopes of all cuts may fill: one gigabyte
_FEWEST = 50  # cuts that are kept whatever they fill
_INSIDE = 1e-8  # of a norm's domain, and rounding: so far inside are mixtures that nothing else draws inside
_WELL = 0.5  # of it, at most


class Master(ABC):
    """The cuts, their shares, and how to find the best ones."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.cuts: list[Minorant] = []
        self.shares = np.zeros(0)
        self.idle = np.zeros(0, dtype=int)
        self.flat = np.zeros(0, dtype=bool)  # has the cut no slope, as the zero plane?

    def add(self, cut: Minorant) -> None:
        """Take in a cut, unless it is one we have, or none."""
        if np.isfinite(cut.c) and not any(
            cut.c == old.c and np.array_equal(cut.a, old.a) for old in self.cuts
        ):
            self._append(cut)

    def stay_near(self, w: Slope, J: float) -> None:
        """The best point known before the next solution; for models that are to stay near it."""

    def mixed_slope(self, shares: Vector) -> Slope:
        """sum_i shares_i a_i, each slope read once."""
        total = np.zeros_like(self.cuts[0].a)
        for i in np.flatnonzero(shares):
            daxpy(self.cuts[i].a, total, a=shares[i])
        return total

    def minimise(self) -> tuple[Minorant, Slope]:
        """The best mixture of the cuts found, and the minimiser of the model."""
        w = self._solve()
        model = self._mixture()
        self._forget(model)
        return model, self.problem.minimiser(model) if w is None else w

    def state(self) -> dict[str, Any]:
        """What `restore` needs to go on from here."""
        return {"cuts": list(self.cuts), "shares": self.shares, "idle": self.idle}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over the cuts of an earlier run (they hold for every alpha), and its shares if it has them."""
        for cut in state.get("cuts", ()):
            self.add(cut) if "shares" not in state else self._append(cut)
        if "shares" in state and len(state["shares"]) == len(self.cuts):
            self.shares, self.idle = state["shares"].copy(), state["idle"].copy()

    @property
    def constants(self) -> Vector:
        return np.array([cut.c for cut in self.cuts])

    @property
    def within(self) -> float:
        """The share of the domain of a norm's conjugate that mixtures are to stay in. At its boundary,
        rounding would leave no bound at all, unless there is a flat cut to mix in."""
        if self.flat.any():
            return 1.0
        rounding = max(cut.spread for cut in self.cuts) / self.problem.alpha
        return 1.0 - min(_INSIDE + 4 * rounding, _WELL)

    @abstractmethod
    def _solve(self) -> Slope | None:
        """Improve the shares; return the minimiser where the shares do not determine it."""

    def _mixture(self) -> Minorant:
        used = np.flatnonzero(self.shares)
        return combine([self.cuts[i] for i in used], self.shares[used], self.mixed_slope(self.shares))

    def _append(self, cut: Minorant) -> None:
        self.cuts.append(cut)
        self.shares = np.append(self.shares, 1.0 if len(self.cuts) == 1 else 0.0)
        self.idle = np.append(self.idle, 0)
        self.flat = np.append(self.flat, not cut.a.any())

    def _in_use(self) -> NDArray[np.bool_]:
        # the zero plane stays: it keeps every linear program bounded, for smaller alphas too
        return np.asarray((self.shares > 0) | self.flat)

    def _forget(self, model: Minorant) -> None:
        """Drop cuts that were idle for long and, if the rest fill too much memory, all that matter less."""
        self.idle = np.where(self._in_use(), 0, self.idle + 1)
        if (self.idle > _KEEP_IDLE).sum() >= _BATCH:
            self._keep(np.flatnonzero(self.idle <= _KEEP_IDLE))
        most = max(_MEMORY // self.problem.design.shape[1], _FEWEST)
        if len(self.cuts) > most:
            by_use = np.lexsort((-self.shares, self.idle))
            self._keep(np.sort(by_use[: most // 2]))
            self._append(model)  # in place of all that is gone, so that the lower bound does not fall
            self.shares = np.where(np.arange(len(self.cuts)) < len(self.cuts) - 1, 0.0, 1.0)

    def _keep(self, kept: Indices) -> None:
        self.cuts = [self.cuts[i] for i in kept]
        self.shares, self.idle, self.flat = self.shares[kept], self.idle[kept], self.flat[kept]
