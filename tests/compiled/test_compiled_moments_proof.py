"""The proof of least squares by moments, against sums over the samples in fractions."""

from fractions import Fraction

import numpy as np
import pytest

from gapfit.compiled import moments_proof
from gapfit.compiled.small_model import Net
from kernels import entry

prove = entry(moments_proof.prove_by_moments)


def exactly(values):
    return [Fraction(float(value)) for value in np.ravel(values)]


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("l1, l2", [(0.0, 1e-2), (1e-2, 0.0), (5e-3, 5e-3)])
def test_sums_are_within_what_is_counted(seed, l1, l2):
    rng = np.random.default_rng([seed, int(1e4 * l1)])
    d, n = int(rng.integers(1, 5)), 2 ** int(rng.integers(2, 6))  # so that shares have no rounding
    Z = rng.normal(size=(n, d + 1)) * 10.0 ** rng.uniform(-3, 3, d + 1) + rng.choice([0.0, 10.0])
    Z = np.hstack([Z, np.ones((n, 1))])
    w = rng.normal(size=d) * 10.0 ** rng.uniform(-3, 1, d) * (rng.random(d) < 0.7)
    v, (product, slack) = np.append(w, [-1.0, 0.0]), np.empty((2, d + 2))
    found = prove(Z.T @ Z / n, n, Net(l1, l2, True, 0.0, 0.0, 0.0), v, 0.0, product, slack)
    a = [sum(x * b for x, b in zip(exactly(row), exactly(v), strict=True)) for row in Z]
    mean = sum(a) / n
    risk = sum(x * x for x in a) / (2 * n)
    assert abs(Fraction(found.risk) - risk) <= Fraction(found.risk_error)
    if not np.isfinite(found.conjugate):
        return
    # the dual point has slopes t (a - mean) / n; t is one, unless there is l1 alone
    slopes = [sum(Fraction(float(Z[i, j])) * (a[i] - mean) for i in range(n)) / n for j in range(d)]
    steepest, t = (np.abs(product) + slack)[:d].max(), 1.0
    if l2 == 0.0 and steepest > l1:
        t = l1 / steepest * (1.0 - 2.0**-50)
    t = Fraction(t)
    beyond = [max(abs(t * s) - Fraction(l1), 0) for s in slopes]
    if l2:
        conjugate = sum(x * x for x in beyond) / (2 * Fraction(l2))
        assert conjugate <= Fraction(found.conjugate) + Fraction(found.conjugate_error)
    else:
        assert not any(beyond)  # in the domain, without a doubt
    height = -sum(
        t * (x - mean) * Fraction(float(row[d])) + t * t * (x - mean) ** 2 / 2
        for x, row in zip(a, Z, strict=True)
    ) / n  # fmt: skip
    assert abs(Fraction(found.height) - height) <= Fraction(found.height_error)
