"""Dual coordinate descent for losses over classes, a sample at a time: Crammer-Singer and softmax with L2.

With shares a_i of the classes, points of a simplex, and b_i = p_i (e_y - a_i), the dual is

    maximise over a:  sum_i p_i (<a_i, cost_i> - h(a_i)) - alpha |W|^2 / 2,   W = (1 / alpha) sum_i x_i b_i'
    subject to, with intercepts,  s := sum_i b_i = 0.

All shares of one sample at a time: that is a projection onto the simplex for Crammer-Singer (h = 0) and a few
Newton steps for softmax (h(a) = sum a log a). It costs one visit to one row, since W is kept up to date.

The intercepts are the multipliers of s = 0, which no single sample can move along. An augmented Lagrangian
relaxes it: h = intercepts + rho s is added to the scores, and rho s to the intercepts after every sweep. The
origin is moved to the mean row, which changes nothing where s = 0 and takes the direction of the intercepts
out of |W|^2; the formulas do that, never the data.

Acceleration: sweeps alone converge like a gradient method. For Crammer-Singer the dual is quadratic, and its
maximum over the plane through the last sweep's way and that of the step before costs a few sums. That makes
sweeps the preconditioner of a conjugate gradient method. Where the plane leaves the simplices, shares are
projected back; a step that does not gain is not taken, and the next attempt waits. Only the samples that the
last sweeps have visited count: the ways begin anew where these are half as many, or all of them again.

Shrinking: a sample of a margin loss soon has few classes to choose from, since most are far behind; these are
left out of its steps, and with one class left it rests. Sweeps over what remains are followed by one over all
samples and classes, in which none is lost.
"""

from typing import Any

import numpy as np
from scipy.special import logsumexp

from gapfit import limits
from gapfit._types import Slope
from gapfit.design.forms import WideRows
from gapfit.losses.forms import Smooth
from gapfit.losses.multiclass import Simplices
from gapfit.minorant import Minorant
from gapfit.penalties.forms import Euclidean
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.coordinates.simplex_descent import SimplexDescent

_NEWS = 0.7  # of the gap last told: one so small is told after two visits to each sample
_GREAT_NEWS = 0.3  # of the gap last told: one so small is told at once
_SILENCE = 8  # visits to each sample, after which the driver is told anyway
_LOOKS = 40  # iterates that tell their gap


def _effort(problem: Problem) -> Effort:
    """Visits to all samples."""
    n, d, product, _, hard, *_ = work_of(problem)
    visits = 80.0 * hard**0.33 / (n * d) ** 0.22
    return Effort(3e6 + 5 * product + 1e3 * n, _work(problem, 2.0), visits / 2, 32.0 * n)


def _work(problem: Problem, visits: float) -> float:
    """Of a step that visits all samples so often."""
    n, _, product, *_ = work_of(problem)
    each = 4 * product + 600.0 * n if problem.has(Smooth) else 1.2 * product + 250.0 * n
    return 1.5e6 + visits * each


@needs(Simplices, Euclidean, WideRows, effort=_effort)
def simplex_cd(problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0) -> Steps:
    """Coordinate descent on the dual, all classes of a sample at once, in random order with shrinking.

    One step, one sweep or more.

    Parameters
    ----------
    seed : of the order in which samples are visited.
    """
    descent = SimplexDescent(problem, state or {}, seed)
    while True:
        limits.look()
        descent.sweep()
        descent.step_beyond()
        if _has_news(descent):
            yield _iterate(descent)


def _has_news(descent: SimplexDescent) -> bool:
    """The gap has fallen by as much as is worth telling, or much work was done."""
    share = _NEWS if descent.untold >= 2 * descent.n else _GREAT_NEWS
    return descent.gap <= share * descent.told or descent.untold >= _SILENCE * descent.n + 1000


def _iterate(descent: SimplexDescent) -> Iterate:
    """The point, and what is known of it."""
    work = _work(descent.problem, descent.untold / descent.n)
    descent.told, descent.untold = min(descent.told, descent.gap), 0

    def point() -> Slope:
        return np.asarray(descent.weights().ravel())

    def minorant() -> Minorant:
        return descent.problem.minorant_at(descent.u())

    b = descent.h.copy() if descent.problem.n_offsets else np.zeros(0)
    descent.looks += 1
    # where so many were not enough, the driver had better see for itself how things are
    gap = _exact_gap(descent) if descent.looks <= _LOOKS else None
    objective = None if gap is None else descent.dual() + gap
    return Iterate(point, b, minorant, None, descent.snapshot, gap, objective, work=work)


def _exact_gap(descent: SimplexDescent) -> float:
    """Of this point, with a guess of what balancing costs. Sweeps meet the samples' parts one by one."""
    G = descent.narrow.scores(descent.weights()) + (
        descent.h + descent.known + descent.simplices.costs[descent.simplices.row]
    )
    most = logsumexp(G, axis=1) + descent.entropy if descent.simplices.entropic else G.max(axis=1)
    gap = float(descent.p @ (most - (descent.A * G).sum(axis=1)))
    gap += 0.5 * float(np.abs(descent.s).sum() * np.ptp(descent.h))  # shares that must change their class
    return max(gap, 1e-15 * float(descent.p @ np.abs(most)))  # rounding is no gap below zero
