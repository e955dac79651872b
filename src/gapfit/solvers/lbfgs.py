"""SciPy's L-BFGS for smooth risks, with the lower bound that its gradients prove.

At a smooth optimum the cut at w is a tangent plane, and its lower bound approaches J(w) as the square of the
gradient: J(w) - D = |grad J|^2 / (2 alpha) for the L2 penalty. The last few cuts are kept in a bundle, whose
best mixture is tighter still.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize

from gapfit._types import Slope, Vector
from gapfit.design.forms import Plain
from gapfit.elsewhere import loops_of
from gapfit.losses.forms import Smooth
from gapfit.penalties.forms import Differentiable
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.cuts.masters import master_for
from gapfit.solvers.point import look

_STEPS = 20  # L-BFGS iterations between two certificates
_MEMORY = 20  # pairs that L-BFGS remembers
_FINE = 1e-4  # of J: with a smaller gap, steps need all digits


def _effort(problem: Problem) -> Effort:
    """Two products for each iteration of a run."""
    n, d, product, _, _, short, _ = work_of(problem)
    step = 1.1e7 + 1.2 * _STEPS * product + 650.0 * (n + d)
    if max(problem.risk.outputs, problem.n_offsets) > 1:  # classes and levels are dear
        step += 7e6 + 1.4e3 * n + 350.0 * d
    return Effort(0.0, step, 2.0 * short**0.4, 8.0 * 2 * _MEMORY * d)


@needs(Smooth, Differentiable, Plain, effort=_effort)
def lbfgs(problem: Problem, state: dict[str, Any] | None = None) -> Steps:
    """One step is a run of SciPy's L-BFGS-B, some twenty iterations, and a cut at the end of it."""
    state = state or {}
    w = np.array(state.get("w", problem.start()))
    guess: Vector | None = state.get("b")
    fresh = "b" not in state  # a run that goes on has already reported w

    lowest = (np.inf, w)
    rough = loops_of(problem.weight) is not None  # on a device steps may be, until the gap is small

    def objective(w: Slope) -> tuple[float, Slope]:
        nonlocal guess, lowest
        risk, slope, guess = look(problem, w, guess, rough=rough)
        if not np.isfinite(risk):
            return np.inf, np.zeros_like(w)
        value = problem.alpha * problem.penalty.value(w) + risk
        if value < lowest[0]:
            lowest = (value, w.copy())  # which is what counts if the run is cut off
        return value, problem.alpha * problem.penalty.subgradient(w) + slope

    def point() -> Slope:
        return lowest[1]

    options = {"maxiter": _STEPS, "maxcor": _MEMORY, "ftol": 0.0, "gtol": 0.0, "maxls": 50}
    master = master_for(problem)
    master.restore(state)
    while True:
        at = problem.oracle(w, guess)
        primal = problem.alpha * problem.penalty.value(w) + at.risk
        earlier: dict[str, Any] = {**master.state(), "w": w, "b": guess}
        master.add(at.minorant)
        model, suggestion = master.minimise()
        lowest = (primal, w)
        rough = rough and primal - problem.dual(model) > _FINE * abs(primal)
        if fresh:
            yield Iterate(point, at.b, model, primal, earlier.copy)
        fresh = True
        start = suggestion if objective(suggestion)[0] < primal else w
        answer = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
        if np.array_equal(answer.x, w):
            if not rough:
                return
            rough = False
        w = answer.x
