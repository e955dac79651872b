"""The only loop: what ends it, and what it tells."""

import numpy as np
import pytest

from gapfit import Problem, Status, UnboundedProblem, solve
from gapfit.solution import Iterate
from parts import data_of, in_parts
from problems import labels_problem


def yielding(*points):
    """A solver that yields the cuts at these points, and ends."""

    def solver(problem, state=None):
        for w in points:
            at = problem.oracle(w)
            yield Iterate(w, at.b, at.minorant)

    return solver


def test_a_solver_that_ends_too_soon_has_stalled():
    solution = solve(labels_problem(), yielding(np.zeros(5), np.ones(5)), tol=1e-9)
    assert solution.status is Status.STALLED and solution.n_iter == 2
    assert 0 < solution.certificate.gap < np.inf


@pytest.mark.parametrize("error", [OverflowError, ZeroDivisionError, np.linalg.LinAlgError])
def test_a_step_that_overflows_ends_the_fit_with_what_is_known(error):
    def solver(problem, state=None):
        at = problem.oracle(np.zeros(5))
        yield Iterate(np.zeros(5), at.b, at.minorant)
        raise error("too large")

    solution = solve(labels_problem(), solver, tol=1e-9)
    assert solution.status is Status.STALLED and np.isfinite(solution.certificate.gap)


def test_any_other_error_of_a_solver_is_the_callers():
    def solver(problem, state=None):
        yield from ()
        raise KeyError("a mistake")

    with pytest.raises(KeyError, match="a mistake"):
        solve(labels_problem(), solver)


def test_every_callback_is_told_also_after_one_has_asked_to_stop():
    told = []
    solution = solve(
        labels_problem(alpha=1e-4),
        "bundle",
        tol=1e-12,
        callbacks=[lambda progress: progress.n_iter == 2, lambda progress: told.append(progress.n_iter)],
    )
    assert solution.status is Status.STOPPED and told == [1, 2]


def test_a_callback_that_fails_ends_the_fit():
    def fails(progress):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        solve(labels_problem(), callbacks=[fails])


def test_a_loss_that_falls_forever_has_no_minimum():
    problem = Problem(np.ones((4, 1)), np.ones(4), "novelty", "l1", alpha=1e-6)
    with pytest.raises(UnboundedProblem, match="Novelty"):
        solve(problem, "bundle")


def test_where_rows_are_elsewhere_each_look_is_a_line_with_passes(caplog):
    X, y, loss = data_of("hinge")
    with caplog.at_level("INFO", logger="gapfit"):
        found = solve(Problem(in_parts(X, 3), y, loss, alpha=0.05), "bundle", tol=1e-3)
    lines = [record.getMessage() for record in caplog.records if "passes=" in record.getMessage()]
    told = [dict(part.split("=") for part in line.split()) for line in lines]
    assert len(told) == len(found.history) - 1 and list(told[0])[:2] == ["step", "seconds"]
    assert int(told[-1]["passes"]) > int(told[0]["passes"]) > 0
    assert float(told[-1]["gap"]) == pytest.approx(found.history[-1].gap, rel=1e-2)
