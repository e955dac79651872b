"""What becomes of the optimum if one sample changes: it is left out, has another weight, or another label.

Losses are averaged, so with S the sum of the weights, a sample whose weight changes by delta S leaves the
optimum of  alpha (1 + delta) Omega + the old risk + delta * its loss.  Gradient and Hessian of that, at the
old point, are the old ones and those of one loss more or less:

    g_i = g + alpha delta w + s x_i,     H_i = H + k x_i x_i' + alpha delta I,

where s and k are what the sample's slope and curvature change by. So the Newton certificate of the old fit
serves all changes: M_i = M + k x_i x_i' is inverted by Sherman and Morrison's formula, and with
c = k / (1 + k h_i), s_i = x_i'M^-1 g_i and k_x = x'M^-1 x_i,

    x'M_i^-1 g_i = x'M^-1 g_i - c k_x s_i,    h_x -> h_x - c k_x^2,    N_i^2 = g_i'M^-1 g_i - c s_i^2.
"""

from typing import NamedTuple

import numpy as np

from gapfit._types import Indices, Vector
from gapfit.design.base import Design
from gapfit.design.forms import Rows
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import Conjugate, SlowCurvature
from gapfit.problem import Problem
from gapfit.rounding import EPS, gamma, length
from gapfit.whereabouts import balls
from gapfit.whereabouts.answers import Answer, Nowhere
from gapfit.whereabouts.newton import Asked, Metric, NewtonCertificate, excess

_BLOCK = 2**22  # numbers in a block of pairs
_INSIDE = 1e-6  # of the width of its bounds away from them, a dual coefficient is free
_MOST_FREE = 1000


class Change(NamedTuple):
    """For each change: which row of the problem changes, and by how much."""

    row: Indices
    weight: Vector  # that the row has afterwards
    flipped: bool  # has the row's part that goes another label instead?

    def mass(self, problem: Problem) -> Vector:
        """delta: by how much all weights together change, in terms of their sum."""
        less = problem.weight[self.row] - self.weight
        return np.zeros(len(self.row)) if self.flipped else -less / problem.weight.sum()

    def problem(self, problem: Problem, k: int) -> Problem:
        """The k-th changed problem itself."""
        row, weight, y = int(self.row[k]), problem.weight.copy(), problem.y
        design, offset = problem.design, problem.offset if problem.shifted else None
        if self.flipped and self.weight[k] > 0:  # a part of the row keeps its label
            design = design.take(np.append(np.arange(len(y)), row))
            weight, y = np.append(weight, weight[row] - self.weight[k]), np.append(y, -y[row])
            offset = None if offset is None else np.append(offset, offset[row])
            weight[row] = self.weight[k]
        elif self.flipped:
            y = y.copy()
            y[row] = -y[row]
        else:
            weight[row] = self.weight[k]
        return Problem(
            design, y, problem.loss, problem.penalty, problem.alpha, weight, problem.n_offsets > 0, offset
        )


class Changed(NamedTuple):
    """What the certificate knows of each changed problem."""

    slope: Vector  # s
    factor: Vector  # c
    pull: Vector  # alpha (1 + delta)
    along: Vector  # s_i = x_i'M^-1 g_i
    root: Vector  # square root of h_i
    reach: Vector  # of the optimum from the end of its Newton step, in units of the square root of h


class ChangeCertificate:
    """Bounds of scores after each of several changes, by one Newton certificate."""

    def __init__(self, certificate: NewtonCertificate, alpha: float, change: Change) -> None:
        self.of, self.change = certificate, change
        pull = float(alpha) * (1 + change.mass(certificate.problem))
        self.metric = certificate.metric(float(pull.min()), float(pull.max()))
        self.known = self._known(pull)

    def _known(self, pull: Vector) -> Changed:
        of, metric, row = self.of, self.metric, self.change.row
        rows = of.rows
        slope, curvature, doubtful = self._differences()
        steepest = float(np.sqrt(metric.inverse.max()))
        roots = metric.roots(rows.squared) + rows.doubt * steepest
        root = roots[row]
        left = 1 + np.minimum(curvature, 0.0) * root * root * (1 + 16 * EPS)
        left = np.where(left > 0, left, np.nan)
        factor = curvature / (1 + curvature * root * root)
        z = rows.turned[row]
        G = of.slope + pull[:, None] * of.pull + slope[:, None] * z
        e = of.e + slope if of.free else np.zeros_like(slope)
        along = (z * G) @ metric.inverse + e * metric.offset
        square = (G * G) @ metric.inverse + e * e * metric.offset - factor * along * along
        lost = of.slope_lost + pull * of.pull_lost + 8 * EPS * np.sqrt((G * G).sum(axis=1))
        lost = (lost + np.abs(slope) * rows.doubt[row]) * steepest + of.mass_lost * np.sqrt(metric.offset)
        lost = (lost + doubtful * root + gamma(z.shape[1] + 64) * np.sqrt(np.abs(square))) / np.sqrt(left)
        with np.errstate(invalid="ignore"):
            N = np.sqrt(np.maximum(square, 0.0) + 64 * EPS * np.abs(factor) * along * along) + lost
            bent = (
                np.abs(curvature) * root * (of.bent * root + 4 * rows.doubt[row] * steepest + 32 * EPS * root)
            )
            eta = (metric.eta + bent) / left
            q = self._largest_root(roots, curvature, left, np.zeros(0, np.intp))
            reach = _reach(of.rate * q * N, eta, N, lost)
            open_still = np.flatnonzero(~np.isfinite(reach))
            if len(open_still) and of.rate:  # the rows' own leverages after the change, one by one
                q[open_still] = self._largest_root(roots, curvature, left, open_still)
                reach = _reach(of.rate * q * N, eta, N, lost)
        return Changed(slope, factor, pull, along, root, reach)

    def _differences(self) -> tuple[Vector, Vector, Vector]:
        """What slopes and curvatures change by, and how far these may be off, in the slope."""
        of, change, problem = self.of, self.change, self.of.problem
        row = change.row
        share = 1 - change.weight / problem.weight[row]  # of the row that goes
        slope, curvature = -share * of.u[row], -share * of.curvature[row]
        doubtful = np.abs(share) * of.lost[row] + 8 * EPS * np.abs(slope)
        if change.flipped:
            other = problem.loss.bind(-problem.y, problem.weight)
            scores = of.scores - float(of.b.sum())
            _, u, _ = other.value_and_subgradient(scores, of.b)
            found = other.form(SlowCurvature)
            assert found is not None  # as that of the labels themselves
            slope, curvature = slope + share * u[row], curvature + share * found.at(scores, of.b)[row]
            doubtful = 2 * doubtful + gamma(256) * np.abs(share * u[row])
        return slope, curvature, doubtful

    def _largest_root(self, roots: Vector, curvature: Vector, left: Vector, some: Indices) -> Vector:
        """q of each changed problem: by Cauchy and Schwarz, or for some of them by all rows that are left."""
        if not len(some):
            return np.asarray(roots.max() / np.sqrt(left))
        of, metric, change = self.of, self.metric, self.change
        found = np.empty(len(some))
        turned = of.rows.turned
        for k, i in enumerate(some.tolist()):
            row = int(change.row[i])
            cross = turned @ (metric.inverse * turned[row]) + metric.offset
            factor = curvature[i] / (1 + curvature[i] * roots[row] ** 2)
            squares = roots * roots - factor * cross * cross * (1 + 1e-9 * np.sign(-factor))
            if change.weight[i] == 0 and not change.flipped:
                squares[row] = 0.0  # it is gone
            found[k] = np.sqrt(squares.max(initial=0.0)) * (1 + 1e-9)
        return found

    def after(self, k: int) -> tuple[Vector, Vector]:
        """The point after a Newton step on the k-th changed problem: w and b."""
        of, known, inverse = self.of, self.known, self.metric.inverse
        z = of.rows.turned[self.change.row[k]]
        pulled = of.slope + known.pull[k] * of.pull + (known.slope[k] - known.factor[k] * known.along[k]) * z
        w = of.w - of.vectors @ (inverse * pulled)
        if not of.free:
            return w, of.b
        shift = (of.e + known.slope[k] - known.factor[k] * known.along[k]) * self.metric.offset
        return w, of.b + float(of.mean @ of.w) - shift - float(of.mean @ w)

    def own(self, design: Design) -> tuple[Vector, Vector]:
        """Bounds on the score of row i of a design after the i-th change, which is one of that row's."""
        rows, known = self.of.ask(design), self.known
        with np.errstate(invalid="ignore"):
            left = 1 / (1 - known.factor * known.root**2)  # 1 + k h
            middle = rows.scores - known.along / left
            return self._around(rows, middle, known.root / np.sqrt(left), known.along / left, slice(None))

    def others(self, design: Design) -> tuple[Vector, Vector]:
        """Bounds of shape (rows, changes): the score of each row of a design after each change."""
        rows, known, of, inverse = self.of.ask(design), self.known, self.of, self.metric.inverse
        m, n = len(rows.scores), len(known.slope)
        lo, hi = np.empty((m, n)), np.empty((m, n))
        z = of.rows.turned[self.change.row]
        steady, pulled = rows.turned @ (inverse * of.slope), rows.turned @ (inverse * of.pull)
        square = metric_squares(self.metric, rows)
        size = max(1, _BLOCK // max(n, 1))
        for first in range(0, m, size):
            part = slice(first, first + size)
            cross = (rows.turned[part] * inverse) @ z.T + self.metric.offset
            e = (of.e + known.slope) * self.metric.offset if of.free else 0.0
            moved = (
                steady[part, None]
                + pulled[part, None] * known.pull
                + known.slope * (cross - self.metric.offset)
            )
            moved = moved + e - known.factor * cross * known.along
            with np.errstate(invalid="ignore"):
                spread = square[part, None] - known.factor * cross * cross
                roots = np.sqrt(np.maximum(spread, 0.0) + 64 * EPS * (square[part, None] + np.abs(spread)))
                middle = rows.scores[part, None] - moved
                lo[part], hi[part] = self._around(rows, middle, roots, moved, part)
        return lo, hi

    def _around(
        self, rows: Asked, middle: Vector, roots: Vector, moved: Vector, part: slice
    ) -> tuple[Vector, Vector]:
        """The intervals about these scores; infinite where nothing is known."""
        steepest = float(np.sqrt(self.metric.inverse.max()))
        column = (slice(None), None) if middle.ndim == 2 else (slice(None),)
        scores, slack, doubt = (values[part][column] for values in (rows.scores, rows.slack, rows.doubt))
        lengths = (
            np.abs(self.known.pull) * length(self.of.pull) + length(self.of.slope) + np.abs(self.known.slope)
        )
        reach = self.known.reach * (1 + 1e-9)
        room = roots * reach + slack + 4 * doubt * steepest * (reach + steepest * lengths)
        room = room + 64 * EPS * (np.abs(scores) + np.abs(moved) + float(np.abs(self.of.b).sum()))
        room = np.where(np.isfinite(room), room, np.inf)
        middle = np.where(np.isfinite(middle), middle, 0.0)
        return middle - room, middle + room


def metric_squares(metric: Metric, rows: Asked) -> Vector:
    """h of each row, not too small."""
    return np.asarray((metric.roots(rows.squared) + rows.doubt * np.sqrt(metric.inverse.max())) ** 2)


def _reach(x: Vector, eta: Vector, N: Vector, lost: Vector) -> Vector:
    eps = np.array([excess(*pair) for pair in zip(x.tolist(), eta.tolist(), strict=True)])
    with np.errstate(invalid="ignore"):
        return np.asarray(eps * N + lost)


def glance(changed: Problem, w: Vector, b: Vector, u: Vector) -> Answer:
    """What an old point and an old dual point, made feasible, say of a changed problem."""
    if not (balls.qualifies(changed) and changed.has(Conjugate)):
        return Nowhere()
    return balls.Balls(changed, w, b, changed.minorant_at(u)).between(changed.alpha, changed.alpha)


def absorbed(problem: Problem, u: Vector, row: int, amount: float) -> Vector:
    """The dual point less an amount of one row, which those strictly within their bounds take over: in
    proportion to their room, and from there as far as bounds allow to where X'u changes least."""
    atoms, rows = problem.risk.form(Atoms), problem.design.form(Rows)
    u = u.copy()
    u[row] -= amount
    if atoms is None or rows is None or not amount:
        return u
    lower = np.where(atoms.sign > 0, -atoms.hi, atoms.lo)
    upper = np.where(atoms.sign > 0, -atoms.lo, atoms.hi)
    width = upper - lower
    edge = _INSIDE * np.where(np.isfinite(width), width, 0.0)
    free = (u > lower + edge) & (u < upper - edge) & (u != 0)
    free[row] = False
    some = np.flatnonzero(free)
    ends = lower[some] - u[some], upper[some] - u[some]
    room = ends[1] if amount > 0 else ends[0]
    if not 0 < len(some) <= _MOST_FREE or not abs(amount) <= abs(room.sum()) < np.inf:
        return u
    X = rows.matrix.take(np.append(some, row)).dense()
    if problem.n_offsets:
        X = np.hstack([X, np.full((len(X), 1), 10.0 * np.abs(X).max())])
    even = amount * room / room.sum()
    aim = np.linalg.lstsq(X[:-1].T, amount * X[-1], rcond=None)[0] - even
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(aim > 0, (ends[1] - even) / aim, (ends[0] - even) / aim)
    u[some] += even + float(np.clip(np.nanmin(np.where(aim == 0, 1.0, most)), 0.0, 1.0)) * aim
    return u
