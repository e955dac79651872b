"""`auto`: whom it takes, what it says of that, and when it hands over."""

import logging
from itertools import islice

import numpy as np
import pytest

from gapfit import Problem, registry, solve
from gapfit.foresight import Foresight
from gapfit.solution import Certificate, Iterate
from gapfit.solvers.auto import auto, plan
from gapfit.solvers.base import Effort, effort_of, needs
from gapfit.solvers.bundle import bundle
from gapfit.solvers.choice.progress import Progress
from problems import labels_problem


def test_auto_says_why(caplog):
    with caplog.at_level(logging.INFO, logger="gapfit"):
        solve(labels_problem())
        solve(labels_problem(n=9_000, loss="logistic"), tol=1e-3)
        solve(labels_problem(penalty="squared_lp"))
    assert "auto: small_newton, because the data are small" in caplog.text
    assert "because it promises the least work, " in caplog.text
    assert "auto: bundle, because it promises the least work" in caplog.text


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared", "poisson", "softmax", "roc_area"])
@pytest.mark.parametrize("penalty", ["l2", "l1", "squared_lp"])
@pytest.mark.parametrize("shape", [(60, 4), (3000, 40), (200, 900)])
def test_the_least_promise_goes_first_and_all_promises_are_numbers(loss, penalty, shape):
    rng = np.random.default_rng(sum(shape))
    X = rng.normal(size=shape)
    y = np.where(X[:, 0] > 0, 1.0, -1.0) if loss in ("hinge", "logistic", "roc_area") else (X[:, 0] > 0) * 1.0
    choices = plan(Problem(X, y, loss, penalty, alpha=1e-2, intercept=loss != "roc_area"))
    totals = [choice.effort.total for choice in choices]
    assert "bundle" in [choice.name for choice in choices]
    assert all(0 <= number < np.inf for choice in choices for number in choice.effort)
    small = totals[0] < totals[-1] and choices[0].effort.step == 1e6  # these go first in any case
    assert totals[small:] == sorted(totals[small:])


def test_work_grows_with_the_data_and_as_alpha_falls():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 50))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    for loss in ("hinge", "logistic"):
        names = {choice.name for choice in plan(Problem(X, y, loss))}
        for name in names:
            method = registry.as_solver(name)
            whole, part = (effort_of(method, Problem(X[:n], y[:n], loss)) for n in (4000, 400))
            assert whole.step > part.step, name
            easy = effort_of(method, Problem(X, y, loss, alpha=1.0))
            assert easy.steps <= whole.steps, name


def _hard():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 600)) * 10.0 ** np.linspace(-2, 3, 600)
    return Problem(X, np.where(X[:, 0] + rng.normal(size=700) > 0, 1.0, -1.0), alpha=1e-3)


def test_a_solver_whose_gap_hardly_falls_hands_over(caplog):
    """Features of very different sizes: coordinate descent is endless, whatever it has promised."""
    with caplog.at_level(logging.INFO, logger="gapfit"):
        assert solve(_hard(), tol=1e-6).converged
    assert "falls too slowly" in caplog.text or "auto: dual_cd" not in caplog.text


def _steps(gaps):
    for gap in gaps:
        yield Iterate(np.zeros(1), np.zeros(0), estimate=gap)


@pytest.mark.parametrize(
    ("fall", "rival", "leaves"), [(0.5, 1e7, False), (0.99, 1e7, True), (0.99, 1e10, False), (0.8, 1.0, True)]
)
def test_it_is_left_when_a_rival_promises_half_of_what_is_left(fall, rival, leaves):
    watch = Progress(Effort(0.0, 1e6, 10, 0.0), rival, 1e-6, 0, None)
    steps = watch.run(_steps(fall ** np.arange(1, 40)), {})
    seen, ended = 0, None
    try:
        next(steps)
        while True:
            seen += 1
            steps.send(Certificate(1.0, 0.0, 1.0, "cuts"))
    except StopIteration as stop:
        ended = stop.value[1]
    assert (ended is False) == leaves
    assert seen >= 10  # nobody is judged before what was promised is spent


def test_a_solver_of_anybodys_joins_by_declaring_an_effort():
    def cheap(problem, state=None):
        yield from bundle(problem, state)

    needs(effort=lambda problem: Effort(0.0, 1.0, 1.0, 0.0))(cheap)
    problem = labels_problem(n=9_000, loss="logistic")
    registry.add_solver(cheap)
    try:
        assert plan(problem)[0].name == "cheap"
        assert solve(problem, "cheap", tol=1e-3).converged and solve(problem, tol=1e-3).converged
    finally:
        del registry.SOLVERS["cheap"]
    assert plan(problem)[0].name != "cheap"


def test_the_same_fit_takes_the_same_way_every_time():
    first, second = (solve(_hard(), tol=1e-5) for _ in range(2))
    assert first.n_iter == second.n_iter and first.w.tobytes() == second.w.tobytes()


@pytest.mark.parametrize("loss", ["hinge", "absolute", "logistic"])
def test_near_what_is_foretold_it_begins_with_whoever_is_soon_done_there(loss, tmp_path):
    """Where losses have kinks; and a fit that goes on from a checkpoint goes on with the same order."""
    problem = labels_problem(n=9_000, loss=loss).sealed()
    foresight, alphas = Foresight(problem), (1e-3, 1e-4, 3e-4)
    for alpha in alphas[:2]:
        foresight.add(alpha, solve(problem.at(alpha), tol=1e-2))
    at, start = problem.at(alphas[2]), foresight.between(*alphas)
    state = {**start.state, "w": start.w}
    found = next(auto(at, state)).snapshot()
    assert found["ahead"] == ("dual_cd" if loss != "logistic" else None)
    assert loss == "logistic" or found["solver"] == found["ahead"]
    file, how = tmp_path / "fit", {"start": start, "tol": 1e-5}
    assert not solve(at, max_iter=1, checkpoint=file, **how).converged
    halves, whole = solve(at, checkpoint=file, **how), solve(at, **how)
    assert halves.w.tobytes() == whole.w.tobytes() and halves.n_iter == whole.n_iter


def test_a_solver_that_is_not_soon_done_there_hands_over(caplog):
    problem = _hard().sealed()
    foresight = Foresight(problem)
    for alpha in (1e-3, 1e-4):
        foresight.add(alpha, solve(problem.at(alpha), tol=1e-3))
    with caplog.at_level(logging.INFO, logger="gapfit"):
        assert solve(problem.at(3e-4), start=foresight.between(1e-3, 1e-4, 3e-4), tol=1e-6).converged
    assert "the gap of dual_cd falls too slowly" in caplog.text


def test_small_steps_need_no_answer():
    """A driver that proves one iterate and no more asks nobody to hand over."""
    problem = labels_problem(n=9_000, loss="logistic")
    steps = registry.as_solver("auto")(problem)
    assert len(list(islice(steps, 3))) >= 1
