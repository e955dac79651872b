"""The true optimum lies between `dual` and `primal`, on random problems that two other solvers solve, too."""

import warnings

import pytest

from gapfit import Status, solve
from problems import make_problem
from references import NoReference, best_objective, random_case, reference
from tables import PAIRS

# of a pair's cases, at most, which the two reference solvers do not settle; more where they differ often: on
# seven of forty drawn cases of this pair, on none of the same penalty with the hinge
UNSETTLED = {("novelty", "constrained(quadratic_form)"): 5}
CASES_PER_PAIR = 11  # 142 pairs of loss and penalty: 1,562 problems


@pytest.mark.parametrize(("loss", "penalty"), PAIRS)
def test_the_optimum_lies_between_the_bounds(loss, penalty):
    without_reference = 0
    for number in range(CASES_PER_PAIR):
        case = random_case(1000 * number + PAIRS.index((loss, penalty)), loss, penalty)
        # half of them stopped early: the bounds must hold at every tolerance
        solution = solve(make_problem(case), tol=1e-9 if number % 2 else 1e-2)
        certificate = solution.certificate
        assert solution.status is Status.CERTIFIED
        assert certificate.gap >= certificate.primal - certificate.dual >= 0
        recomputed, _ = best_objective(case, solution.w)
        rounding = 1e-11 * max(abs(certificate.primal), 1e-3)
        assert abs(recomputed - certificate.primal) <= rounding
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the other solvers' own warnings
                optimum = reference(case)
        except NoReference:
            without_reference += 1
            continue
        assert certificate.dual <= optimum.upper + optimum.tiny
        assert certificate.primal >= optimum.lower - optimum.tiny
        assert certificate.primal - optimum.upper <= certificate.gap + optimum.tiny
    assert without_reference <= UNSETTLED.get((loss, penalty), 2)


def test_there_are_enough_problems():
    assert CASES_PER_PAIR * len(PAIRS) >= 1500
