"""Few samples: steps on pairs among all variables, in a kernel matrix that is there.

Nothing is chosen, copied or rounded to single precision; the scores of all samples are those that the steps
keep. The driver is shown the point each time the violation has fallen by a factor.
"""

from typing import Any

import numpy as np

from gapfit.design.base import Design
from gapfit.design.kernel import KeptGram
from gapfit.solvers.base import Steps
from gapfit.solvers.pairs.dual import Dual
from gapfit.solvers.pairs.exact import Box
from gapfit.solvers.pairs.rules import Identification

LARGEST = 2000  # samples
FIRST = 1e-4  # the violation, in units of the targets, at the first look: it costs as much as many steps
FACTOR = 0.1  # of one look in terms of the last
LAST = 1e-6  # below it exact steps are better
STEPS = 2000  # between two looks: where it takes more, exact steps are better, too
_PER_VARIABLE = 20  # or so many for each variable, if that is more


def is_small(design: Design) -> bool:
    """Is the matrix there, and are there few enough samples?"""
    kept = design.form(KeptGram)
    return kept is not None and len(kept.K) <= LARGEST


def among_all(dual: Dual, trace: Identification, known: Any) -> Steps:
    """Steps on pairs, until they are too many or exact steps are better."""
    n, enough, ended = len(dual.v), FIRST, False
    dual.slopes()  # by which nu machines know their scale
    box = _box(dual)
    if known is not None:
        enough, box.G, box.v = known["whole"]

    def exact() -> dict[str, Any]:
        if ended:
            return {"fine": (np.inf, 0), "trace": trace.state()}
        return {"whole": (enough, box.G.copy(), box.v.copy()), "trace": trace.state()}

    while not ended:
        target = enough * dual.scale
        taken, violation = box.pairs(max(_PER_VARIABLE * n, STEPS), target)
        dual.v = box.v[:n].copy()
        dual.f, dual.sharp = box.G[:n] + dual.target - dual.quad * dual.v, False
        trace.note(dual, taken)
        slopes = dual.slopes()
        if dual.regroup(slopes, None):
            box = _box(dual)
            continue
        trace.violation = slopes.violation
        ended = violation > target or enough <= LAST
        enough = max(FACTOR * enough, LAST)
        primal, lower, b = dual.bounds(slopes.middle)
        yield dual.iterate(b, primal, max(primal - lower, 0.0), primal, None, exact)


def _box(dual: Dual) -> Box:
    """The problem on all variables; K itself, if the losses add nothing to its diagonal."""
    K = dual.problem.form(KeptGram).K
    if dual.quad.any():
        K = K + np.diag(dual.quad)
    return Box(K, dual.gradient, dual.v, dual.lower, dual.upper, dual.kink, dual.sums)
