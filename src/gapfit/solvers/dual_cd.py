"""Dual coordinate descent, for the L2 penalty and losses with a simple dual: piecewise ones and the logistic.

Let v = -u be minus a point in score space, z = sum_i v_i x_i = -A'u and w = z / alpha. The dual is

    minimise over v:  sum_i (psi_i(v_i) - target_i v_i) + |z|^2 / (2 alpha)
    subject to        lower_i <= v_i <= upper_i  and, with an intercept,  s := total - sum_i v_i = 0

with psi_i a parabola and a kink, or an entropy (known offsets are inside the targets). The minimum in one
coordinate costs one visit to one row, because z is kept up to date.

The intercept b is the multiplier of s = 0, a constraint that no single coordinate could move along. An
augmented Lagrangian relaxes it: -b s + rho s^2 / 2 is added, and b <- b - rho s follows every sweep. Moving
the origin to the mean row changes nothing where s = 0, and takes the direction of the intercept out of |z|^2;
the formulas do that (z + s mean stands for z), never the data.

Shrinking: most piecewise coordinates soon rest at a bound. A survey of all rows is followed by sweeps over
those that did not rest firmly, copied side by side in single precision, until their gap is a tenth of what it
was. Every other epoch looks at every row again, so one that was dropped too early is never lost, unless the
gap proves by now that it rests there at the optimum; those between look at rows that were nearly active.

Acceleration: sweeps alone converge like a gradient method. Minimising also over the plane through the last
sweep's way and the two before it makes them the preconditioner of a conjugate gradient method, and costs a
few sums.

Rows that are on disk come part by part: `coordinates.streamed` sweeps over them as they pass, and holds those
that are active.

The gap is a sum over rows, and a sweep sees each term in passing: the driver knows when a look is worth it.
"""

from typing import Any

import numpy as np

from gapfit import limits, threads
from gapfit._types import Slope, Vector
from gapfit.design.forms import PartRows, Rows
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import BinaryEntropy, Parabola, Smooth
from gapfit.minorant import Minorant
from gapfit.penalties.forms import Euclidean
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.coordinates.descent import Descent, Tuning
from gapfit.solvers.coordinates.streamed import streamed

__all__ = ["Tuning", "dual_cd"]

USUAL = Tuning()


def _effort(problem: Problem) -> Effort:
    """Visits to all rows: as many as theory says, 1 + hard / n, where the dual has but lines and parabolas.
    Losses that bend to and fro take more, but fewer where rows have columns of their own. However small alpha
    is, rows that are no more than columns can be fitted, and that ends it."""
    n, d, product, _, hard, short, _ = work_of(problem)
    visits = 4.5 * short**0.65
    if problem.has(Smooth) and not problem.has(Parabola):
        visits = (2.8 if problem.has(Atoms) else 1.0) * hard**0.25 / max(d / n, 1.0) ** 0.35
    visits = min(visits, 60.0 * max(n / d, 1.0) ** 2)
    return Effort(3e6 + 5 * product + 300.0 * n, _work(problem, 1.0), visits, 64.0 * n)


def _work(problem: Problem, visits: float) -> float:
    """Of a step that visits all rows so often."""
    n, d, product, *_ = work_of(problem)
    each = 2 * product + 460.0 * n if problem.has(Atoms) else 4 * product + 1e3 * n
    return 6e5 + 200.0 * n + 50.0 * d + visits * each


@needs((Atoms, BinaryEntropy), Euclidean, (Rows, PartRows), effort=_effort, near=0.05)
def dual_cd(
    problem: Problem,
    state: dict[str, Any] | None = None,
    *,
    seed: int = 0,
    tuning: Tuning = USUAL,
) -> Steps:
    """Coordinate descent on the dual in random order, with shrinking and acceleration. One step, some sweeps.

    A state from another alpha serves as a warm start.

    Parameters
    ----------
    seed : of the order in which samples are visited.
    tuning : how long active rows are visited before all are looked at, and when the driver is told.
    """
    if not problem.has(Rows):
        yield from streamed(problem, state or {}, seed)
        return
    descent = Descent(problem, state or {}, seed, tuning)
    while True:
        limits.look()
        descent.steps += 1
        descent.step_beyond()
        descent.choose_rows()
        descent.descend()
        if descent.news:
            yield _iterate(descent)


def _iterate(descent: Descent) -> Iterate:
    """The point, and what is known of it."""
    work = _work(descent.problem, descent.untold / descent.n)
    descent.told, descent.untold = descent.estimate, 0
    along_mean = (descent.c + descent.s * descent.whole.mean_sq) / descent.problem.alpha
    offset = np.full(descent.problem.n_offsets, descent.b - along_mean)
    estimate = descent.missed * descent.estimate
    if descent.tuning.few * len(descent.order) <= descent.n:
        estimate *= descent.tuning.blind
    elif descent.tuning.many * len(descent.order) >= descent.n:
        estimate *= descent.tuning.seen

    def objective() -> float:
        descent.bring_back()
        costs = descent.compiled.costs(descent.whole.table, descent.kind.entropic)
        return float(estimate - costs - 0.5 * descent.scale())  # the gap above the dual

    def point() -> Slope:
        return descent.whole.point(descent.z, descent.s, _best_responses(descent), descent.w)

    def minorant() -> Minorant:
        descent.bring_back()
        return descent.problem.minorant_at(-descent.whole.table["v"])

    return Iterate(point, offset, minorant, None, descent.snapshot, estimate, objective, work=work)


def _best_responses(descent: Descent) -> Vector:
    """v, or what suits the scores best: columns that only one sample uses are that sample's to choose."""
    descent.bring_back()
    v: Vector = descent.whole.table["v"].copy()
    if descent.whole.singles is not None and descent.estimate <= descent.tuning.near * descent.scale():
        store = descent.store
        best, given = store.spare, (descent.dual(store), descent.place())

        def respond(part: slice) -> None:
            descent.compiled.responses(*given, part.start, part.stop, best)

        threads.each(respond, threads.parts(len(best), float(len(store.rows.data))))
        v[store.members] = best
    return v
