"""The small programs inside solvers: simplex QPs, masters, projections; optimality judged in long double."""

from collections.abc import Callable

import numpy as np

from gapfit import Problem
from gapfit.projections import (
    project_box_hyperplane,
    project_chain_marginals,
    project_simplex,
    project_tree_marginals,
)
from gapfit.solvers.cuts.masters import master_for
from gapfit.solvers.cuts.simplex_qp import maximise_on_simplex
from soak.cases import Case
from soak.draw import penalty_params
from soak.hostile import Rng, spread
from soak.job import Job
from soak.outcome import Outcome
from soak.trees import best_labelling, tree_edges

CASES = 600
LIMIT = 120.0
FIGURE = "relative residual"
_GOOD = 1e-8  # of the scale of the program
_LONG = np.longdouble


def run(job: Job) -> Outcome:
    """One program of one kind."""
    rng, outcome = job.rng(), Outcome()
    _PROGRAMS[job.case % len(_PROGRAMS)](outcome, rng)
    return outcome


def _residual(outcome: Outcome, kind: str, residual: float, text: str, good: float = _GOOD) -> None:
    outcome.expect(residual <= good, kind, f"relative residual {residual:.3g}, {text}")
    outcome.worst = max(outcome.worst, residual)


def _cuts(rng: Rng, count: int) -> np.ndarray:
    """Slopes: some twice, some mixtures of others, of all sizes."""
    A = rng.normal(size=(int(rng.integers(1, 30)), count))
    kind = rng.integers(5)
    if kind == 1:
        A = A[:, rng.integers(0, max(count // 3, 1), count)]
    elif kind == 2:
        A *= spread(rng, -12, 12, count)
    elif kind == 3:
        A = A * 1e-9 + rng.normal(size=(len(A), 1))
    elif kind == 4:
        A[:, ::2] = 0.0
    return A


def _quadratic_program(outcome: Outcome, rng: Rng) -> None:
    count = 2000 if rng.random() < 0.03 else int(rng.choice([1, 2, 5, 20, 100, 300]))
    A, c = _cuts(rng, count), rng.normal(size=count) * spread(rng, -12, 12)
    if rng.random() < 0.2:
        c[:] = c[0]
    G = A.T @ A
    start = np.zeros(count)
    start[rng.integers(count)] = 1.0
    x = maximise_on_simplex(G, c, start)
    outcome.expect(
        np.isfinite(x).all() and (x >= 0).all() and abs(x.sum() - 1) <= 1e-12, "infeasible", f"{count} cuts"
    )
    slope = c.astype(_LONG) - G.astype(_LONG) @ x.astype(_LONG)
    roots = np.sqrt(G.diagonal())
    scale = np.abs(c).max() + roots.max() * (roots @ x)
    excess = float(slope.max() - slope @ x.astype(_LONG))
    _residual(outcome, "simplex QP", excess / float(scale or 1.0), f"{count} cuts")


def _master(outcome: Outcome, rng: Rng) -> None:
    """Every kind of penalty: the model's minimum from below and, at its minimiser, from above."""
    n, d = 12, int(rng.integers(1, 6))
    name = str(rng.choice(["l2", "quadratic_form", "elastic_net", "squared_lp", "entropy", "l1", "box"]))
    X = rng.normal(size=(n, d)) * spread(rng, -3, 3, d)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    params = penalty_params(rng, name, d)
    problem: Problem = Case(
        X, y, "hinge", {}, name, params, float(spread(rng, -4, 1)), intercept=False
    ).problem()
    master = master_for(problem)
    cuts = [problem.zero_plane()]
    for _ in range(int(rng.choice([1, 5, 30, 60]))):
        w = problem.penalty.prox(rng.normal(size=d) * spread(rng, -2, 2), 0.1)
        cuts += [problem.oracle(w).minorant] * int(rng.integers(1, 3))
    for cut in cuts:
        if cut is not None:
            master.add(cut)
    model, w = master.minimise()
    below = problem.dual(problem.feasible(model))
    planes = [cut.a.astype(_LONG) @ w.astype(_LONG) + cut.c for cut in cuts if cut is not None]
    above = float(problem.alpha * problem.penalty.value(w) + max(planes))
    scale = max(abs(above), abs(below), 1e-3)
    _residual(outcome, "master", (above - below) / scale, f"{name}, {len(cuts)} cuts", 1e-6)
    outcome.expect(below <= above + 1e-10 * scale, "master", f"bound {below} above {above}, {name}")


def _box_and_plane(outcome: Outcome, rng: Rng) -> None:
    n = int(rng.choice([1, 2, 10, 200]))
    m, sigma = rng.normal(size=n) * spread(rng, -6, 6), rng.normal(size=n)
    if rng.random() < 0.5:
        sigma = np.sign(sigma) * spread(rng, -6, 6, n)
    lower = rng.normal(size=n) - rng.uniform(0, 3, n)
    upper = lower + rng.uniform(0, 3, n) * (rng.random(n) < 0.8)
    inside = lower + rng.random(n) * (upper - lower)
    z = float(sigma @ inside)
    weights = spread(rng, -3, 3, n)
    a = project_box_hyperplane(m, lower, upper, sigma, z, weights)
    outcome.expect(((a >= lower) & (a <= upper)).all(), "infeasible", f"outside the box, n={n}")
    size = float(np.abs(sigma) @ np.maximum.reduce([np.abs(a), np.abs(inside), np.abs(m)]))
    off = abs(float(sigma.astype(_LONG) @ a.astype(_LONG) - _LONG(z)))
    _residual(outcome, "projection, equality", off / (size or 1.0), f"n={n}", 1e-11)
    # by how much <a - m, .> falls within the box and the plane: its minimum is a knapsack of one multiplier
    slope = weights * (a - m)
    free = (a > lower) & (a < upper) & (sigma != 0)
    if free.any():
        t = slope[free] / sigma[free]
        spread_of_t = float((t.max() - t.min()) * np.abs(sigma[free]).min())
        scale = float(np.abs(weights * np.maximum(np.abs(m), np.abs(a))).max())
        _residual(
            outcome, "projection, multiplier", spread_of_t / (scale or 1.0), f"n={n}, {free.sum()} free"
        )


def _simplex(outcome: Outcome, rng: Rng) -> None:
    n, total = int(rng.choice([1, 2, 10, 500])), float(spread(rng, -6, 6))
    m = rng.normal(size=n) * total * spread(rng, -6, 4)  # beyond, the entries are rounding of m
    if rng.random() < 0.3:
        m[:] = m[0]
    a = project_simplex(m, total)
    size = float(np.abs(m).max() + total)
    outcome.expect((a >= 0).all(), "infeasible", "negative entries")
    _residual(outcome, "simplex, sum", abs(float(a.sum()) - total) / size, f"n={n}", 1e-12)
    slope = (m - a).astype(_LONG)
    excess = float(slope.max() * total - slope @ a)
    _residual(outcome, "simplex, optimality", excess / (size * total), f"n={n}")


def _marginals(outcome: Outcome, rng: Rng) -> None:
    """Chains and trees: no labelling lies further in the direction of m - a than a itself."""
    T, K = int(rng.integers(1, 6)), int(rng.integers(2, 4))
    m = rng.normal(size=(T, K, K)) * spread(rng, -3, 3)
    weights = spread(rng, -1, 1, T)
    chain = rng.random() < 0.5
    edges = np.column_stack([np.arange(T), np.arange(1, T + 1)]) if chain else tree_edges(rng, T)
    a = project_chain_marginals(m, weights) if chain else project_tree_marginals(m, edges, weights)
    size = float(1.0 + np.abs(m).max())
    outcome.expect((a >= -1e-10).all(), "infeasible", f"least entry {a.min()}")
    _residual(outcome, "marginals, sums", float(np.abs(a.sum(axis=(1, 2)) - 1).max()), f"T={T}, K={K}", 1e-9)
    slope = (weights[:, None, None] * (m - a)).astype(_LONG)
    excess = float(best_labelling(slope, edges) - (slope * a).sum())
    _residual(
        outcome, "marginals, optimality", excess / (size * float(weights.sum())), f"T={T}, K={K}, {chain}"
    )


_PROGRAMS: tuple[Callable[[Outcome, Rng], None], ...] = (
    _quadratic_program, _quadratic_program, _master, _box_and_plane, _simplex, _marginals,
)  # fmt: skip
