"""Many small fits at once: who is proved, who is handed over, and what Ctrl-C leaves."""

import os
import signal

import numpy as np
import pytest

from gapfit import KernelSVC, Status
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Gaussian
from gapfit.driver import together as module
from gapfit.driver.together import together
from gapfit.estimators import kernel_parts
from gapfit.estimators.kernel_statements import Part
from gapfit.losses import Hinge
from gapfit.problems import Problems

DRAW = np.random.default_rng(3)
X = DRAW.normal(size=(80, 3))
CLASSES = np.digitize(X[:, 0] + 0.4 * DRAW.normal(size=80), (-0.6, 0.0, 0.6))


def pairs():
    design = KernelDesign(X, Gaussian(0.5))
    parts = [
        Part(rows, np.where(CLASSES[rows] == first, 1.0, -1.0), 1 / len(rows))
        for first in range(3)
        for rows in [np.flatnonzero((first == CLASSES) | (first + 1 == CLASSES))]
    ]
    return Problems.of(design, parts, Hinge(), np.ones(80))


@pytest.fixture
def default_ctrl_c():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_ctrl_c")
def test_ctrl_c_ends_it_with_the_points_that_it_has(monkeypatch):
    class Pressed(module.Machines):
        def ascend(self, enough, aim):
            os.kill(os.getpid(), signal.SIGINT)
            return super().ascend(enough, aim)

    monkeypatch.setattr(module, "Machines", Pressed)
    found = together(pairs(), 1e-15)
    assert found.statuses == [Status.INTERRUPTED] * 3
    assert all(0 < certificate.gap < 1 for certificate in found.certificates)
    assert [[record.proved for record in history].count(True) for history in found.histories] == [1] * 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_steps_on_pairs_do_not_prove_is_left_open():
    found = together(pairs(), 1e-14)
    assert found.statuses == [None] * 3 and found.each() == [None] * 3


def test_those_left_open_are_solved_one_by_one_and_the_others_are_not(monkeypatch):
    asked = []

    def some(problems, tol):
        found = together(problems, tol)
        asked.append(found)
        return found._replace(statuses=[None, *found.statuses[1:]])

    usual = KernelSVC(tol=1e-5).fit(X, CLASSES)
    monkeypatch.setattr(kernel_parts, "together", some)
    solved = []
    usual_problem = kernel_parts.KernelParts.problem
    monkeypatch.setattr(
        kernel_parts.KernelParts, "problem", lambda self, k: solved.append(k) or usual_problem(self, k)
    )
    model = KernelSVC(tol=1e-5).fit(X, CLASSES)
    assert solved == [0] and len(asked) == 1 and model.converged_
    assert model.certificates_[1:] == usual.certificates_[1:]
    np.testing.assert_array_equal(model.intercept_[1:], usual.intercept_[1:])
    np.testing.assert_array_equal(model.identified_at_[1:], usual.identified_at_[1:])
    first, other = model.certificates_[0], usual.certificates_[0]
    assert first.relative_gap <= 1e-5 and first.dual <= other.primal and other.dual <= first.primal


def test_nobody_who_watches_is_left_out(monkeypatch):
    monkeypatch.setattr(kernel_parts, "together", lambda *_: pytest.fail("it was watched"))
    assert KernelSVC(max_time=1e6).fit(X, CLASSES).converged_
    assert KernelSVC(warm_start=True).fit(X, CLASSES).converged_


@pytest.mark.parametrize("seed", range(4))
def test_machines_go_on_until_their_gap_is_small_enough(seed):
    """However little the slopes are violated by then: without exact steps, and in one round."""
    rng = np.random.default_rng(seed)
    n, C = int(rng.integers(80, 200)), float(10 ** rng.uniform(0, 1.5))
    X = rng.normal(size=(n, 13))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.5, 0.5])
    model = KernelSVC(C=C, tol=1e-6).fit(X, y)
    assert model.converged_ and model.n_iter_ == 1
