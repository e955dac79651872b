"""Steps of a small fit by columns, against dense algebra."""

import numpy as np
import pytest
from scipy import sparse

from gapfit.compiled import small_columns
from gapfit.compiled.small import Course, Net, Place
from kernels import entry

close = np.testing.assert_allclose


def drawn(seed, n=40, d=15):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
    kept = sparse.csc_matrix(X)
    stored = kept.data, kept.indices.astype(np.int32), kept.indptr.astype(np.int64)
    columns = small_columns.Columns(*stored, np.zeros(d, np.int64), np.zeros(d))
    arrays = {name: np.zeros(d if name in ("w", "z", "step", "mean") else n) for name in Place._fields}
    place = Place(**arrays)
    place.v[:], place.curvature[:] = rng.normal(size=n) / n, rng.random(n) / n + 0.01 / n
    place.w[:] = np.where(rng.random(d) < 0.3, rng.normal(size=d), 0.0)
    return rng, X, columns, place


def test_slopes_and_squares():
    rng, X, columns, _ = drawn(0)
    v, z = rng.normal(size=40), np.zeros(15)
    entry(small_columns.put_slopes)(columns, v, z)
    close(z, X.T @ v, atol=1e-14)
    p = rng.random(40)
    close(entry(small_columns.largest_square)(columns, p), (p @ (X * X)).max())


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_a_step_lowers_the_model_and_says_what_it_changes(seed, free):
    _, X, columns, place = drawn(seed)
    v, c, w = place.v, place.curvature, place.w.copy()
    place.z[:] = X.T @ v
    l1, l2 = 0.3 * float(np.abs(place.z).max()), 1e-3
    net = Net(l1, l2, free, 0.0, 1e-9, 0.0)
    course = Course(0.0, np.inf, 1.0, 0, 0.0, 0.0, 0.0, 0.0, -v.sum(), c.sum(), True, False)
    db = entry(small_columns.step_by_columns)(columns, net, place, course)
    step, along = place.step, place.along
    close(along, X @ step + db, atol=1e-12)
    assert free or db == 0.0

    def model(step, db):
        a = X @ step + db
        return l1 * np.abs(w + step).sum() + l2 / 2 * ((w + step) ** 2).sum() - v @ a + c @ a**2 / 2

    assert model(step, db) < model(np.zeros(15), 0.0)
    quiet = (w == 0) & (np.abs(place.z) <= l1)
    assert not step[quiet].any()  # weights that want to stay zero are left alone
