"""Newton steps of a small fit by products with X, under the L2 penalty: for many weights. See `small`.

A step solves its system by conjugate gradients, which ask for products with the Hessian only: each is one
pass over the rows. What is to be solved is what is left once the intercept follows the weights,

    (l2 + X'DX - m m' / bend) s = X'v - l2 w + m imbalance / bend,      m = X'D 1,  bend = 1'D 1,

scaled by its diagonal. It is solved as exactly as the step deserves: in units of the gap that the slope
itself leaves, |slope|^2 / (2 l2).
"""

from typing import Any, NamedTuple

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import TINY, row_dot
from gapfit.compiled.small_rows import add_product, put_moments

SHARE = 0.1  # of the gap that is wanted may be left by a system,
FORCING = 0.1  # or of the gap at hand, if it is larger; the less, the nearer the optimum is
CANCELLED = 1e-9  # of a second derivative is left at least, where the intercept takes the rest
ROUNDING = 1e-30  # of the first residual, squared: there is no less


class Products(NamedTuple):
    """X by rows, and what a step writes to."""

    passed: Any  # `small_rows.Passed`
    lines: Any  # five of a number a weight
    parabola: Any  # is each loss one parabola? One system is all then
    left: Any  # products that may still be made


@jit(fast=True, inner=True)
def look_at_rows(products, place):
    """Write X'v, and what the next step is to know of the curvatures."""
    lines = products.lines
    put_moments(products.passed, place.v, place.curvature, (place.z, lines[0], lines[1]))


@jit(fast=True)
def _solve(products, net, place, per_total, enough):
    """Conjugate gradients from zero, until so little of the residual is left. What the step changes in scores
    follows, where there is a curvature."""
    step, along, D, scores = place.step, place.along, place.curvature, products.passed.scores
    lines = products.lines
    m, h, rest, way, image = lines[0], lines[1], lines[2], lines[3], lines[4]
    size = first = 0.0
    for i in range(len(along)):
        along[i] = 0.0
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
        add_product(products.passed, D, way, level, image)
        bend = 0.0
        for j in range(len(way)):
            bend += way[j] * image[j]
        if not bend > 0.0:
            return
        length, before, size, square = size / bend, size, 0.0, 0.0
        for i in range(len(along)):
            along[i] += length * scores[i]
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
    rows, step, along, w, D = products.passed.rows, place.step, place.along, place.w, place.curvature
    lines = products.lines
    m, h, rest = lines[0], lines[1], lines[2]
    per_total = 1.0 / max(course.bend, net.least_bend) if net.free else 0.0
    shift = per_total * course.imbalance
    for j in range(len(w)):
        h[j] = max(h[j] - per_total * m[j] * m[j], CANCELLED * h[j]) + net.l2 + TINY
        rest[j] = place.z[j] - net.l2 * w[j] + shift * m[j]
    forcing = 0.0
    if not products.parabola:
        forcing = min(FORCING, course.gap / max(abs(course.primal), TINY)) * course.gap
    _solve(products, net, place, per_total, 2.0 * net.l2 * max(SHARE * aim, forcing))
    db = -shift
    for j in range(len(w)):
        db -= per_total * m[j] * step[j]
    for i in range(len(along)):
        along[i] = (along[i] if D[i] != 0.0 else row_dot(rows, i, step)) + db
    return db
