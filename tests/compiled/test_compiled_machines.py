"""Many machines in one kernel matrix, against the same sums in NumPy, machine by machine."""

import numpy as np
import pytest

from gapfit.compiled import machines, smo
from gapfit.losses.atoms import Atoms

N, FIRST = 14, np.array([0, 5, 12, 26])
ROWS = np.array([0, 1, 2, 7, 8, 1, 3, 4, 5, 9, 12, 13, *range(N)])
RUN = np.array([0, 3, 5, 6, 9, 10, 12, 26])
PARTS = machines.Parts(ROWS, FIRST, RUN, np.array([0, 2, 6, 7]))
PIECES = [slice(0, 5), slice(5, 12), slice(12, 26)]
close = np.testing.assert_allclose


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def K(rng):
    Z = rng.normal(size=(N, 20))
    return Z @ Z.T / 20


def hinges(rng):
    size = FIRST[-1]
    sign, zero = rng.choice([-1.0, 1.0], size), np.zeros(size)
    return Atoms(sign, np.ones(size), zero, zero, zero, rng.random(size), 0.0)


def test_products_in_blocks(rng, K):
    w, scores = rng.normal(size=FIRST[-1]), np.empty(FIRST[-1])
    w[::3] = 0.0
    machines.products(K, PARTS, w, scores)
    for here in PIECES:
        close(scores[here], K[np.ix_(ROWS[here], ROWS[here])] @ w[here], atol=1e-13)


def test_sums_of_each_machine(rng):
    x, y, sums = *rng.normal(size=(2, FIRST[-1])), np.empty((2, 3))
    machines.dots(PARTS, x, y, sums)
    close(sums, [[x[p] @ y[p] for p in PIECES], [np.abs(x[p]) @ np.abs(y[p]) for p in PIECES]])


def test_losses_and_conjugates_of_each_machine(rng):
    atoms, scores = hinges(rng), rng.normal(size=FIRST[-1])
    slack, b, sums = np.full(FIRST[-1], 1e-3), rng.normal(size=3), np.empty((3, 3))
    machines.values(atoms, PARTS, (scores, np.zeros_like(slack), slack, 2.0**-53), b, sums)
    for k, here in enumerate(PIECES):
        losses = atoms.hi[here] * np.maximum(0.0, 1 - atoms.sign[here] * (scores[here] + b[k]))
        close(sums[:2, k], losses.sum())
        assert 0 < sums[2, k] <= 1.001e-3 * atoms.hi[here].sum()
    u, sums = -atoms.sign * atoms.hi * rng.random(FIRST[-1]), np.empty((5, 3))
    machines.conjugates(atoms, PARTS, u, sums)
    for k, here in enumerate(PIECES):
        close(
            (sums[0, k], sums[2, k] + sums[3, k]), ((atoms.sign * u)[here].sum(), u[here].sum()), atol=1e-14
        )


def test_best_offsets_of_each_machine(rng):
    atoms, scores = hinges(rng), rng.normal(size=FIRST[-1])
    least, most = np.empty((2, 3))
    machines.offsets(atoms, PARTS, scores, np.empty((2, 2 * N)), least, most)
    for k, here in enumerate(PIECES):

        def total(b, here=here):
            return (atoms.hi * np.maximum(0.0, 1 - atoms.sign * (scores + b)))[here].sum()

        lowest = min(map(total, (atoms.sign - scores)[here]))
        if np.isfinite(least[k]):
            close(total(least[k]), lowest)


def test_dual_points_are_balanced_machine_by_machine(rng):
    size = FIRST[-1]
    u, p, upper, out = rng.normal(size=size), np.ones(size), rng.random(size), np.empty(size)
    lower, k = -rng.random(size), -1
    while (k := machines.project(PARTS, k + 1, u, p, lower, upper, (0.0, 1e-15), out)) < 3:
        out[PIECES[k]] = 0.0  # it takes a longer search
    for here in PIECES:
        assert abs(out[here].sum()) <= 1e-14 and (out >= lower).all() and (out <= upper).all()


def test_each_machine_ascends_to_its_own_target(rng, K):
    y = rng.choice([-1.0, 1.0], FIRST[-1])
    y[FIRST[:-1]], y[FIRST[:-1] + 1] = 1.0, -1.0
    limits = smo.Limits(np.minimum(y, 0.0), np.maximum(y, 0.0), np.zeros_like(y), False)
    v, G = np.zeros_like(y), -y
    taken, violation = np.zeros(3, np.int64), np.full(3, np.inf)
    way = machines.Way(y, *np.zeros((2, 3, 12)), np.zeros(3, np.int64))
    machines.ascend(K, PARTS, G, v, limits, 2000, np.array([1e-6, np.inf, 1e-6]), taken, violation, way)
    assert taken[1] == 0 and taken[0] > 0 and taken[2] > 0 and (violation[[0, 2]] <= 1e-6).all()
    for k, here in ((0, PIECES[0]), (2, PIECES[2])):
        slopes = K[np.ix_(ROWS[here], ROWS[here])] @ v[here] - y[here]
        close(G[here], slopes, atol=1e-12)
        assert abs(v[here].sum()) <= 1e-12
        rising, falling = v[here] < limits.upper[here], v[here] > limits.lower[here]
        assert slopes[falling].max() - slopes[rising].min() <= 2e-6
        assert violation[k] >= 0 or not falling.any()
