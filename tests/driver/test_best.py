"""The best so far: what it keeps, what it refuses, and when it has proved enough."""

from time import perf_counter

import numpy as np
import pytest

from gapfit import ContractError, Problem, Status, solve
from gapfit.driver.best import Best
from gapfit.driver.known import Known
from gapfit.solution import Iterate
from problems import labels_problem


def begun(problem, tol=1e-4, **state):
    now = perf_counter()
    return Best(problem, Known(state, None), tol, now, now + np.inf)


def looked(best, w, **more):
    best.n_iter += 1
    return best.take(Iterate(w, np.zeros(best.problem.n_offsets), **more))


def test_only_what_improves_a_bound_is_kept():
    problem = labels_problem(alpha=1e-2)
    best, optimum = begun(problem), solve(problem, tol=1e-8)
    looked(best, optimum.w, minorant=problem.oracle(optimum.w).minorant)
    primal, dual = best.primal, best.dual
    looked(best, np.full(5, 9.0), minorant=problem.oracle(np.full(5, 9.0)).minorant)
    assert (best.primal, best.dual) == (primal, dual)
    np.testing.assert_array_equal(best.w, optimum.w)
    assert [record.n_iter for record in best.history] == [0, 1, 2]


def test_a_minorant_of_another_problem_is_refused():
    problem, other = labels_problem(), labels_problem(seed=1)
    with pytest.raises(ContractError, match="its problem has made"):
        looked(begun(problem), np.zeros(5), minorant=other.oracle(np.zeros(5)).minorant)


def test_a_claim_that_is_too_good_does_not_become_a_certificate():
    problem = labels_problem(alpha=1e-2)
    best = begun(problem, tol=1e-1)
    plane = solve(problem, tol=1e-8).minorant
    looked(best, np.zeros(5), minorant=problem.minorant_at(plane.u), primal=best.dual + 1e-9)
    assert not best.proved() and best.demand < 1.0
    solution = best.solution(Status.STALLED, "liar", None)
    assert solution.certificate.primal == pytest.approx(problem.evaluate(np.zeros(5), np.zeros(1)), rel=1e-12)


def test_a_start_that_is_worse_than_none_is_no_start():
    problem = labels_problem(alpha=1e-2)
    best = begun(problem, w=np.full(5, 1e9))
    assert best.given is None and best.primal == pytest.approx(problem.at_zero.value)


def test_an_iterate_that_was_torn_is_looked_at_with_nothing_that_it_claimed():
    problem = labels_problem(alpha=1e-2)
    best, w = begun(problem), solve(problem, tol=1e-6).w
    best.latest = Iterate(w, np.zeros(1), primal=-1.0)
    best.tear()
    assert best.ended(Status.TIME_LIMIT) is Status.TIME_LIMIT
    assert best.primal == pytest.approx(problem.best(w, np.zeros(1))[0])


def test_patience_is_lost_when_nothing_improves_over_half_of_a_long_run():
    best = begun(labels_problem())
    best.patience, best.n_iter = best.patience._replace(at=300), 599
    assert not best.out_of_patience()
    best.n_iter = 601
    assert best.out_of_patience() and not best.hopeless()  # not before a last look
    best.looked_at = 601
    assert best.hopeless()


@pytest.mark.parametrize("seed", range(8))
def test_a_bound_is_not_lost_among_others_that_rounding_makes_alike(seed):
    """Columns of 1e8 under L1: what the sums of A'u may be off by is most of every bound, so that the bounds
    with it counted say little of which dual point is better. Sums of twice the digits prove the best one."""
    rng = np.random.default_rng([17, seed])
    n, d = int(rng.integers(800, 2500)), int(rng.integers(4, 8))
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) / 5 + rng.standard_t(3, size=n) / 10
    large = np.arange(d) < d // 2
    X[:, large] = 1e7 * (X[:, large] + 10 * rng.standard_normal(d // 2))
    loss = ("absolute", "quantile", "epsilon_insensitive")[seed % 3]
    solution = solve(Problem(X, y, loss, "l1", 1e-5), tol=1e-4, max_iter=2000)
    assert solution.converged
    assert solution.certificate.gap <= 1e-4 * solution.certificate.primal
