"""L-BFGS: against SciPy's own answer, and the bound that its gradients prove."""

import numpy as np
import pytest
from scipy.optimize import minimize

from gapfit import IncompatibleSolver, solve
from gapfit.penalties import QuadraticForm
from problems import labels_problem


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "exponential"])
@pytest.mark.parametrize("penalty", ["l2", "squared_lp"])
def test_the_optimum_is_that_of_scipy(loss, penalty):
    problem = labels_problem(loss=loss, penalty=penalty, alpha=0.05)
    found = solve(problem, "lbfgs", tol=1e-8)

    def J(point):
        return problem.evaluate(point[:5], point[5:])

    answer = minimize(J, np.zeros(6), method="BFGS", options={"gtol": 1e-9})
    assert found.converged and abs(found.certificate.primal - answer.fun) <= 1e-7 * answer.fun
    assert found.certificate.dual <= answer.fun


def test_a_penalty_of_ones_own_metric():
    Q = np.diag([1.0, 4.0, 9.0, 16.0, 25.0])
    problem = labels_problem(loss="logistic", penalty=QuadraticForm(Q), alpha=0.05)
    other = solve(problem, "bundle", tol=1e-8)
    found = solve(problem, "lbfgs", tol=1e-8)
    assert (
        abs(found.certificate.primal - other.certificate.primal)
        <= found.certificate.gap + other.certificate.gap
    )


def test_kinks_are_refused_by_name():
    with pytest.raises(IncompatibleSolver, match="Hinge"):
        solve(labels_problem(), "lbfgs")
