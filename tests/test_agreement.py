"""Every solver that accepts a problem finds the optimum that every other one finds."""

import pytest

from gapfit import IncompatibleSolver, Status, solve
from gapfit.registry import SOLVERS
from problems import make_problem
from references import random_case
from tables import PAIRS

# methods with a sublinear rate get a tolerance they can reach
TOLERANCE = {"line_search_bundle": 1e-3, "pegasos": 3e-2, "pragam": 1e-3}
CASES_PER_PAIR = 3
ACCEPTED = {
    "bundle": 193,
    "auto": 193,
    "line_search_bundle": 13,
    "pragam": 20,
    "smoothing": 20,
    "pragam_entropy": 0,  # measures of all samples, see test_pragam_entropy.py
    "pegasos": 13,
    "dual_cd": 11,
    "simplex_cd": 0,  # classes that compete, which these losses know nothing of
    "newton_cg": 8,
    "chain_dual": 0,  # chains, see test_chain.py
    "block_frank_wolfe": 0,  # structures, see test_structured.py
    "smo": 0,  # kernels, see test_smo.py
    "pair_rows": 0,  # pairs of samples, see test_pair_rows.py
    "lbfgs": 24,
    "newton": 16,
    "semismooth_newton": 10,
    "small_newton": 32,
    "least_squares": 9,
    "primal_cd": 64,
    "rounded_cd": 78,
    # of several scores a sample, of which there are none here
    "classes_in_turn": 0,
    "sum_rows": 0,
}


def agrees(problem, solver, reference):
    slow = solver in TOLERANCE
    solution = solve(
        problem, solver, tol=TOLERANCE.get(solver, 1e-7), max_iter=20_000, max_time=3.0 if slow else 120.0
    )
    certificate = solution.certificate
    rounding = 1e-12 * max(abs(reference.primal), 1e-3)
    assert certificate.dual <= reference.primal + rounding
    assert reference.dual <= certificate.primal + rounding
    assert abs(certificate.primal - reference.primal) <= certificate.gap + reference.gap + rounding
    if not slow:
        assert solution.status is Status.CERTIFIED


@pytest.mark.parametrize(("loss", "penalty"), PAIRS)
def test_all_solvers_that_take_a_pair_agree(loss, penalty):
    for number in range(CASES_PER_PAIR):
        case = random_case(77_000 + 1000 * number + PAIRS.index((loss, penalty)), loss, penalty)
        problem = make_problem(case)
        reference = solve(problem, "bundle", tol=1e-10).certificate
        for solver in SOLVERS:
            try:
                agrees(problem, solver, reference)
            except IncompatibleSolver as error:
                assert "solvers that take this problem: bundle" in str(error)


def test_no_solver_refuses_what_it_should_take():
    """The product above must not become empty by refusals."""
    accepted = dict.fromkeys(SOLVERS, 0)
    for number, (loss, penalty) in enumerate(PAIRS):
        problem = make_problem(random_case(number, loss, penalty))
        for solver in SOLVERS:
            try:
                solve(problem, solver, max_iter=0)
            except IncompatibleSolver:
                continue
            accepted[solver] += 1
    assert accepted == ACCEPTED
