"""The Newton certificate against Newton's method to machine precision, and against exact arithmetic."""

import mpmath
import numpy as np
import pytest

from gapfit import Problem, solve
from gapfit.losses import Softmax
from gapfit.statements import optimal_ball
from gapfit.whereabouts import NewtonCertificate, Nowhere
from gapfit.whereabouts.newton import excess, qualifies, sharper
from smooth_problems import draw, problem_of
from soak.exact.newton import SMOOTH


def certificate_of(problem, tol):
    fit = solve(problem, tol=tol)
    return NewtonCertificate(problem, fit.w, np.atleast_1d(fit.intercept)[: problem.n_offsets])


@pytest.mark.parametrize("loss", SMOOTH)
def test_optima_of_whole_ranges_of_alphas_are_within_the_bounds(loss):
    finite = 0
    for seed in range(12):
        case, alpha = draw(seed, loss), 10.0 ** (-2 + 0.15 * seed)
        certificate = certificate_of(
            problem_of(case, alpha, as_sparse=seed % 4 == 0), 10.0 ** -(1 + seed % 8)
        )
        for least, most in ((1.0, 1.0), (0.95, 1.1), (1.4, 1.4), (1.2, 1.5)):
            answer = certificate.between(alpha * least, alpha * most)
            lo, hi = answer.score_bounds(case.X)
            finite += int(np.isfinite(hi - lo).all())
            for share in (0.0, 0.3, 1.0):
                w, b = case.optimum(alpha * least ** (1 - share) * most**share)
                scores = case.X @ w + b
                room = 1e-10 * (1 + np.abs(scores))
                assert (scores >= lo - room).all() and (scores <= hi + room).all(), (seed, least, most)
    assert finite >= 36  # of 48


def test_the_bounds_are_of_second_order():
    """Half the gradient makes the interval four times narrower."""
    case = draw(1, "logistic")
    fit = solve(problem_of(case, 0.1), tol=1e-12)
    problem = problem_of(case, 0.1)
    widths = []
    for step in (1e-2, 5e-3, 2.5e-3):
        certificate = NewtonCertificate(problem, fit.w + step, np.atleast_1d(fit.intercept))
        lo, hi = certificate.between(0.1, 0.1).score_bounds(case.X)
        widths.append(np.mean(hi - lo))
    ratios = np.array(widths[:-1]) / widths[1:]
    assert (ratios > 3.6).all() and (ratios < 4.4).all()


def test_the_squared_loss_is_known_exactly_from_anywhere():
    case = draw(2, "squared")
    problem = problem_of(case, 0.01)
    certificate = NewtonCertificate(problem, np.ones(4), np.zeros(1))
    lo, hi = certificate.between(0.37, 0.37).score_bounds(case.X)
    w, b = case.optimum(0.37)
    assert (hi - lo).max() < 1e-9
    np.testing.assert_allclose(0.5 * (lo + hi), case.X @ w + b, atol=1e-9)


def test_a_point_too_far_away_says_nothing():
    case = draw(1, "logistic")
    certificate = NewtonCertificate(problem_of(case, 1e-4), np.full(4, 50.0), np.zeros(1))
    assert isinstance(certificate.between(1e-4, 1e-4), Nowhere)
    lo, hi = certificate.between(1e-4, 1e-4).score_bounds(case.X)
    assert np.isinf(lo).all() and np.isinf(hi).all()


def test_curvatures_that_overflow_say_nothing():
    case = draw(2, "poisson")
    certificate = NewtonCertificate(problem_of(case, 0.1), np.full(4, 1e4), np.zeros(1))
    assert isinstance(certificate.between(0.1, 0.1), Nowhere)


@pytest.mark.parametrize("eta", [0.0, 1e-9, 0.3])
@pytest.mark.parametrize("x", [0.0, 1e-12, 9.9e-5, 1.1e-4, 0.2, 0.69])
def test_eps_is_not_below_its_exact_value(x, eta):
    mpmath.mp.dps = 60
    exact_x, exact_eta = mpmath.mpf(x), mpmath.mpf(eta)
    inner = exact_x / (1 - exact_eta)
    exact = (-mpmath.log(1 - inner) / inner if x else mpmath.mpf(1)) / (1 - exact_eta) - 1
    assert exact <= excess(x, eta) <= exact * (1 + mpmath.mpf("1e-3")) + mpmath.mpf("1e-15")
    assert excess(1.0 - eta, eta) == np.inf


def test_shifted_columns_cost_precision_and_no_truth():
    case = draw(2, "squared")
    far = case.but(X=case.X + 1e6)
    certificate = certificate_of(problem_of(far, 0.1), 1e-8)
    lo, hi = certificate.between(0.1, 0.1).score_bounds(far.X)
    w, b = case.optimum(0.1)  # the same optimum, seen from near by
    scores = case.X @ w + b
    assert (lo <= scores).all() and (scores <= hi).all()


@pytest.mark.parametrize("loss", SMOOTH)
def test_a_ball_of_it_contains_the_optimum_and_is_taken_where_it_is_smaller(loss):
    taken = 0
    for seed in range(8):
        case, alpha = draw(seed, loss), 0.1
        problem = problem_of(case, alpha)
        fit = solve(problem, tol=10.0 ** -(2 + seed))
        plain = optimal_ball(problem, fit)
        ball = sharper(problem, fit, plain)
        w, b = case.optimum(alpha)
        scores = case.X @ w + b
        assert np.linalg.norm(w - ball.centre) <= ball.radius + 1e-11
        above = ball.mean if ball.mean_above is None else ball.mean_above
        assert ball.lo - 1e-11 <= (b + w @ ball.mean if case.intercept else 0.0)
        assert (b + w @ above if case.intercept else 0.0) <= ball.hi + 1e-11
        lo, hi = ball.score_bounds(case.X)
        assert (scores >= lo - 1e-10).all() and (scores <= hi + 1e-10).all()
        taken += int(ball is not plain and ball.radius < 0.1 * plain.radius)
    assert taken >= 4
    hinge = Problem(case.X, np.sign(case.y - np.median(case.y) + 1e-9), "hinge", alpha=alpha)
    fit = solve(hinge, tol=1e-3)
    plain = optimal_ball(hinge, fit)
    assert sharper(hinge, fit, plain) is plain


def test_which_losses_qualify():
    X, y = np.random.default_rng(0).normal(size=(10, 2)), np.tile([1.0, -1.0], 5)
    for loss, there in (
        ("logistic", True),
        ("exponential", True),
        ("squared", True),
        ("hinge", False),
        ("huber", False),
    ):
        assert qualifies(Problem(X, y, loss)) is there
    assert not qualifies(Problem(X, y, "logistic", "elastic_net"))
    assert not qualifies(Problem(X, (y > 0).astype(float), Softmax()))


def test_the_third_derivative_is_at_most_the_second():
    """What the certificate rests on, for every loss that says so; by exact differences."""
    mpmath.mp.dps = 40
    losses = {
        "logistic": lambda f: mpmath.log(1 + mpmath.exp(-f)), "exponential": lambda f: mpmath.exp(-f),
        "poisson": lambda f: mpmath.exp(f) - 3 * f, "squared": lambda f: (f - 1) ** 2 / 2,
    }  # fmt: skip
    for name, phi in losses.items():
        for f in np.linspace(-8, 8, 33):
            second, third = mpmath.diff(phi, f, 2), mpmath.diff(phi, f, 3)
            assert abs(third) <= second * (1 + mpmath.mpf("1e-8")) + mpmath.mpf("1e-12"), (name, f)
