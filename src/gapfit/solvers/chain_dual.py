"""Dual ascent for chains, a sequence at a time: stochastic dual coordinate ascent on marginals.

The dual of

    alpha/2 |w|^2 + sum_i p_i ( max over marginals mu of  <f_i + cost_i, mu> + heat H(mu)  -  f_i(y_i) )

has a block of marginals for each chain, and w is what all of them imply. A visit runs forward-backward on one
chain at the current w and moves its block towards the marginals found. Chains that contributed much to the
gap when they were last visited are visited more often.

A CRF has heat 1. A max-margin network has none, and its dual has corners, at which ascent by blocks crawls.
So it is given some: marginals are feasible whatever heat found them, the bound that they prove does not
mention it, and the heat is lowered as the gap closes.

Where few chains determine many weights, blocks are stiff: each may move only a little because all others
push the same weights. Then the steps are taken for  J + pull/2 |w - anchor|^2  instead, an easier problem
whose anchor moves on ahead of the minimisers, as in accelerated gradient methods. The bound is that of J.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gapfit import limits
from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.design.chain import ChainRows, runs
from gapfit.losses.chain import Chains
from gapfit.losses.forms import Smooth
from gapfit.minorant import Minorant
from gapfit.penalties.forms import Euclidean
from gapfit.problem import Problem
from gapfit.records import Kept
from gapfit.rounding import Estimate, gamma
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.chains.layout import ChainLayout
from gapfit.solvers.choice.work import work_of

_AT_RANDOM = 0.2  # of the visits; the others go where the gap was
_BATCHES = 8  # a pass, between which the shares of the visits are set anew
_FIRST_HEAT = 0.3  # where the loss has none of its own; a label costs 1
_SMOOTHING = 0.3  # of the gap may be due to heat
_COOLING = 0.3  # the heat falls no faster than this in one step
_STIFF = 30.0  # alpha times the number of chains below which steps are taken with an anchor
_STALE = 0.65  # of what blocks contributed when they were visited is left at the end of the pass, about
_PULL = 10.0  # times alpha is the strongest pull to the anchor
_ANCHOR_PASSES = 3  # after which the anchor moves
_LONG = 32  # passes, after which a run is looked at whatever it guesses
_LOOK_PASSES = 5  # after which the gap is computed, where it decides on the heat
_NO_PENALTY = 1e300  # an alpha under which no block's step is held back


def _effort(problem: Problem) -> Effort:
    """A pass of forward-backward a step. Margins of few weights take many: cuts are quicker there."""
    n, d, product, *_ = work_of(problem)
    steps = 5.0 if problem.has(Smooth) else max(5.0, 15e3 / d)
    return Effort(0.0, 1e6 + 5 * product, steps, 64.0 * n)


@needs(Chains, Euclidean, ChainRows, effort=_effort)
def chain_dual(problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0) -> Steps:
    """One step is a pass, as many visits as there are chains; some passes where there is heat to be set."""
    blocks = _Blocks(problem, seed, state or {})
    if blocks.smoothed and state and "certificate" in state:
        blocks.cool(state["certificate"].gap)
    while True:
        if not blocks.smoothed:
            blocks.sweep()
            # a long run is looked at all the same
            guess = blocks.estimate() if blocks.passes % _LONG else None
            yield blocks.iterate()._replace(estimate=guess, objective=blocks.objective())
            continue
        for _ in range(_LOOK_PASSES):
            blocks.sweep()
        w = blocks.w()
        J = problem.evaluate(w, np.zeros(0))
        certificate = yield blocks.iterate()._replace(w=w, primal=J)
        blocks.cool(certificate.gap)


class _Blocks(Kept):
    """The dual point, the weights it implies, and where to go next."""

    KEPT = (
        "mu", "pairs", "entropy", "gaps", "stretch", "heat", "passes", "rng", "weights", "anchor", "before",
    )  # fmt: skip

    def __init__(self, problem: Problem, seed: int, state: dict[str, Any]) -> None:
        self.problem, self.design, self.risk = problem, problem.form(ChainRows), problem.form(Chains)
        self.layout = ChainLayout(self.design)
        chains, K = len(self.risk.p), self.risk.n_labels
        self.smoothed = self.risk.heat == 0
        self.rng, self.pull = np.random.default_rng(seed), 0.0
        if self.smoothed and problem.alpha * chains < _STIFF:
            self.pull = min(_STIFF / chains, _PULL * problem.alpha)
        self.slope: Slope | None = None  # of the marginals, where they have not moved since
        if "mu" in state:
            self.restore(state)
        else:  # the labels themselves: w = 0
            n = len(self.risk.labels)
            self.heat = self.risk.heat or _FIRST_HEAT * float(self.risk.cost.max() or 1.0)
            self.mu = np.zeros((n, K))
            self.mu[np.arange(n), self.risk.labels] = 1.0
            self.pairs = np.zeros((chains, K, K))
            for chain, before, after in self._true_pairs():
                np.add.at(self.pairs, (chain, before, after), 1.0)
            self.entropy, self.gaps = np.zeros(chains), np.zeros(chains)
            # of the square of a change of marginals by the features: a guess, which every visit corrects
            self.stretch = np.ones(chains)
        self.true_pairs = np.zeros(K * K)
        for chain, before, after in self._true_pairs():
            self.true_pairs += np.bincount(before * K + after, self.risk.p[chain], minlength=K * K)
        if "w" in state and "mu" not in state:
            # all marginals at w: without a penalty to hold them, blocks go all the way
            self.weights = self.layout.sort(state["w"])
            self._visit(np.arange(chains), _NO_PENALTY)
        if state.get("same"):
            return
        self.passes = 0  # for another alpha, what each chain contributes has changed
        self.weights = self.layout.sort(self._slope())
        self.weights /= -problem.alpha
        if self.pull:
            if "anchor" not in state:
                self.anchor, self.before = self.weights.copy(), self.weights.copy()
            self._pull()

    def _true_pairs(self) -> Iterator[tuple[Indices, Indices, Indices]]:
        """The transitions of the labels, by runs of chains: of which chain, from, to."""
        risk = self.risk
        for some in runs(risk.tokens):
            tokens = risk.tokens[some.start : some.stop + 1]
            chain = np.repeat(np.arange(some.start, some.stop), np.diff(tokens))
            later = np.flatnonzero(chain[1:] == chain[:-1]) + 1
            labels = risk.labels[tokens[0] : tokens[-1]]
            yield chain[later], labels[later - 1], labels[later]

    # -- moving ---------------------------------------------------------------------------------------

    def sweep(self) -> None:
        chains = len(self.risk.p)
        if self.passes == 0:
            self._visit(self.rng.permutation(chains))
        else:
            for some in np.array_split(np.arange(chains), min(_BATCHES, chains)):
                total = self.gaps.sum()
                uniform = 1.0 / chains
                limits.look()
                shares = (1 - _AT_RANDOM) * self.gaps / total + _AT_RANDOM * uniform if total > 0 else None
                self._visit(self.rng.choice(chains, len(some), p=shares))
        self.passes += 1
        if self.pull and self.passes % _ANCHOR_PASSES == 0:
            self._move_anchor()

    def _visit(self, visits: Indices, alpha: float | None = None) -> None:
        from gapfit.compiled.chain_ascent import Dual, ascend

        self.slope = None
        alpha = self.problem.alpha + self.pull if alpha is None else alpha
        dual = Dual(self.mu, self.pairs, self.entropy, self.gaps, self.stretch)
        chains = self.risk.softened(self.heat)
        ascend(visits, self.layout.rows, self.layout.pairs, chains, alpha, self.weights, dual)

    def _move_anchor(self) -> None:
        """Nesterov's extrapolation; the dual point stays, and w follows the anchor."""
        alpha = self.problem.alpha
        root = np.sqrt(alpha / (alpha + self.pull))
        ahead = self.weights + (1 - root) / (1 + root) * (self.weights - self.before)
        self.before = self.weights.copy()
        self.weights += self.pull / (alpha + self.pull) * (ahead - self.anchor)
        self.anchor = ahead

    def cool(self, gap: float) -> None:
        """Lower the heat when it has become a large part of the gap."""
        entropy = float(self.risk.p @ self.entropy)
        if entropy > 0 and np.isfinite(gap):
            self.heat = max(min(self.heat, _SMOOTHING * gap / entropy), _COOLING * self.heat)

    # -- what is known --------------------------------------------------------------------------------

    def iterate(self) -> Iterate:
        """The weights and the bound, made only if they are asked for."""
        return Iterate(self.w, np.zeros(0), self.minorant, snapshot=self.state)

    def estimate(self) -> float:
        """The gap, by what the chains contributed when they were visited."""
        return _STALE * float(self.gaps.sum())

    def objective(self) -> float:
        """J, by the bound and that gap."""
        w = self.weights
        return (
            float(self.risk.p @ self.entropy)
            - 0.5 * self.problem.alpha * float(w @ w)
            + float(self.gaps.sum())
        )

    def w(self) -> Slope:
        """The weights that the marginals imply, summed up anew: rounding does not pile up."""
        self.layout.sort(self._slope(), self.weights)
        self.weights /= -self.problem.alpha
        if self.pull:
            self._pull()
        return self.layout.restore(self.weights)

    def minorant(self) -> Minorant:
        """What the marginals prove: R >= <a, w> + c with c their expected cost, and entropy if it counts."""
        risk = self.risk
        c = float(risk.p @ self.entropy) * risk.heat
        if risk.cost.any():
            c += self._expected_cost()
        # every visit mixes marginals, which sums along the chain have made
        longest = int(np.diff(risk.tokens).max())
        lost = gamma(8 * longest * risk.n_labels + 8 * (self.passes + 2) + len(risk.p))
        moved = 4 * lost * self.problem.design.reach(self._u(np.ones_like(self.mu)))
        return self.problem.accumulated(self._u(self.mu), Estimate(c, lost * (abs(c) + 1.0)), moved)

    def _u(self, mu: Matrix) -> Vector:
        """What marginals are in the scores: p (mu - truth), transitions summed up, starts and ends."""
        risk, tokens = self.risk, self.risk.tokens
        u = mu.copy()
        u[np.arange(len(u)), risk.labels] -= 1.0
        u *= np.repeat(risk.p, np.diff(tokens))[:, None]
        edges = np.tensordot(risk.p, self.pairs, 1).ravel() - self.true_pairs
        return np.concatenate([u.ravel(), edges, u[tokens[:-1]].sum(axis=0), u[tokens[1:] - 1].sum(axis=0)])

    def _expected_cost(self) -> float:
        risk, total = self.risk, 0.0
        for some in runs(risk.tokens):
            tokens = risk.tokens[some.start : some.stop + 1]
            each = np.einsum(
                "tk,tk->t",
                self.mu[tokens[0] : tokens[-1]],
                risk.cost[risk.labels[tokens[0] : tokens[-1]]],
            )
            total += float(np.repeat(risk.p[some], np.diff(tokens)) @ each)
        return total

    def _slope(self) -> Slope:
        """A'(mu - truth), added up anew only after the marginals have moved."""
        if self.slope is not None:
            return self.slope
        from gapfit.compiled.chain_products import add_adjoint

        risk, K, design = self.risk, self.risk.n_labels, self.design
        stored = design.compiled()
        slope = np.zeros(self.problem.design.shape[1])
        start, end = slope[-2 * K : -K], slope[-K:]
        for some in runs(risk.tokens):  # a block of chains at a time: the marginals are large
            tokens = risk.tokens[some.start : some.stop + 1]
            lo, hi = tokens[0], tokens[-1]
            u = self.mu[lo:hi].copy()
            u[np.arange(hi - lo), risk.labels[lo:hi]] -= 1.0
            u *= np.repeat(risk.p[some], np.diff(tokens))[:, None]
            rows = stored._replace(indptr=stored.indptr[lo : hi + 1])
            add_adjoint(rows, design.pairs, u, 0, hi - lo, slope)
            start += u[tokens[:-1] - lo].sum(axis=0)
            end += u[tokens[1:] - 1 - lo].sum(axis=0)
        slope[design.node_weights : -2 * K] = np.tensordot(risk.p, self.pairs, 1).ravel() - self.true_pairs
        self.slope = slope
        return slope

    def _pull(self) -> None:
        """Move the implied weights to the minimiser for these marginals when w is pulled to the anchor."""
        self.weights += self.pull / (self.problem.alpha + self.pull) * (self.anchor - self.weights)
