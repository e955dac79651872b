"""Where the optimum is, by a fit at another alpha or without one sample: theorems of gapfit's own, measured.

The judge is Newton's method to machine precision, written out here for the logistic loss.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gapfit._types import Matrix, Vector
from gapfit.lab.statement import Chapter, Measured
from gapfit.problem import Problem
from gapfit.solution import Solution
from gapfit.solve import solve
from gapfit.whereabouts import Balls, NewtonCertificate
from gapfit.whereabouts.changes import Change, ChangeCertificate

NEARBY = Chapter()
FACTORS = (0.5, 0.8, 0.95, 1.0, 1.05, 1.3, 2.0)
_ROOM = 1e-9


class Sample(NamedTuple):
    """Sixty samples of two classes, a problem and a loose fit."""

    X: Matrix
    y: Vector
    problem: Problem
    fit: Solution

    @property
    def b(self) -> Vector:
        return np.atleast_1d(np.asarray(self.fit.intercept, float))

    def balls(self) -> Balls:
        return Balls(self.problem, self.fit.w, self.b, self.fit.minorant)

    def newton(self) -> NewtonCertificate:
        return NewtonCertificate(self.problem, self.fit.w, self.b)

    def optimum(self, alpha: float, weight: Vector | None = None) -> Vector:
        """The scores of the exact optimum, by Newton's method on the definition."""
        p = np.ones(len(self.y)) if weight is None else weight
        Z, p = np.column_stack([self.X, np.ones(len(self.y))]), p / p.sum()
        ridge = np.append(np.full(self.X.shape[1], alpha), 0.0)
        at = np.zeros(Z.shape[1])
        for _ in range(100):
            s = np.exp(-np.logaddexp(0.0, self.y * (Z @ at)))
            H = (Z.T * (p * s * (1 - s))) @ Z + np.diag(ridge)
            step = np.linalg.solve(H, Z.T @ (-p * self.y * s) + ridge * at)
            at = at - step * min(1.0, 4.0 / float(np.abs(Z @ step).max(initial=1e-300)))
            if np.abs(step).max() < 1e-14:
                break
        return np.asarray(Z @ at)


def sample(seed: int, alpha: float = 0.02, tol: float = 1e-4) -> Sample:
    """Draw one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    y = np.where(X @ rng.normal(size=4) + 0.8 * rng.normal(size=60) > 0.3, 1.0, -1.0)
    problem = Problem(X, y, "logistic", alpha=alpha)
    return Sample(X, y, problem, solve(problem, tol=tol))


def _samples() -> Iterator[Sample]:
    for seed in range(6):
        yield sample(seed, alpha=(0.1, 0.02, 0.004)[seed % 3], tol=10.0 ** -(1 + seed))


def _outside(scores: Vector, bounds: tuple[Vector, Vector]) -> int:
    lo, hi = bounds
    room = _ROOM * (1 + np.abs(scores))
    return int(((scores < lo - room) | (scores > hi + room)).sum())


@NEARBY.states("ours, T1")
def _ball_at_every_alpha() -> Measured:
    """One point (w, b) and one minorant (a, c) of any fit: at every alpha all optimal w are in the ball about
    m(t) = (w - t a) / 2 with squared radius |m|^2 + t (R(w, b) - c), t = 1 / alpha."""
    checked = wrong = 0
    for one in _samples():
        balls = one.balls()
        for factor in FACTORS:
            alpha = factor * one.problem.alpha
            wrong += _outside(one.optimum(alpha), balls.between(alpha, alpha).score_bounds(one.X))
            checked += len(one.y)
    return Measured(f"{wrong} of {checked} scores outside their bounds", wrong == 0 < checked)


@NEARBY.states("ours, T1")
def _ends_of_a_cell() -> Measured:
    """Bounds of scores from above are convex in 1 / alpha, those from below concave: what holds at both ends
    of a range of alphas, by the same planes for the intercept, holds in all of it."""
    checked = wrong = 0
    for one in _samples():
        for least, most in ((0.9, 1.1), (1.1, 1.6), (0.5, 0.7)):
            ends = least * one.problem.alpha, most * one.problem.alpha
            for tool in (one.balls(), one.newton()):
                bounds = tool.between(*ends).score_bounds(one.X)
                for alpha in np.geomspace(*ends, 7):
                    wrong += _outside(one.optimum(float(alpha)), bounds)
                    checked += len(one.y)
    return Measured(f"{wrong} of {checked} scores outside their bounds", wrong == 0 < checked)


@NEARBY.states("ours, T2")
def _leaning_planes() -> Measured:
    """A minorant that leans in b, R >= <a', w> + e b + c' with e > 0, proves that b* + <w*, m> is at most
    (gap + c - c') / e for m = (a' - a) / e, and the other way round for e < 0."""
    wrong, ratios = 0, []
    for one in _samples():
        alpha = one.problem.alpha
        place, bounds = one.balls().place(alpha), one.balls().between(alpha, alpha).score_bounds(one.X)
        wrong += _outside(one.optimum(alpha), bounds)
        centred = np.linalg.norm(one.X - one.X.mean(axis=0), axis=1)
        ratios.append(float(np.mean(bounds[1] - bounds[0]) / (2 * place.radius * centred.mean())))
    words = f"{wrong} scores outside; widths {np.mean(ratios):.2f} times those of a ball without intercept"
    return Measured(words, wrong == 0 and max(ratios) < 2)


@NEARBY.states("ours, T3")
def _newton_certificate() -> Measured:
    """|phi'''| <= phi'' (logistic): with g, H at a point, N^2 = g'H^-1 g, h_x = x'H^-1 x, q^2 the largest h
    of a row and q N < 1, scores of the optimum differ from those of a Newton step by at most
    eps N sqrt(h_x), with eps = -log(1 - q N) / (q N) - 1."""
    checked = wrong = said = 0
    for one in _samples():
        newton = one.newton()
        for factor in FACTORS:
            alpha = factor * one.problem.alpha
            lo, hi = newton.between(alpha, alpha).score_bounds(one.X)
            wrong += _outside(one.optimum(alpha), (lo, hi))
            checked, said = checked + len(one.y), said + int(np.isfinite(hi).sum())
    return Measured(
        f"{wrong} of {checked} scores outside their bounds, {said} of them finite", wrong == 0 < said
    )


@NEARBY.states("ours, T3")
def _second_order() -> Measured:
    """The intervals of the Newton certificate shrink with the square of the distance from the optimum, those
    of a ball with the distance itself."""
    one = sample(1, tol=1e-12)
    direction, alpha, widths = np.ones(4) / 2, one.problem.alpha, []
    for distance in (1e-2, 1e-3):
        w = one.fit.w + distance * direction
        newton = NewtonCertificate(one.problem, w, one.b).between(alpha, alpha)
        ball = Balls(one.problem, w, one.b, one.problem.oracle(w).minorant).between(alpha, alpha)
        widths.append(
            [float(np.mean(np.subtract(*answer.score_bounds(one.X)[::-1]))) for answer in (newton, ball)]
        )
    newton_power, ball_power = np.log10(np.array(widths[0]) / np.array(widths[1]))
    words = f"a tenth of the distance: powers {newton_power:.2f} (Newton) and {ball_power:.2f} (ball)"
    return Measured(words, newton_power > 1.9 and 0.9 < ball_power < 1.5)


@NEARBY.states("ours, T3")
def _softmax_qualifies() -> Measured:
    """For softmax the third derivative in a direction h is at most (max h - min h) times the second in any
    direction: the same theorem, with ranges of scores for absolute values. (Poisson: phi''' = phi''.)"""
    rng, most = np.random.default_rng(0), 0.0
    for _ in range(2000):
        f, h, v = rng.normal(size=(3, 5)) * 2
        p = np.exp(f - f.max())
        p /= p.sum()
        variance = p @ (v - p @ v) ** 2
        third = p @ ((v - p @ v) ** 2 * (h - p @ h))
        most = max(most, abs(third) / (np.ptp(h) * variance))
    return Measured(f"largest ratio of the two sides {most:.3f} in 2000 draws", most <= 1)


@NEARBY.states("ours, T3")
def _one_sample_less() -> Measured:
    """Gradient and Hessian of the problem without sample i, at the old point, are the old ones less those of
    one loss: one factorisation bounds all left-out scores."""
    checked = wrong = finite = 0
    for one in _samples():
        n = len(one.y)
        change = Change(np.arange(n), np.zeros(n), False)
        lo, hi = ChangeCertificate(one.newton(), one.problem.alpha, change).own(one.problem.design)
        finite += int(np.isfinite(hi).sum())
        for i in range(n):
            weight = np.ones(n)
            weight[i] = 0.0
            scores = one.optimum(one.problem.alpha, weight)[i : i + 1]
            wrong += _outside(scores, (lo[i : i + 1], hi[i : i + 1]))
            checked += 1
    return Measured(
        f"{wrong} of {checked} left-out scores outside, {finite} bounds finite", wrong == 0 < finite
    )
