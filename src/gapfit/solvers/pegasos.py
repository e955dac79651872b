"""Pegasos: subgradient steps of length 1 / (alpha t), for the L2 penalty.

After step t the iterate is minus the mean of the subgradients so far, over alpha:

    w_{t+1} = (1 - 1/t) w_t - a_t / (alpha t) = -(a_1 + ... + a_t) / (alpha t),

drawn back into the ball |w| <= sqrt(2 (J(0) - inf R) / alpha), which holds the optimum (the mean itself
stays as it is). No step looks at the objective: a baseline that is soon near the optimum and slow to
prove it, as the gap falls no faster than 1/t.

Full batch: every a_t belongs to a cut, and the mean of the cuts is a minorant.

Single samples: a step takes the subgradient of one random sample, which is right on average only, so its
sum is no minorant. After n steps the risk is evaluated in full at the average of their iterates (that of
step t weighs t), and the cut found there enters a running minorant with the share that raises the lower
bound most. The intercept rests for an epoch where that evaluation found it to be best.
"""

from typing import Any

import numpy as np

from gapfit.errors import IncompatibleSolver
from gapfit.minorant import Minorant, mix
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps, needs
from gapfit.solvers.dual_cd import coordinates


@needs(penalty="L2")
def pegasos(
    problem: Problem,
    state: dict[str, Any] | None = None,
    *,
    batch: str | None = None,
    seed: int = 0,
) -> Steps:
    """Stochastic (or plain) subgradient descent. One step is an epoch of n samples, or a full batch.

    batch: "sample", for losses with dual_atoms, or "full", for all; by default the first where possible.
    """
    atoms = "dual_atoms" in problem.risk.capabilities
    if batch not in (None, "sample", "full"):
        raise ValueError(f'batch must be "sample" or "full", got {batch!r}')
    if batch == "sample" and not atoms:
        raise IncompatibleSolver(
            f"pegasos on single samples needs a loss with dual_atoms, which {problem.loss!r} has not; "
            'batch="full" takes every loss'
        )
    if batch == "full" or not atoms:
        return _full(problem, state or {})
    return _sample(problem, state or {}, seed)


def _full(problem: Problem, state: dict[str, Any]) -> Steps:
    """Subgradients of the whole risk; the state is the number of cuts and their mean."""
    t: int = state.get("t", 0)
    mean: Minorant | None = state.get("minorant")
    w, radius, b = state.get("w", problem.start()), _radius(problem), None
    while True:
        if mean is not None:
            w = problem.minimiser(mean)
            w *= min(1.0, radius / max(float(np.linalg.norm(w)), 1e-300))
        at = problem.oracle(w, b)
        t, b = t + 1, at.b
        mean = at.minorant if mean is None else mix(mean, at.minorant, 1 / t)
        primal = problem.alpha * problem.penalty.value(w) + at.risk
        now = {"t": t, "minorant": mean}
        yield Iterate(w, b, mean, primal, lambda now=now: now)


def _sample(problem: Problem, state: dict[str, Any], seed: int) -> Steps:
    """Subgradients of single samples, drawn in proportion to their weights."""
    from gapfit.kernels import rows as kernels

    alpha, (n, d) = problem.alpha, problem.design.shape
    p = problem.weight / problem.weight.sum()
    rows = kernels.as_rows(*problem.design.rows())
    table = coordinates(problem)
    table[:, 5], table[:, 6] = kernels.squared_norms(rows[0], rows[2]), p
    radius = _radius(problem)

    z, t = np.array(state.get("z", np.zeros(d))), state.get("t", 0)
    b = state.get("b", problem.tangent(problem.offset)[3])
    minorant: Minorant | None = state.get("minorant", problem.zero_plane())
    rng = np.random.default_rng(seed)
    if "rng" in state:
        rng.bit_generator.state = state["rng"]

    def snapshot() -> dict[str, Any]:
        random = rng.bit_generator.state
        return {"z": z.copy(), "t": t, "b": b, "minorant": minorant, "rng": random}

    while True:
        picks, lag = rng.choice(n, n, p=p), np.zeros(d)
        of_z, of_lag = kernels.pegasos_epoch(
            *rows, table, picks, z, lag, float(t), 1 / alpha, float(b.sum()), radius
        )
        t += n
        w = of_z * z + of_lag * lag
        at = problem.oracle(w, b)
        b = at.b
        minorant = at.minorant if minorant is None else _raise(problem, minorant, at.minorant)
        primal = alpha * problem.penalty.value(w) + at.risk
        yield Iterate(w, b, minorant, primal, snapshot)


def _radius(problem: Problem) -> float:
    """No optimal w is longer: alpha |w|^2 / 2 <= J(0) - inf R."""
    excess = problem.tangent(problem.offset)[0] - problem.risk.infimum
    return float(np.sqrt(2 * max(excess, 0.0) / problem.alpha))


def _raise(problem: Problem, first: Minorant, second: Minorant) -> Minorant:
    """The mixture of the two with the highest lower bound c - |a|^2 / (2 alpha)."""
    step = second.a - first.a
    slope = second.c - first.c - problem.inner(first.a, step) / problem.alpha
    bend = problem.inner(step, step) / problem.alpha
    return mix(first, second, min(max(slope, 0.0) / bend, 1.0) if slope < bend else 1.0)
