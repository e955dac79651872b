"""Between two solutions the others are foretold: where they lie, what is proved of them, what that saves."""

import numpy as np
import pytest

from gapfit import Problem, path, solve
from gapfit.foresight import Foresight
from gapfit.solvers.coordinates.descent import Descent, Tuning
from gapfit.solvers.dual_cd import dual_cd
from gapfit.testing.counting import CountedRows, Counter


def labels(n=600, d=15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + 2 * rng.normal(size=n) > 0.5, 1.0, -1.0)


def known(problem, alphas, tol):
    """What two or more fits foretell."""
    problem = problem.sealed()
    foresight = Foresight(problem)
    for alpha in alphas:
        foresight.add(alpha, solve(problem.at(alpha), tol=tol))
    return problem, foresight


@pytest.mark.parametrize(
    ("loss", "share"), [("hinge", 1 / 2), ("logistic", 3 / 4), ("squared_hinge", 3 / 4), ("roc_area", 1 / 3)]
)
def test_much_of_a_path_takes_no_steps_and_all_of_it_is_proved(loss, share):
    X, y = labels()
    problem, alphas = Problem(X, y, loss), np.geomspace(1e-1, 1e-4, 40)
    found = path(problem, alphas, tol=1e-3)
    assert sum(solution.n_iter == 0 for solution in found) > share * len(found)
    for alpha, solution in list(zip(alphas, found, strict=True))[::3]:
        alone = solve(problem.at(alpha), "bundle", tol=1e-5).certificate
        assert solution.converged
        assert solution.certificate.dual <= alone.primal
        assert alone.dual <= solution.certificate.primal <= (1 + 2e-3) * alone.primal


def test_a_path_reads_x_far_less_than_its_fits_do():
    X, y = labels(n=4_000)
    alphas, works = np.geomspace(1e-1, 1e-4, 30), []
    for run in (
        lambda problem: [solve(problem.at(alpha), "newton", tol=1e-3) for alpha in alphas],
        lambda problem: path(problem, alphas, "newton", tol=1e-3),
    ):
        counter = Counter()
        run(Problem(CountedRows(X, counter), y, "logistic"))
        works.append(counter.work)
    assert works[1] < 0.25 * works[0]


def test_where_no_sample_changes_its_piece_the_hinge_is_foretold_exactly():
    X, y = labels(n=40, d=3)
    problem, foresight = known(Problem(X, y, "hinge"), [1.02, 0.98], 1e-10)
    start = foresight.between(1.02, 0.98, 1.0)
    exact = solve(problem.at(1.0), tol=1e-10)
    assert start.w == pytest.approx(exact.w, rel=1e-4, abs=1e-7)
    assert problem.at(1.0).dual(start.minorant) == pytest.approx(exact.certificate.dual, rel=1e-7)


def test_a_parabola_errs_less_than_a_line_where_the_loss_is_smooth():
    problem, two = known(Problem(*labels(), "logistic"), [1e-1, 1e-3], 1e-9)
    problem, three = known(Problem(*labels(), "logistic"), [1e-1, 1e-3, 1e-4], 1e-9)
    exact = solve(problem.at(1e-2), tol=1e-9)
    line, parabola = (np.linalg.norm(each.between(1e-1, 1e-3, 1e-2).w - exact.w) for each in (two, three))
    assert parabola < 0.5 * line


def test_a_third_solution_tells_a_dual_point_that_proves_more():
    alpha, gaps = 1e-2, []
    exact = solve(Problem(*labels(), "logistic", alpha=alpha), tol=1e-9).certificate.primal
    for alphas in ([1e-1, 1e-3], [1e-1, 1e-3, 1e-4]):
        problem, foresight = known(Problem(*labels(), "logistic"), alphas, 1e-9)
        at, outlook = problem.at(alpha), foresight.outlook(1e-1, 1e-3, alpha)
        planes = [plane for _, plane in outlook.tries(at, np.atleast_1d(outlook.start.intercept))]
        gaps.append(exact - max(map(at.dual, planes)))
    assert 0 <= gaps[1] < 0.5 * gaps[0]


def test_what_is_foretold_is_never_above_the_optimum():
    problem, foresight = known(Problem(*labels(), "hinge"), [1e-1, 1e-4], 1e-2)
    for alpha in np.geomspace(0.9e-1, 1.1e-4, 9):
        start = foresight.between(1e-1, 1e-4, alpha)
        assert problem.at(alpha).dual(start.minorant) <= solve(problem.at(alpha), tol=1e-8).certificate.primal


@pytest.mark.parametrize("intercept", [True, False])
def test_dual_cd_begins_where_it_was_told_to(intercept):
    problem, foresight = known(Problem(*labels(), "hinge", intercept=intercept), [1.2e-2, 0.8e-2], 1e-8)
    start = foresight.between(1.2e-2, 0.8e-2, 1e-2)
    at = problem.at(1e-2)
    exact = solve(at, tol=1e-9).certificate.primal
    told, untold = (
        at.best(next(dual_cd(at, state=state)).point(), np.zeros(at.n_offsets))[0] - exact
        for state in ({"foretold": start.state["foretold"]}, {})
    )
    assert told < 0.1 * untold


@pytest.mark.parametrize("loss", ["hinge", "absolute", "epsilon_insensitive"])
def test_what_balance_has_moved_is_put_back_to_rest(loss):
    X, y = labels()
    problem, foresight = known(
        Problem(X, X[:, 0] * y if loss != "hinge" else y, loss), [1.2e-2, 0.8e-2], 1e-6
    )
    told = foresight.between(1.2e-2, 0.8e-2, 1e-2).state["foretold"]
    moved = told._replace(u=problem.minorant_at(told.u + 1e-4 * problem.shares).u)
    near, there = (Descent(problem.at(1e-2), {"foretold": one}, 0, Tuning()) for one in (moved, told))
    assert len(near.order) <= len(there.order) < 0.5 * len(y)
    near.bring_back()
    v = near.whole.table["v"]
    assert ((v >= near.whole.table["lower"]) & (v <= near.whole.table["upper"])).all()
    assert np.abs(v + moved.u).max() <= Tuning().off * problem.shares.max()
    near._begin_epoch()  # what z was off by does not last
    assert near.z == pytest.approx(problem.design.adjoint(v), rel=1e-9, abs=1e-12)


def test_the_slope_that_is_foretold_is_that_of_the_dual_point():
    problem, foresight = known(Problem(*labels(), "hinge"), [1e-1, 1e-3], 1e-3)
    told = foresight.between(1e-1, 1e-3, 1e-2).state["foretold"]
    assert told.slope == pytest.approx(problem.design.adjoint(told.u), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "alphas",
    [[], [1e-2], [1e-3, 1e-2], [1e-2, 1e-2, 1e-3, 1e-2], [1e-3, 1e-1, 1e-2], [3e-2, 1e-1, 1e-2, 2e-2, 5e-2]],
)
def test_short_paths(alphas):
    found = path(Problem(*labels(), "logistic"), alphas, tol=1e-5)
    assert len(found) == len(alphas)
    for alpha, solution in zip(alphas, found, strict=True):
        alone = solve(Problem(*labels(), "logistic", alpha=alpha), tol=1e-5)
        assert solution.converged
        assert solution.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-5)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_what_is_of_the_data_alone_is_computed_once_a_path(penalty, monkeypatch):
    X, y = labels()
    problem, seen = Problem(X, y, "logistic", penalty), []
    find = Problem.tangent
    monkeypatch.setattr(
        Problem, "tangent", lambda self, scores, *rest: seen.append(scores.any()) or find(self, scores, *rest)
    )
    path(problem, np.geomspace(1e-1, 1e-3, 9), tol=1e-3)
    assert seen.count(False) <= 3  # at w = 0; by the problem, and where a solver begins


def test_a_tolerance_that_only_rounding_stands_below_is_met_all_the_same():
    found = path(Problem(*labels(), "logistic"), np.geomspace(1e-1, 1e-3, 9), tol=1e-11)
    assert all(solution.converged and solution.certificate.relative_gap <= 1e-11 for solution in found)
