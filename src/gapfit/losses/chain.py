"""Losses of whole label sequences: the conditional random field and the max-margin Markov network.

The scores f are those of a `ChainDesign`; a labelling y' of chain i has the score f_i(y'), the sum of its
nodes, transitions, start and end. With p_i the weight of the chain over the sum of all chains' weights,

    ChainCRF:                  R(f) = sum_i p_i ( log sum_{y'} exp f_i(y') - f_i(y_i) ),
    ChainMargin:               R(f) = sum_i p_i max_{y'} ( cost(y_i, y') + f_i(y') - f_i(y_i) ),
    ChainMargin("slack"):      R(f) = sum_i p_i max_{y'} errors(y_i, y') ( 1 + f_i(y') - f_i(y_i) ).

y holds a label 0, ..., K - 1 for each token, weights are the chain's at each of its tokens, and groups say
which chain a token belongs to.
"""

from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapfit import threads
from gapfit._types import Matrix, Target, Vector
from gapfit.errors import as_costs
from gapfit.forms import loss_form
from gapfit.losses.base import Loss, Risk
from gapfit.losses.forms import Smooth
from gapfit.rounding import gamma


@loss_form("a loss of chains")
class Chains(NamedTuple):
    """R(f) = sum_i p_i ( max over marginals mu of <f_i + cost_i, mu> + heat H(mu)  -  f_i(y_i) )."""

    labels: NDArray[np.int64]  # of all tokens
    tokens: NDArray[np.int64]  # where chains begin, and where the last one ends
    p: Vector
    cost: Matrix  # of each label where another one is right
    heat: float
    n_labels: int

    def softened(self, heat: float) -> Any:
        """The chains as compiled code wants them, the maximum over labellings softened by the heat."""
        from gapfit.compiled.chain import Chains as Compiled

        return Compiled(self.labels, self.tokens, self.p, self.cost, float(heat))


@loss_form("a margin loss of chains")
class MarginChains(Chains):
    """Without heat: the risk is polyhedral, and proximal steps among its dual points are projections."""


class ChainScores(NamedTuple):
    """Scores of chains, unpacked: views into the flat vector."""

    nodes: Matrix  # (tokens, K)
    edges: NDArray[np.float64]  # (1 or tokens, K, K)
    start: Vector
    end: Vector

    @classmethod
    def of(cls, flat: Vector, tokens: int, K: int) -> "ChainScores":
        nodes, rest = flat[: tokens * K], flat[tokens * K :]
        if len(rest) not in (K * K + 2 * K, tokens * K * K + 2 * K):
            raise ValueError(
                f"{len(flat)} scores do not belong to {tokens} tokens and {K} labels: chain losses want a "
                "ChainDesign with as many labels as y"
            )
        edges = rest[: -2 * K].reshape(-1, K, K)
        return cls(nodes.reshape(tokens, K), edges, rest[-2 * K : -K], rest[-K:])


def best_labels(flat: Vector, tokens: NDArray[np.int64], K: int) -> NDArray[np.int64]:
    """The labelling of the highest score for each chain; tokens[i]:tokens[i + 1] is chain i."""
    from gapfit.compiled.chain_best import best_labels as run

    scores, chains = ChainScores.of(flat, int(tokens[-1]), K), _unlabelled(tokens, K)
    path = np.empty(int(tokens[-1]), np.int64)
    parts = threads.parts(len(chains.p), len(path) * K * K)
    threads.each(lambda part: run(scores, chains, part.start, part.stop, path), parts)
    return path


def marginals(flat: Vector, tokens: NDArray[np.int64], K: int) -> tuple[Matrix, float]:
    """The probability of each label at each token (n, K), and the sum of the log-partition functions."""
    from gapfit.compiled.chain import soft_risk

    value, u = _over_chains(soft_risk, flat, _unlabelled(tokens, K))
    n = int(tokens[-1])
    return u[: n * K].reshape(n, K), value


def _unlabelled(tokens: NDArray[np.int64], K: int) -> Any:
    """Chains of which no label is known, for compiled code."""
    from gapfit.compiled.chain import Chains

    return Chains(np.full(int(tokens[-1]), -1), tokens, np.ones(len(tokens) - 1), np.zeros((K, K)), 1.0)


def _over_chains(kernel: Any, flat: Vector, chains: Any) -> tuple[float, Vector]:
    """The value and derivative of a sum over chains, by a kernel that does some of them."""
    n, K = int(chains.tokens[-1]), len(chains.cost)
    scores = ChainScores.of(flat, n, K)
    u = np.zeros_like(flat)
    out = ChainScores.of(u, n, K)

    def some(part: slice) -> tuple[float, ChainScores]:
        # edges of the tokens' own are written in their places, common ones are summed up
        edges = out.edges if len(out.edges) > 1 else np.zeros((1, K, K))
        own = ChainScores(out.nodes, edges, np.zeros(K), np.zeros(K))
        return kernel(scores, chains, part.start, part.stop, own), own

    total = 0.0
    for value, own in threads.each(some, threads.parts(len(chains.p), n * K * K)):
        total += value
        out.start[:] += own.start
        out.end[:] += own.end
        if len(out.edges) == 1:
            out.edges[:] += own.edges
    return total, u


class ChainRisk(Risk):
    """What the losses of chains share: labels, chains and their shares."""

    infimum = 0.0

    def __init__(self, loss: "ChainLoss", y: Any, weight: Vector, groups: Any) -> None:
        self.loss: ChainLoss = loss
        self.labels: NDArray[np.int64] = np.asarray(y).astype(np.int64, copy=False)
        n = len(self.labels)
        groups = np.zeros(n, np.int64) if groups is None else np.asarray(groups)
        first = np.flatnonzero(np.concatenate(([True], groups[1:] != groups[:-1])))
        if len(first) != len(np.unique(groups)):
            raise ValueError("the tokens of a sequence must follow each other: groups is out of order")
        self.tokens = np.append(first, n)
        if (weight != np.repeat(weight[first], np.diff(self.tokens))).any():
            raise ValueError("sample_weight must be the same for all tokens of a sequence")
        self.p = weight[first] / weight[first].sum()
        K = int(self.labels.max()) + 1 if loss.labels is None else loss.labels
        if self.labels.max() >= K:
            raise ValueError(f"y holds the label {self.labels.max()}, and there are {K}, counted from 0")
        self.n_labels = K
        self.cost = loss.costs(K)
        self.heat = loss.heat

    def forms(self) -> Iterator[Any]:
        if self.heat > 0:
            yield Smooth()
        if self.loss.rescale == "margin":
            kind = Chains if self.heat > 0 else MarginChains
            yield kind(self.labels, self.tokens, self.p, self.cost, self.heat, self.n_labels)

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        value, u = self._value(scores)
        return value, u, np.zeros(0)

    def rise(self, slack: Vector) -> float:
        """One labelling against the true one: all their scores may move."""
        of = ChainScores.of(slack, len(self.labels), self.n_labels)
        places = of.nodes.max(axis=1) + of.edges.max(axis=(1, 2))
        each = np.add.reduceat(places, self.tokens[:-1]) + of.start.max() + of.end.max()
        steepest = 1.0
        if self.loss.rescale == "slack":
            steepest = float(np.diff(self.tokens).max())
        return 2 * steepest * float(self.p @ each) * (1 + gamma(len(places) + 16))

    def constants(self, u: Vector) -> float:
        return (1.0 + float(self.cost.max(initial=0.0))) * (1.0 + float(self.p @ np.diff(self.tokens)))

    def roundings(self, scores: Vector) -> int:
        return 8 * int(np.diff(self.tokens).max()) * self.n_labels + 64

    def take(self, chains: slice) -> "ChainRisk":
        """The terms of some chains, as a risk of the scores of their tokens."""
        some = copy(self)
        first, last = self.tokens[chains.start], self.tokens[chains.stop]
        some.labels = self.labels[first:last]
        some.tokens = self.tokens[chains.start : chains.stop + 1] - first
        some.p = self.p[chains]
        return some

    def _value(self, scores: Vector) -> tuple[float, Vector]:
        from gapfit.compiled.chain import soft_risk
        from gapfit.compiled.chain_best import margin_risk, slack_risk

        slack = self.loss.rescale == "slack"
        kernel = soft_risk if self.heat > 0 else slack_risk if slack else margin_risk
        chains = Chains(self.labels, self.tokens, self.p, self.cost, self.heat, self.n_labels)
        return _over_chains(kernel, scores, chains.softened(self.heat))


class ChainLoss(Loss):
    """A loss of label sequences. `heat` weighs the entropy that smooths its maximum over labellings."""

    target = Target.SEQUENCES
    heat: float
    rescale: str = "margin"
    labels: int | None

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> ChainRisk:
        return ChainRisk(self, y, weight, groups)

    def as_target(self, y: Any, n: int) -> Any:
        y = super().as_target(y, n)
        if (y < 0).any() or (y != np.floor(y)).any():
            raise ValueError("y must hold labels 0, 1, 2, ...")
        return y

    def costs(self, K: int) -> Matrix:
        """What each label costs where another one is right."""
        return np.zeros((K, K))


class ChainCRF(ChainLoss):
    """The conditional random field: minus the log-likelihood of the labels, in the mean over chains.

    Parameters
    ----------
    labels : the number of labels; by default one more than the largest in y.
    """

    heat = 1.0

    def __init__(self, labels: int | None = None) -> None:
        self.labels = labels


class ChainMargin(ChainLoss):
    """The max-margin Markov network: how far the labels fall short of beating all others by their cost.

    Parameters
    ----------
    cost : what label y' costs where y is right, as cost[y][y']; by default 1 for each error (Hamming).
    rescale : "margin" adds the cost to the score; "slack" multiplies the violation of a margin of 1 by the
        number of errors, for the Hamming cost only.
    labels : the number of labels; by default one more than the largest in y.
    """

    heat = 0.0

    def __init__(self, cost: Any = None, rescale: str = "margin", labels: int | None = None) -> None:
        if rescale not in ("margin", "slack"):
            raise ValueError(f"rescale must be 'margin' or 'slack', got {rescale!r}")
        if rescale == "slack" and cost is not None:
            raise ValueError("rescale='slack' counts errors; it takes no other cost")
        self.cost = None if cost is None else as_costs("cost", cost)
        self.rescale, self.labels = rescale, labels

    def costs(self, K: int) -> Matrix:
        if self.cost is None:
            return 1.0 - np.eye(K)
        costs = np.array(self.cost)
        if len(costs) != K or costs.diagonal().any():
            raise ValueError(f"cost must be a {K} x {K} matrix with zeros on its diagonal")
        return costs
