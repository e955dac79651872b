"""What is claimed on the way: it costs no look, is marked, and is no better than what can be."""

import numpy as np
import pytest

from gapfit import Problem, solve
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Gaussian
from gapfit.driver.claims import at_its_end, on_the_way
from gapfit.driver.together import together
from gapfit.estimators.kernel_statements import Part
from gapfit.losses import EpsilonInsensitive, Hinge
from gapfit.problems import Problems
from gapfit.solution import Iterate, Record, as_history, as_table

DRAW = np.random.default_rng(5)
X = DRAW.normal(size=(120, 4))
Y = np.where(X[:, 0] + 0.5 * DRAW.normal(size=120) > 0.2, 1.0, -1.0)


def test_points_on_the_way_are_spread_over_the_time_of_the_step():
    claims = on_the_way([(3.0, 2.0), (2.0, 0.5)], 4, 1.0, 2.5)
    assert [record[:2] for record in claims] == [(4, 1.5), (4, 2.0)]
    assert [record[2:] for record in claims] == [(3.0, 1.0, 2.0, False), (2.0, 1.5, 0.5, False)]


def test_a_point_of_which_nothing_is_claimed_has_no_line():
    w, b = np.zeros(2), np.zeros(0)
    assert at_its_end(Iterate(w, b, estimate=0.1), 1, 0.0) == []
    (lazy,) = at_its_end(Iterate(w, b, estimate=0.1, objective=lambda: 2.0), 1, 0.0)
    assert lazy[2:] == (2.0, 1.9, 0.1, False)
    (unknown,) = at_its_end(Iterate(w, b, primal=2.0), 1, 0.0)
    assert unknown[2:] == (2.0, -np.inf, np.inf, False)


@pytest.mark.parametrize(("primal", "gap"), [(np.nan, 1.0), (1.0, np.nan), (np.inf, np.inf), (np.inf, 1.0)])
def test_numbers_that_overflow_claim_nothing(primal, gap):
    """A history holds no NaN: neither would a model file."""
    assert on_the_way([(primal, gap), (2.0, np.inf)], 1, 0.0, 3.0) == [
        Record(1, 2.0, 2.0, -np.inf, np.inf, False)
    ]
    assert at_its_end(Iterate(np.zeros(1), np.zeros(0), estimate=gap, objective=primal), 1, 0.0) == []


SOLVERS = ["semismooth_newton", "dual_cd", "small_newton", "newton_cg", "rounded_cd", "primal_cd", "newton"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_claims_are_of_values_that_there_are(solver):
    smooth = solver in ("newton_cg", "primal_cd", "newton")
    penalty = "l1" if solver.endswith("_cd") and solver.startswith(("rounded", "primal")) else "l2"
    problem = Problem(X, Y, "logistic" if smooth else "hinge", penalty, 3e-3, intercept=solver != "dual_cd")
    solution = solve(problem, solver, tol=1e-8)
    claims = [record for record in solution.history if not record.proved]
    assert solution.converged and len(claims) >= 2
    least = solution.certificate.dual
    if solver == "dual_cd":  # it knows its dual value, without an intercept, and guesses the rest
        assert all(record.dual <= solution.certificate.primal for record in claims)
    else:
        assert all(record.primal >= least - 1e-12 for record in claims)
    assert min(record.primal for record in claims) <= least + 1e-2 * abs(least)
    times = [record.time for record in solution.history]
    assert times == sorted(times)


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1)])
def test_machines_claim_bounds(loss):
    """Losses are lines there, so that the gap of a point is no guess."""
    parts = [Part(rows, Y[rows], 0.1 / len(rows)) for rows in (np.arange(70), np.arange(40, 120))]
    found = together(Problems.of(KernelDesign(X, Gaussian(0.5)), parts, loss, np.ones(120)), 1e-6)
    for certificate, history in zip(found.certificates, found.histories, strict=True):
        claims = [record for record in history if not record.proved]
        assert len(claims) >= 3 and history[-1].proved
        for record in claims:
            assert record.dual <= certificate.primal and record.primal >= certificate.dual
        assert claims[-1].gap < claims[0].gap


def test_tables_keep_what_was_proved_and_read_those_without():
    history = on_the_way([(3.0, 2.0)], 1, 0.0, 1.0) + solve(Problem(X, Y, alpha=0.1), tol=1e-3).history
    table = as_table(history)
    assert as_history(table) == history and isinstance(as_history(table)[0].proved, bool)
    assert all(record.proved for record in as_history(table[:, :5]))
