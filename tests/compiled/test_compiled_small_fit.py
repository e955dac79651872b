"""The parts of a small fit in one call: what is made ready, where it begins, the best intercept of lines."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from gapfit.compiled import small_fit, small_start
from gapfit.compiled.rows import as_rows
from gapfit.compiled.small import Losses, Net, Place
from gapfit.design.memory import MemoryDesign
from gapfit.losses.weighted_quantile import weighted_quantile
from kernels import entry

close = np.testing.assert_allclose


@pytest.mark.parametrize("seed", range(60))
def test_where_mass_passes_a_target(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 60))
    positions = rng.integers(0, 20, count).astype(float) if rng.random() < 0.5 else rng.normal(size=count)
    masses = rng.integers(1, 4, count) / 4.0 if rng.random() < 0.7 else rng.random(count) + 0.01
    target = float(rng.choice(np.cumsum(masses))) * rng.choice([1.0, 0.9])
    first, last = weighted_quantile(positions, masses, target)
    expected = 0.5 * (first + last) if np.isfinite(last) else first
    assert entry(small_fit._passing)(np.stack([positions, masses]), count, target) == expected


def rows_of(X):
    return as_rows(*MemoryDesign(X).rows())


def numbers(rng, n, **given):
    data = dict(sign=np.ones(n), lin=np.zeros(n), kink=np.zeros(n), quad=np.zeros(n), lo=np.zeros(n))
    data |= dict(hi=np.ones(n), weight=rng.integers(1, 4, n).astype(float))
    return small_fit.Data(rows=rows_of(rng.normal(size=(n, 3))), **{**data, **given})


def test_losses_are_weighted_as_atoms_are():
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], 20)
    data = numbers(rng, 20, sign=sign, lin=rng.normal(size=20), lo=np.full(20, -2.0))
    losses = Losses(*np.zeros((7, 20)))
    assert entry(small_fit.weighted)(data, losses, False)
    p = data.weight / data.weight.sum()
    close(losses.p, p)
    close(losses.target, sign * data.lin)
    close(losses.lower, np.where(sign > 0, -2 * p, -p))
    close(losses.upper, np.where(sign > 0, p, 2 * p))


def test_shares_of_many_samples_have_all_their_digits():
    rng = np.random.default_rng(0)
    weight = 10.0 ** rng.uniform(-6, 6, 20_000)
    data, losses = numbers(rng, 20_000, weight=weight), Losses(*np.zeros((7, 20_000)))
    entry(small_fit.weighted)(data, losses, False)
    total = sum(map(Fraction, weight.tolist()))
    some = range(0, 20_000, 97)
    errors = [abs(Fraction(losses.p[i]) * total / Fraction(weight[i]) - 1) for i in some]
    assert max(errors) <= 3 * Fraction(2) ** -53


@pytest.mark.parametrize(
    "strange",
    [{"lin": np.full(20, 1e200)}, {"quad": np.arange(20.0)}, {"lin": np.full(20, np.nan)}],
    ids=["large", "of two kinds", "no number"],
)
def test_strange_losses_are_refused(strange):
    losses = Losses(*np.zeros((7, 20)))
    data = numbers(np.random.default_rng(0), 20, **strange)
    assert not entry(small_fit.weighted)(data, losses, False)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_rows_are_centred(kind):
    rng = np.random.default_rng(1)
    X, p = rng.normal(size=(20, 3)) + 5.0, np.full(20, 0.05)
    out, mean = np.zeros((20, 3)), np.zeros(3)
    assert entry(small_fit.is_reasonable)(rows_of(kind(X)))
    entry(small_fit.put_mean_row)(rows_of(kind(X)), p, mean)
    close(mean, X.mean(axis=0))
    entry(small_fit._put_rows)(rows_of(kind(X)), mean, out)
    close(out, X - X.mean(axis=0), atol=1e-12)
    X[3, 1] = np.nan
    assert not entry(small_fit.is_reasonable)(rows_of(kind(X)))


@pytest.mark.parametrize("told", [False, True])
def test_a_fit_begins_at_the_mean_target_with_a_rounding_that_reaches_most(told):
    rng = np.random.default_rng(2)
    n, p, none = 30, np.full(30, 1 / 30), np.zeros(30)
    losses = Losses(rng.normal(size=n), none, none, -p, p, none, p)
    arrays = {name: np.zeros(n) for name in Place._fields}
    place = Place(**arrays)
    net, course = entry(small_start.start)(
        rng.normal(size=(n, 2)), losses, Net(0.0, 1.0, True, 0.0, 0.0, 0.0), place, np.nan, told, None
    )
    distance = np.abs(losses.target - losses.target.mean())
    spread = distance.mean() if told else min((distance**2).mean() / distance.mean(), 8 * distance.mean())
    close(course.b, losses.target.mean())
    close(place.f, course.b)
    close(course.c, (4.0 if told else 1.0) * 2 / (2 * spread))
    assert net.least_bend > 0 and net.least == 0.0
