"""Compiled code for chains and trees, against all labellings one by one."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from gapfit.compiled import (
    chain,
    chain_ascent,
    chain_best,
    chain_labels,
    chain_products,
    chain_projection,
    chain_sums,
    edge_tables,
    rows,
    tree_projection,
)
from gapfit.design.chain import ALL, Pairs
from gapfit.losses.chain import ChainScores
from kernels import entry

K = 3
TOKENS = np.array([0, 4, 5, 8])
close = np.testing.assert_allclose
# scores so far apart that plain sums over labellings would underflow
scales = pytest.mark.parametrize("scale", [1.0, 300.0])
strides = pytest.mark.parametrize("stride", [0, 1])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def some_scores(rng, stride, scale=1.0):
    n = TOKENS[-1]
    parts = (n, K), (n if stride else 1, K, K), (K,), (K,)
    return ChainScores(*(scale * rng.normal(size=part) for part in parts))


def some_chains(rng, heat=1.0):
    cost = 1.0 + rng.random((K, K))
    np.fill_diagonal(cost, 0.0)
    return chain.Chains(rng.integers(0, K, TOKENS[-1]), TOKENS, rng.random(3), cost, heat)


def labellings(lo, hi):
    return [np.array(y) for y in product(range(K), repeat=hi - lo)]


def features(y, lo, like):
    """What the labelling y of the tokens from lo on takes of the scores, as 0 and 1 in their places."""
    taken = ChainScores(*(np.zeros_like(part) for part in like))
    taken.nodes[np.arange(lo, lo + len(y)), y] = 1.0
    for t, (before, after) in enumerate(pairwise(y), lo + 1):
        taken.edges[t if len(like.edges) > 1 else 0, before, after] += 1.0
    taken.start[y[0]] = taken.end[y[-1]] = 1.0
    return flat(taken)


def flat(scores):
    return np.concatenate([part.ravel() for part in scores])


def zeros(like):
    return ChainScores(*(np.zeros_like(part) for part in like))


@strides
@scales
@pytest.mark.parametrize("heat", [1.0, 0.25])
def test_the_soft_risk_is_a_sum_over_labellings(rng, stride, scale, heat):
    scores, chains = some_scores(rng, stride, scale), some_chains(rng, heat)
    out = zeros(scores)
    value = chain.soft_risk(scores, chains, 0, 3, out)
    expected, slope = 0.0, np.zeros_like(flat(scores))
    for i, (lo, hi) in enumerate(pairwise(TOKENS)):
        truth, ways = chains.labels[lo:hi], labellings(lo, hi)
        taken = np.array([features(y, lo, scores) for y in ways])
        heights = taken @ flat(scores) + [chains.cost[truth, y].sum() for y in ways]
        expected += chains.p[i] * (
            heat * logsumexp(heights / heat) - features(truth, lo, scores) @ flat(scores)
        )
        shares = np.exp(heights / heat - logsumexp(heights / heat))
        slope += chains.p[i] * (shares @ taken - features(truth, lo, scores))
    assert value == pytest.approx(expected, rel=1e-12)
    close(flat(out), slope, atol=1e-10)


@strides
@pytest.mark.parametrize("slack", [False, True])
def test_the_best_labelling_is_the_best_of_all(rng, stride, slack):
    scores, chains = some_scores(rng, stride), some_chains(rng)
    out = zeros(scores)
    value = (chain_best.slack_risk if slack else chain_best.margin_risk)(scores, chains, 0, 3, out)
    expected, slope = 0.0, np.zeros_like(flat(scores))
    for i, (lo, hi) in enumerate(pairwise(TOKENS)):
        truth = chains.labels[lo:hi]
        own = features(truth, lo, scores)

        def height(y, lo=lo, truth=truth, own=own):
            more = (features(y, lo, scores) - own) @ flat(scores)
            return (y != truth).sum() * (1.0 + more) if slack else chains.cost[truth, y].sum() + more

        best = max(labellings(lo, hi), key=height)
        expected += chains.p[i] * height(best)
        times = (best != truth).sum() if slack else 1
        slope += chains.p[i] * times * (features(best, lo, scores) - own)
    assert value == pytest.approx(expected)
    close(flat(out), slope, atol=1e-13)


@strides
def test_labels_without_costs(rng, stride):
    scores, path = some_scores(rng, stride), np.empty(TOKENS[-1], np.int64)
    chains = some_chains(rng)._replace(labels=np.full(TOKENS[-1], -1))
    chain_best.best_labels(scores, chains, 0, 3, path)
    for lo, hi in pairwise(TOKENS):
        best = max(labellings(lo, hi), key=lambda y, lo=lo: features(y, lo, scores) @ flat(scores))
        assert path[lo:hi].tolist() == best.tolist()


@scales
def test_marginals_of_one_chain(rng, scale):
    L, s, matrix = 4, scale * rng.normal(size=(4, K)), scale * rng.normal(size=(1, K, K))
    forth, back, p, pairs = np.empty((K, K)), np.empty((K, K)), np.empty((L, K)), np.empty((1, K, K))
    shift = entry(chain_labels.transposed_exp)(matrix, 0, back, forth)
    close(forth, np.exp(matrix[0] - matrix.max()))
    assert (back == forth.T).all() and shift == matrix.max()
    edges = chain_sums.Edges(matrix, 0, forth, back, shift)
    log_z = entry(chain_sums.sum_product)(s, L, edges, 0, entry(chain_sums.notes)(L, K), p, pairs)
    ways = labellings(0, L)
    heights = np.array([s[np.arange(L), y].sum() + matrix[0, y[:-1], y[1:]].sum() for y in ways])
    assert log_z == pytest.approx(logsumexp(heights))
    shares, nodes, edge = np.exp(heights - logsumexp(heights)), np.zeros((L, K)), np.zeros((K, K))
    for share, y in zip(shares, ways, strict=True):
        nodes[np.arange(L), y] += share
        np.add.at(edge, (y[:-1], y[1:]), share)
    close(p, nodes, atol=1e-12)
    close(pairs[0], edge, atol=1e-12)


def test_loops_over_labels(rng):
    x, z, matrix = rng.normal(size=(7, 6)), rng.normal(size=(7, 6)), rng.normal(size=(6, 6))
    row_max, row_sum = entry(chain_labels.row_max), entry(chain_labels.row_sum)
    close([row_max(x, t) for t in range(7)], x.max(axis=1))
    close([row_sum(x, t) for t in range(7)], x.sum(axis=1), atol=1e-14)
    out, pairs = np.empty((7, 6)), np.ones((1, 6, 6))
    chain_labels.times(x, 2, matrix, out, 4)
    close(out[4], x[2] @ matrix, atol=1e-14)
    entry(chain_labels.add_products)(x, z, 7, pairs)
    close(pairs[0], 1.0 + x[:-1].T @ z[1:])
    powers = -np.abs(rng.normal(size=20)) * np.logspace(-8, 2.5, 20)
    found = powers.copy()
    chain_labels.exp(found, 20, np.empty(20))
    close(found, np.exp(powers), rtol=1e-14)


def some_rows(rng, n=8, d=5):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    S = sparse.csr_array(X)
    return X, S, rows.as_rows(S.data, S.indices, S.indptr)


def weight_places(pairs, d):
    """The label and feature of each node weight."""
    if not len(pairs.names):
        return np.repeat(np.arange(d), K), np.tile(np.arange(K), d)
    return np.repeat(np.arange(d), np.diff(pairs.rows)), pairs.names.astype(int)


@pytest.mark.parametrize("seen", [False, True])
def test_weights_for_some_labels(rng, seen):
    X, S, stored = some_rows(rng)
    pairs = Pairs.seen(S, rng.integers(0, K, 8), K) if seen else ALL
    feature, label = weight_places(pairs, 5)
    w, W = rng.normal(size=len(feature)), np.zeros((5, K))
    W[feature, label] = w
    out = np.ones((8, K))
    chain_products.scores(stored, pairs, w, 1, 8, out)
    close(out[1:], (X @ W)[1:], atol=1e-14)
    u, slope = rng.normal(size=(8, K)), np.zeros(len(w))
    chain_products.add_adjoint(stored, pairs, u, 0, 8, slope)
    close(slope, (X.T @ u)[feature, label], atol=1e-13)


@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize("heat", [1.0, 0.1])
def test_ascent_keeps_the_weights_that_its_marginals_imply(rng, seen, heat):
    X, S, stored = some_rows(rng)
    chains, alpha = some_chains(rng, heat), 0.1
    pairs = Pairs.seen(S, chains.labels, K) if seen else ALL
    feature, label = weight_places(pairs, 5)
    truth, edges = np.eye(K)[chains.labels], np.zeros((3, K, K))
    for i, (lo, hi) in enumerate(pairwise(TOKENS)):
        np.add.at(edges[i], (chains.labels[lo : hi - 1], chains.labels[lo + 1 : hi]), 1.0)
    dual = chain_ascent.Dual(truth.copy(), edges.copy(), np.zeros(3), np.full(3, np.inf), np.full(3, 5.0))
    w, gaps = np.zeros(len(feature) + K * K + 2 * K), []
    for _ in range(round(60 / heat)):
        chain_ascent.ascend(np.array([2, 0, 1]), stored, pairs, chains, alpha, w, dual)
        gaps.append(dual.gaps.sum())
    assert gaps[-1] < 1e-4 * gaps[0]
    close(dual.mu.sum(axis=1), 1.0)
    assert (dual.mu >= 0).all()
    each = np.repeat(chains.p, np.diff(TOKENS))[:, None] * (dual.mu - truth)
    ends = [each[TOKENS[:-1]].sum(axis=0), each[TOKENS[1:] - 1].sum(axis=0)]
    moved = np.tensordot(chains.p, dual.pairs - edges, 1)
    implied = np.concatenate([(X.T @ each)[feature, label], moved.ravel(), *ends]) / -alpha
    close(w, implied, atol=1e-10)


def polytope(edges, K):
    """The tables of all labellings of a tree."""
    for y in product(range(K), repeat=len(edges) + 1):
        tables = np.zeros((len(edges), K, K))
        for e, (i, j) in enumerate(edges):
            tables[e, y[i], y[j]] = 1.0
        yield tables


def assert_nearest(m, d, a, edges):
    """It agrees on nodes, and no labelling lies in the direction from it to m."""
    assert (a >= 0).all()
    close(a.sum(axis=(1, 2)), 1.0, atol=1e-12)
    for v in polytope(edges, m.shape[1]):
        assert (d[:, None, None] * (m - a) * (v - a)).sum() <= 1e-9


@pytest.mark.parametrize("T", [1, 2, 4])
def test_the_nearest_marginals_of_a_chain(rng, T):
    m, d, a = rng.normal(size=(T, K, K)), 0.5 + rng.random(T), np.empty((T, K, K))
    entry(chain_projection.project_chain)(m, d, np.zeros((T + 1, K)), 1e-13, a)
    close(a[:-1].sum(axis=1), a[1:].sum(axis=2), atol=1e-12)
    assert_nearest(m, d, a, list(pairwise(range(T + 1))))
    again = np.empty_like(a)
    chain_projection.project_chains(m, d, np.array([0, 0, T]), 0, 2, np.zeros((T + 2, K)), 1e-13, again)
    close(again, a, atol=1e-12)


def test_the_nearest_marginals_of_a_tree(rng):
    edges, above = [(0, 1), (1, 2), (1, 3), (3, 4)], np.array([-1, 0, 0, 2])
    m, d, a = rng.normal(size=(4, K, K)), 0.5 + rng.random(4), np.empty((4, K, K))
    tree_projection.project_tree(m, d, above, 1e-13, a)
    assert_nearest(m, d, a, edges)
    g = np.zeros((4, K))
    total, largest = entry(edge_tables.slopes)(a, above, g)
    assert abs(total) < 1e-12 and largest < 1e-12  # they agree on all nodes
