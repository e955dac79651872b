"""Dual coordinate descent, for the L2 penalty and every loss made of lines and parabolas.

Let v = -u be minus a point in score space, z = sum_i v_i x_i = -A'u and w = z / alpha. The dual is

    minimise over v:  sum_i (kink_i |v_i| + quad_i v_i^2 / 2 - target_i v_i) + |z|^2 / (2 alpha)
    subject to        lower_i <= v_i <= upper_i  and, with an intercept,  s := total - sum_i v_i = 0

(known offsets are inside the targets). In one coordinate the minimum has a closed form, and it
costs one visit to one row because z is kept up to date.

The intercept b is the multiplier of s = 0, a constraint that no single coordinate could move
along. An augmented Lagrangian relaxes it: -b s + rho s^2 / 2 is added, and b <- b - rho s follows
every sweep. Moving the origin to the mean row changes nothing where s = 0, and takes the direction
of the intercept out of |z|^2; the formulas do that (z + s mean stands for z), never the data.

Shrinking: most coordinates soon rest at a bound. An epoch is a sweep over all rows, then sweeps
over those that did not rest firmly, until these add up to four times as many visits. Every epoch
looks at every row again, so one that was dropped too early is never lost.
"""

from typing import Any

import numpy as np

from gapfit._types import Matrix, Slope
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps, needs

_REVISITS = 4  # visits to active rows in an epoch, in units of n; a certificate costs more than one
_SWEEPS = 300  # in an epoch, at most, however few rows are active
_STIFFER, _STIFFEST = 4.0, 1e3  # the factor by which rho grows where needed, and how far at most


@needs("dual_atoms", penalty="L2")
def dual_cd(problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0) -> Steps:
    """Coordinate descent on the dual in random order, with shrinking. One step, one epoch.

    A state from another alpha, or from other weights, serves as a warm start.

    Parameters
    ----------
    seed : of the order in which samples are visited.
    """
    from gapfit.kernels import rows as kernels  # compiled code is loaded only when it is to run

    state = state or {}
    alpha, (n, d) = problem.alpha, problem.design.shape
    total = problem.risk.dual_atoms().total
    rows = kernels.as_rows(*problem.design.rows())
    table = coordinates(problem)
    squares, mean, rho = kernels.squared_norms(rows[0], rows[2]), np.zeros(d), 0.0
    if problem.n_offsets:
        p = problem.weight / problem.weight.sum()
        mean = problem.design.adjoint(p)
        table[:, 6] = problem.design.scores(mean)
        # |x - mean|^2, expanded; where that cancels, rounding is all there is to know of it
        squares = np.maximum(squares - 2 * table[:, 6] + mean @ mean, 1e-15 * squares)
        # a share of the coordinates' own curvature, and what the losses need
        rho = 0.01 * float(p @ squares) / alpha + offset_per_imbalance(problem, table)
    table[:, 5] = squares / alpha
    v, mean_sq = table[:, 7], float(mean @ mean)

    z = _resume(problem, table, state)
    b = float(state.get("b", problem.tangent(problem.offset)[3].sum()))
    stiff, threshold = state.get("stiff", 1.0), state.get("threshold", np.inf)
    epoch = state.get("epoch", 0)
    rng = np.random.default_rng(seed)
    if "rng" in state:
        rng.bit_generator.state = state["rng"]

    def snapshot() -> dict[str, Any]:
        random = rng.bit_generator.state
        return dict(u=-v, z=z.copy(), b=b, stiff=stiff, threshold=threshold, rng=random, epoch=epoch)

    while True:
        s, c = total - float(v.sum()), float(z @ mean)  # afresh: their rounding must not add up
        before, active, revisits = abs(s), np.arange(n), -n
        for _ in range(_SWEEPS):
            revisits += len(active)
            draws = rng.integers(0, 2**32, len(active), dtype=np.uint32)
            kept, threshold, s, c = kernels.dual_cd_epoch(
                *rows, table, active, draws, z, 1 / alpha, mean_sq, b, stiff * rho, s, c, threshold
            )
            b -= stiff * rho * s
            active = active[:kept]
            if kept == 0 or revisits + kept > _REVISITS * n:
                break
        # the constraint lags behind: it hardly improved, and moves b more than any coordinate moves
        if abs(s) > 0.5 * before and stiff * rho * abs(s) > threshold and stiff < _STIFFEST:
            stiff *= _STIFFER
        epoch += 1
        w = (z + s * mean) / alpha
        offset = np.full(problem.n_offsets, b - float(w @ mean))
        yield Iterate(w, offset, lambda: problem.minorant_at(-v), snapshot=snapshot)


def coordinates(problem: Problem) -> Matrix:
    """The table of `kernels.rows`: the loss in its columns 0 to 4, the others zero.

    v = sign * a turns the signs of the atoms into the order of their bounds, and a known offset of
    a score is the same as a smaller target.
    """
    sign, lin, kink, quad, lo, hi, _ = problem.risk.dual_atoms()
    lower, upper = np.where(sign > 0, (lo, hi), (-hi, -lo))
    loss = (sign * lin - problem.offset, kink, quad, lower, upper)
    return np.column_stack((*loss, *np.zeros((3, len(sign)))))


def offset_per_imbalance(problem: Problem, table: Matrix) -> float:
    """How far b should move for a unit of imbalance s (any step of that order is a good one).

    Eight times as far as the losses need to make up for it: each gives way by its quad, or moves
    from bound to bound over the spread of the targets.
    """
    target, kink, quad, lower, upper = table[:, :5].T
    spread = np.average(np.abs(target - np.median(target)) + kink, weights=problem.weight)
    with np.errstate(divide="ignore"):
        give = np.sum(1 / (quad + spread / (upper - lower)))
    return 8 / give if give < np.inf else 1.0


def _resume(problem: Problem, table: Matrix, state: dict[str, Any]) -> Slope:
    """Put the state's u, if it has one that fits, into the table as v; return z."""
    n, d = problem.design.shape
    u = state.get("u")
    if u is None or u.shape != (n,):
        return np.zeros(d)
    table[:, 7] = np.clip(-u, table[:, 3], table[:, 4])
    z: Slope = problem.design.adjoint(table[:, 7])
    # the stored sum, if it is the sum here: then this run has the bytes of the one it continues
    stored = state.get("z", z)
    same = np.allclose(stored, z, rtol=0, atol=1e-9 * np.abs(z).max(initial=0.0))
    return np.array(stored if same else z)
