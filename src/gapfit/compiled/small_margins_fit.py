"""A whole small fit of the multiclass support vector machine in one call or two, and its proof.

Sweeps over the samples come first, with the scores of all where these are few enough for a kernel matrix.
Where sweeps are slow, and weights few, proximal steps in the dual go on from there, each solved by Newton's
method for a rounded loss (`small_margins`).
"""

import math

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import dense_dot
from gapfit.compiled.small_curved_fit import is_sound
from gapfit.compiled.small_curved_newton import GRADIENT, POINT, descend, evaluate
from gapfit.compiled.small_curved_proof import prove_curved
from gapfit.compiled.small_fit import ENOUGH, relative_gap
from gapfit.compiled.small_margins import loss_of
from gapfit.compiled.small_margins_kept import kept_sweeps
from gapfit.compiled.small_margins_sweeps import begin, sweeps
from gapfit.compiled.small_proof import Proved
from gapfit.compiled.small_scores import place, put_scores

FIRST = 1.0  # c
OTHERS = 3e7  # multiply-adds, beyond which others are as fast where there is no Newton's method,
SWEEPS = 8  # and sweeps;
OTHERS_KEPT = 1e8  # the same of sweeps with scores at hand
STEPS = 25  # of Newton's method, as a rule
ENOUGH_MET = 0.8  # times the tolerance is the gap as sweeps meet it when it is looked at: it falls meanwhile,
ENOUGH_KEPT = 0.9  # the same, of a point itself
LOOKS, CLOSER = 3, 0.7  # so often at most, each time it has fallen by that, or by what the last look has told
MANY = 10  # Newton steps
SHARPEN, EASY, SHARPEN_MORE = 4.0, 3, 16.0  # factors of c, the second one after so few Newton steps
SOLVED = 0.1  # of the gap is left to the rounded problem
MOST = 60  # of these
PATIENCE, HEADWAY = 8, 0.5  # steps over which the gap has to fall as much


@jit
def _gap(task, margins, work):
    """J, and the gap to the bound of the answers."""
    z, k = work.lines[POINT], work.F.shape[1] * task.d
    risk = gap = 0.0
    for i in range(len(task.p)):
        f, truth = work.F[i], int(task.y[i])
        loss, meant = loss_of(margins, i, f, z[k:], truth), 0.0
        for j in range(f.size):
            meant += work.answers[i, j] * (margins.costs[margins.row[i], j] + f[j] - f[truth])
        risk += task.p[i] * loss
        gap += task.p[i] * (loss - meant)
    gradient = work.lines[GRADIENT]  # zero after sweeps
    gap += dense_dot(gradient[:k], gradient[:k]) / (2.0 * task.alpha)
    return risk + 0.5 * task.alpha * dense_dot(z[:k], z[:k]), gap


@jit
def _centre(task, margins, work, factor):
    """The next guess of the dual solution, about which less is rounded off."""
    for i in range(len(task.p)):
        for k in range(work.F.shape[1]):
            margins.centre[i, k] = work.answers[i, k]
    margins.c[0] *= factor


@jit
def _most(task, work, others):
    """Multiply-adds that other ways take."""
    n, m, d = len(task.p), work.F.shape[1], task.d
    if len(work.matrix) == 0:
        return others
    return STEPS * (1.5 * n * d * d + (m * d) ** 3 / 18.0 + 20.0 * n * m)


@jit
def _nothing():
    """Is proved."""
    return Proved(0.0, 0.0, math.inf, 0.0, 0.0, 0.0, 0.0, 0.0)


@jit
def by_kept_sweeps(task, margins, kernel, weight, tol, work, proof, W, excess):
    """What is proved by sweeps with X X', if these seem to be the quickest way; without offsets. See
    `small_curved_fit.fit`."""
    b, most = work.lines[POINT, work.F.shape[1] * task.d :], _most(task, work, OTHERS_KEPT)
    if not is_sound(task, weight):
        return _nothing()
    if not kept_sweeps(task, margins, work, kernel, W, ENOUGH_KEPT * tol, most):
        return _nothing()
    return prove_curved(task, margins, work.answers, W, b, proof, excess, None)


@jit
def by_sweeps(task, margins, weight, tol, work, proof, W, excess):
    """The same, without it."""
    (n, m), proved, aim = work.F.shape, _nothing(), ENOUGH_MET * tol
    b, curvature = work.lines[POINT, m * task.d :], work.U.reshape(n * m)[:n]
    ahead = _most(task, work, OTHERS) / (n * (1.5 * m * task.d + 80.0))
    if len(work.matrix) == 0:
        ahead += SWEEPS
    if not is_sound(task, weight):
        return proved
    begin(task, margins, work, W, curvature)
    for _ in range(LOOKS):
        if not sweeps(task, margins, work, W, curvature, aim, ahead):
            break
        proved = prove_curved(task, margins, work.answers, W, b, proof, excess, None)
        there = relative_gap(proved)
        if there <= tol:
            break
        aim *= min(CLOSER, ENOUGH * tol / there)
    return proved


@jit
def by_newton(task, margins, tol, work, proof, W, excess):
    """What is proved at the end, whatever it is, from where sweeps have ended."""
    z, m, proved = work.lines[POINT], work.F.shape[1], _nothing()
    k = m * task.d
    if not work.passed[0] > 0:  # the data are not sound
        return proved
    for j in range(k):
        z[place(task.rows, task.d, m, j // m, j % m)] = W[j]
    put_scores(task.rows, task.d, z, work.F)
    J, left = _gap(task, margins, work)
    last, aim, steps = left, ENOUGH * tol, MANY
    margins.c[0] = FIRST
    for turn in range(MOST):
        _centre(task, margins, work, SHARPEN_MORE if steps <= EASY else SHARPEN)
        work.passed[0] = 0
        risk = evaluate(task, margins, work, z[k:])
        _, going = descend(task, margins, work, risk, 0.0, SOLVED * min(left, J))
        steps = work.passed[0]
        J, left = _gap(task, margins, work)
        work.passed[0], work.way[0, 0], work.way[1, 0] = 1, J, left
        if left <= aim * J or not going:
            for j in range(k):
                W[j] = z[place(task.rows, task.d, m, j // m, j % m)]
            proved = prove_curved(task, margins, work.answers, W, z[k:], proof, excess, None)
            aim *= 0.1
            if relative_gap(proved) <= tol or not going:
                break
        if turn % PATIENCE == PATIENCE - 1:
            if left > HEADWAY * last:
                break
            last = left
    return proved
