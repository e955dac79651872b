"""The certificate: decided here, in float64, from a point and a minorant, whatever solver found them."""

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.errors import ContractError
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.solution import Certificate

_EPS = float(np.finfo(float).eps)


def certify(problem: Problem, w: Slope, b: Vector, minorant: Minorant) -> Certificate:
    """Recompute J(w, b) and the lower bound that the minorant proves."""
    return certify_claim(problem, w, problem.evaluate(w, b), minorant, problem.dual(minorant))


def certify_claim(problem: Problem, w: Slope, primal: float, minorant: Minorant, dual: float) -> Certificate:
    """The certificate of two bounds. A lower bound above an attained value betrays a broken contract."""
    allowance = rounding(problem, w, minorant)
    if np.isnan(primal) or np.isnan(dual):
        raise ContractError(f"{problem.loss!r} returned a value that is not a number")
    if dual - primal > 1e3 * allowance:
        raise ContractError(
            f"a lower bound ({dual:.17g}) exceeds an attained value ({primal:.17g}): "
            f"{problem.loss!r} is not convex, or its subgradient or conjugate is wrong"
        )
    return Certificate(primal, min(dual, primal), max(primal - dual, 0.0) + allowance, minorant.evidence)


def rounding(problem: Problem, w: Slope, minorant: Minorant) -> float:
    """What rounding may have cost: a few units in the last place of the terms that were added up."""
    terms = (
        problem.alpha * problem.penalty.value(w),
        float(np.abs(minorant.a) @ np.abs(w)),
        minorant.c,
        problem.alpha * problem.penalty.conjugate(minorant.a / -problem.alpha),
    )
    return minorant.noise + 4 * _EPS * sum(abs(term) for term in terms if np.isfinite(term))
