"""Sums of the proof of a small fit, against fractions."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from gapfit.compiled import small_proof
from gapfit.compiled.rows import as_rows
from gapfit.compiled.small_model import Losses, Net
from gapfit.design.memory import MemoryDesign
from kernels import entry

prove = entry(small_proof.prove)


def rows_of(X, rng):
    """As compiled code has them, dense or sparse."""
    return as_rows(*MemoryDesign(sparse.csr_matrix(X) if rng.random() < 0.5 else X).rows())


def exactly(values):
    return [Fraction(float(value)) for value in values]


def losses_of(rng, n, *, lines, entropy):
    p = rng.random(n) + 0.1
    p /= p.sum()
    none, target = np.zeros(n), rng.normal(size=n) * 10.0 ** rng.uniform(-2, 4)
    if entropy:
        up = rng.random(n) < 0.5
        return Losses(none, none, none, np.where(up, 0.0, -p), np.where(up, p, 0.0), p, p)
    kink = rng.random() * (rng.random() < 0.5) * np.ones(n)
    quad = none if lines else 1 / p
    reach = rng.choice([1.0, 0.3]) if lines or rng.random() < 0.5 else np.inf
    return Losses(target, kink, quad, -reach * p, p * reach * rng.choice([1.0, 0.5]), none, p)


def value_of(losses, i, f):
    """The loss of a sample at score f, as a fraction: the maximum of a concave parabola over its box."""
    margin, kink, quad, lower, upper = (
        Fraction(float(x)) if np.isfinite(x) else x
        for x in (losses.target[i], losses.kink[i], losses.quad[i], losses.lower[i], losses.upper[i])
    )
    margin -= f
    best = Fraction(0)
    for sign, end in ((1, upper), (-1, lower)):
        drive = sign * margin - kink
        if drive > 0 and end != 0:
            a = drive / quad if quad else abs(end)
            a = a if np.isinf(float(end)) else min(a, abs(end))
            best = max(best, drive * a - quad * a * a / 2)
    return best


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("l1, l2", [(0.0, 1e-2), (1e-2, 0.0), (5e-3, 5e-3)])
def test_bounds_are_bounds_in_exact_arithmetic(seed, l1, l2):
    rng = np.random.default_rng([seed, int(1e4 * l1)])
    n, d, free = int(rng.integers(2, 30)), int(rng.integers(1, 6)), bool(rng.random() < 0.6)
    X = rng.normal(size=(n, d)) + rng.choice([0.0, 1e3, 1e7])
    losses = losses_of(rng, n, lines=rng.random() < 0.5, entropy=False)
    w, b = rng.normal(size=d) * 10.0 ** rng.uniform(-3, 1), float(rng.normal() * free)
    v = rng.normal(size=n) * losses.p
    net = Net(l1, l2, free, 0.0, 0.0, 0.0)
    found = prove(rows_of(X, rng), losses, net, w, b, v, np.zeros(d), np.zeros(d), np.zeros((2, 2 * n)))
    rows, weights, dual = [exactly(row) for row in X], exactly(w), exactly(v)
    scores = [sum(x * a for x, a in zip(row, weights, strict=True)) + Fraction(b) for row in rows]
    risk = sum(value_of(losses, i, f) for i, f in enumerate(scores))
    assert abs(Fraction(found.risk) - risk) <= Fraction(found.risk_error)
    omega = sum(Fraction(l1) * abs(a) + Fraction(l2) * a * a / 2 for a in weights)
    assert abs(Fraction(found.omega) - omega) <= Fraction(found.omega_error)
    if not np.isfinite(found.conjugate):
        return
    assert not free or sum(dual) == 0
    height = sum(
        Fraction(float(losses.target[i])) * a
        - Fraction(float(losses.kink[i])) * abs(a)
        - Fraction(float(losses.quad[i])) * a * a / 2
        for i, a in enumerate(dual)
    )
    assert abs(Fraction(found.height) - height) <= Fraction(found.height_error)
    slopes = [sum(row[j] * a for row, a in zip(rows, dual, strict=True)) for j in range(d)]
    beyond = [max(abs(slope) - Fraction(l1), 0) for slope in slopes]
    if l2:
        conjugate = sum(x * x for x in beyond) / (2 * Fraction(l2))
        assert conjugate <= Fraction(found.conjugate) + Fraction(found.conjugate_error)
    else:
        assert not any(beyond)  # in the domain, without a doubt


@pytest.mark.parametrize("seed", range(30))
def test_entropies_have_the_digits_that_are_counted(seed):
    from mpmath import mp

    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 30)), 3
    X, losses = rng.normal(size=(n, d)), losses_of(rng, n, lines=False, entropy=True)
    w, b = rng.normal(size=d) * 10.0 ** rng.uniform(-2, 2), float(rng.normal())
    near = 10.0 ** rng.uniform(-17, 0, n)  # to an end of the box
    v = np.where(rng.random(n) < 0.5, near, 1 - near) * np.where(losses.upper > 0, losses.p, -losses.p)
    found = prove(
        rows_of(X, rng),
        losses,
        Net(0.0, 1.0, False, 0.0, 0.0, 0.0),
        w,
        b,
        v,
        np.zeros(d),
        np.zeros(d),
        np.zeros((2, 2 * n)),
    )
    with mp.workdps(60):
        risk = height = mp.mpf(0)
        for i in range(n):
            score = sum((mp.mpf(x) * mp.mpf(a) for x, a in zip(X[i], w, strict=True)), mp.mpf(b))
            sign = 1 if losses.upper[i] > 0 else -1
            risk += mp.mpf(losses.p[i]) * mp.log1p(mp.exp(-sign * score))
            a = mp.mpf(abs(v[i])) / mp.mpf(losses.p[i])
            height -= mp.mpf(losses.p[i]) * sum(x * mp.log(x) for x in (a, 1 - a) if x > 0)
        assert abs(risk - found.risk) <= found.risk_error
        assert abs(height - found.height) <= found.height_error
