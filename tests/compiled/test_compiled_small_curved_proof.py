"""Sums of the proof of a small fit of softmax, thresholds and counts, against sixty digits."""

from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp
from scipy import sparse

from gapfit.compiled import small_curved, small_curved_proof
from gapfit.compiled.rows import as_rows
from gapfit.design.memory import MemoryDesign
from kernels import entry

prove = entry(small_curved_proof.prove_curved)
KINDS = (small_curved.CLASSES, small_curved.LEVELS, small_curved.NEIGHBOURS)


def drawn(seed, kind):
    """A task, weights, offsets, and answers that are as good as anyone's, some of them next to an end."""
    rng = np.random.default_rng([seed, kind])
    n, d, K = int(rng.integers(2, 30)), int(rng.integers(1, 5)), int(rng.integers(2, 6))
    X = rng.normal(size=(n, d)) + rng.choice([0.0, 10.0, 1e4])
    X *= rng.random((n, d)) < rng.choice([0.5, 1.0])
    p = 10.0 ** rng.uniform(-rng.choice([0, 6]), 0, n)
    p /= p.sum()
    y = rng.integers(0, K, n).astype(float)
    m, q = (K, K) if kind == small_curved.CLASSES else (1, K - 1)
    W = rng.normal(size=d * m) * 10.0 ** rng.uniform(-3, 0) / np.repeat(np.abs(X).max(axis=0) + 1, m)
    b = rng.normal(size=q)
    near = 10.0 ** rng.uniform(-rng.choice([1, 20]), 0, (n, q))
    answers = np.where(rng.random((n, q)) < 0.5, near, 1 - near)
    if kind == small_curved.CLASSES:
        answers /= answers.sum(axis=1, keepdims=True)
    level = y.astype(int)[:, None] - np.arange(q)
    if kind == small_curved.NEIGHBOURS:
        answers *= (level == 0) | (level == 1)
    free = bool(rng.random() < 0.6)
    rows = as_rows(*MemoryDesign(sparse.csr_matrix(X) if rng.random() < 0.5 else X).rows())
    task = small_curved.Curved(rows, kind, d, y, p, 10.0 ** rng.uniform(-3, 0), free)
    return task, X, answers, W, b if free else 0.0 * b


def proof_of(n, d, m, q):
    room = np.zeros(n), np.zeros((n, m)), np.zeros((2, d * m)), np.zeros((2, d)), np.zeros(q)
    return small_curved_proof.Proof(np.zeros((n, q)), *room)


def loss_of(task, i, f, b):
    """In as many digits as there are."""
    y = task.y[i]
    if task.kind == small_curved.CLASSES:
        return mp.log(sum(mp.exp(f[k] + b[k] - f[int(y)] - b[int(y)]) for k in range(len(b))))
    total = mp.mpf(0)
    for k in range(len(b)):
        if task.kind == small_curved.LEVELS or y in (k, k + 1):
            total += mp.log1p(mp.exp((b[k] - f[0]) * (1 if y > k else -1)))
    return total


def entropy(*shares):
    return sum(x * mp.log(x) for x in shares if x > 0)


def conjugate_of(task, i, dual):
    """p times the conjugate of the loss at a sample's slopes; asserts that it is in the domain."""
    y, p = task.y[i], mp.mpf(task.p[i])
    if task.kind == small_curved.CLASSES:
        assert sum(map(Fraction, dual)) == 0
        slopes = [mp.mpf(x) + (p if k == int(y) else 0) for k, x in enumerate(dual)]
        assert min(slopes) >= 0
        return p * entropy(*(x / p for x in slopes))
    total = mp.mpf(0)
    for k, x in enumerate(dual):
        sign = 1 if y > k else -1
        here = task.kind == small_curved.LEVELS or y in (k, k + 1)
        assert 0 <= sign * x <= (task.p[i] if here else 0)
        a = mp.mpf(sign * x) / p
        total += p * entropy(a, 1 - a)
    return total


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_bounds_in_sixty_digits(kind, seed):
    task, X, answers, W, b = drawn(seed, kind)
    (n, d), q = X.shape, len(b)
    m = q if kind == small_curved.CLASSES else 1
    proof = proof_of(n, d, m, q)
    rooms = (np.zeros((2, q)), None) if m > 1 else (None, np.zeros((2, n)))
    found = prove(task, None, answers, W, b, proof, *rooms)
    with mp.workdps(60):
        w = [[mp.mpf(W[j * m + k]) for k in range(m)] for j in range(d)]
        scores = [[sum(mp.mpf(X[i, j]) * w[j][k] for j in range(d)) for k in range(m)] for i in range(n)]
        offsets = [mp.mpf(x) for x in b]
        risk = sum(mp.mpf(task.p[i]) * loss_of(task, i, scores[i], offsets) for i in range(n))
        assert abs(risk - found.risk) <= found.risk_error
        assert found.risk_error <= 1e-6 * abs(risk) + 1e-9
        omega = mp.mpf(task.alpha) / 2 * sum(x * x for row in w for x in row)
        assert abs(omega - found.omega) <= found.omega_error
        if not np.isfinite(found.conjugate):
            assert task.free  # balance is all that may fail
            return
        dual = proof.dual
        if task.free:
            for k in range(q):
                assert sum(map(Fraction, dual[:, k])) == 0
        height = -sum(conjugate_of(task, i, dual[i]) for i in range(n))
        assert abs(height - found.height) <= found.height_error
        slopes = [[mp.mpf(x) for x in row] if m > 1 else [sum(map(mp.mpf, row))] for row in dual]
        total = mp.mpf(0)
        for k in range(m):
            for j in range(d):
                total += sum(slopes[i][k] * mp.mpf(X[i, j]) for i in range(n)) ** 2
        assert abs(total / (2 * mp.mpf(task.alpha)) - found.conjugate) <= found.conjugate_error
