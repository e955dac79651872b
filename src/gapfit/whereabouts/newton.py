"""The Newton certificate: how far the optimum can be from a point, by gradient and curvature there.

For losses with |phi'''| <= rate * phi'' and the L2 penalty. Let g and H be gradient and Hessian of J at
theta = (w, b), M a matrix with (1 - eta) M <= H <= (1 + eta) M, N^2 = g'M^-1 g, h_x = x'M^-1 x for x with a
one added for b, and q^2 the largest h among the training rows. If rate * q * N < 1 - eta, then, with
x = rate * q * N / (1 - eta) and eps = -log(1 - x) / (x (1 - eta)) - 1,

    |score*(x) - (score(x) - x'M^-1 g)| <= eps N sqrt(h_x).

Proof. delta = theta* - theta solves H^ delta = -g, H^ the mean of H over the line between them. With Z the
largest rate * |x_j'delta|, curvatures change by factors within exp(-s Z) and exp(s Z), so that
H^ >= (1 - eta) (1 - exp(-Z)) / Z M, hence |delta|_M <= N Z / ((1 - eta) (1 - exp(-Z))), and with
Z <= rate * q |delta|_M it is 1 - exp(-Z) <= x. Then |M^1/2 delta + M^-1/2 g| <= N max |1 / lambda - 1| over
the range of H^ in terms of M, and its lower end is the worse one.

M is diagonal in the eigenvectors of the risk's Hessian about its own mean row, at all alphas alike. Between
two alphas M is that of their mean, eta counts the difference, g is linear in alpha and N convex: what holds
at both ends holds between them. Rounding of H is in eta, too, and that of g in N.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gapfit._types import Data, Matrix, Slope, Vector
from gapfit.design.base import Design
from gapfit.design.forms import Rows
from gapfit.losses.forms import SlowCurvature
from gapfit.penalties.forms import Euclidean
from gapfit.problem import Problem
from gapfit.rounding import EPS, SUM, UNIT, gamma, length
from gapfit.solution import Solution
from gapfit.statements import Ball
from gapfit.whereabouts.answers import Answer, Nowhere, as_rows

_MOST_COLUMNS = 2000  # of which eigenvectors are computed
_MOST_ENTRIES = 2**26  # of the rows in terms of these, which are kept
_FEW_COLUMNS = 300  # for which that takes milliseconds
_ROUNDINGS = 32  # of a slope or a curvature
_STEP = 0.05  # of the logarithms of alphas at which the largest h of the training rows is computed
_SMALL = 1e-4  # up to which a series replaces the logarithm


def qualifies(problem: Problem) -> bool:
    """Is there such a certificate?"""
    forms = problem.has(SlowCurvature) and problem.has(Euclidean) and problem.has(Rows)
    n, d = problem.design.shape
    return bool(forms and problem.risk.outputs == 1 and d <= _MOST_COLUMNS and n * d <= _MOST_ENTRIES)


def sharper(problem: Problem, solution: Solution, ball: Ball | None) -> Ball | None:
    """The ball of a Newton certificate, where there is one and it is smaller."""
    if ball is None or not qualifies(problem) or problem.design.shape[1] > _FEW_COLUMNS:
        return ball
    b = np.atleast_1d(np.asarray(solution.intercept, float))[: problem.n_offsets]
    other = NewtonCertificate(problem, solution.w, b).ball(problem.alpha)
    if other is None or other.radius > ball.radius or other.hi - other.lo > ball.hi - ball.lo + ball.radius:
        return ball
    return other


class Metric(NamedTuple):
    """M at one alpha, in terms of eigenvectors, and how well it stands for H."""

    inverse: Vector  # of its diagonal, but for the intercept
    offset: float  # the last entry of its inverse; zero if there is no intercept
    eta: float

    def roots(self, squared: Matrix) -> Vector:
        """The square root of h of each row, by the squares of its entries."""
        return np.sqrt(squared @ self.inverse + self.offset) * (1 + 8 * EPS)


@dataclass(frozen=True)
class Asked:
    """Rows that are asked about, in terms of the eigenvectors."""

    design: Design
    turned: Matrix
    scores: Vector  # at the point
    slack: Vector  # of these
    doubt: Vector  # of the length of a turned row

    @cached_property
    def squared(self) -> Matrix:
        """For those that are asked about often."""
        return self.turned * self.turned


class NewtonCertificate:
    """What gradient and curvature at one point (w, b) say of the optima at all alphas."""

    def __init__(self, problem: Problem, w: Slope, b: Vector) -> None:
        self.problem, self.design = problem, problem.form(Rows).matrix
        slow = problem.form(SlowCurvature)
        self.rate, self.w, self.b = slow.rate, w.astype(np.float64, copy=False), np.asarray(b, float)
        self._last: Asked | None = None
        self._roots: dict[int, float] = {}
        with np.errstate(over="ignore", invalid="ignore"):  # far out all overflows, and nothing is known
            self._look(slow)
            self._decompose()

    def _look(self, slow: SlowCurvature) -> None:
        """Slopes and curvatures at the point, and what rounding can have done to them."""
        problem = self.problem
        scores = problem.scores(self.w)
        _, self.u, e = problem.risk.value_and_subgradient(scores, self.b)
        self.curvature = slow.at(scores, self.b)
        self.free = problem.n_offsets > 0
        self.e = float(e.sum()) if self.free else 0.0
        self.scores = scores + float(self.b.sum())
        moved = self.design.slack(self.w)
        moved = moved + 4 * UNIT * (np.abs(scores) + np.abs(self.b).sum() + np.abs(slow.centre()))
        self.lost = gamma(2 * SUM + _ROUNDINGS) * np.abs(self.u) + 1.01 * self.curvature * moved
        self.bent = gamma(4 * SUM + _ROUNDINGS) + self.rate * float(moved.max(initial=0.0)) * 1.01

    def _decompose(self) -> None:
        """Eigenvectors of the risk's Hessian, about the mean row by curvature, and how exact they are."""
        design, curvature, d = self.design, self.curvature, self.design.shape[1]
        self.mass = float(curvature.sum()) if self.free else 0.0
        summed = design.adjoint(curvature)
        self.mean: Slope = summed / self.mass if self.mass > 0 else np.zeros(d)
        gram = design.weighted_gram(curvature, self.mean, summed)
        gram = np.tril(gram) + np.tril(gram, -1).T
        if not np.isfinite(gram).all():  # curvatures overflow: M = alpha I, which stands for nothing
            gram, self.mass = np.zeros_like(gram), 0.0
        values, self.vectors = np.linalg.eigh(gram)
        self.values: Vector = np.maximum(values, 0.0)
        sizes = design.row_sizes + length(self.mean)
        size = float(curvature @ (sizes * sizes))  # of the sums that the Gram matrix is made of
        off = self.vectors.T @ gram @ self.vectors
        off[np.diag_indices(d)] -= self.values
        scale = float(np.linalg.norm(gram)) + size * gamma(d)
        self._off = length(off.ravel()) + gamma(4 * d + 8) * d * scale
        self._off += 2 * gamma(design.shape[0] + 2 * d + 16) * size
        turned = self.vectors.T @ self.vectors
        turned[np.diag_indices(d)] -= 1.0
        self._skew = length(turned.ravel()) + gamma(2 * d + 8) * d
        self._spin = float(np.sqrt(1.0 + self._skew))  # the most that a length changes by being turned
        # what is left of the mean row, and the mass as it was summed up
        self._left = gamma(design.shape[0] + SUM) * float(curvature @ sizes) * 2
        self.row_doubt = gamma(2 * d + 16) * d  # of a turned row, relative to its length and the mean's
        self._mean_length = length(self.mean)
        self.rows = self._ask(design)
        self.slope = self._turned_slope(design.adjoint(self.u) - self.e * self.mean)
        self.pull = self._turned_slope(self.w)
        reach = design.reach(self.lost) + design.spread(self.u) + abs(self.e) * 4 * EPS * self._mean_length
        lost = float(self.lost.sum()) + gamma(SUM + 8) * float(np.abs(self.u).sum())
        reach += self._mean_length * lost + self.row_doubt * (length(self.slope) + self._mean_length * lost)
        self.slope_lost, self.mass_lost = reach * self._spin, lost
        self.pull_lost = self.row_doubt * length(self.w)

    def _turned_slope(self, slope: Slope) -> Slope:
        return np.asarray(self.vectors.T @ slope)

    def _ask(self, design: Design) -> Asked:
        turned: Matrix = design.scores(self.vectors)
        turned -= self.mean @ self.vectors
        doubt = self.row_doubt * (design.row_sizes + self._mean_length)
        scores = design.scores(self.w)
        scores += float(self.b.sum())
        return Asked(design, turned, scores, design.slack(self.w), doubt)

    def ask(self, design: Design) -> Asked:
        """About these rows; the last ones are remembered."""
        if design is self.design:
            return self.rows
        if self._last is None or self._last.design is not design:
            self._last = self._ask(design)
        return self._last

    def metric(self, least: float, most: float) -> Metric:
        """M for all alphas from least to most."""
        middle = 0.5 * (least + most)
        diagonal = self.values + middle
        floor = float(diagonal.min())
        off = (0.5 * (most - least) * (1 + 4 * EPS) + 4 * EPS * middle) * (1 + self._skew)
        eta = (self._off + off + middle * self._skew) / floor
        if self.free:
            if not self.mass > 0:
                return Metric(1 / diagonal, np.inf, np.inf)
            eta += self._left / np.sqrt(floor * self.mass) + gamma(2 * SUM)
        eta += self.bent * (1 + eta)  # every curvature is off by a factor of its own
        return Metric(1 / diagonal, 1 / self.mass if self.free else 0.0, eta * (1 + 1e-6))

    def between(self, least: float, most: float) -> Answer:
        """Where the optima are, at all alphas from least to most."""
        least, most = float(least), float(most)
        metric = self.metric(least, most)
        if not metric.eta < 1:
            return Nowhere()
        q = self.largest_root(0.5 * (least + most))
        ends = [self.end(alpha, metric, q) for alpha in dict.fromkeys((least, most))]
        return Nowhere() if None in ends else Steps(self, metric, [end for end in ends if end is not None])

    def ball(self, alpha: float) -> Ball | None:
        """A ball that contains all optima at this alpha; None if the point is too far away."""
        found = self.between(alpha, alpha)
        if not isinstance(found, Steps):
            return None
        metric, (step,) = found.metric, found.ends
        centre = self.w - self.vectors @ step.weights
        radius = self._spin * step.reach * float(np.sqrt(metric.inverse.max()))
        radius += self.row_doubt * length(step.weights) + 4 * EPS * length(centre)
        ball = Ball(self.problem.penalty, centre, radius * (1 + 8 * EPS), np.zeros_like(centre), 0.0, 0.0)
        if not self.free:
            return ball
        level, own = float(self.mean @ self.w), float(self.b.sum())
        reach = step.reach * float(np.sqrt(metric.offset)) + self.design.inner_error(self.mean, self.w)
        reach += 16 * EPS * (abs(level) + abs(own) + abs(step.shift))
        middle = own + level - step.shift
        return ball._replace(mean=self.mean, lo=middle - reach, hi=middle + reach)

    def largest_root(self, alpha: float) -> float:
        """q at this alpha, or at one a little smaller, where it is no less: those are remembered."""
        step = int(np.floor(np.log(alpha) / _STEP - 1e-9))
        if step not in self._roots:
            metric = self.metric(*[float(np.exp(step * _STEP))] * 2)
            squared = self.rows.turned * self.rows.turned  # large, and used once
            roots = metric.roots(squared) + self.rows.doubt * np.sqrt(metric.inverse.max())
            self._roots[step] = float(roots.max(initial=0.0))
        return self._roots[step]

    def end(self, alpha: float, metric: Metric, q: float) -> "Step | None":
        """What is known at one alpha; None if the point is too far away."""
        g = self.slope + alpha * self.pull
        lost = self.slope_lost + alpha * self.pull_lost + 4 * EPS * length(g)
        lost = lost * float(np.sqrt(metric.inverse.max())) + self.mass_lost * float(np.sqrt(metric.offset))
        square = float((g * g) @ metric.inverse) + self.e * self.e * metric.offset
        N = float(np.sqrt(square)) * (1 + gamma(g.size + 16)) + lost
        eps = excess(self.rate * q * N, metric.eta)
        if not np.isfinite(eps):
            return None
        return Step(g * metric.inverse, self.e * metric.offset, eps * N + lost)


class Step(NamedTuple):
    """A Newton step, M^-1 g in terms of the eigenvectors, and how far the optimum can be from its end."""

    weights: Vector
    shift: float  # of the intercept
    reach: float


class Steps(NamedTuple):
    """Scores of the optimum: those after a step, or between two, up to a multiple of the square root of h."""

    of: NewtonCertificate
    metric: Metric
    ends: list[Step]

    def score_bounds(self, X: Data | Design) -> tuple[Vector, Vector]:
        rows, metric = self.of.ask(as_rows(X)), self.metric
        roots = metric.roots(rows.squared) + rows.doubt * np.sqrt(metric.inverse.max())
        own = np.abs(rows.scores) + float(np.abs(self.of.b).sum())
        lo, hi = zip(*(self._bounds(rows, roots, own, end) for end in self.ends), strict=True)
        return (lo[0], hi[0]) if len(lo) == 1 else (np.minimum(*lo), np.maximum(*hi))

    def _bounds(self, rows: Asked, roots: Vector, own: Vector, end: Step) -> tuple[Vector, Vector]:
        moved = rows.turned @ end.weights
        room = roots * (end.reach * (1 + 8 * EPS)) + rows.slack
        room += rows.doubt * (2 * length(end.weights)) + 8 * EPS * (own + np.abs(moved) + abs(end.shift))
        middle = rows.scores - moved - end.shift
        return middle - room, middle + room


def excess(x: float, eta: float) -> float:
    """eps of the theorem; infinite if it says nothing."""
    if not x < (1 - eta) * (1 - 1e-9) or not eta < 1:
        return np.inf
    x = x / (1 - eta) * (1 + 8 * EPS)
    rise = 0.5 * x * (1 + x) if x < _SMALL else (-np.log1p(-x) - x) / x * (1 + 1e-10)
    return float((rise + eta) / (1 - eta) * (1 + 8 * EPS))
