"""Projections onto the sets in which dual points live."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Vector
from gapfit.elsewhere import looped, loops_of
from gapfit.errors import GapfitError, as_numbers
from gapfit.rounding import EPS, exact_sum
from gapfit.rowwise import short

__all__ = ["InfeasibleProjection", "project_box_hyperplane", "project_chain_marginals", "project_simplex"]
__all__ += ["project_tree_marginals"]


class InfeasibleProjection(GapfitError, ValueError):
    """The set to project onto is empty."""


def project_box_hyperplane(
    m: Vector,
    lower: Vector,
    upper: Vector,
    sigma: Vector,
    z: float,
    weights: Vector | None = None,
) -> Vector:
    """The nearest point to m in a box with one linear equality, in O(n).

    minimise 1/2 sum_i weights_i (a_i - m_i)^2   subject to  lower <= a <= upper,  <sigma, a> = z

    Bounds may be infinite or equal, and sigma may have any sign or be zero. Raises `InfeasibleProjection` if
    no point satisfies the equality.
    """
    m = as_numbers("m", m)
    lower, upper, sigma = (np.broadcast_to(np.asarray(x, float), m.shape) for x in (lower, upper, sigma))
    step = sigma if weights is None else sigma / _positive("weights", weights)
    if not np.isfinite(m).all():
        raise ValueError("m must be finite")
    if not (lower <= upper).all():
        raise InfeasibleProjection("lower must not exceed upper")
    low, high = np.where(sigma > 0, lower, upper), np.where(sigma > 0, upper, lower)
    moves = sigma != 0
    least, most = (float(sigma[moves] @ end[moves]) for end in (low, high))
    scale = abs(z) + float(np.abs(sigma) @ np.abs(m))
    if not (np.isfinite(z) and least - 1e-12 * scale <= z <= most + 1e-12 * scale):
        raise InfeasibleProjection(
            f"no point of the box satisfies <sigma, a> = {z}: it ranges over [{least}, {most}]"
        )
    if least < z < most:
        return project_between(m, lower, upper, sigma, float(z), step)
    return np.where(moves, low if z <= least else high, np.clip(m, lower, upper))


def project_between(m: Vector, lower: Vector, upper: Vector, sigma: Vector, z: float, step: Vector) -> Vector:
    """The same where z is known to lie strictly between what <sigma, a> can be; step = sigma / weights."""
    from gapfit.compiled.projection import multiplier  # compiled code is loaded only when it is to run

    t = multiplier([_frozen(x) for x in (m, step, sigma, lower, upper)], z, 4 * EPS)
    near = t * step
    near += m
    near = np.clip(near, lower, upper, out=near)
    return near


def project_dual_box(u: Vector, lower: Vector, upper: Vector, p: Vector, balance: float | None) -> Vector:
    """The nearest point in the box, and on the hyperplane sum(u) = balance if one is asked for.

    Distances are weighted by 1/p, so that a sample of weight k is treated as k samples.
    """
    if balance is None:
        return np.clip(u, lower, upper)
    if looped(is_there, u)(u, lower, upper, balance):
        return u.copy()  # what is computed of it stays true
    from gapfit.compiled.projection import balance as take_rest
    from gapfit.compiled.projection import onto_balanced_box

    if (device := loops_of(u)) is not None:
        found: Vector = device(onto_balanced_box, u, p, lower, upper, balance)
        return found
    u, lower, upper = (np.ascontiguousarray(x, dtype=np.float64) for x in (u, lower, upper))
    near = np.empty_like(u)
    if not onto_balanced_box(u, short(p), lower, upper, balance, 4 * EPS, near):
        p = np.ascontiguousarray(p)
        if np.isfinite(u.sum()) and lower.sum() < balance < upper.sum():
            near = project_between(u, lower, upper, np.ones_like(u), balance, p)
        else:
            near = project_box_hyperplane(u, lower, upper, np.ones_like(u), balance, weights=1.0 / p)
        take_rest(near, lower, upper, balance)
    return near


def is_there(u: Vector, lower: Vector, upper: Vector, balance: float) -> bool:
    """Is it in the box, and its sum what it should be, to the last bit?"""
    off = abs(float(u.sum()) - balance)
    if off and not off <= 64 * EPS * (abs(balance) + float(np.abs(u).sum())):
        return False
    if not ((u >= lower).all() and (u <= upper).all()):
        return False
    return float(exact_sum(np.append(u, -balance)).value) == 0


def project_simplex(m: Any, total: float = 1.0) -> NDArray[np.float64]:
    """The nearest point with entries >= 0 that add up to `total`; of a matrix, of each row.

    minimise 1/2 |a - m|^2   subject to  a >= 0,  sum a = total
    """
    m = as_numbers("m", m)
    if not 0 < total < np.inf:
        raise InfeasibleProjection(f"total must be positive and finite, got {total!r}")
    if m.ndim == 1:
        return project_box_hyperplane(m, np.zeros_like(m), np.full_like(m, np.inf), np.ones_like(m), total)
    from gapfit.compiled.simplices import project_rows

    rows = np.ascontiguousarray(m) / total
    project_rows(rows, 0, len(rows))
    return total * rows


def project_chain_marginals(m: Any, weights: Any = None) -> NDArray[np.float64]:
    """The nearest marginals of a chain: tables of its edges that agree on the nodes in between.

    minimise 1/2 sum_t weights_t sum_ij (a_t(i, j) - m_t(i, j))^2   over  a >= 0,  sum_ij a_t(i, j) = 1,
    sum_i a_t(i, j) = sum_k a_{t+1}(j, k)

    Parameters
    ----------
    m : array (T, K, K)
        m[t, i, j] belongs to label i at place t and label j at place t + 1.
    weights : array (T,), default ones
    """
    m, weights = _edge_tables(m, weights)
    return project_chains(m, weights, np.array([0, len(m)]))


def project_tree_marginals(m: Any, edges: Any, weights: Any = None) -> NDArray[np.float64]:
    """The nearest marginals of a tree: tables of its edges that agree on the nodes they share.

    minimise 1/2 sum_e weights_e sum_ij (a_e(i, j) - m_e(i, j))^2   over  a >= 0,  sum_ij a_e(i, j) = 1,
    such that all tables of edges that meet at a node give its labels the same shares

    Parameters
    ----------
    m : array (T, K, K)
        m[e, i, j] belongs to label i at node edges[e][0] and label j at node edges[e][1].
    edges : array (T, 2) of nodes 0, ..., T
        In any order and direction; they must connect all nodes.
    weights : array (T,), default ones
    """
    from gapfit.compiled.tree_projection import project_tree  # compiled code is loaded only when it is to run

    m, weights = _edge_tables(m, weights)
    order, turned, above = _from_a_leaf(np.asarray(edges), len(m))
    tables = np.ascontiguousarray(np.where(turned[:, None, None], m.transpose(0, 2, 1), m)[order])
    found, a = np.empty_like(tables), np.empty_like(m)
    project_tree(tables, np.ascontiguousarray(weights[order]), above, 1e-13, found)
    a[order] = found
    return np.asarray(np.where(turned[:, None, None], a.transpose(0, 2, 1), a))


def _from_a_leaf(
    edges: NDArray[Any], T: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """The edges in the order in which a walk from a leaf meets them, which of all are walked against their
    direction, and for each in order the place of the one before it."""
    if edges.shape != (T, 2) or edges.dtype.kind not in "iu" or edges.min() < 0 or edges.max() > T:
        raise ValueError(f"edges must name two of the nodes 0, ..., {T} for each of the {T} tables")
    at: list[list[int]] = [[] for _ in range(T + 1)]
    for e, ends in enumerate(edges.tolist()):
        for node in ends:
            at[node].append(e)
    leaf = next((node for node in range(T + 1) if len(at[node]) == 1), 0)
    order: list[int] = []
    above: list[int] = []
    turned = np.zeros(T, dtype=np.bool_)
    seen, waiting = {leaf}, [(leaf, -1)]
    for node, place in waiting:  # grows on the way
        for e in at[node]:
            other = int(edges[e].sum()) - node
            if other not in seen:
                seen.add(other)
                turned[e] = edges[e, 0] == other
                waiting.append((other, len(order)))
                order.append(e)
                above.append(place)
    if len(order) < T:
        raise ValueError("edges must be those of a tree: connected, without cycles")
    return np.array(order), turned, np.array(above)


def _edge_tables(m: Any, weights: Any) -> tuple[NDArray[np.float64], Vector]:
    m = as_numbers("m", m)
    if m.ndim != 3 or m.shape[1] != m.shape[2] or 0 in m.shape:
        raise ValueError(f"m must hold a square table for each edge, got shape {m.shape}")
    weights = np.ones(len(m)) if weights is None else _positive("weights", weights)
    return m, np.broadcast_to(weights, (len(m),))


def project_chains(
    m: NDArray[np.float64], weights: Vector, first: NDArray[np.int64], start: Vector | None = None
) -> NDArray[np.float64]:
    """`project_chain_marginals` of many chains: the c-th has the tables first[c] to first[c + 1].

    `start` are multipliers to begin with, one row a place of each chain; they are updated.
    """
    from gapfit import threads
    from gapfit.compiled.chain_projection import project_chains as project

    m, weights = np.ascontiguousarray(m), np.ascontiguousarray(weights, dtype=np.float64)
    a, chains = np.empty_like(m), len(first) - 1
    q = np.zeros((len(m) + chains, m.shape[1])) if start is None else start
    threads.each(
        lambda some: project(m, weights, first, some.start, some.stop, q, 1e-13, a),
        threads.parts(chains, 100 * m.size),
    )
    return a


def _frozen(x: Vector) -> Vector:
    """A read-only view: compiled code tells them from writable arrays, and one variant is enough."""
    view = np.ascontiguousarray(x, dtype=np.float64).view()
    view.flags.writeable = False
    return view


def _positive(name: str, values: Any) -> Vector:
    values = as_numbers(name, values)
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"{name} must be positive and finite")
    return np.asarray(values)


def filled(lower: Vector, upper: Vector, total: float) -> Vector:
    """A point with this sum: some variables, here and there, at their upper bounds, the others at their
    lower."""
    from gapfit.compiled.projection import fill  # compiled code is loaded only when it is to run

    v = np.empty_like(lower)
    fill(np.ascontiguousarray(lower), np.ascontiguousarray(upper), float(total), v)
    return v
