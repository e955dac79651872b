"""Newton steps of a small fit where weights are many and few of them are in use. See `small`.

The quadratic model of a step is minimised among the weights that are in use and those that want to be
(`small_column_model`). Where losses are lines, as that of Huber is far out, a model knows no distance: at
first parabolas stand for them that touch them and lie above; less so after each step that was good.
"""

from gapfit.compiled._jit import jit
from gapfit.compiled.column import add_column, column_dot, column_moments
from gapfit.compiled.columns import Model
from gapfit.compiled.rows import TINY
from gapfit.compiled.small_column_model import minimise_by_columns

ROUGH = 0.3  # of the largest urge of all may be left in the columns of a step
EAGER = 0.1  # of the largest urge: columns whose slopes are as far beyond l1 join
EASIER = 4.0  # times less of the parabolas, after a step that was good; as much more after one that was
BAD = 0.5  # for less than that
LEAST = 1e-6  # of them
CANCELLED = 1e-9  # of a second derivative is left at least, where the intercept takes the rest


@jit(fast=True, inner=True)
def put_slopes(columns, v, z):
    """Write X'v."""
    data, rows, starts = columns.stored
    for j in range(len(z)):
        z[j] = column_dot(data, rows, starts[j], starts[j + 1], v)


@jit(fast=True, inner=True)
def largest_square(columns, p):
    """The largest sum of p x^2 of a column."""
    data, rows, starts = columns.stored
    largest = 0.0
    for j in range(len(starts) - 1):
        largest = max(largest, column_moments(data, rows, starts[j], starts[j + 1], p)[1])
    return largest


@jit(fast=True)
def _choose(columns, net, place, per_total):
    """Write the columns whose weights are to move, and of each what the model knows. Returns how many they
    are, and the largest urge of a weight to move."""
    w, z, step = place.w, place.z, place.step
    data, rows, starts = columns.stored
    worst = 0.0
    for j in range(len(w)):
        step[j] = 0.0
        push = z[j] - net.l2 * w[j]
        urge = abs(push) - net.l1 if w[j] == 0.0 else abs(push - (net.l1 if w[j] > 0.0 else -net.l1))
        worst = max(worst, urge)
    count = 0
    for j in range(len(w)):
        if w[j] != 0.0 or abs(z[j]) - net.l1 > EAGER * worst:
            one, two = column_moments(data, rows, starts[j], starts[j + 1], columns.model.D)
            columns.chosen[count], columns.at[count] = j, w[j]
            columns.model.m[count] = one
            columns.model.h[count] = max(two - per_total * one * one, CANCELLED * two) + net.least + TINY
            count += 1
    return count, worst


@jit(fast=True, inner=True)
def learn(columns, t):
    """That the last model was good for such a share of its step."""
    share = columns.share[0]
    if t >= 1.0:
        columns.share[0] = max(share / EASIER, LEAST)
    elif t < BAD:
        columns.share[0] = min(share * EASIER, 1.0)


@jit(fast=True, inner=True)
def step_by_columns(columns, losses, net, place, course):
    """Write the step that nearly minimises the model, and what it changes in scores. Returns that of b."""
    n, along, step = len(place.f), place.along, place.step
    h, m, r, D, bend = columns.model.h, columns.model.m, columns.model.r, columns.model.D, course.bend
    for i in range(n):
        v, curvature, margin = place.v[i], place.curvature[i], losses.target[i] - place.f[i]
        r[i], D[i], along[i] = -v, curvature, 0.0
        if curvature == 0.0 and v * margin > 0.0:
            D[i] = columns.share[0] * v / margin  # a parabola that is above the loss
            bend += D[i]
    per_total = 1.0 / max(bend, net.least_bend) if net.free else 0.0
    count, urge = _choose(columns, net, place, per_total)
    model, goal = Model(h, m, r, D, per_total), ROUGH * urge
    minimise_by_columns(columns, net, model, count, goal, -per_total * course.imbalance)
    shift = course.imbalance
    for c in range(count):
        j = columns.chosen[c]
        step[j] = columns.at[c] - place.w[j]
        shift += m[c] * step[j]
        if step[j] != 0.0:
            add_column(columns.stored, j, step[j], along)
    shift *= -per_total
    for i in range(n):
        along[i] += shift
    return shift
