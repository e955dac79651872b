"""Pegasos: subgradient steps of length 1 / (alpha t), for the L2 penalty.

After step t the iterate is minus the mean of the subgradients so far, over alpha:

    w_{t+1} = (1 - 1/t) w_t - a_t / (alpha t) = -(a_1 + ... + a_t) / (alpha t).

No step looks at the objective: a baseline that is soon near the optimum and slow to prove it. The
proof comes from full evaluations of the risk. Each gives a cut, which enters a running minorant
with the share that raises the lower bound most.

Full batch: every a_t is the slope of such a cut, taken at w_t. Iterates are drawn back into the
ball |w| <= sqrt(2 (J(0) - inf R) / alpha), which holds the optimum; their mean is left as it is.

Single samples: a step takes the subgradient of one sample, drawn by weight, which is right on
average. The n steps of an epoch end in one full evaluation at the average of their iterates, in
which step t weighs t. An intercept makes steps of its own, and starts each epoch where the last
evaluation found it best. Losses without a bound on their slope begin at a later t, where steps are
too short to diverge.
"""

from typing import Any

import numpy as np

from gapfit import limits
from gapfit.design.forms import Rows
from gapfit.errors import IncompatibleSolver
from gapfit.forms import lacking
from gapfit.losses.atoms import Atoms
from gapfit.minorant import Minorant, mix
from gapfit.penalties.forms import Euclidean
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.coordinates.kinds import coordinates, offset_per_imbalance
from gapfit.solvers.line_search_bundle import best_mixture


def _effort(problem: Problem) -> Effort:
    """A pass sample by sample, and two products."""
    n, d, product, _, hard, *_ = work_of(problem)
    return Effort(0.0, 4.5e6 + 3 * product + 500.0 * n, 30.0 * hard**0.5, 8.0 * 4 * d)


@needs(Euclidean, Rows, effort=_effort)
def pegasos(
    problem: Problem,
    state: dict[str, Any] | None = None,
    *,
    batch: str | None = None,
    seed: int = 0,
) -> Steps:
    """Subgradient descent. One step is an epoch of n single samples, or one full batch.

    Parameters
    ----------
    batch : "sample" for losses made of lines and parabolas, "full" for all; by default the former where it
        can be.
    seed : of the order in which samples are drawn.
    """
    atoms = problem.has(Atoms)
    if batch not in (None, "sample", "full"):
        raise ValueError(f'batch must be "sample" or "full", got {batch!r}')
    if batch == "sample" and not atoms:
        raise IncompatibleSolver(
            f'pegasos on single samples needs {lacking(problem, Atoms)}; batch="full" takes every loss'
        )
    if batch == "full" or not atoms:
        return _full(problem, state or {})
    return _sample(problem, state or {}, seed)


def _full(problem: Problem, state: dict[str, Any]) -> Steps:
    """Steps along subgradients of the whole risk."""
    excess = problem.at_zero.value - problem.risk.infimum
    radius = np.sqrt(2 * max(excess, 0.0) / problem.alpha)
    t: int = state.get("cuts", 0)
    mean: Minorant | None = state.get("mean")
    best: Minorant | None = state.get("best", problem.zero_plane())
    w, b = state.get("w", problem.start()), state.get("b")

    def snapshot() -> dict[str, Any]:
        return {"cuts": t, "mean": mean, "best": best, "b": b}

    while True:
        if mean is not None:
            w = problem.minimiser(mean)
            w *= min(1.0, radius / max(float(np.linalg.norm(w)), 1e-300))
        at = problem.oracle(w, b)
        t, b = t + 1, at.b
        mean = at.minorant if mean is None else mix(mean, at.minorant, 1 / t)
        best = best_mixture(problem, best, at.minorant)
        primal = problem.alpha * problem.penalty.value(w) + at.risk
        yield Iterate(w, b, best, primal, snapshot)


def _sample(problem: Problem, state: dict[str, Any], seed: int) -> Steps:
    """Steps along subgradients of single samples."""
    from gapfit.compiled.pegasos import pegasos_epoch  # compiled code is loaded only when it is to run
    from gapfit.compiled.rows import as_rows, squared_norms

    alpha, (n, d) = problem.alpha, problem.design.shape
    rows = as_rows(*problem.form(Rows).matrix.rows())
    table = coordinates(problem)
    p = table["along"] = np.ascontiguousarray(problem.shares)
    gain, total = 0.0, problem.form(Atoms).total
    if problem.n_offsets:
        gain = offset_per_imbalance(problem, table)

    z, t = np.array(state.get("z", np.zeros(d))), state.get("steps", 0)
    b = state.get("b", problem.at_zero.b)
    best: Minorant | None = state.get("best", problem.zero_plane())
    rng = np.random.default_rng(seed)
    if state.get("rng"):
        rng.bit_generator.state = state["rng"]
    if t == 0 and np.isinf([table["lower"], table["upper"]]).any():
        # steps of 1 / L: the sample's loss has the second derivative |x|^2 / (p quad) in w
        t = int(np.max(squared_norms(rows) / (alpha * p * table["quad"])))

    def snapshot() -> dict[str, Any]:
        return {"z": z.copy(), "steps": t, "b": b, "best": best, "rng": rng.bit_generator.state}

    while True:
        limits.look()
        picks, lag = rng.choice(n, n, p=p), np.zeros(d)
        pegasos_epoch(rows, table, picks, z, lag, float(t), 1 / alpha, float(b.sum()), gain, total)
        w = (n * z + lag) / (alpha * n * (t + 0.5 * (n + 1)))
        t += n
        at = problem.oracle(w, b)
        b = at.b
        best = best_mixture(problem, best, at.minorant)
        primal = alpha * problem.penalty.value(w) + at.risk
        yield Iterate(w, b, best, primal, snapshot)
