"""Solvers hand over evidence, and none of them grades itself."""

import numpy as np
import pytest

from gapfit import ContractError, Problem, Status, solve
from gapfit.losses.forms import Conjugate
from gapfit.minorant import Minorant, mix
from gapfit.rounding import Estimate
from gapfit.solution import Iterate


def make(loss="hinge", **options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1.0, -1.0)
    return Problem(X, y, loss, "l2", 0.05, **options)


def optimum(problem):
    return solve(problem, tol=1e-9).certificate


def yields(*iterates):
    """A solver that yields these, again and again."""

    def solver(problem, state=None):
        for _ in range(20):
            for iterate in iterates:
                yield iterate(problem)

    return solver


def test_a_minorant_that_the_problem_did_not_make_is_refused():
    def forged(problem):
        at = problem.oracle(problem.start())
        return Iterate(problem.start(), at.b, Minorant(np.zeros(4), np.zeros(1), 10.0, "conjugate"))

    with pytest.raises(ContractError, match="its problem has made"):
        solve(make(), yields(forged))
    other = make(intercept=False)
    with pytest.raises(ContractError, match="different problems"):
        mix(make().zero_plane(), other.zero_plane(), 0.5)


@pytest.mark.parametrize("lie", [0.5, 0.9, 1.1, 2.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_false_product_or_height_proves_nothing(lie, intercept):
    """What is reported rests on u alone."""
    problem = make(intercept=intercept)
    exact = optimum(problem)

    def iterate(problem):
        w = solve(problem, tol=1e-3).w
        at = problem.oracle(w)
        u = problem.tangent(at.scores).u
        a, c = problem.design.adjoint(u), -problem.form(Conjugate).value(u)
        return Iterate(w, at.b, problem.claimed(u, lie * a, c + (lie - 1.0)))

    solution = solve(problem, yields(iterate), tol=1e-12)
    assert solution.certificate.dual <= exact.primal
    assert solution.certificate.primal >= exact.dual
    assert solution.status is not Status.CERTIFIED


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_false_objective_proves_nothing(share):
    problem = make()
    exact = optimum(problem)

    def iterate(problem):
        at = problem.oracle(np.ones(4))
        return Iterate(np.ones(4), at.b, at.minorant, share * exact.primal)

    solution = solve(problem, yields(iterate), tol=1e-2)
    assert solution.status is not Status.CERTIFIED
    assert solution.certificate.primal >= exact.dual
    assert solution.certificate.primal == pytest.approx(
        problem.evaluate(solution.w, np.array([solution.intercept]))
    )


@pytest.mark.parametrize(
    "loss", ["hinge", "squared", "logistic", "poisson", "exponential", "huber", "f_beta"]
)
@pytest.mark.parametrize("intercept", [False, True])
def test_any_dual_vector_at_all_gives_a_true_bound(loss, intercept):
    """Not feasible, not balanced, not finite: it is made so."""
    rng = np.random.default_rng(1)
    problem = make(loss if loss != "poisson" else "hinge", intercept=intercept)
    if loss == "poisson":
        X = rng.normal(size=(60, 4))
        problem = Problem(X, rng.poisson(2.0, 60), "poisson", "l2", 0.05, intercept=intercept)
    exact = optimum(problem)
    for _ in range(30):
        u = rng.normal(size=60) * 10.0 ** rng.uniform(-6, 6, 60) / 60
        u[rng.random(60) < 0.1] = rng.choice([np.nan, np.inf, -np.inf, 0.0])
        if problem.has(Conjugate):
            assert problem.least(problem.minorant_at(u)).below <= exact.primal
        with np.errstate(over="ignore", invalid="ignore"):  # far out an exponential overflows
            at = problem.oracle(np.where(np.isfinite(u[:4]), u[:4], 0.0))
            assert problem.least(at.minorant).below <= exact.primal


def test_a_sum_of_planes_counts_what_it_may_have_lost():
    problem = make(intercept=False)
    at = problem.oracle(np.full(4, 0.1))
    u = problem.tangent(at.scores).u
    plain = problem.accumulated(u, Estimate(at.minorant.c, 0.0), 0.0)
    lossy = problem.accumulated(u, Estimate(at.minorant.c, 1e-3), 1e-4)
    assert plain.evidence == "accumulated"
    assert problem.least(lossy).below <= problem.least(plain).below - 1e-3
