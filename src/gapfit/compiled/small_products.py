"""Newton steps of a small fit by products with X, under the L2 penalty: for many weights. See `small`.

A step solves its system by conjugate gradients, which ask for products with the Hessian only: each is one
pass over the rows. What is to be solved is what is left once the intercept follows the weights,

    (l2 + X'DX - m m' / bend) s = X'v - l2 w + m imbalance / bend,      m = X'D 1,  bend = 1'D 1,

scaled by its diagonal. It is solved as exactly as the step deserves: in units of the gap that the slope
itself leaves, |slope|^2 / (2 l2).
"""

from typing import Any, NamedTuple

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import TINY, row_add, row_dot

SHARE = 0.1  # of the gap that is wanted may be left by a system,
FORCING = 0.1  # or of the gap at hand, if it is larger; the less, the nearer the optimum is
CANCELLED = 1e-9  # of a second derivative is left at least, where the intercept takes the rest
ROUNDING = 1e-30  # of the first residual, squared: there is no less


class Products(NamedTuple):
    """X by rows, and what a step writes to."""

    rows: Any  # `rows.Rows`
    lines: Any  # five of a number a weight
    parabola: Any  # is each loss one parabola? One system is all then
    left: Any  # products that may still be made


@jit(fast=True, inner=True)
def put_slopes_of_rows(rows, v, z):
    """Write X'v."""
    for j in range(len(z)):
        z[j] = 0.0
    for i in range(len(v)):
        if v[i] != 0.0:
            row_add(rows, i, v[i], z)


@jit(fast=True)
def _put_moments(rows, D, m, h):
    """Write X'D 1, and the diagonal of X'DX."""
    data, indices, indptr = rows
    for j in range(len(m)):
        m[j] = h[j] = 0.0
    for i in range(len(D)):
        if D[i] != 0.0:
            start, c = indptr[i], D[i]
            if indices.size:
                for k in range(start, indptr[i + 1]):
                    x = c * data[k]
                    m[indices[k]] += x
                    h[indices[k]] += x * data[k]
            else:
                row = data[start : indptr[i + 1]]
                for j in range(row.size):
                    x = c * row[j]
                    m[j] += x
                    h[j] += x * row[j]


@jit(fast=True)
def _add_product(rows, D, way, level, image):
    """Add X'D(X way - level)."""
    if rows.indices.size == 0:  # known from here on: rows that had to ask would take up to ten times as long
        _add_rows(rows, D, way, level, image)
    else:
        _add_rows(rows, D, way, level, image)


@jit(fast=True, inline=True)
def _add_rows(rows, D, way, level, image):
    for i in range(len(D)):
        if D[i] != 0.0:
            row_add(rows, i, D[i] * (row_dot(rows, i, way) - level), image)


@jit(fast=True)
def _solve(products, net, D, per_total, enough, step):
    """Conjugate gradients from zero, until so little of the residual is left."""
    rows = products.rows
    lines = products.lines
    m, h, rest, way, image = lines[0], lines[1], lines[2], lines[3], lines[4]
    size = first = 0.0
    for j in range(len(step)):
        step[j], way[j] = 0.0, rest[j] / h[j]
        size += rest[j] * way[j]
        first += rest[j] * rest[j]
    enough = max(enough, ROUNDING * first)
    square = first
    while square > enough and products.left[0] > 0:
        products.left[0] -= 1
        level = 0.0
        for j in range(len(way)):
            level += m[j] * way[j]
            image[j] = net.l2 * way[j]
        level *= per_total
        _add_product(rows, D, way, level, image)
        bend = 0.0
        for j in range(len(way)):
            bend += way[j] * image[j]
        if not bend > 0.0:
            return
        length, before, size, square = size / bend, size, 0.0, 0.0
        for j in range(len(way)):
            step[j] += length * way[j]
            rest[j] -= length * image[j]
            size += rest[j] * rest[j] / h[j]
            square += rest[j] * rest[j]
        for j in range(len(way)):
            way[j] = rest[j] / h[j] + size / before * way[j]


@jit(fast=True, inner=True)
def step_by_products(products, net, place, course, aim):
    """Write the step that nearly minimises the model, and what it changes in scores. Returns that of b. The
    gap is to be as small as `aim` in the end."""
    rows, step, along, w, D = products.rows, place.step, place.along, place.w, place.curvature
    lines = products.lines
    m, h, rest = lines[0], lines[1], lines[2]
    per_total = 1.0 / max(course.bend, net.least_bend) if net.free else 0.0
    shift = per_total * course.imbalance
    _put_moments(rows, D, m, h)
    for j in range(len(w)):
        h[j] = max(h[j] - per_total * m[j] * m[j], CANCELLED * h[j]) + net.l2 + TINY
        rest[j] = place.z[j] - net.l2 * w[j] + shift * m[j]
    forcing = 0.0
    if not products.parabola:
        forcing = min(FORCING, course.gap / max(abs(course.primal), TINY)) * course.gap
    _solve(products, net, D, per_total, 2.0 * net.l2 * max(SHARE * aim, forcing), step)
    db = -shift
    for j in range(len(w)):
        db -= per_total * m[j] * step[j]
    for i in range(len(along)):
        along[i] = row_dot(rows, i, step) + db
    return db
