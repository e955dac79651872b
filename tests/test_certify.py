"""The certificate of a point: computed anew, and refused where a bound exceeds an attained value."""

from fractions import Fraction

import numpy as np
import pytest

from gapfit import ContractError, Problem, Status, solve
from gapfit.certify import certify, running
from problems import labels_problem


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "absolute"])
def test_both_bounds_hold_in_exact_arithmetic(loss):
    """J at the point, by fractions, lies within the allowance of what is reported."""
    rng = np.random.default_rng(0)
    for shift in (0.0, 1e6):
        X = rng.normal(size=(12, 2)) + shift
        y = np.where(rng.random(12) < 0.5, 1.0, -1.0)
        problem = Problem(X, y, loss, alpha=0.125)
        solution = solve(problem, tol=1e-6)
        J = exact(X, y, loss, Fraction(0.125), solution.w, solution.intercept)
        certificate = solution.certificate
        assert abs(float(J - Fraction(certificate.primal))) <= certificate.gap
        assert certificate.dual <= J


def exact(X, y, loss, alpha, w, b):
    w, b = [Fraction(float(part)) for part in w], Fraction(float(b))
    scores = [sum(Fraction(float(x)) * part for x, part in zip(row, w, strict=True)) + b for row in X]
    each = []
    for score, target in zip(scores, y, strict=True):
        target = Fraction(float(target))
        short = max(Fraction(0), 1 - target * score)
        each.append({"hinge": short, "squared_hinge": short**2, "absolute": abs(score - target)}[loss])
    return alpha * sum(part**2 for part in w) / 2 + sum(each) / len(each)


def test_a_better_point_and_a_better_plane_both_close_the_gap():
    problem = labels_problem(alpha=1e-2)
    optimum = solve(problem, tol=1e-9)
    w, b, plane = optimum.w, np.array([optimum.intercept]), optimum.minorant
    poor = problem.oracle(np.zeros(5)).minorant
    assert certify(problem, w, b, plane).gap < certify(problem, 0.5 * w, b, plane).gap
    assert certify(problem, w, b, plane).gap < certify(problem, w, b, poor).gap


def test_twice_the_digits_leave_a_smaller_allowance():
    problem = labels_problem(alpha=1e-2)
    optimum = solve(problem, tol=1e-12)
    w, b = optimum.w.astype(np.float64), np.array([optimum.intercept])
    plain, precise = (certify(problem, w, b, optimum.minorant, exact=exact) for exact in (False, True))
    assert precise.gap <= plain.gap and precise.primal == pytest.approx(plain.primal, rel=1e-14)


def test_a_bound_above_an_attained_value_is_a_broken_contract():
    problem = labels_problem(alpha=1e-2)
    optimum = solve(problem, tol=1e-9)
    lifted = optimum.minorant._replace(c=optimum.minorant.c + 1e-6, u=None)
    with pytest.raises(ContractError, match="exceeds an attained value"):
        certify(problem, optimum.w, np.array([optimum.intercept]), lifted)


def test_a_point_where_the_risk_overflows_has_no_gap_that_is_finite():
    problem = labels_problem(loss="exponential")
    plane = problem.oracle(np.zeros(5)).minorant
    with np.errstate(over="ignore"):
        certificate = certify(problem, np.full(5, 1e6), np.zeros(1), plane)
    assert certificate.primal == certificate.gap == np.inf and np.isfinite(certificate.dual)


def test_running_bounds_never_cross():
    plane = labels_problem().oracle(np.zeros(5)).minorant
    assert running(1.0, plane, 2.0).dual == 1.0
    assert running(np.inf, plane, 0.0).gap == np.inf


@pytest.mark.parametrize("loss", ["squared", "huber", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("seed", range(6))
def test_small_alphas_on_columns_of_large_numbers(loss, seed):
    """Rounding of X'u is more than alpha there, in which tangents must stay: their dual points, scaled down,
    lose a share of the penalty, where a mixture with the zero plane would lose a share of J."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(200, 1500)), int(rng.integers(2, 9))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(3, 6, d) + 10.0 ** rng.uniform(2, 5, d)
    y = X @ rng.normal(size=d) * 1e-4 + rng.normal(size=n)
    problem = Problem(X, y, loss, "l1", 1e-6)
    found = solve(problem, tol=1e-4)
    assert found.status is Status.CERTIFIED
    tight = solve(Problem(X, y, loss, "l1", 1e-6), "primal_cd", tol=1e-9, max_iter=500)
    assert found.certificate.dual <= tight.certificate.primal
    plane = problem.oracle(np.asarray(found.w, dtype=float)).minorant
    mixed, scaled = problem.feasible(plane), problem.feasible(problem.again(plane, exact=True), exact=True)
    assert problem.least(scaled).below >= problem.least(mixed).below - 1e-12 * abs(found.certificate.primal)
    assert problem.least(scaled).below <= tight.certificate.primal
