"""A fit on small data: proximal point steps in the dual, Newton's method inside. See `small_newton`.

Losses are rounded off about a guess of the dual solution (`small_losses`). The penalty is
l1 |w|_1 + l2 |w|^2 / 2, alpha included.
"""

import math

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import TINY
from gapfit.compiled.small_columns import learn, put_slopes, step_by_columns
from gapfit.compiled.small_losses import respond, rounded_part
from gapfit.compiled.small_model import EPS, Course, Losses, Net, Place, add_rows
from gapfit.compiled.small_products import look_at_rows, step_by_products
from gapfit.compiled.small_step import step_by_hessian

__all__ = ["Course", "Losses", "Net", "Place", "descend", "improve"]

SEARCH = 40  # evaluations in a line search at most, each O(n)
FLAT = 0.1  # of the first slope: there a line search ends
SOLVED = 0.3  # a rounded problem is solved when its own gap is such a share of the whole
EASY, HARD, LOST = 3, 8, 25  # Newton steps for one rounded problem
SHARPEN = 3.0  # the factor of c after an easy problem
BLUNT = 1.0 / 64  # its factor after one that was not solved
PROGRESS = 0.01  # of a gap is left of it after a call: to call takes as long as some steps on little data
MOST = 200  # Newton steps in a call
LOOKS = 40  # at points, where steps go by columns


@jit(fast=True)
def _look(X, losses, net, place, course, columns, products):
    """Sum up what is known of all samples. The gap is that at this b, and what b may still gain."""
    w, f, v, z = place.w, place.f, place.v, place.z
    loss = bound = rounding = mass = bend = pull = fall = drop = 0.0
    for i in range(len(f)):
        x, value, away = v[i], place.loss[i], v[i] - place.centre[i]
        lost = rounded_part(losses, i, f[i], x, value)
        loss += value
        rounding += lost
        pull += 0.5 * away * away / (course.c * losses.p[i])
        bound += value - lost + f[i] * x
        mass += x
        bend += place.curvature[i]
        if losses.entropy[i] != 0.0:
            fall += f[i] * x
        else:  # at an end of its box a dual variable gains more from less than the score tells
            fall += (losses.target[i] - losses.quad[i] * x) * x - losses.kink[i] * abs(x)
        drop += x * x / max(place.curvature[i], TINY) if losses.entropy[i] != 0.0 else losses.quad[i] * x * x
    if X is not None:
        add_rows(X, v, z)
    if columns is not None:
        put_slopes(columns, v, z)
    if products is not None:
        look_at_rows(products, place)
    one = two = steepest = beyond = 0.0
    for j in range(len(w)):
        one += abs(w[j])
        two += w[j] * w[j]
        steepest = max(steepest, abs(z[j]))
        beyond += max(abs(z[j]) - net.l1, 0.0) ** 2
    share, conjugate = 1.0, 0.0
    if net.l2 > 0.0:
        conjugate = 0.5 * beyond / net.l2
    elif steepest > net.l1:
        share = net.l1 / steepest  # of v is a dual point
    primal = net.l1 * one + 0.5 * net.l2 * two + loss + net.total * course.b
    imbalance = net.total - mass if net.free else 0.0
    slack = 0.5 * imbalance * imbalance / max(bend, net.least_bend) if net.free else 0.0
    bound, fall, less = bound + imbalance * course.b, fall + imbalance * course.b, 1.0 - share
    height = share * bound
    if course.c == math.inf:  # as far as a parabola tells
        height = max(height, bound - less * (fall + 0.5 * less * drop))
    gap = primal - (height - conjugate) + slack
    return Course(
        course.b, course.c, course.last_c, course.steps, primal, gap, rounding, primal - rounding - pull,
        imbalance, bend, course.moving, False,
    )  # fmt: skip


@jit(fast=True, inline=True)
def _moved(w, change):
    """A weight after a change; zero, where it is zero but for rounding."""
    at = w + change
    return at if abs(at) > 4.0 * EPS * abs(w) else 0.0


@jit(fast=True)
def _along(losses, net, place, course, t, db):
    """The rounded objective at a share t of the step, its first and second derivative in t, and how far the
    first one jumps to either side, where weights come to zero. What is known of samples is written down."""
    w, step, f, along, centre = place.w, place.step, place.f, place.along, place.centre
    value, first, second, rise = net.total * (course.b + t * db), net.total * db, 0.0, 0.0
    for j in range(len(w)):
        at, s = _moved(w[j], t * step[j]), step[j]
        value += net.l1 * abs(at) + 0.5 * net.l2 * at * at
        first += net.l2 * at * s + net.l1 * (s if at > 0.0 else -s if at < 0.0 else 0.0)
        second += net.l2 * s * s
        if at == 0.0:
            rise += net.l1 * abs(s)
    respond(losses, place, course.c, t)
    for i in range(len(f)):
        v, curvature, loss = place.v[i], place.curvature[i], place.loss[i]
        away = v - centre[i]
        value += loss - rounded_part(losses, i, f[i] + t * along[i], v, loss)
        value -= 0.5 * away * away / (course.c * losses.p[i])
        first -= v * along[i]
        second += curvature * along[i] * along[i]
    return value, first, second, rise


@jit(fast=True)
def _first_slope(net, place, db):
    """That of the rounded objective along the step, at its beginning."""
    w, step = place.w, place.step
    first = net.total * db
    for j in range(len(w)):
        s = step[j]
        first += net.l2 * w[j] * s + net.l1 * (s if w[j] > 0.0 else -s if w[j] < 0.0 else abs(s))
    for i in range(len(place.f)):
        first -= place.v[i] * place.along[i]
    return first


@jit(fast=True)
def _length(losses, net, place, course, db):
    """A share of the step at which the slope of the rounded objective, an increasing function, nearly
    vanishes; zero, if the step leads up. And whether it was the last to be looked at."""
    rounding = 64.0 * EPS * abs(course.primal)
    start, initial, t, low, high = course.rounded, _first_slope(net, place, db), 1.0, 0.0, math.inf
    if not initial < 0.0:
        return low, False
    for _ in range(SEARCH):
        value, first, second, rise = _along(losses, net, place, course, t, db)
        if abs(first) - rise <= max(-FLAT * initial, rounding) and value <= start + rounding:
            return t, True
        width = high - low
        if first > 0.0:
            high = t
        else:
            low = t
        if high - low <= 1e-3 * high:  # a corner
            break
        t -= first / max(second, TINY)
        if not low < t < high or 0.5 * width < high - low < math.inf:
            t = 0.5 * (low + high) if high < math.inf else 2.0 * low
    return low, False


@jit(fast=True)
def _newton_step(X, losses, net, place, course, aim, corners, columns, products):
    """Move to where the quadratic model of the rounded objective is least, as far as that helps."""
    w, step = place.w, place.step
    db = 0.0
    if X is not None:
        db = step_by_hessian(X, net, place, course, corners)
    if columns is not None:
        db = step_by_columns(columns, losses, net, place, course)
    if products is not None:
        db = step_by_products(products, net, place, course, aim)
    t, known = _length(losses, net, place, course, db)
    if columns is not None:
        learn(columns, t)
    for j in range(len(w)):
        w[j] = _moved(w[j], t * step[j])
    for i in range(len(place.f)):
        place.f[i] += t * place.along[i]
    if not known:
        respond(losses, place, course.c, 0.0)
    return course.b + t * db


@jit(fast=True)
def improve(X, losses, net, place, course, corners):
    """For Python: see `descend`. A call leaves a hundredth of the gap."""
    return descend(X, losses, net, place, course, 0.0, corners, None, None)


@jit(fast=True, inner=True)
def descend(X, losses, net, place, course, tol, corners, columns, products):
    """Newton steps as `_improve` makes them; and where losses are round, the best b."""
    course = _improve(X, losses, net, place, course, tol, corners, columns, products)
    if not (net.free and course.c == math.inf):
        return course
    b, gain, best = _best_offset(losses, net, place, course.b)
    return Course(
        b, course.c, course.last_c, course.steps, course.primal - gain, course.gap - gain, course.rounding,
        course.rounded - gain, course.imbalance, course.bend, course.moving, best,
    )  # fmt: skip


@jit(fast=True)
def _best_offset(losses, net, place, b):
    """Newton's method in b alone, between bounds of it: b, what it has gained, and whether it is the best."""
    low, high, before, gain = -math.inf, math.inf, math.inf, 0.0
    for _ in range(SEARCH):
        value, slope, bend, size = net.total * b, net.total, 0.0, abs(net.total)
        respond(losses, place, math.inf, 0.0)
        for i in range(len(place.f)):
            value += place.loss[i]
            slope -= place.v[i]
            bend += place.curvature[i]
            size += abs(place.v[i])
        before = value if before == math.inf else before
        gain = before - value
        if abs(slope) <= 4.0 * EPS * size:
            return b, gain, True
        low, high = (low, b) if slope > 0.0 else (b, high)
        new = b - slope / max(bend, TINY)
        if not low < new < high:
            new = 0.5 * (low + high)
        if not low < new < high:
            return b, gain, high - low < math.inf  # neighbours; else there is none on one side
        for i in range(len(place.f)):
            place.f[i] += new - b
        b = new
    return b, gain, False


@jit(fast=True)
def _improve(X, losses, net, place, course, tol, corners, columns, products):
    """Newton steps until the gap has fallen to tol * J, if that is more than zero; else to a hundredth; or
    until nothing moves any more.

    `corners` is None where the penalty has no l1 part, X where steps go by columns, which are None where they
    do not: no code is compiled that is not needed."""
    aim, best, since = 0.0, math.inf, 0
    b, c, steps = course.b, course.c, course.steps
    respond(losses, place, c, 0.0)
    for turn in range(MOST):
        course = _look(X, losses, net, place, _at(course, b, c, steps, True), columns, products)
        place.passed[0], place.values[turn], place.gaps[turn] = turn, course.primal, course.gap
        if turn == 0:
            aim = PROGRESS * course.gap
        if tol > 0.0:
            aim = tol * abs(course.primal)
        if course.gap <= aim and (turn > 0 or tol > 0.0):
            return course
        if columns is not None and (turn >= LOOKS or columns.left[0] <= 0.0):
            return _at(course, b, c, steps, False)  # others are faster
        if products is not None and products.left[0] <= 0:
            return _at(course, b, c, steps, False)
        since += 1
        if course.gap < 0.9 * best:
            best, since = course.gap, 0
        if since > LOST or course.last_c < c < math.inf or not course.gap > 4.0 * EPS * abs(course.primal):
            return _at(course, b, c, steps, False)  # also if the gap is not a number
        solved = course.gap - course.rounding <= SOLVED * course.gap
        if c < math.inf and (solved or steps >= LOST):
            for i in range(len(place.v)):
                place.centre[i] = place.v[i]
            c *= (
                BLUNT if not solved else SHARPEN if steps <= EASY else 1.0 if steps <= HARD else 1.0 / SHARPEN
            )
            steps = 0
            respond(losses, place, c, 0.0)
        else:
            b = _newton_step(X, losses, net, place, course, aim, corners, columns, products)
            steps += 1
    return course


@jit
def _at(course, b, c, steps, moving):
    """The course with these."""
    return Course(
        b, c, course.last_c, steps, course.primal, course.gap, course.rounding, course.rounded,
        course.imbalance, course.bend, moving, False,
    )  # fmt: skip
