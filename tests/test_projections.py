"""Projections against quadratic programs and against the conditions that characterise them."""

from itertools import pairwise, product

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from gapfit import GapfitError
from gapfit.projections import (
    InfeasibleProjection,
    filled,
    project_box_hyperplane,
    project_chain_marginals,
    project_simplex,
    project_tree_marginals,
)

CASES = 2000


def random_case(seed):
    """A small projection; many have ties, boxes without width, or a sum at the edge of what is possible."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 10))
    grid = seed % 2 == 0
    m = rng.integers(-3, 4, n) / 1.0 if grid else rng.normal(size=n)
    lower = (rng.integers(-2, 2, n) / 1.0) if grid else rng.normal(size=n)
    upper = lower + (rng.integers(0, 3, n) / 1.0 if grid else rng.exponential(size=n))
    sigma = rng.choice([-1.0, 1.0], n) * (1.0 if grid else rng.exponential(size=n) + 0.1)
    sigma[rng.random(n) < 0.1] = 0.0
    weights = np.ones(n) if seed % 3 == 0 else rng.exponential(size=n) + 0.1
    inside = lower + rng.random(n) * (upper - lower)
    if seed % 7 == 0:
        inside = np.where(sigma > 0, upper, lower)  # the largest sum that there is
    return m, lower, upper, sigma, float(sigma @ inside), weights


def polished(case, a):
    """The exact solution, given one that is good enough to tell which coordinates are at a bound."""
    m, lower, upper, sigma, z, weights = case
    free = (a > lower + 1e-5) & (a < upper - 1e-5)
    fixed = np.where(a - lower < upper - a, lower, upper)
    rate = float((sigma[free] ** 2 / weights[free]).sum())
    if rate == 0:
        return np.where(free, m, fixed)
    t = (z - sigma[~free] @ fixed[~free] - sigma[free] @ m[free]) / rate
    return np.where(free, m + t * sigma / weights, fixed)


def test_box_hyperplane_agrees_with_a_quadratic_program():
    """All cases at once, as one program with a block for each."""
    cases = [random_case(seed) for seed in range(CASES)]
    m, lower, upper, sigma, weights = (np.concatenate([case[k] for case in cases]) for k in (0, 1, 2, 3, 5))
    z = np.array([case[4] for case in cases])
    sizes = [len(case[0]) for case in cases]
    A = sparse.csr_array((sigma, (np.repeat(np.arange(CASES), sizes), np.arange(len(m)))))
    a = cp.Variable(len(m))
    objective = cp.Minimize(cp.sum(cp.multiply(weights / 2, cp.square(a - m))))
    program = cp.Problem(objective, [a >= lower, a <= upper, A @ a == z])
    program.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    parts = np.split(a.value, np.cumsum(sizes)[:-1])
    errors = [
        np.abs(project_box_hyperplane(*case) - polished(case, part)).max()
        for case, part in zip(cases, parts, strict=True)
    ]
    assert max(errors) <= 1e-10


@pytest.mark.parametrize("seed", range(60))
def test_optimality_with_infinite_bounds(seed):
    rng = np.random.default_rng(seed)
    m, lower, upper, sigma, _, weights = random_case(seed)
    n = len(m)
    upper[rng.integers(n)], lower[rng.integers(n)] = np.inf, -np.inf
    z = float(sigma @ np.clip(rng.normal(size=n), lower, upper))
    a = project_box_hyperplane(m, lower, upper, sigma, z, weights)
    assert (a >= lower).all() and (a <= upper).all()
    assert sigma @ a == pytest.approx(z, abs=1e-12 * (1 + np.abs(sigma) @ np.abs(a)))
    for _ in range(20):  # no feasible direction improves
        other = project_box_hyperplane(a + rng.normal(size=n), lower, upper, sigma, z, weights)
        assert (weights * (a - m)) @ (other - a) >= -1e-9 * (1 + np.abs(other).max())


@pytest.mark.parametrize("n", [1000, 100_000])
def test_large_ones_with_many_equal_kinks(n):
    rng = np.random.default_rng(n)
    m, lower, upper, sigma = rng.integers(-5, 6, n) * 1.0, -np.ones(n), np.ones(n), rng.choice([-1.0, 1.0], n)
    for z in (0.0, 0.3 * n, -0.999 * n):
        a = project_box_hyperplane(m, lower, upper, sigma, z)
        assert sigma @ a == pytest.approx(z, abs=1e-11 * n)
        t = (sigma * (a - m))[(a > lower) & (a < upper)]
        assert np.ptp(t) <= 1e-12 * (1 + np.abs(t).max())  # one multiplier for all
        low, high = a == lower, a == upper
        assert (sigma * (a - m) * np.where(low, sigma, 0) >= t[0] * np.where(low, sigma, 0) - 1e-9)[low].all()
        assert (sigma * (a - m) * np.where(high, sigma, 0) <= t[0] * np.where(high, sigma, 0) + 1e-9)[
            high
        ].all()


@pytest.mark.parametrize("z", [3.0, -0.1, np.inf, np.nan])
def test_an_infeasible_sum_is_refused(z):
    with pytest.raises(InfeasibleProjection, match="ranges over") as error:
        project_box_hyperplane(np.zeros(2), np.zeros(2), np.ones(2), np.ones(2), z)
    assert isinstance(error.value, GapfitError) and isinstance(error.value, ValueError)


def test_an_empty_box_and_bad_weights_are_refused():
    zero, one = np.zeros(2), np.ones(2)
    with pytest.raises(InfeasibleProjection, match="lower must not exceed upper"):
        project_box_hyperplane(zero, one, zero, one, 1.0)
    with pytest.raises(ValueError, match="weights must be positive"):
        project_box_hyperplane(zero, zero, one, one, 1.0, np.array([1.0, 0.0]))


@pytest.mark.parametrize("seed", range(30))
def test_simplex(seed):
    """The nearest point is max(m - t, 0), and t is where it adds up to the total."""
    rng = np.random.default_rng(seed)
    rows, K, total = int(rng.integers(1, 5)), int(rng.integers(1, 8)), float(rng.exponential() + 0.1)
    M = rng.normal(size=(rows, K)) if seed % 2 else rng.integers(-2, 3, (rows, K)) * 1.0
    A = project_simplex(M, total)
    for m, a in zip(M, A, strict=True):
        assert a.min() >= 0 and a.sum() == pytest.approx(total, rel=1e-12)
        t = m.max() - a[m.argmax()]
        np.testing.assert_allclose(a, np.maximum(m - t, 0.0), atol=1e-12)
        np.testing.assert_allclose(project_simplex(m, total), a, atol=1e-12)


def test_a_simplex_of_nothing_is_refused():
    with pytest.raises(InfeasibleProjection, match="total"):
        project_simplex(np.ones(3), 0.0)


@pytest.mark.parametrize("seed", range(40))
def test_chain_marginals(seed):
    """Consistent tables; and no labelling, the corners of that set, lies in a direction that improves."""
    rng = np.random.default_rng(seed)
    T, K = int(rng.integers(1, 6)), int(rng.integers(2, 5))
    m = rng.normal(size=(T, K, K)) if seed % 2 else rng.integers(-1, 2, (T, K, K)) * 1.0
    m *= 10.0 ** rng.uniform(-2, 2)
    weights = None if seed % 3 == 0 else rng.exponential(size=T) + 0.1
    a = project_chain_marginals(m, weights)
    assert a.min() >= 0
    np.testing.assert_allclose(a.sum(axis=(1, 2)), 1.0, rtol=1e-12)
    np.testing.assert_allclose(a[:-1].sum(axis=1), a[1:].sum(axis=2), atol=1e-13)
    pull = (m - a) * (np.ones(T) if weights is None else weights)[:, None, None]
    here = float((pull * a).sum())
    for y in product(range(K), repeat=T + 1):
        there = sum(pull[t, y[t], y[t + 1]] for t in range(T))
        assert there <= here + 1e-10 * (1 + np.abs(pull).max())


def test_chain_marginals_agree_with_a_quadratic_program():
    rng = np.random.default_rng(5)
    T, K = 5, 3
    m, weights = rng.normal(size=(T, K, K)), rng.exponential(size=T) + 0.2
    tables = [cp.Variable((K, K), nonneg=True) for _ in range(T)]
    consistent = [cp.sum(a, axis=0) == cp.sum(b, axis=1) for a, b in pairwise(tables)]
    cost = sum(w * cp.sum_squares(a - x) for w, a, x in zip(weights, tables, m, strict=True))
    program = cp.Problem(cp.Minimize(cost), [*consistent, *(cp.sum(a) == 1 for a in tables)])
    program.solve(solver="CLARABEL", tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
    np.testing.assert_allclose(project_chain_marginals(m, weights), [a.value for a in tables], atol=1e-8)


def test_marginals_of_what_is_no_chain_are_refused():
    with pytest.raises(ValueError, match="square table"):
        project_chain_marginals(np.zeros((2, 3, 4)))


def random_tree(rng, T):
    """Edges of a random tree, in random order and direction."""
    names = rng.permutation(T + 1)
    edges = np.array([(names[int(rng.integers(v))], names[v]) for v in range(1, T + 1)])
    edges = edges[rng.permutation(T)]
    turned = rng.random(T) < 0.5
    return np.where(turned[:, None], edges[:, ::-1], edges)


def shares(a, edges, node):
    """What each table at a node says of its labels."""
    return [a[e].sum(axis=1 if u == node else 0) for e, (u, v) in enumerate(edges) if node in (u, v)]


@pytest.mark.parametrize("seed", range(40))
def test_tree_marginals(seed):
    """Consistent tables; and no labelling, the corners of that set, lies in a direction that improves."""
    rng = np.random.default_rng(seed)
    T, K = int(rng.integers(1, 7)), int(rng.integers(2, 4))
    edges = random_tree(rng, T)
    if seed % 5 == 0:
        edges = np.array([(0, v) for v in range(1, T + 1)])  # a star
    m = rng.normal(size=(T, K, K)) if seed % 2 else rng.integers(-1, 2, (T, K, K)) * 1.0
    m *= 10.0 ** rng.uniform(-2, 2)
    weights = None if seed % 3 == 0 else rng.exponential(size=T) + 0.1
    a = project_tree_marginals(m, edges, weights)
    assert a.min() >= 0
    np.testing.assert_allclose(a.sum(axis=(1, 2)), 1.0, rtol=1e-12)
    for node in range(T + 1):
        first, *others = shares(a, edges, node)
        for other in others:
            np.testing.assert_allclose(other, first, atol=1e-13)
    pull = (m - a) * (np.ones(T) if weights is None else weights)[:, None, None]
    here = float((pull * a).sum())
    for y in product(range(K), repeat=T + 1):
        there = sum(pull[e, y[u], y[v]] for e, (u, v) in enumerate(edges))
        assert there <= here + 1e-10 * (1 + np.abs(pull).max())


def test_tree_marginals_agree_with_a_quadratic_program():
    rng = np.random.default_rng(6)
    T, K = 9, 3
    edges, m, weights = random_tree(rng, T), rng.normal(size=(T, K, K)), rng.exponential(size=T) + 0.2
    tables = [cp.Variable((K, K), nonneg=True) for _ in range(T)]
    nodes = [cp.Variable(K) for _ in range(T + 1)]
    consistent = [cp.sum(a, axis=1) == nodes[u] for a, (u, _) in zip(tables, edges, strict=True)]
    consistent += [cp.sum(a, axis=0) == nodes[v] for a, (_, v) in zip(tables, edges, strict=True)]
    cost = sum(w * cp.sum_squares(a - x) for w, a, x in zip(weights, tables, m, strict=True))
    program = cp.Problem(cp.Minimize(cost), [*consistent, *(cp.sum(a) == 1 for a in tables)])
    program.solve(solver="CLARABEL", tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
    found = project_tree_marginals(m, edges, weights)
    np.testing.assert_allclose(found, [a.value for a in tables], atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_a_chain_is_a_tree(seed):
    rng = np.random.default_rng(seed)
    T, K = 30, 4
    m, weights = rng.normal(size=(T, K, K)), rng.exponential(size=T) + 0.1
    edges = np.stack([np.arange(T), np.arange(1, T + 1)], axis=1)
    expected = project_chain_marginals(m, weights)
    np.testing.assert_allclose(project_tree_marginals(m, edges, weights), expected, atol=1e-11)


@pytest.mark.parametrize(
    "edges", [[(0, 1), (1, 2), (2, 0)], [(0, 1), (0, 1), (2, 3)], [(0, 1), (2, 2), (2, 3)]], ids=repr
)
def test_marginals_of_what_is_no_tree_are_refused(edges):
    with pytest.raises(ValueError, match="of a tree"):
        project_tree_marginals(np.zeros((3, 2, 2)), edges)


def test_edges_must_name_the_nodes():
    for edges in ([(0, 1)], [(0, 1), (1, 3)], [(0.0, 1.0), (1.0, 2.0)]):
        with pytest.raises(ValueError, match="edges must name"):
            project_tree_marginals(np.zeros((2, 2, 2)), edges)


@pytest.mark.parametrize("seed", range(20))
def test_points_that_are_filled_up_have_their_sum(seed):
    """In the box, all but one at an end, and raised ones are among the first as well as among the last."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    lower = -rng.random(n) * rng.integers(0, 2, n)
    upper = lower + rng.random(n) * rng.integers(0, 2, n)
    share = float(rng.choice([0.0, 1.0, rng.random()]))
    total = float(lower.sum() + share * (upper - lower).sum())
    v = filled(lower, upper, total)
    assert ((lower <= v) & (v <= upper)).all() and v.sum() == pytest.approx(total, abs=1e-12)
    assert ((v != lower) & (v != upper)).sum() <= 1
    there = np.flatnonzero(upper > lower)
    if len(there) >= 20 and 0.2 < share < 0.8:
        raised = (v > lower)[there]
        assert 0 < raised[: len(there) // 2].sum() < raised.sum()


def test_what_may_grow_for_ever_takes_all():
    v = filled(np.zeros(3), np.full(3, np.inf), 2.0)
    assert np.sort(v).tolist() == [0.0, 0.0, 2.0]
