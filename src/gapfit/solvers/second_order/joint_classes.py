"""A Newton step on the weights of all classes that are in use, as long as no sign changes.

Second derivatives of softmax couple the classes, so the system is that of all weights in use and all offsets;
conjugate gradients solve it by products with X and its transpose.
"""

from collections.abc import Callable

import numpy as np

from gapfit import limits
from gapfit._types import Indices, Slope, Vector
from gapfit.design.forms import WideRows
from gapfit.losses.multiclass import ClassCurvature
from gapfit.problem import Problem
from gapfit.rounding import EPS
from gapfit.solvers.columns.terms import Terms
from gapfit.solvers.point import Point, at_offsets

_PRODUCTS = 60  # at most
_FORCING = 0.03  # of the first residual is left
_PARTS = (2, 8, 10**9)  # of the weights that would change their sign on the way: so few do on a shorter one


def towards_the_minimum(problem: Problem, at: Point) -> Point:
    """The point after the step; where it is, if that lowers J no more."""
    terms, w = Terms.of(problem), at.w
    used = np.flatnonzero((w != 0) & (w > terms.lower) & (w < terms.upper))
    if not len(used):
        return at
    hessian, k = problem.form(ClassCurvature).at(at.u), len(used)
    slopes = problem.design.adjoint(at.u)[used]
    gradient = slopes + terms.l1 * np.sign(w[used]) + terms.l2 * w[used]
    whole = np.zeros_like(w)

    def bent(v: Vector) -> Vector:
        """What a change of weights and offsets makes of the gradient."""
        limits.look()
        whole[used] = v[:k]
        scores, b = hessian.product(problem.design.scores(whole), v[k:])
        return np.concatenate([problem.design.adjoint(scores)[used] + terms.l2 * v[:k], b])

    matrix = problem.form(WideRows).matrix
    own = hessian.p[:, None] * hessian.pi * (1.0 - hessian.pi)  # second derivatives in each score alone
    squares = np.stack([matrix.squares(column) for column in own.T], axis=1).ravel()[used] + terms.l2
    diagonal = np.concatenate([squares, own.sum(axis=0)[: len(at.b)]])
    diagonal = np.maximum(diagonal, 1e-12 * float(diagonal.max()))
    way = _solution(bent, -np.concatenate([gradient, at.e]), diagonal)
    for length in _lengths(w[used], way[:k]):
        there = _moved(problem, terms, at, used, length * way)
        if no_worse(there, at):
            return there
    return at


def no_worse(there: Point, at: Point) -> bool:
    """Is J lower there, or as low but for rounding? Near its minimum slopes tell more than J can."""
    rise = there.J - at.J
    return rise <= 8 * EPS * abs(at.J)


def _lengths(w: Slope, way: Slope) -> list[float]:
    """How far to try: all the way, or as far as that some of the weights become zero on it, or the first one.

    Up to there J is smooth, and falls at first. Where columns depend on each other the way is long, since it
    bends J nowhere, and ends at a zero in any case.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        zeros = np.sort(-w / way)
    zeros = zeros[(zeros > 0) & (zeros < 1)]
    return [1.0, *(float(zeros[len(zeros) // part]) for part in _PARTS if len(zeros))]


def _moved(problem: Problem, terms: Terms, at: Point, used: Indices, way: Vector) -> Point:
    """The point so far from here, where weights that would change their sign are zero."""
    w, k = at.w.copy(), len(used)
    target = w[used] + way[:k]
    target[np.sign(target) != np.sign(w[used])] = 0.0
    w[used] = np.clip(target, terms.lower[used], terms.upper[used])
    return at_offsets(problem, w, problem.scores(w), at.b + way[k:])


def _solution(times: Callable[[Vector], Vector], b: Vector, diagonal: Vector) -> Vector:
    """x with times(x) = b, nearly, by conjugate gradients."""
    x, r = np.zeros_like(b), b.copy()
    z = r / diagonal
    p, rz = z, float(r @ z)
    goal = _FORCING**2 * rz
    for _ in range(_PRODUCTS):
        image = times(p)
        bend = float(p @ image)
        if not bend > 0:  # flat this way: wherever it leads
            return x if x.any() else p
        x += (rz / bend) * p
        r -= (rz / bend) * image
        z = r / diagonal
        before, rz = rz, float(r @ z)
        if rz <= goal:
            break
        p = z + (rz / before) * p
    return x
