"""Every solver that accepts a problem finds the optimum that every other one finds."""

import warnings

import pytest
from problems import make_problem
from references import random_case
from tables import PAIRS

from gapfit import IncompatibleSolver, Status, solve
from gapfit.registry import SOLVERS

# methods with a sublinear rate get a tolerance they can reach
TOLERANCE = {"line_search_bundle": 1e-3, "pegasos": 3e-2}
SEEDS = range(3)


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "bundle"])
@pytest.mark.parametrize(("loss", "penalty"), PAIRS, ids="-".join)
def test_same_optimum_as_the_bundle(loss, penalty, solver):
    accepted = 0
    for seed in SEEDS:
        problem = make_problem(random_case(77_000 + 1000 * seed + PAIRS.index((loss, penalty)), loss, penalty))
        reference = solve(problem, "bundle", tol=1e-10).certificate
        try:
            solution = solve(problem, solver, tol=TOLERANCE.get(solver, 1e-7), max_iter=20_000)
        except IncompatibleSolver as error:
            assert "solvers that take this problem: bundle" in str(error)
            continue
        accepted += 1
        certificate = solution.certificate
        rounding = 1e-12 * max(abs(reference.primal), 1e-9)
        assert certificate.dual <= reference.primal + rounding
        assert reference.dual <= certificate.primal + rounding
        assert abs(certificate.primal - reference.primal) <= certificate.gap + reference.gap + rounding
        if solver not in TOLERANCE:
            assert solution.status is Status.CERTIFIED
    if accepted == 0:
        pytest.skip(f"{solver} does not take {loss} with {penalty}, and says so")
