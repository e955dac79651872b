"""A solver of your own: copy this file, rename the function, and replace what happens between two yields.

`python solver.py` checks it. What a solver is: see "Add a solver" in the documentation.
"""

import numpy as np

from gapfit import Problem, solve
from gapfit.minorant import mix
from gapfit.penalties.forms import Euclidean
from gapfit.solution import Iterate
from gapfit.solvers.base import needs
from gapfit.testing import check_solver


@needs(Euclidean)  # the forms that it asks of the loss, the penalty and the design
def my_solver(problem, state=None, *, zeal=2.0):
    """Average the tangents met so far, the newest with share zeal / (step + zeal). One step, one evaluation.

    It is the Frank-Wolfe method on the dual, with the textbook's step sizes.
    """
    state = state or {}  # empty, or just {"w": a point to start from}, or what `snapshot` returned
    step, model, b = state.get("step", 0), state.get("model"), state.get("b")
    w = state.get("w", problem.start())
    while True:
        # 1. Evaluate: the risk at w with the best intercept, and a tangent that lies below it everywhere.
        at = problem.oracle(w, b)
        primal = problem.alpha * problem.penalty.value(w) + at.risk
        # 2. Improve the lower bound: any mixture of minorants is one.
        model = at.minorant if model is None else mix(model, at.minorant, zeal / (step + zeal))
        step, b = step + 1, at.b
        here, w = w, problem.minimiser(model)
        # 3. Report. The driver keeps the best bounds, looks at the clock, and sends a Certificate back.
        now = {"step": step, "model": model, "b": b, "w": w}
        yield Iterate(here, at.b, model, primal, snapshot=now.copy)


def main():
    """Check the solver, and solve something with it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=60))
    problems = [Problem(X, y, loss, alpha=0.1) for loss in ("hinge", "logistic")]
    problems.append(Problem(X, y, "hinge", alpha=0.1, intercept=False))
    check_solver(my_solver, problems, tol=1e-2)
    solution = solve(problems[0], my_solver, tol=1e-2)
    assert solution.converged, solution.status.value
    return solution


if __name__ == "__main__":
    main()
