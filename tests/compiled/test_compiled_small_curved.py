"""Losses that are curved: slopes and second derivatives against differences, their minimum by Newton."""

import numpy as np
import pytest
from scipy import sparse

from gapfit.compiled import small_curved, small_curved_fit, small_curved_newton
from gapfit.compiled.rows import as_rows
from gapfit.compiled.small_curved_proof import Proof
from gapfit.design.memory import MemoryDesign
from kernels import entry

evaluate, descend = entry(small_curved_newton.evaluate), entry(small_curved_newton.descend)
slopes, bend = entry(small_curved.slopes), entry(small_curved.bend)
KINDS = (small_curved.CLASSES, small_curved.LEVELS, small_curved.NEIGHBOURS)


def drawn(seed, kind, *, dense):
    """A task, and where to work."""
    rng = np.random.default_rng([seed, kind])
    n, d, K = int(rng.integers(8, 30)), int(rng.integers(1, 5)), int(rng.integers(2, 5))
    X, y = rng.normal(size=(n, d)), rng.permutation(np.arange(n) % K).astype(float)
    m, q = (K, K) if kind == small_curved.CLASSES else (1, K - 1)
    free = rng.random() < 0.6 or m < q
    rows = as_rows(*MemoryDesign(sparse.csr_matrix(X) if rng.random() < 0.5 else X).rows())
    task = small_curved.Curved(rows, kind, d, y, np.full(n, 1 / n), 10 ** rng.uniform(-3, 0), free)
    single = d + (q if m == 1 else 1)
    side = single if dense else 0
    work = small_curved_newton.Work(
        np.zeros((7, m * d + q)), *np.zeros((3, n, m)), np.zeros((n, q)), np.zeros((side, side)),
        np.zeros((3, single)), np.zeros((q, q)), np.zeros(2, np.int64),
        np.zeros((2, small_curved_newton.POINTS)),
    )  # fmt: skip
    return rng, X, task, work, m, q


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_those_of_the_risk(kind, seed):
    rng, _, task, work, m, q = drawn(seed, kind, dense=True)
    task = task._replace(free=True)
    F, b, n, h = rng.normal(size=(len(task.y), m)), rng.normal(size=q), len(task.y), 1e-5

    def at(F, b):
        """The risk, and its slopes."""
        work.F[:] = F
        risk, U, e = evaluate(task, None, work, b), np.zeros((n, m)), np.zeros(q)
        slopes(task, work.answers, U, e)
        return risk, U, e

    V, t = rng.normal(size=(n, m)), rng.normal(size=q)
    (after, U1, e1), (before, U0, e0) = at(F + h * V, b + h * t), at(F - h * V, b - h * t)
    _, U, e = at(F, b)
    assert (U * V).sum() + e @ t == pytest.approx((after - before) / (2 * h), rel=1e-6)
    bent, in_b = V.copy(), np.zeros(q)
    bend(task, None, work.answers, bent, t, in_b)
    np.testing.assert_allclose(bent, (U1 - U0) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(in_b, (e1 - e0) / (2 * h), atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_newton_ends_where_slopes_vanish(kind, dense, seed):
    _, X, task, work, m, q = drawn(seed, kind, dense=dense)
    risk = evaluate(task, None, work, work.lines[0, m * task.d :])
    risk, going = descend(task, None, work, risk, 1e-12, 0.0)
    assert going
    W = work.lines[0, : m * task.d]  # of sparse rows feature by feature
    W = W.reshape(task.d, m).T if task.rows.indices.size else W.reshape(m, task.d)
    np.testing.assert_allclose(work.F, X @ W.T, atol=1e-10)
    U, e = np.zeros_like(work.F), np.zeros(q)
    slopes(task, work.answers, U, e)
    np.testing.assert_allclose(task.alpha * W.T + X.T @ U, 0, atol=1e-5)
    np.testing.assert_allclose(e, 0, atol=1e-5)
    assert evaluate(task, None, work, work.lines[0, m * task.d :]) == pytest.approx(risk)


@pytest.mark.parametrize("kind", KINDS)
def test_products_come_to_an_end(kind):
    """A call cannot be interrupted: after so many of them it gives up."""
    _, _, task, work, m, _ = drawn(1, kind, dense=False)
    risk = evaluate(task, None, work, work.lines[0, m * task.d :])
    size = 2 * task.rows.data.size * m
    work.passed[1] = int(small_curved_newton.LONGEST / size) - 1
    _, going = descend(task, None, work, risk, 1e-12, 0.0)
    assert not going
    assert work.passed[1] <= small_curved_newton.LONGEST / size + 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_proves_what_it_has_found(kind):
    _, X, task, work, m, q = drawn(0, kind, dense=True)
    n, d = X.shape
    lines = np.zeros((n, m)), np.zeros((2, d * m)), np.zeros((2, d))
    proof = Proof(np.zeros((n, q)), np.zeros(n), *lines, np.zeros(q))
    rooms = (np.zeros((2, q)), None) if kind == small_curved.CLASSES else (None, np.zeros((2, n)))
    W = np.zeros(m * d)
    found = small_curved_fit.fit(task, None, np.ones(n), 1e-8, work, proof, W, *rooms)
    J, bound = found.omega + found.risk, found.height - found.conjugate
    assert bound <= J <= bound + 1e-8 * J
    assert found.omega == pytest.approx(0.5 * task.alpha * float(W @ W))
