"""Steps of a small fit by columns, against dense algebra."""

import numpy as np
import pytest
from scipy import sparse

from gapfit.compiled import column, small_column_model, small_columns
from gapfit.compiled.columns import Columns as Stored
from gapfit.compiled.columns import Model
from gapfit.compiled.small import Course, Losses, Net, Place
from gapfit.compiled.small_column_model import Columns
from kernels import entry

close = np.testing.assert_allclose


def drawn(seed, n=40, d=15, dense=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (1.0 if dense else rng.random((n, d)) < 0.4)
    columns = columns_of(X, dense)
    arrays = {name: np.zeros(d if name in ("w", "z", "step", "mean") else n) for name in Place._fields}
    place = Place(**arrays)
    place.v[:], place.curvature[:] = rng.normal(size=n) / n, rng.random(n) / n + 0.01 / n
    place.w[:] = np.where(rng.random(d) < 0.3, rng.normal(size=d), 0.0)
    return rng, X, columns, place


def columns_of(X, dense):
    n, d = X.shape
    kept = sparse.csc_matrix(X)
    stored = Stored(kept.data, kept.indices.astype(np.uint32), kept.indptr.astype(np.int64))
    if dense:
        stored = Stored(np.ravel(X, "F"), np.empty(0, np.uint32), np.arange(0, n * d + 1, n))
    model = Model(np.zeros(d), np.zeros(d), np.zeros(n), np.zeros(n), 0.0)
    bounds = np.full(d, -np.inf), np.full(d, np.inf)
    return Columns(
        stored, np.zeros(d, np.int64), np.zeros(d), model, bounds, np.zeros((5, d)), np.zeros(n),
        np.ones(1), np.full(1, np.inf),
    )  # fmt: skip


@pytest.mark.parametrize("dense", [False, True])
def test_slopes_and_squares(dense):
    rng, X, columns, _ = drawn(0, dense=dense)
    v, z = rng.normal(size=40), np.zeros(15)
    entry(small_columns.put_slopes)(columns, v, z)
    close(z, X.T @ v, atol=1e-14)
    p = rng.random(40)
    close(entry(small_columns.largest_square)(columns, p), (p @ (X * X)).max())


@pytest.mark.parametrize("dense", [False, True])
def test_a_column(dense):
    rng, X, columns, _ = drawn(1, dense=dense)
    (data, rows, starts), j = columns.stored, 7
    part, u, f = (data, rows, starts[j], starts[j + 1]), rng.random(40), np.ones(40)
    close(entry(column.column_dot)(*part, u), X[:, j] @ u)
    close(entry(column.column_moments)(*part, u), [X[:, j] @ u, X[:, j] ** 2 @ u])
    entry(column.add_column)(columns.stored, j, 2.0, f)
    close(f, 1.0 + 2.0 * X[:, j])


def losses_of(place, target=0.0):
    n, none = len(place.f), np.zeros(len(place.f))
    return Losses(np.full(n, target), none, np.ones(n), none, none, none, np.full(n, 1.0 / n))


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_a_step_lowers_the_model_and_says_what_it_changes(seed, free, dense):
    _, X, columns, place = drawn(seed, dense=dense)
    v, c, w = place.v, place.curvature, place.w.copy()
    place.z[:] = X.T @ v
    l1, l2 = 0.3 * float(np.abs(place.z).max()), 1e-3
    net = Net(l1, l2, free, 0.0, 1e-9, 0.0)
    course = Course(0.0, np.inf, 1.0, 0, 0.0, 0.0, 0.0, 0.0, -v.sum(), c.sum(), True, False)
    db = entry(small_columns.step_by_columns)(columns, losses_of(place), net, place, course)
    step, along = place.step, place.along
    close(along, X @ step + db, atol=1e-12)
    assert free or db == 0.0

    def model(step, db):
        a = X @ step + db
        return l1 * np.abs(w + step).sum() + l2 / 2 * ((w + step) ** 2).sum() - v @ a + c @ a**2 / 2

    assert model(step, db) < model(np.zeros(15), 0.0)
    quiet = (w == 0) & (np.abs(place.z) <= l1)
    assert not step[quiet].any()  # weights that want to stay zero are left alone


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_a_model_is_minimised(seed, free, dense):
    rng, X, columns, place = drawn(seed, dense=dense)
    X += rng.choice([0.0, 3.0]) * (X != 0)  # columns may be alike
    columns = columns_of(X, dense)
    d = X.shape[1]
    D, u = place.curvature, -place.v
    per_total = 1.0 / D.sum() if free else 0.0
    columns.chosen[:], columns.at[:] = np.arange(d), place.w
    _, m, r, kept, _ = columns.model
    m[:], r[:], kept[:] = X.T @ D, u, D
    H = X.T @ (D[:, None] * X) - per_total * np.outer(m, m)
    columns.model.h[:] = np.diag(H)
    l1, l2, shift = 0.2 * np.abs(X.T @ u).max(), 1e-4 * seed, -per_total * u.sum()
    slope = X.T @ u + shift * m
    net, model = Net(l1, l2, free, 0.0, 0.0, 0.0), columns.model._replace(per_total=per_total)
    entry(small_column_model.minimise_by_columns)(columns, net, model, d, 1e-12, shift)
    at = columns.at
    left = slope + H @ (at - place.w) + l2 * at
    assert np.abs(left[at == 0]).max(initial=0.0) <= l1 + 1e-9
    close(left[at != 0], -l1 * np.sign(at[at != 0]), atol=1e-9)


def test_parabolas_stand_for_lines_until_steps_are_good():
    _, X, columns, place = drawn(3)
    n = len(place.f)
    place.curvature[:], place.v[:] = 0.0, np.sign(place.v) / n  # far out, as the loss of Huber is
    place.z[:] = X.T @ place.v
    net = Net(0.1 * float(np.abs(place.z).max()), 0.0, False, 0.0, 1e-9, 1e-9)
    course = Course(0.0, np.inf, 1.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, True, False)
    losses = losses_of(place)._replace(target=4.0 * n * place.v)
    entry(small_columns.step_by_columns)(columns, losses, net, place, course)
    close(columns.model.D, 0.25 / n)
    for t, share in ((1.0, 0.25), (1.0, 0.0625), (0.7, 0.0625), (0.1, 0.25), (0.1, 1.0), (0.1, 1.0)):
        entry(small_columns.learn)(columns, t)
        assert columns.share[0] == share
