"""Block-coordinate Frank-Wolfe for structures: ascent on the dual, a sample at a time, with planes kept.

A risk with `Planes` is a sum over samples, R(w) = sum_i p_i phi_i(w), each phi_i a maximum of planes
<a, w> + c, of which an oracle finds the highest at any w. The dual has a mixture of planes for each sample,
and w is what all mixtures imply. The oracle may be slow, so planes are kept, and between its calls shares are
moved from the lowest plane of a sample in use to the highest one known, which costs two inner products.
Samples that contributed much to the gap when they were last visited are visited more often.
"""

from typing import Any

import numpy as np

from gapfit import limits
from gapfit._types import Slope, Vector
from gapfit.design.forms import Plain
from gapfit.losses.forms import Planes
from gapfit.minorant import Minorant
from gapfit.penalties.forms import Euclidean
from gapfit.problem import Problem
from gapfit.records import Kept
from gapfit.rounding import EPS, Estimate, gamma
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.bundle import effort_of_cuts

_LOOSE = 0.5  # alpha times the samples, below which these hold each other up
_AT_RANDOM = 0.5  # of the visits; the others go where the gap was
_SWEEPS = 10  # over the planes that are known, after each pass of the oracle
_PLANES = 16  # of a sample; beyond that, one that is not in use is forgotten


def _effort(problem: Problem) -> Effort:
    """Fewer calls of the oracle than cuts take, unless samples hold each other up; planes of all are kept."""
    n, d = problem.design.n_samples, problem.design.shape[1]
    cuts = effort_of_cuts(problem)
    steps = cuts.steps * _LOOSE / (problem.alpha * n)
    return cuts._replace(steps=steps, memory=8.0 * _PLANES * n * d)


@needs(Planes, Euclidean, Plain, effort=_effort)
def block_frank_wolfe(problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0) -> Steps:
    """One step is a pass: as many calls of the oracle as there are samples."""
    mixtures = _Mixtures(problem, state or {}, seed)
    while True:
        mixtures.sweep()
        gap = float(mixtures.gaps.sum())
        yield Iterate(
            mixtures.weights.copy(), np.zeros(0), mixtures.minorant, snapshot=mixtures.state, estimate=gap,
            objective=mixtures.dual() + gap,
        )  # fmt: skip


class _Mixtures(Kept):
    """Planes of each sample, their shares, and the weights that all of them imply."""

    KEPT = ("planes", "gaps", "passes", "rng", "weights")

    def __init__(self, problem: Problem, state: dict[str, Any], seed: int) -> None:
        self.problem = problem
        self.rng = np.random.default_rng(seed)
        self.passes = 0
        self.p, self.highest = problem.form(Planes)
        self.alpha = problem.alpha
        n, d = len(self.p), problem.design.shape[1]
        if "planes" in state:
            self.restore(state)
        else:  # all on the right answer, a plane of no height
            self.planes = [(np.zeros((1, d)), np.zeros(1), np.ones(1)) for _ in range(n)]
            self.gaps: Vector = np.zeros(n)
            for i in range(n) if "w" in state else ():
                self._keep(i, *self.highest(i, state["w"]))
        if not state.get("same"):
            self.weights: Slope = self._slope() / -self.alpha

    def sweep(self) -> None:
        n, total = len(self.gaps), float(self.gaps.sum())
        if self.passes == 0 or total == 0:
            visits = self.rng.permutation(n)
        else:
            visits = self.rng.choice(n, n, p=(1 - _AT_RANDOM) * self.gaps / total + _AT_RANDOM / n)
        for i in visits:
            limits.look()
            self.visit(i)
        for _ in range(_SWEEPS):
            limits.look()
            for i in self.rng.permutation(n):
                self.improve(i)
        self.passes += 1

    def visit(self, i: int) -> None:
        """Ask the oracle for the highest plane, note what it is above the mixture, and move towards it."""
        slope, offset = self.highest(i, self.weights)
        slopes, offsets, shares = self.planes[i]
        heights = slopes @ self.weights + offsets
        height = float(slope @ self.weights) + offset
        self.gaps[i] = self.p[i] * max(height - float(shares @ heights), 0.0)
        if height > heights.max() + 4 * EPS * abs(height):
            self._keep(i, slope, offset)
        self.improve(i)

    def _keep(self, i: int, slope: Vector, offset: float) -> None:
        slopes, offsets, shares = self.planes[i]
        if len(shares) >= _PLANES and not shares.all():
            kept = np.delete(np.arange(len(shares)), np.argmin(shares))
            slopes, offsets, shares = slopes[kept], offsets[kept], shares[kept]
        self.planes[i] = (np.vstack([slopes, slope]), np.append(offsets, offset), np.append(shares, 0.0))

    def improve(self, i: int) -> None:
        """The best move of a share from the lowest plane in use to the highest."""
        slopes, offsets, shares = self.planes[i]
        heights = slopes @ self.weights + offsets
        up, down = int(heights.argmax()), int(np.where(shares > 0, heights, np.inf).argmin())
        drop = heights[up] - heights[down]
        if drop <= 0:
            return
        change = slopes[up] - slopes[down]
        curvature = self.p[i] * float(change @ change) / self.alpha
        share = min(float(shares[down]), drop / curvature) if curvature > 0 else float(shares[down])
        shares[up] += share
        shares[down] = 0.0 if share == shares[down] else shares[down] - share
        self.weights -= share * self.p[i] / self.alpha * change

    def _slope(self) -> Slope:
        total = np.zeros(self.planes[0][0].shape[1])
        for p, (slopes, _, shares) in zip(self.p, self.planes, strict=True):
            total += p * (shares @ slopes)
        return total

    def dual(self) -> float:
        """What the mixtures are worth, but for rounding."""
        heights = [p * float(own @ offsets) for p, (_, offsets, own) in zip(self.p, self.planes, strict=True)]
        return float(sum(heights)) - 0.5 * self.alpha * float(self.weights @ self.weights)

    def minorant(self) -> Minorant:
        """The mixture of all mixtures, their shares made to sum to one; w is set right by it."""
        for _, _, shares in self.planes:
            shares /= shares.sum()
        a = self._slope()
        self.weights = a / -self.alpha
        terms, size = [], 0.0
        for p, (slopes, offsets, own) in zip(self.p, self.planes, strict=True):
            terms.append(p * float(own @ offsets))
            size += p * float(own @ np.linalg.norm(slopes, axis=1))
        lost = gamma(len(self.planes) + 4 * _PLANES)  # by shares, products and sums
        c = Estimate(float(np.sum(terms)), lost * float(np.abs(terms).sum()))
        return self.problem.accumulated(a, c, lost * size)
