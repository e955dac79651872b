"""Pragam: the excessive gap technique, its bound and its conditions."""

from functools import partial
from itertools import islice

import numpy as np

from gapfit._types import Vector
from gapfit.lab.examples import four_points
from gapfit.lab.runs import model, run
from gapfit.lab.statement import Chapter, Measured
from gapfit.lab.upper_bounds import random_problem, rows
from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.solution import Iterate

ACCELERATED = Chapter()


def pragam_steps(problem: Problem, steps: int, L: float | None = None) -> list[Iterate]:
    """(w_k, alpha_k) for k = 0 .. steps."""
    return list(islice(run(partial(as_solver("pragam"), L=L)(problem)), steps + 1))


def gaps(problem: Problem, steps: list[Iterate]) -> Vector:
    """J(w_k) - D(alpha_k), with the best intercept."""
    return np.array(
        [
            problem.alpha * problem.penalty.value(step.point())
            + problem.oracle(step.point()).risk
            - problem.dual(model(step))
            for step in steps
        ]
    )


def lipschitz(problem: Problem) -> float:
    """L of the dual's gradient: the squared largest singular value of X, by alpha n."""
    X = rows(problem)
    return float(np.linalg.norm(X, 2) ** 2 / (len(X) * problem.alpha))


def size(problem: Problem) -> float:
    """D2, times n: the largest half squared distance of a dual point from the centre 0."""
    share = float((problem.y > 0).mean())
    return min(share, 1 - share) if problem.n_offsets else 0.5


def bound(problem: Problem, steps: int) -> Vector:
    """4 L D2 / ((k + 1)(k + 2)) for k = 0 .. steps."""
    k = np.arange(steps + 1)
    return 4 * lipschitz(problem) * size(problem) / ((k + 1.0) * (k + 2.0))


def _problems() -> list[Problem]:
    random = [random_problem(seed, alpha=alpha, intercept=b)
              for seed in range(3) for alpha in (0.1, 0.001) for b in (False, True)]  # fmt: skip
    return [four_points().problem, *random]


@ACCELERATED.states("2009, (26)", erratum=True)
def _pragam_bound() -> Measured:
    """(26): J(w_k) - D(alpha_k) <= 4 L D2 / ((k + 1)(k + 2)), with and without the intercept, started at the
    prox centre, with L = sigma_max(X)^2 / alpha and D2 = 1/(2n), or min(n_+, n_-)/n^2 with an intercept."""
    ratios = []
    for problem in _problems():
        steps = pragam_steps(problem, 300, lipschitz(problem))
        ratios.append(float((gaps(problem, steps) / bound(problem, 300)).max()))
    words = f"largest ratio of gap and bound {max(ratios):.2f} over 300 steps of {len(ratios)} problems"
    return Measured(words, max(ratios) <= 1)


@ACCELERATED.states("2009, Section 4.1", erratum=True)
def _pragam_steps() -> Measured:
    """For |x_i| <= R the gap is at most eps after sqrt(2) R / sqrt(alpha eps) steps (printed: R / sqrt(alpha
    eps), at which the bound is still 2 eps)."""
    most, checked = 0.0, 0
    for problem in _problems():
        R = float(np.linalg.norm(rows(problem), axis=1).max())
        found = gaps(problem, pragam_steps(problem, 400, lipschitz(problem)))
        for eps in (0.3, 0.1, 0.03, 0.01):
            k = int(np.ceil(np.sqrt(2) * R / np.sqrt(problem.alpha * eps)))
            if k <= 400:
                most, checked = max(most, found[k] / eps), checked + 1
    return Measured(f"largest gap there, as a share of eps: {most:.2f} ({checked} cases)", most <= 1)


@ACCELERATED.states("2009, Section 5")
def _pragam_unknown_l() -> Measured:
    """With L found on the way the excessive gap condition still holds: J(w_k) - D(alpha_k) <= mu_k D2 at
    every step, and mu_k falls like 1 / k^2."""
    worst, falls = 0.0, []
    for problem in _problems():
        steps, smoothings = [], []
        for step in islice(run(as_solver("pragam")(problem)), 301):
            steps.append(step)
            smoothings.append(step.snapshot()["pair"]["mu"])  # now: later it tells of a later step
        mu = np.array(smoothings)
        counts = mu > 1e-10
        worst = max(worst, float((gaps(problem, steps)[counts] / (mu[counts] * size(problem))).max()))
        falls.append(float(mu[300] * 300**2 / lipschitz(problem)))
    words = f"largest ratio of gap and mu D2 {worst:.2f}; k^2 mu_k / L at most {max(falls):.2f} at k = 300"
    return Measured(words, worst <= 1 + 1e-6 and max(falls) <= 8)


@ACCELERATED.states("2009, Algorithm 1")
def _pragam_small_l() -> Measured:
    """An L that is too small breaks the method: at 0.3 L the gap exceeds the bound that L itself gives."""
    problem = random_problem(0, alpha=0.001)
    steps = pragam_steps(problem, 300, 0.3 * lipschitz(problem))
    worst = float((gaps(problem, steps) / bound(problem, 300)).max())
    return Measured(f"largest ratio of gap and bound {worst:.0f}", worst > 1)
