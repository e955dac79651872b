"""The multiclass support vector machine on small data: rounded loss, sweeps, and a fit against fractions."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from gapfit.compiled import small_margins, small_margins_fit, small_margins_kept, small_margins_sweeps
from gapfit.compiled.rows import as_rows
from gapfit.compiled.small_curved import CLASSES, Curved
from gapfit.compiled.small_curved_newton import POINTS, Work
from gapfit.compiled.small_curved_proof import Proof
from gapfit.design.memory import MemoryDesign
from kernels import entry

rounded, loss_of = entry(small_margins.rounded), entry(small_margins.loss_of)
bend_rounded, put_hessian = entry(small_margins.bend_rounded), entry(small_margins.put_hessian)
curvature_rounded = entry(small_margins.curvature_rounded)
begin, sweeps = entry(small_margins_sweeps.begin), entry(small_margins_sweeps.sweeps)
kept_sweeps, seems_far = entry(small_margins_kept.kept_sweeps), entry(small_margins_sweeps.seems_far)


def drawn(seed, alpha, *, newton=True):
    """A task with its margins, where to work, and X."""
    rng = np.random.default_rng(seed)
    n, d, K = int(rng.integers(5, 30)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.6, 1.0]))
    y = rng.permutation(np.arange(n) % K)
    p = rng.random(n) + 0.1
    rows = as_rows(*MemoryDesign(sparse.csr_matrix(X) if rng.random() < 0.5 else X).rows())
    task = Curved(rows, CLASSES, d, y.astype(float), p / p.sum(), alpha, False)
    costs = (1 - np.eye(K)) * rng.choice([1.0, 0.5, 2.0], (K, K))
    centre = rng.dirichlet(np.ones(K), n)
    margins = small_margins.Margins(costs, y, centre, np.array([3.0]), np.zeros(n, np.int64))
    side = d * K if newton else 0
    work = Work(
        np.zeros((7, d * K + K)), *np.zeros((3, n, K)), np.zeros((n, K)), np.zeros((side, side)),
        np.zeros((3, d + 1)), np.zeros((K, K)), np.zeros(2, np.int64), np.zeros((2, POINTS)),
    )  # fmt: skip
    return rng, X, task, margins, work


@pytest.mark.parametrize("seed", range(10))
def test_the_rounded_loss_is_the_greatest_of_its_kind(seed):
    rng, _, task, margins, _ = drawn(seed, 1.0)
    K = len(margins.costs)
    for i in range(len(task.y)):
        f, b, truth, a = rng.normal(size=K), np.zeros(K), int(task.y[i]), np.zeros(K)
        value = rounded(margins, i, f, b, truth, a)
        g = margins.costs[truth] + f - f[truth]
        others = np.vstack([rng.dirichlet(np.ones(K), 50), np.eye(K), a])
        values = others @ g - ((others - margins.centre[i]) ** 2).sum(axis=1) / 6.0
        assert value == pytest.approx(values[-1])
        assert (values <= value + 1e-12).all()
        assert loss_of(margins, i, f, b, truth) == pytest.approx(g.max())
        v, h, there = rng.normal(size=K), 1e-7, np.zeros(K)
        rounded(margins, i, f + h * v, b, truth, there)
        if ((there > 0) == (a > 0)).all():
            bent = v.copy()
            bend_rounded(margins, 1.0, a, bent)
            np.testing.assert_allclose(bent, (there - a) / h, atol=1e-6)
        support = (a > 0).sum()
        assert curvature_rounded(margins, a) == pytest.approx(3.0 * (support - 1) / (K - 1))


@pytest.mark.parametrize("seed", range(10))
def test_the_hessian_is_that_of_the_rounded_risk(seed):
    rng, X, task, margins, work = drawn(seed, 0.7)
    (n, d), K = X.shape, len(margins.costs)
    for i in range(n):
        rounded(margins, i, rng.normal(size=K), np.zeros(K), int(task.y[i]), work.answers[i])
    put_hessian(task, margins, work.answers, work.matrix)
    L = np.tril(work.matrix)
    W = rng.normal(size=(d, K))
    V = X @ W
    for i in range(n):
        bend_rounded(margins, task.p[i], work.answers[i], V[i])
    order = "C" if task.rows.indices.size else "F"  # weights of sparse rows stand feature by feature
    product = (0.7 * W + X.T @ V).ravel(order)
    np.testing.assert_allclose(L @ (L.T @ W.ravel(order)), product, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_sweeps_keep_weights_and_shares_together(seed, kept):
    _, X, task, margins, work = drawn(seed, 0.3)
    (n, d), K = X.shape, len(margins.costs)
    W, curvature = np.ones(d * K), np.zeros(n)
    if kept:
        assert kept_sweeps(task, margins, work, X @ X.T, W, 1e-6, 1e12)
    else:
        begin(task, margins, work, W, curvature)
        assert sweeps(task, margins, work, W, curvature, 1e-3, 1e9)
        assert sweeps(task, margins, work, W, curvature, 1e-6, 1e9)  # they go on
    A = work.answers
    assert A.min() >= 0 and A.sum(axis=1) == pytest.approx(1)
    B = task.p[:, None] * (np.eye(K)[task.y.astype(int)] - A)
    np.testing.assert_allclose(W.reshape(d, K), X.T @ B / 0.3, atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_gap_of_kept_scores_is_that_of_the_point(seed):
    _, X, task, margins, work = drawn(seed, 0.3)
    (n, d), K = X.shape, len(margins.costs)
    W = np.ones(d * K)
    kept_sweeps(task, margins, work, X @ X.T, W, 1e-3, 1e12)
    y, costs = task.y.astype(int), margins.costs[margins.row]
    F = X @ W.reshape(d, K)
    J = 0.15 * (W**2).sum() + task.p @ (costs + F - F[np.arange(n), y][:, None]).max(axis=1)
    bound = task.p @ (costs * work.answers).sum(axis=1) - 0.15 * (W**2).sum()
    passed = work.passed[0]
    assert work.way[0, passed - 1] == pytest.approx(J)
    assert work.way[1, passed - 1] == pytest.approx(J - bound, abs=1e-12)


def test_far_is_what_would_take_more_turns_at_the_pace_of_the_way():
    gaps = 0.5 ** np.arange(20.0)
    gaps[7] = 3.0  # gaps swing
    assert not seems_far(gaps, 10, gaps[14], 5.0)
    assert seems_far(gaps, 10, gaps[19], 5.0)
    assert seems_far(np.ones(20), 10, 0.5, 1e9)  # there is none


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize("seed", range(30))
def test_bounds_are_bounds_in_exact_arithmetic(seed, newton, kept):
    alpha = 10.0 ** -np.random.default_rng(seed).uniform(0, 4)
    rng, X, task, margins, work = drawn(seed, alpha, newton=newton)
    (n, d), K = X.shape, len(margins.costs)
    room = np.zeros(n), np.zeros((n, K)), np.zeros((2, d * K)), np.zeros((2, d)), np.zeros(K)
    proof, W = Proof(np.zeros((n, K)), *room), np.zeros(d * K)
    rest, fits = (1e-6, work, proof, W, np.zeros((2, K))), small_margins_fit
    weight = rng.random(n) + 0.01
    if kept:
        found = fits.by_kept_sweeps(task, margins, X @ X.T, weight, *rest)
    else:
        found = fits.by_sweeps(task, margins, weight, *rest)
    if newton and not np.isfinite(found.risk):
        found = fits.by_newton(task, margins, *rest)
    if not np.isfinite(found.risk):
        assert not newton  # it was slow
        return
    if newton:
        assert found.omega + found.risk <= (found.height - found.conjugate) * (1 + 1e-6) + 1e-12
    w = [[Fraction(W[j * K + k]) for k in range(K)] for j in range(d)]
    risk = height = square = Fraction(0)
    for i, p in enumerate(map(Fraction, task.p)):
        y, cost = int(task.y[i]), list(map(Fraction, margins.costs[int(task.y[i])]))
        f = [sum(Fraction(X[i, j]) * w[j][k] for j in range(d)) for k in range(K)]
        risk += p * max(cost[k] + f[k] - f[y] for k in range(K))
        u = list(map(Fraction, proof.dual[i]))
        assert sum(u) == 0
        height += sum(c * x for c, x in zip(cost, u, strict=True))
        u[y] += p
        assert min(u) >= 0
    for j in range(d):
        for k in range(K):
            square += sum(Fraction(X[i, j]) * Fraction(proof.dual[i, k]) for i in range(n)) ** 2
    assert abs(risk - Fraction(found.risk)) <= Fraction(found.risk_error)
    assert abs(height - Fraction(found.height)) <= Fraction(found.height_error)
    assert abs(square / (2 * Fraction(alpha)) - Fraction(found.conjugate)) <= Fraction(found.conjugate_error)
