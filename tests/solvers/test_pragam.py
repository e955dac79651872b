"""Pragam and smoothing: the excessive gap condition, the rates it promises, and every dual set."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from gapfit import IncompatibleSolver, Problem, Status, solve
from gapfit.design.chain import ChainDesign
from gapfit.design.kernel import KernelDesign
from gapfit.design.memory import MemoryDesign
from gapfit.design.wide import WideDesign
from gapfit.losses import (
    Absolute,
    CrammerSinger,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Novelty,
    Quantile,
    Softmax,
    SquaredHinge,
)
from gapfit.losses.atoms import Atoms
from gapfit.losses.chain import ChainCRF, ChainMargin
from gapfit.losses.forms import Conjugate
from gapfit.penalties import QuadraticForm
from gapfit.projections import project_chain_marginals
from gapfit.solvers.dual_sets import dual_set
from gapfit.solvers.dual_sets.quasi_newton import Memory
from gapfit.solvers.pragam import lipschitz, pragam
from gapfit.solvers.smoothing import smoothing

SCALAR = [Hinge(), Quantile(0.3), Absolute(), EpsilonInsensitive(0.2), Novelty(0.4)]
POLYHEDRAL = [
    (loss, intercept)
    for loss in [*SCALAR, CrammerSinger(), ChainMargin()]
    for intercept in (False, True)
    if intercept or not isinstance(loss, Novelty)
    if not (intercept and isinstance(loss, ChainMargin))
]
LENGTHS = np.array([1, 4, 2, 6, 3, 1])
STEPS = 60


def make(loss, *, intercept, alpha=1e-2, weighted=False, n=40, d=5, seed=0):
    rng = np.random.default_rng(seed)
    if isinstance(loss, ChainMargin | ChainCRF):
        return chains(loss, rng, alpha, weighted)
    X = rng.normal(size=(n, d)) + 0.5
    margin = X @ rng.normal(size=d) + rng.normal(size=n)
    y = np.sign(margin) if isinstance(loss, Hinge | SquaredHinge) else margin
    if isinstance(loss, CrammerSinger | Softmax):
        y = np.argmax(X[:, :3] + 0.7 * rng.normal(size=(n, 3)), axis=1)
    weight = rng.integers(1, 4, n) if weighted else None
    return Problem(X, y, loss, alpha=alpha, intercept=intercept, sample_weight=weight)


def chains(loss, rng, alpha, weighted, K=3):
    n, chain = int(LENGTHS.sum()), np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    y = rng.integers(0, K, n)
    weight = rng.integers(1, 4, len(LENGTHS))[chain] if weighted else None
    design = ChainDesign(rng.normal(size=(n, 4)) + y[:, None], LENGTHS, K)
    return Problem(design, y, loss, alpha=alpha, sample_weight=weight, intercept=False, groups=chain)


def smoothed_chains(problem, scores, mu, centre):
    """Chain by chain; the scores of a chain's tables are put together as they are defined."""
    n, K = len(problem.y), 3
    nodes, edges = scores[: n * K].reshape(n, K), scores[n * K : n * K + K * K].reshape(K, K)
    start, end = scores[-2 * K : -K], scores[-K:]
    y = problem.y.astype(int)
    p = np.array([problem.weight[t] for t in np.cumsum(LENGTHS) - 1])
    p = p / p.sum()
    total, token, table = 0.0, 0, 0
    for share, length in zip(p, LENGTHS, strict=True):
        some = slice(token, token + length)
        truth = y[some]
        gains = nodes[some] + (np.arange(K) != truth[:, None])
        right = nodes[some][np.arange(length), truth].sum() + start[truth[0]] + end[truth[-1]]
        right += sum(edges[i, j] for i, j in pairwise(truth))
        if length == 1:
            heights = np.repeat((gains[0] + start + end)[:, None], K, axis=1)[None]
        else:
            heights = np.array([edges + gains[t + 1] for t in range(length - 1)])
            heights[0] += (gains[0] + start)[:, None]
            heights[-1] += end
        c = centre[table : table + len(heights)]
        z = project_chain_marginals(c + heights / mu)
        total += share * ((z * heights).sum() - right - 0.5 * mu * ((z - c) ** 2).sum())
        token, table = token + length, table + len(heights)
    return total


def smoothed(problem, w, b, mu, centre):
    """J_mu at w and some b, which is at least its minimum over b. Knows nothing of the solver."""
    F = problem.scores(w)
    p = problem.weight / problem.weight.sum()
    penalty = 0.5 * problem.alpha * w @ w
    if isinstance(problem.loss, ChainMargin):
        return penalty + smoothed_chains(problem, F, mu, centre)
    if problem.risk.outputs > 1:
        K = problem.risk.outputs
        F = F.reshape(-1, K) + (b if b.size else 0.0)
        truth = np.eye(K)[problem.y.astype(int)]
        total = 0.0
        for f, c, e, share in zip(F, centre, truth, p, strict=True):
            gain = f + 1 - e
            a = max_on_simplex(c + gain / mu)
            total += share * (a @ gain - f @ e - 0.5 * mu * (a - c) @ (a - c))
        return penalty + total
    sign, lin, kink, quad, lo, hi, slope = problem.form(Atoms)
    f = F + b.sum()
    # v = sign * u turned round: maximise (lin - sign f) a - kink |a| - quad a^2 / 2 - mu (a - c)^2 / (2 p)
    c = -sign * centre
    drive = lin - sign * f + mu * c / p
    a = np.clip(np.sign(drive) * np.maximum(np.abs(drive) - kink, 0) / (quad + mu / p), lo, hi)
    terms = (lin - sign * f) * a - kink * np.abs(a) - quad * a**2 / 2 - mu * (a - c) ** 2 / (2 * p)
    return penalty + slope * b.sum() + terms.sum()


def max_on_simplex(m):
    ordered = np.sort(m)[::-1]
    t = (np.cumsum(ordered) - 1) / np.arange(1, len(m) + 1)
    return np.maximum(m - t[np.flatnonzero(ordered > t)[-1]], 0)


def run(problem, solver, steps=STEPS):
    generator = solver(problem)
    iterate = next(generator)
    for _ in range(steps):
        yield iterate, iterate.snapshot()["pair"]
        iterate = generator.send(None)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("loss", "intercept"), POLYHEDRAL, ids=repr)
def test_the_excessive_gap_condition_holds_at_every_step(loss, intercept, weighted):
    """For the L found on the way: J_mu(w) <= D(z), J(w) - D(z) <= mu D2, and mu falls like 1/k^2."""
    problem = make(loss, intercept=intercept, weighted=weighted)
    D2, largest = dual_set(problem).spread, 0.0
    for k, (iterate, pair) in enumerate(run(problem, pragam)):
        dual, primal = problem.dual(iterate.minorant), problem.evaluate(iterate.w, iterate.b)
        rounding = 1e-9 * (1 + abs(primal))
        assert smoothed(problem, pair["w"], iterate.b, pair["mu"], pair["centre"]) <= dual + rounding
        assert iterate.primal == pytest.approx(primal, rel=1e-9)
        assert primal - dual <= pair["mu"] * D2 + rounding
        largest = max(largest, pair["L"])
        assert pair["mu"] <= 4 * largest / (k + 1) ** 2 * (1 + 1e-9)


@pytest.mark.parametrize(("loss", "intercept"), POLYHEDRAL, ids=repr)
def test_the_papers_rate(loss, intercept):
    """For a given L: gap_k <= 4 L D2 / ((k + 1)(k + 2)), with the condition at every step."""
    problem = make(loss, intercept=intercept, seed=1)
    L, D2 = lipschitz(problem), dual_set(problem).spread
    for k, (iterate, pair) in enumerate(run(problem, partial(pragam, L=L))):
        dual, primal = problem.dual(iterate.minorant), problem.evaluate(iterate.w, iterate.b)
        rounding = 1e-9 * (1 + abs(primal))
        assert pair["mu"] == pytest.approx(4 * L / ((k + 1) * (k + 2)))
        assert smoothed(problem, pair["w"], iterate.b, pair["mu"], pair["centre"]) <= dual + rounding
        assert primal - dual <= 4 * L * D2 / ((k + 1) * (k + 2)) + rounding


def test_constants():
    """D2 of the hinge is 1/2 in this norm, 1/(2n) in the papers', and L the largest eigenvalue."""
    problem = make(Hinge(), intercept=False)
    assert dual_set(problem).spread == pytest.approx(0.5)
    X = problem.design.X
    assert lipschitz(problem) == pytest.approx(
        np.linalg.eigvalsh(X.T @ X)[-1] / len(X) / problem.alpha, rel=1e-3
    )
    assert lipschitz(problem) >= np.linalg.eigvalsh(X.T @ X)[-1] / len(X) / problem.alpha
    K = 3
    assert dual_set(make(CrammerSinger(), intercept=False)).spread == pytest.approx((1 - 1 / K) / 2)
    tables = np.maximum(LENGTHS - 1, 1).mean()
    assert dual_set(make(ChainMargin(), intercept=False)).spread == pytest.approx(tables * (1 - 1 / K**2) / 2)


def test_an_L_that_is_too_small_breaks_the_condition():
    """The test above can fail."""
    problem = make(Hinge(), intercept=False, alpha=1e-3)
    L = 0.02 * lipschitz(problem)
    broken = [
        smoothed(problem, pair["w"], iterate.b, pair["mu"], pair["centre"]) > problem.dual(iterate.minorant)
        for iterate, pair in run(problem, partial(pragam, L=L))
    ]
    assert any(broken)


@pytest.mark.parametrize(
    ("loss", "intercept"), [*POLYHEDRAL, (Huber(0.5), True), (SquaredHinge(), False)], ids=repr
)
def test_smoothing_certifies_what_the_bundle_certifies(loss, intercept):
    problem = make(loss, intercept=intercept, alpha=1e-3, weighted=True)
    reference = solve(problem, "bundle", tol=1e-9).certificate
    solution = solve(problem, smoothing, tol=1e-8)
    assert solution.status is Status.CERTIFIED
    assert solution.certificate.dual <= reference.primal * (1 + 1e-12)
    assert reference.dual <= solution.certificate.primal * (1 + 1e-12)


@pytest.mark.parametrize("solver", [pragam, smoothing])
@pytest.mark.parametrize("loss", [Hinge(), CrammerSinger(), ChainMargin()], ids=repr)
def test_a_fit_goes_on_with_the_same_bytes(solver, loss):
    problem = make(loss, intercept=True)
    whole = solve(problem, solver, tol=0.0, max_iter=50)
    half = solve(problem, solver, tol=0.0, max_iter=20)
    rest = solve(problem, solver, tol=0.0, max_iter=30, start=half)
    assert [r.dual for r in rest.history][-1] == whole.history[-1].dual
    assert rest.w.tobytes() == whole.w.tobytes()


def test_a_start_from_known_weights_helps():
    problem = make(Hinge(), intercept=True, alpha=1e-3)
    near = make(Hinge(), intercept=True, alpha=2e-3)
    start = solve(near, tol=1e-8).w
    for solver in (pragam, smoothing):
        warm = solve(problem, solver, tol=1e-3, max_iter=3000, start=start)
        assert warm.converged


@pytest.mark.parametrize("solver", [pragam, smoothing])
def test_a_quadratic_form_and_known_offsets(solver):
    rng = np.random.default_rng(3)
    X, Q = rng.normal(size=(30, 4)), np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=30))
    problem = Problem(X, y, penalty=QuadraticForm(Q), alpha=1e-2, offset=rng.normal(size=30))
    reference = solve(problem, "bundle", tol=1e-9).certificate
    found = solve(problem, solver, tol=1e-4, max_iter=5000)
    assert found.converged
    assert abs(found.certificate.primal - reference.primal) <= found.certificate.gap + reference.gap


def test_a_kernel():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(40, 2))
    y = np.where((X**2).sum(axis=1) > 1.2, 1.0, -1.0)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    problem = Problem(KernelDesign(K), y, alpha=1e-2)
    reference = solve(problem, "bundle", tol=1e-8).certificate
    found = solve(problem, pragam, tol=1e-3, max_iter=3000)
    assert found.converged
    assert found.certificate.dual <= reference.primal and reference.dual <= found.certificate.primal


def test_one_class_only():
    X = np.random.default_rng(0).normal(size=(10, 2))
    for solver in (pragam, smoothing):
        solution = solve(Problem(X, np.ones(10), alpha=0.1), solver, tol=1e-6)
        assert solution.certificate.primal == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("loss", [Softmax(), ChainCRF()], ids=repr)
def test_smooth_losses_are_referred_to_a_smooth_solver(loss):
    for solver in ("pragam", "smoothing"):
        with pytest.raises(IncompatibleSolver, match=r"needs a loss made of lines and parabolas.*: .*lbfgs"):
            solve(make(loss, intercept=False), solver)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.2), Huber(0.5)], ids=repr)
def test_steps_along_a_line(loss, intercept, weighted):
    """Many samples, so that loops take several at a time; against the formula, a sample at a time."""
    problem = make(loss, intercept=intercept, weighted=weighted, n=1700)
    Q, rng = dual_set(problem), np.random.default_rng(9)
    n, p = len(problem.y), problem.weight / problem.weight.sum()
    sign, lin, kink, quad, lo, hi, _ = problem.form(Atoms)
    f, along, length = rng.normal(size=n), rng.normal(size=n), 2.0
    centre = Q.step(Q.centre, 0.3 * rng.normal(size=n), 1.0).z
    line = Q.line(centre, f, along, length)
    for t in (1.0, 4.0, 0.7, 0.7001):
        slope = line.slope(t)
        z, b = line.stop()
        drive = -sign * centre + length * p * (lin - sign * (f + t * along + b.sum()))
        free = np.sign(drive) * np.maximum(np.abs(drive) - length * p * kink, 0) / (1 + length * p * quad)
        np.testing.assert_allclose(z, -sign * np.clip(free, lo, hi), atol=1e-10 * np.abs(z).sum())
        assert (-sign * z >= lo).all() and (-sign * z <= hi).all()
        assert not intercept or abs(z.sum()) <= 1e-15 * np.abs(z).sum() * 8
        assert slope == pytest.approx(z @ along, rel=1e-2)  # by then the sum was nearly balanced
        loss_value, h = Q.values(f, b, z)
        assert loss_value == pytest.approx(problem.risk.value_and_subgradient(f, b)[0], rel=1e-12)
        assert h == pytest.approx(problem.form(Conjugate).value(z), rel=1e-12)


def test_the_compact_memory_is_that_of_two_loops():
    rng = np.random.default_rng(0)
    d, size = 7, 4
    penalty = QuadraticForm(np.diag(np.linspace(1, 3, d)) + 0.2)
    A = rng.normal(size=(d, d))
    A = A @ A.T + np.eye(d)
    memory, pairs = Memory(size, penalty), []
    for _ in range(2 * size + 1):
        s = rng.normal(size=d)
        memory.add(s, A @ s)
        pairs = [*pairs, (s, A @ s)][-size:]
    g = rng.normal(size=d)
    q, shares = g.copy(), []
    for s, y in reversed(pairs):
        shares.append(s @ q / (s @ y))
        q -= shares[-1] * y
    s, y = pairs[-1]
    direction = s @ y / (y @ penalty.argmax(y)) * penalty.argmax(q)
    for (s, y), share in zip(pairs, reversed(shares), strict=True):
        direction += s * (share - y @ direction / (s @ y))
    np.testing.assert_allclose(memory.direction(g, 1.0), -direction, rtol=1e-10)


@pytest.mark.parametrize("kind", ["sparse", "sparse float32", "dense", "wide"])
def test_two_products_in_one_pass(kind):
    """Of any size: few entries, and so many that they are shared among threads."""
    rng = np.random.default_rng(4)
    for n in (30, 9000):
        X = rng.normal(size=(n, 60)) * (rng.random((n, 60)) < 0.8)
        X = X if kind in ("dense", "wide") else sparse.csr_array(X)
        X = X.astype(np.float32) if "32" in kind else X
        design = WideDesign(MemoryDesign(X), 3) if kind == "wide" else MemoryDesign(X)
        u, v = rng.normal(size=(2, design.shape[0])) * (rng.random((2, design.shape[0])) < 0.5)
        for vectors in ((u,), (u, v)):
            for found, x in zip(design.adjoints(*vectors), vectors, strict=True):
                expected = np.asarray(X.T @ x.reshape(n, -1), dtype=float).ravel()
                np.testing.assert_allclose(found, expected, rtol=1e-6 if "32" in kind else 1e-10, atol=1e-4)
                np.testing.assert_allclose(found, design.adjoint(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_classes_along_a_line(weighted):
    """Every class has its samples' weight, and the step is the one that its offsets lead to."""
    problem = make(CrammerSinger(), intercept=True, weighted=weighted, n=700)
    Q, rng = dual_set(problem), np.random.default_rng(9)
    n, p = len(problem.y), problem.weight / problem.weight.sum()
    truth = np.eye(3)[problem.y.astype(int)]
    f, along, length = rng.normal(size=3 * n), rng.normal(size=3 * n), 1.5
    centre = Q.step(Q.centre, 0.3 * rng.normal(size=3 * n), 1.0).z
    line = Q.line(centre, f, along, length)
    for t in (1.0, 4.0, 0.7, 0.7001):
        slope = line.slope(t)
        z, b = line.stop()
        gains = (f + t * along).reshape(n, 3) + b + 1 - truth
        exact = np.array([max_on_simplex(m) for m in centre + length * gains])
        np.testing.assert_allclose(p @ z, p @ truth, atol=1e-15)
        assert (z >= 0).all() and np.abs(z.sum(axis=1) - 1).max() <= 1e-14
        # the few samples that a last small shift of the offsets moves off or onto a bound count in the square
        assert p @ ((z - exact) ** 2).sum(axis=1) <= 1e-8
        assert slope == pytest.approx(Q.slope(z) @ along, rel=1e-2, abs=1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_a_bound_counts_how_far_tables_are_from_those_of_a_distribution(seed):
    """Near the truth, where u and h nearly vanish, rounding of the tables does not."""
    rng = np.random.default_rng(seed)
    lengths, K = rng.integers(1, 5, size=3), int(rng.integers(2, 4))
    n = int(lengths.sum())
    design, chain = ChainDesign(rng.normal(size=(n, 2)), lengths, K), np.repeat(np.arange(3), lengths)
    problem = Problem(
        design, rng.integers(K, size=n), ChainMargin(), alpha=1.0, intercept=False, groups=chain
    )
    Q = dual_set(problem)
    exact = Q.truth.copy()
    assert Q._astray(exact).max() < 1e-12
    off = exact + 1e-9 * rng.uniform(-1, 1, exact.shape)
    nearest = Q.step(off, np.zeros(problem.design.shape[0]), 1e-30).z
    moved = np.abs(off - nearest).sum(axis=(1, 2))
    assert (moved <= Q._astray(off) + 1e-13).all()
    a, h = problem.design.adjoint(Q.slope(off)), Q.values(np.zeros(problem.design.shape[0]), Q.b, off)[1]
    plane = Q.minorant(a, off, h)
    for _ in range(20):  # below the risk, whatever the weights
        w = rng.normal(size=problem.design.shape[1]) * 10.0 ** rng.uniform(-12, 0)
        risk = problem.risk.value_and_subgradient(problem.scores(w), np.zeros(0))[0]
        lowest = plane.c - plane.noise - plane.spread * np.linalg.norm(w) + plane.a @ w
        assert lowest <= risk
