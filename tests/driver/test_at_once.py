"""Small fits without the loop: proved as in it, and handed over to it where that is needed."""

import os
import signal

import numpy as np
import pytest

from gapfit import KernelNoveltyDetector, KernelSVC, KernelSVR, Problem, Status, solve
from gapfit.certify import certify
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Gaussian
from gapfit.driver.at_once import STEPS, at_once
from gapfit.errors import ContractError
from gapfit.estimators import certified
from gapfit.solvers.smo import smo

DRAW = np.random.default_rng(5)
X = DRAW.normal(size=(90, 4))
Y = np.where(X[:, 0] + 0.5 * DRAW.normal(size=90) > 0, 1.0, -1.0)
CLASSES = np.digitize(X[:, 1], (-0.5, 0.5))


@pytest.fixture
def default_ctrl_c():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs may be deaf to it
    yield
    signal.signal(signal.SIGINT, before)


def problem(alpha=1e-2):
    return Problem(KernelDesign(X, Gaussian(0.3)), Y, "hinge", alpha=alpha)


def test_what_is_returned_is_certified_anew_and_holds():
    found, exact = at_once(problem(), smo, 1e-4).solution, solve(problem(), "smo", tol=1e-10)
    assert found.status is Status.CERTIFIED and found.certificate.relative_gap <= 1e-4
    again = problem()
    minorant = again.minorant_at(found.minorant.u)
    assert certify(again, found.w, np.array([found.intercept]), minorant) == found.certificate
    assert found.certificate.dual <= exact.certificate.primal <= found.certificate.primal


def test_it_is_what_the_loop_finds():
    found, loop = at_once(problem(), smo, 1e-4).solution, solve(problem(), "smo", tol=1e-4)
    np.testing.assert_array_equal(found.w, loop.w)
    assert (found.intercept, found.certificate) == (loop.intercept, loop.certificate)
    assert found.n_iter == loop.n_iter
    # the loop knows a bound before the first step
    assert [(r.n_iter, *r[2:]) for r in found.history] == [(r.n_iter, *r[2:]) for r in loop.history[1:]]


@pytest.mark.parametrize("tol", [1e-7, 1e-12])
def test_where_no_guess_comes_true_the_loop_goes_on_as_if_it_had_begun(tol):
    hard = Problem(KernelDesign(X, Gaussian(0.01)), Y, "hinge", alpha=1e-6)
    solution, solver = at_once(hard, smo, tol)
    assert solution is None
    loop, begun = solve(hard, solver, tol=tol), solve(hard, "smo", tol=tol)
    np.testing.assert_array_equal(loop.w, begun.w)
    assert (loop.certificate, loop.n_iter, loop.solver) == (begun.certificate, begun.n_iter, "smo")


def test_guesses_decide_nothing():
    def boasting(problem, state=None):
        for iterate in smo(problem, state):
            yield iterate._replace(w=np.zeros(90), estimate=0.0)

    assert at_once(problem(), boasting, 1e-4).solution is None


def test_a_bound_of_another_problem_is_none():
    other = next(smo(problem()))

    def mixed_up(problem, state=None):
        yield next(smo(problem, state))._replace(minorant=other.minorant, estimate=0.0)

    with pytest.raises(ContractError, match="that its problem has made"):
        at_once(problem(), mixed_up, 1e-4)


@pytest.mark.usefixtures("default_ctrl_c")
def test_ctrl_c_ends_it_with_the_point_that_it_has():
    def pressed(problem, state=None):
        steps = smo(problem, state)
        for iterate in steps:
            os.kill(os.getpid(), signal.SIGINT)
            yield iterate

    found = at_once(problem(), pressed, 1e-15).solution
    assert found.status is Status.INTERRUPTED and found.n_iter == 1
    assert 0 < found.certificate.gap < np.inf
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("model", "y", "parts"),
    [
        (KernelSVC(), CLASSES, 3), (KernelSVC(nu=0.2), CLASSES, 3), (KernelSVC(), Y, 1),
        (KernelSVR(), X[:, 2], 1), (KernelSVR(nu=0.3), X[:, 2], 1), (KernelNoveltyDetector(nu=0.2), None, 1),
    ],
)  # fmt: skip
def test_small_machines_need_no_loop_unless_somebody_asks_for_it(model, y, parts, monkeypatch):
    asked = []
    monkeypatch.setattr(certified, "solve", lambda *args, **how: asked.append(how) or solve(*args, **how))
    model.set_params(tol=1e-4).fit(X, y)
    assert model.converged_ and not asked and len(model.certificates_) == parts
    for options in ({"max_time": 1e6}, {"max_iter": STEPS - 1}):
        watched = type(model)(**{**model.get_params(), **options}).fit(X, y)
        for one, other in zip(watched.certificates_, model.certificates_, strict=True):
            assert max(one.relative_gap, other.relative_gap) <= 1e-4
            assert one.dual <= other.primal and other.dual <= one.primal
        if isinstance(model, KernelSVR) and model.nu is not None:  # others end at a gap, not at a violation
            np.testing.assert_allclose(watched.dual_coef_, model.dual_coef_, rtol=1e-9, atol=1e-12)
            for one, other in zip(watched.certificates_, model.certificates_, strict=True):
                assert one[:2] == pytest.approx(other[:2], rel=1e-12) and one.gap == pytest.approx(other.gap)
    assert len(asked) == 2 * parts
