"""Steps of a small fit by products, against dense algebra."""

import numpy as np
import pytest
from scipy import sparse

from gapfit.compiled import small_products
from gapfit.compiled.rows import as_rows
from gapfit.compiled.small import Course, Net, Place
from gapfit.compiled.small_products import Products
from gapfit.compiled.small_rows import SUMS, Passed
from kernels import entry

close = np.testing.assert_allclose
look_at_rows, step_by_products = entry(small_products.look_at_rows), entry(small_products.step_by_products)


def drawn(seed, dense, n=40, d=15):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (1.0 if dense else rng.random((n, d)) < 0.4) * 10 ** rng.uniform(-1, 1, d)
    kept = sparse.csr_array(X)
    rows = as_rows(kept.data, kept.indices, kept.indptr)
    if dense:
        rows = as_rows(X.ravel(), np.empty(0, np.int32), np.arange(0, n * d + 1, d))
    place = Place(
        **{name: np.zeros(d if name in ("w", "z", "step", "mean") else n) for name in Place._fields}
    )
    place.w[:], place.v[:] = rng.normal(size=d), rng.normal(size=n) / n
    place.curvature[:] = (rng.random(n) < 0.7) * rng.random(n) / n
    place.z[:] = X.T @ place.v
    return X, rows, place


def products_of(rows, parabola, left, n=40, d=15):
    passed = Passed(rows, np.empty(SUMS * d), np.zeros(n + 3, np.int64), np.zeros(n))
    return Products(passed, np.zeros((5, d)), parabola, left)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_a_step_is_that_of_newton(seed, free, dense):
    X, rows, place = drawn(seed, dense)
    c, v, l2, least = place.curvature, place.v, 1e-3, 1e-9
    course = Course(0.0, np.inf, 1.0, 0, 1.0, 1.0, 0.0, 0.0, -v.sum() * free, c.sum(), True, False)
    products = products_of(rows, True, np.full(1, 200))
    net = Net(0.0, l2, free, 0.0, least, 0.0)
    look_at_rows(products, place)
    db = step_by_products(products, net, place, course, 1e-20)
    design = np.column_stack([X, np.ones(len(X))]) if free else X
    H, slope = design.T @ (c[:, None] * design), -design.T @ v
    H[:15, :15] += l2 * np.eye(15)
    slope[:15] += l2 * place.w
    step = -np.linalg.solve(H, slope)
    close(place.step, step[:15], atol=1e-6 * np.abs(step).max())
    close(db, step[15] if free else 0.0, atol=1e-6 * np.abs(step).max())
    close(place.along, X @ place.step + db, atol=1e-12 * np.abs(place.along).max())


@pytest.mark.parametrize("aim", [1e-1, 1e-3, 1e-6])
def test_systems_are_solved_as_exactly_as_the_gap_deserves(aim):
    X, rows, place = drawn(1, True)
    l2 = 1e-3
    course = Course(0.0, np.inf, 1.0, 0, 1.0, 1e-4, 0.0, 0.0, 0.0, 0.0, True, False)
    products = products_of(rows, False, np.full(1, 200))
    look_at_rows(products, place)
    step_by_products(products, Net(0.0, l2, False, 0.0, 1e-9, 0.0), place, course, aim)
    image = X.T @ (place.curvature * (X @ place.step)) + l2 * place.step
    left = place.z - l2 * place.w - image
    assert left @ left <= 2 * l2 * max(0.1 * aim, 1e-8) * (1 + 1e-6)


def test_products_are_counted_and_come_to_an_end():
    _, rows, place = drawn(2, True)
    course = Course(0.0, np.inf, 1.0, 0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, True, False)
    left = np.full(1, 3)
    products = products_of(rows, True, left)
    look_at_rows(products, place)
    step_by_products(products, Net(0.0, 1e-6, False, 0.0, 1e-9, 0.0), place, course, 0.0)
    assert left[0] == 0
