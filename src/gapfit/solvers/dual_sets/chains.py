"""Dual points of the max-margin Markov network: marginals of chains, a table for each transition.

A distribution over the labellings of a chain counts through its tables z_t(i, j), the probability of label i
at one token and j at the next; tables that agree on the tokens in between are those of some distribution.
Each token's score and cost go with the table that leads to it, those of the first token with the first
table. A chain of one token has a table as well, whose columns mean nothing.
"""

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.losses.chain import ChainScores, MarginChains
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.projections import project_chains
from gapfit.rounding import Estimate, gamma
from gapfit.solvers.dual_sets.base import DualSet, Response


class ChainSet(DualSet):
    """z = the tables; u = p_i (their marginals - the truth's), h = -sum_i p_i <z_i, cost_i>."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        risk = problem.form(MarginChains)
        tokens, self.K = risk.tokens, risk.n_labels
        lengths = np.diff(tokens)
        tables = np.maximum(lengths - 1, 1)
        self.first = np.concatenate(([0], np.cumsum(tables)))
        self.p = np.repeat(risk.p, tables)  # of each table
        self.heads, self.tails = self.first[:-1], self.first[1:] - 1  # each chain's first and last table
        self.starts = tokens[:-1]
        self.single = lengths == 1
        # the token that a table leads to: all but the chain's first; a single token stands in for itself
        place = np.arange(self.first[-1]) - np.repeat(self.heads, tables)
        self.into = np.repeat(self.starts, tables) + np.where(np.repeat(self.single, tables), 0, place + 1)
        self.alone = np.flatnonzero(np.repeat(self.single, tables))
        self.cost = risk.cost[risk.labels]  # (tokens, K)
        self.costs = self._heights(np.zeros(problem.design.shape[0]), self.cost)
        self.truth = np.zeros((len(self.p), self.K, self.K))
        before = np.where(np.repeat(self.single, tables), self.into, self.into - 1)
        self.truth[np.arange(len(self.p)), risk.labels[before], risk.labels[self.into]] = 1.0
        self.centre = np.full_like(self.truth, 1.0 / self.K**2)
        self.spread = 0.5 * (1.0 - 1.0 / self.K**2) * float(self.p.sum())

    def step(self, centre: Vector, scores: Vector, length: float) -> Response:
        m = self._heights(scores, self.cost)
        m *= length
        m += centre
        return Response(project_chains(m, np.ones(len(m)), self.first), self.b)

    def slope(self, z: Vector) -> Vector:
        return self._marginals(z - self.truth)

    def values(self, scores: Vector, b: Vector, z: Vector) -> tuple[float, float]:
        risk, _, _ = self.problem.risk.value_and_subgradient(scores, b)
        return risk, -float(self.p @ (z * self.costs).sum(axis=(1, 2)))

    def minorant(self, a: Slope, z: Vector, h: float) -> Minorant:
        """Tables are those of a distribution but for the projection's rounding, which is in proportion to
        probabilities and not to u: near the truth u and h vanish, and it does not. So it is measured."""
        del a
        astray = self._astray(z)
        wrong = float((self.p * astray) @ np.abs(self.costs).max(axis=(1, 2)))
        moved = self._marginals(np.broadcast_to(astray[:, None, None], z.shape))
        return self.problem.accumulated(self.slope(z), Estimate(-h, wrong), self.problem.design.reach(moved))

    def _astray(self, z: Vector) -> Vector:
        """How far each table is, at most, from that of a distribution over labellings: in absolute values,
        summed up over its entries, rounding included.

        Of a chain whose first table sums up to one, walk along it: each table keeps what it says of the next
        label given the last, and takes over the marginal of the last from the table before. That moves it by
        what the two marginals differ by, and by what the table before was moved.
        """
        off = 2.0 * np.maximum(-z, 0.0).sum(axis=(1, 2))  # probabilities are not negative
        left, right = z.sum(axis=2), z.sum(axis=1)
        seams = np.zeros(len(z))
        seams[1:] = np.abs(left[1:] - right[:-1]).sum(axis=1)
        seams[self.heads] = np.abs(z[self.heads].sum(axis=(1, 2)) - 1.0)
        along = np.cumsum(off + seams)
        before = np.concatenate(([0.0], along))[self.heads]
        lost = gamma(8 * self.K**2 + 8 * int(np.diff(self.first).max()) + 16)
        astray: Vector = 2.0 * (along - np.repeat(before, np.diff(self.first))) * (1 + lost) + lost
        return astray

    def distance(self, z: Vector, other: Vector) -> float:
        return float(self.p @ ((z - other) ** 2).sum(axis=(1, 2)))

    def weigh(self, scores: Vector) -> Vector:
        return self._marginals(self._heights(scores, np.zeros_like(self.cost)))

    def width(self, scores: Vector) -> float:
        del scores
        return float(self.cost.max()) or 1.0

    def _heights(self, scores: Vector, cost: Vector) -> Vector:
        """What each entry of the tables adds to a chain's score and cost."""
        nodes, edges, start, end = ChainScores.of(scores, len(cost), self.K)
        gains = nodes + cost
        m = gains[self.into][:, None, :] + (edges[self.into] if len(edges) > 1 else edges)
        m[self.alone] = 0.0
        m[self.heads] += (gains[self.starts] + start)[:, :, None]
        ends = self.tails[~self.single]
        m[ends] += end
        m[self.alone] += end[:, None]
        return np.asarray(m)

    def _marginals(self, z: Vector) -> Vector:
        """Tables as scores see them: the adjoint of `_heights`, weighted."""
        z = z * self.p[:, None, None]
        u = np.zeros(self.problem.design.shape[0])
        nodes, edges, start, end = ChainScores.of(u, len(self.cost), self.K)
        left, right = z.sum(axis=2), z.sum(axis=1)
        right[self.alone] = left[self.alone]
        nodes[self.into] = right
        nodes[self.starts] = left[self.heads]
        start[:] = left[self.heads].sum(axis=0)
        end[:] = right[self.tails].sum(axis=0)
        z[self.alone] = 0.0
        if len(edges) > 1:
            several = np.setdiff1d(np.arange(len(z)), self.alone)
            edges[self.into[several]] = z[several]
        else:
            edges[0] = z.sum(axis=0)
        return u
