"""The design of chains: scores of labels at tokens and of transitions between them, linear in the weights.

Weights, one after another: for each feature its labels (all K of them, or some, see `pairs`); for each edge
feature a K x K matrix; the K x K transitions; K start weights; K end weights. Scores: K for each token, then
the K x K transitions (one matrix for each token where there are edge features), K starts, K ends.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gapfit import threads
from gapfit._types import Indices, Slope, Vector
from gapfit.design.base import Design
from gapfit.design.forms import Plain
from gapfit.design.memory import MemoryDesign, as_design
from gapfit.design.rows import take_rows
from gapfit.forms import design_form
from gapfit.rounding import Estimate, gamma

if TYPE_CHECKING:
    from gapfit.penalties.base import Penalty


_ROWS = 16_384  # tokens that are looked at together, where all at once would take much memory


class Pairs(NamedTuple):
    """Which labels a feature has weights for: names[rows[j]:rows[j + 1]]. No names: all of them."""

    rows: NDArray[np.uint32]
    names: NDArray[np.uint16]

    @classmethod
    def seen(cls, X: Any, y: Any, n_labels: int) -> "Pairs":
        """The pairs of a feature and a label that occur together."""
        met = np.zeros(X.shape[1] * n_labels, bool)
        for first in range(0, X.shape[0], _ROWS):  # some rows at a time: X has many entries
            rows = slice(first, min(first + _ROWS, X.shape[0]))
            entries = slice(X.indptr[rows.start], X.indptr[rows.stop])
            label = np.repeat(y[rows], np.diff(X.indptr[rows.start : rows.stop + 1]))
            there = X.data[entries] != 0
            met[X.indices[entries][there].astype(np.int64) * n_labels + label[there]] = True
        found = np.flatnonzero(met)
        counts = np.bincount(found // n_labels, minlength=X.shape[1])
        starts = np.concatenate(([0], np.cumsum(counts))).astype(np.uint32)
        return cls(starts, (found % n_labels).astype(np.uint16))


ALL = Pairs(np.zeros(1, np.uint32), np.zeros(0, np.uint16))


@design_form("the rows of chains, without edge features")
class ChainRows(NamedTuple):
    """The map is that of a `ChainDesign` without edge features."""

    compiled: Callable[[], Any]  # X for compiled loops, made when it is asked for
    features: int
    n_labels: int
    pairs: Pairs
    node_weights: int


class ChainDesign(Design):
    """The map from the weights of a chain model to its scores.

    Parameters
    ----------
    X : array or CSR matrix (tokens, d), the chains one after another.
    lengths : how many tokens each chain has.
    n_labels : K.
    pairs : the pairs of a feature (of a sparse X) and a label that have a weight; by default all.
    edge_features : array or CSR matrix (tokens, e), of the transition into each token; none by default.
    """

    def __init__(
        self, X: Any, lengths: Any, n_labels: int, pairs: Pairs = ALL, edge_features: Any = None
    ) -> None:
        self.memory = _rows(X)
        self.lengths = as_lengths(lengths, self.memory.shape[0])
        self.tokens = np.concatenate(([0], np.cumsum(self.lengths)))
        self.n_labels = K = int(n_labels)
        if len(pairs.names) and not sparse.issparse(self.memory.X):
            raise ValueError("pairs are for a sparse X; a dense one has a weight for every feature and label")
        self.pairs = pairs
        self.edge = None if edge_features is None else _rows(edge_features)
        n, d = self.memory.shape
        self.n_nodes = n * K
        self.n_edges = K * K if self.edge is None else n * K * K
        self.node_weights = len(pairs.names) or d * K
        self.edge_weights = 0 if self.edge is None else self.edge.shape[1] * K * K
        if self.edge is not None and self.edge.shape[0] != n:
            raise ValueError(f"edge_features has {self.edge.shape[0]} rows but X has {n}")
        ends = K * K + 2 * K
        self.shape = (self.n_nodes + self.n_edges + 2 * K, self.node_weights + self.edge_weights + ends)
        self.dtype = np.dtype(np.float64)
        self.size = self.memory.size * K

    @property
    def groups(self) -> Any:
        """The chain of each token."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def forms(self) -> Iterator[Any]:
        yield Plain()
        if self.edge is None:
            yield ChainRows(
                lambda: self.kernel_rows, self.memory.shape[1], self.n_labels, self.pairs, self.node_weights
            )

    @property
    def n_samples(self) -> int:
        return self.memory.shape[0]

    @cached_property
    def largest(self) -> float:
        return max(self.memory.largest, 1.0, 0.0 if self.edge is None else self.edge.largest)

    def scores(self, w: Slope) -> Vector:
        """Node scores, transitions, start, end."""
        K, nodes = self.n_labels, self.node_weights
        out = np.zeros(self.shape[0])
        out[self.n_nodes + self.n_edges :] = w[-2 * K :]
        transitions = w[-2 * K - K * K : -2 * K]
        if self.edge is None:
            out[self.n_nodes : -2 * K] = transitions
        else:
            edges = out[self.n_nodes : -2 * K].reshape(-1, K * K)
            edges += transitions
            matrices = w[nodes : nodes + self.edge_weights].reshape(-1, K * K)
            if matrices.any():
                edges += self.edge.scores(matrices)
        if not w[:nodes].any():
            return out
        self._nodes(w[:nodes], out[: self.n_nodes].reshape(-1, K))
        return out

    def risk(self, risk: Any, w: Slope, b: Vector) -> tuple[float, Vector | None]:
        """R(A w, b), added up over runs of chains: the scores of all tokens are many times as large as X."""
        if self.edge is not None:
            return super().risk(risk, w, b)
        total = 0.0
        for chains, _, scores in self._runs(w):
            total += risk.take(chains).value_and_subgradient(scores, b)[0]
        return float(total), None

    def risk_above(self, risk: Any, w: Slope, b: Vector, stray: float) -> Estimate:
        """As `risk`."""
        if self.edge is not None:
            return super().risk_above(risk, w, b, stray)
        slack = self.slack(w) + stray
        value = error = 0.0
        for chains, places, scores in self._runs(w):
            own = np.concatenate([slack[places], slack[self.n_nodes :]])
            some = risk.take(chains).value_above(scores, np.zeros_like(scores), b, own)
            value, error = value + some.value, error + some.error
        return Estimate(float(value), float(error) + gamma(len(self.tokens)) * float(value))

    def _runs(self, w: Slope) -> Iterator[tuple[slice, slice, Vector]]:
        """Runs of chains, where their nodes are among the scores, and their scores; without edge features."""
        K = self.n_labels
        tail = K * K + 2 * K
        for chains in runs(self.tokens):
            first, last = int(self.tokens[chains.start]), int(self.tokens[chains.stop])
            scores = np.empty((last - first) * K + tail)
            scores[-tail:] = w[-tail:]
            self._nodes(w[: self.node_weights], scores[:-tail].reshape(-1, K), first)
            yield chains, slice(first * K, last * K), scores

    @cached_property
    def depth(self) -> tuple[int, int]:
        edges = 0 if self.edge is None else self.edge.depth[0]
        return max(self.memory.depth[0], edges) + 2, self.n_samples + 8

    @cached_property
    def row_sizes(self) -> Vector:
        K = self.n_labels
        edges = np.ones(1) if self.edge is None else 1.0 + self.edge.row_sizes
        return np.concatenate([np.repeat(self.memory.row_sizes, K), np.repeat(edges, K * K), np.ones(2 * K)])

    def adjoint(self, u: Vector) -> Slope:
        """What pairs with the scores u."""
        K, nodes = self.n_labels, self.node_weights
        slope = np.empty(self.shape[1])
        slope[-2 * K :] = u[-2 * K :]
        edges = u[self.n_nodes : -2 * K].reshape(-1, K * K)
        slope[-2 * K - K * K : -2 * K] = edges.sum(axis=0)
        if self.edge is not None:
            slope[nodes : nodes + self.edge_weights] = self.edge.adjoint(edges).ravel()
        slope[:nodes] = self._node_slope(u[: self.n_nodes].reshape(-1, K))
        return slope

    def _nodes(self, w: Slope, out: Any, first: int = 0) -> None:
        """out = the node scores of len(out) tokens, from the first on."""
        X = self.memory.X
        if not sparse.issparse(X):
            some = self.memory if len(out) == len(X) else MemoryDesign(X[first : first + len(out)])
            out[...] = some.scores(w.reshape(-1, self.n_labels))
            return
        from gapfit.compiled.chain_products import scores

        stored = self.kernel_rows
        rows = stored._replace(indptr=stored.indptr[first : first + len(out) + 1])
        parts = threads.parts(len(out), self.size * len(out) / self.n_samples)
        threads.each(lambda part: scores(rows, self.pairs, w, part.start, part.stop, out), parts)

    def _node_slope(self, u: Any) -> Slope:
        if not sparse.issparse(self.memory.X):
            return self.memory.adjoint(u).ravel()
        from gapfit.compiled.chain_products import add_adjoint

        def of(part: slice) -> Slope:
            slope = np.zeros(self.node_weights)
            add_adjoint(self.kernel_rows, self.pairs, u, part.start, part.stop, slope)
            return slope

        # a slope for each part costs memory and its sum time
        return threads.total(of, threads.parts(len(u), self.size, summed=4 * self.node_weights))

    @cached_property
    def kernel_rows(self) -> Any:
        """X for compiled loops; a dense one is made sparse."""
        from gapfit.compiled.rows import as_rows

        X = self.memory.X if sparse.issparse(self.memory.X) else sparse.csr_array(self.memory.X)
        return as_rows(X.data, X.indices, X.indptr)

    def take(self, rows: Any) -> "ChainDesign":
        """The design of some chains, named by all their tokens."""
        kept, lengths = whole_chains(rows, self.tokens)
        edge = None if self.edge is None else take_rows(self.edge.X, kept)
        return ChainDesign(take_rows(self.memory.X, kept), lengths, self.n_labels, self.pairs, edge)

    def distances(self, penalty: "Penalty", centre: Slope) -> Vector:
        """How far a score can move with w; there is nothing to centre."""
        K, n = self.n_labels, self.n_samples
        norms = penalty.dual_norms(self.memory.X, np.zeros(self.memory.shape[1]))
        edges = np.ones(1)
        if self.edge is not None:
            edges = 1.0 + penalty.dual_norms(self.edge.X, np.zeros(self.edge.shape[1]))
        assert len(norms) == n
        return np.concatenate([np.repeat(norms, K), np.repeat(edges, K * K), np.ones(2 * K)])


def whole_chains(rows: Any, tokens: NDArray[np.int64]) -> tuple[Indices, NDArray[np.int64]]:
    """The tokens that are named, in order, and the lengths of their chains, none of which may be cut."""
    present = np.zeros(int(tokens[-1]), bool)
    present[rows] = True
    lengths, counts = np.diff(tokens), np.add.reduceat(present, tokens[:-1], dtype=np.int64)
    if np.any((counts > 0) & (counts < lengths)):
        raise ValueError("a chain cannot be cut: take all of its tokens or none")
    return np.flatnonzero(present), lengths[counts > 0]


def runs(tokens: NDArray[np.int64]) -> Iterator[slice]:
    """Chains cut into runs of about _ROWS tokens."""
    marks = np.searchsorted(tokens, np.arange(0, tokens[-1], _ROWS))
    edges = np.unique(np.concatenate((marks, [len(tokens) - 1])))
    return (slice(int(a), int(b)) for a, b in pairwise(edges))


def _rows(X: Any) -> MemoryDesign:
    design = as_design(X)
    if not isinstance(design, MemoryDesign):
        raise TypeError(f"chains want a matrix of tokens, not {type(design).__name__}")
    return design


def as_lengths(lengths: Any, tokens: int) -> NDArray[np.int64]:
    """Positive integers that add up to the number of tokens."""
    found = np.asarray(lengths)
    if found.ndim != 1 or found.dtype.kind not in "iu" or (found < 1).any():
        raise ValueError("lengths must be positive integers, one for each sequence")
    if found.sum() != tokens:
        raise ValueError(f"lengths add up to {found.sum()} tokens but X has {tokens} rows")
    return found.astype(np.int64)
