"""The certificate: decided here, in float64, from a point and a minorant, whatever solver found them."""

from math import inf, isfinite, isnan
from typing import Any

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.elsewhere import fetched
from gapfit.errors import ContractError
from gapfit.losses.forms import Conjugate
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.rounding import EPS, NOTHING, Estimate
from gapfit.solution import Certificate, Solution


def certify(
    problem: Problem,
    w: Slope,
    b: Vector,
    minorant: Minorant,
    scores: Vector | None = None,
    *,
    exact: bool = False,
) -> Certificate:
    """What is proved of the point (w, b): J there and the lower bound that the minorant proves, both computed
    anew, and a gap that counts all rounding.

    `scores` are those of w, where they are known. `exact` takes the sums with twice the digits.
    """
    return proved(problem, w, b, minorant, scores, exact=exact)[0]


def recheck(problem: Problem, solution: Solution) -> Certificate:
    """The certificate of a solution once more, in memory and in one pass: from nothing but X, y, w and the
    dual point. For fits on a device, whose arithmetic need not be trusted then."""
    u = solution.dual_point
    if u is None or not problem.has(Conjugate):
        raise ValueError(f"the bound of this fit of {problem.loss!r} rests on no dual point that was kept")
    here = Problem(
        problem.design.in_memory(), fetched(problem.y), problem.loss, problem.penalty, problem.alpha,
        fetched(problem.weight), problem.n_offsets > 0, fetched(problem.offset) if problem.shifted else None,
        problem.groups,
    )  # fmt: skip
    w, b = solution.w.astype(np.float64), np.atleast_1d(solution.intercept)[: here.n_offsets]
    return certify(here, w, b, here.minorant_at(fetched(u)))


def proved(
    problem: Problem,
    w: Slope,
    b: Vector,
    minorant: Minorant,
    scores: Vector | None,
    *,
    exact: bool,
    slack: Vector | None = None,
) -> tuple[Certificate, Minorant]:
    """As `certify`; and the minorant, made anew, on which the lower bound rests. `slack` is what the scores
    may be off by, where they were not computed from w."""
    if minorant.u is not None and (exact or not minorant.made):
        minorant = problem.again(minorant, exact=exact)
    return bounded(problem, problem.most(w, b, scores, exact=exact, slack=slack), minorant, exact=exact)


def bounded(
    problem: Problem, upper: Estimate, minorant: Minorant, *, exact: bool = False
) -> tuple[Certificate, Minorant]:
    """What a minorant proves of a point whose J is known."""
    minorant = problem.feasible(minorant, exact=exact)
    return judged(upper, problem.least(minorant, exact=exact), minorant.evidence, problem.loss), minorant


def judged(upper: Estimate, lower: Estimate, evidence: str, loss: Any) -> Certificate:
    """The certificate of J at a point and a lower bound of J."""
    above, below = upper.above, lower.below
    if below > above + NOTHING:
        raise ContractError(
            f"a lower bound ({lower.value:.17g}) exceeds an attained value ({upper.value:.17g}) by more than "
            f"rounding explains: {loss!r} is not convex, or its subgradient or conjugate is wrong"
        )
    gap = abs(above - below) if isfinite(upper.value) else inf
    if isnan(gap):  # an error that is not a number is none that is known
        gap = inf
    return Certificate(float(upper.value), float(min(below, upper.value)), float(gap), evidence)


def running(primal: float, minorant: Minorant, dual: float) -> Certificate:
    """What a fit goes by on its way: an objective as it was computed, and the lower bound proved."""
    gap = max(float(primal - dual), 0.0) + (64 * EPS * abs(primal) if isfinite(primal) else 0.0)
    return Certificate(float(primal), float(min(dual, primal)), gap, minorant.evidence)
