"""The search: what it proves, brute force does not contradict; what it cannot prove, it leaves open."""

from time import perf_counter

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale

from gapfit import Problem, solve
from gapfit.design.memory import MemoryDesign
from gapfit.selection import Budget, Fold, Search, measure_of

X, Y = load_breast_cancer(return_X_y=True)
X, Y = scale(X)[:240, :8], Y[:240]


def folds(loss, name="accuracy"):
    return [
        Fold(
            [Problem(X[train], 2.0 * Y[train] - 1, loss)], MemoryDesign(X[test]), measure_of(name, Y[test], 2)
        )
        for train, test in StratifiedKFold(3).split(X, Y)
    ]


def brute_force(fold, alpha):
    """By a fit to 1e-12 of its own."""
    problem = fold.parts[0].problem.at(alpha)
    fit = solve(Problem(problem.design, problem.y, problem.loss, alpha=alpha), tol=1e-12)
    return fold.measure.error(fold.rows.scores(fit.w) + fit.intercept)


@pytest.mark.parametrize("name", ["accuracy", "f1", "balanced_accuracy", "log_loss"])
@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge"])
def test_no_alpha_does_better_than_what_is_proved(loss, name):
    if name == "log_loss" and loss != "logistic":
        pytest.skip("no probabilities")
    eps = 0.01
    search = Search(folds(loss, name), 1e-3, 1.0, eps, Budget(fits=900))
    search.run()
    floor = search.finish()
    winner, (_, most) = search.settle_winner()
    assert not search.open and floor >= search.errors[winner] - eps - 1e-9
    cells = np.array(sorted((*search.settled, *search.open)))
    assert cells[0, 0] == 1e-3 and cells[-1, 1] == 1.0
    np.testing.assert_array_equal(cells[1:, 0], cells[:-1, 1])  # no alpha is left out
    rng = np.random.default_rng(0)
    for alpha in np.exp(rng.uniform(np.log(1e-3), 0.0, 12)).tolist():
        error = np.mean([brute_force(fold, alpha) for fold in search.folds])
        cell = cells[np.searchsorted(cells[:, 1], alpha)]
        assert error >= cell[2] - 1e-9, (alpha, cell)
        lo, hi = search.bounds(alpha, alpha)
        assert lo - 1e-9 <= error <= hi + 1e-9
    assert np.mean([brute_force(fold, winner) for fold in search.folds]) <= most + 1e-9


def test_eps_zero_is_the_best_of_all():
    search = Search(folds("logistic"), 1e-3, 1.0, 0.0, Budget())
    search.run()
    floor = search.finish()
    winner, (least, most) = search.settle_winner()
    assert not search.runs() and floor == pytest.approx(search.errors[winner]) == pytest.approx(most)
    assert least == most


def test_a_budget_leaves_ranges_open_and_says_so():
    search = Search(folds("hinge"), 1e-4, 1.0, 0.0, Budget(fits=24))
    search.run()
    assert search.n_fits <= 24 and search.runs()
    assert search.finish() < search.errors[search.best]
    in_time = Search(folds("hinge"), 1e-4, 1.0, 0.0, Budget(until=perf_counter() - 1))
    in_time.run()
    assert len(in_time.errors) == 2  # the ends, without which nothing can be said
    assert [run[:2] for run in in_time.runs()] == [(1e-4, 1.0)]


def test_several_parts_make_one_label():
    classes = np.digitize(X[:, 0], [-0.5, 0.4])
    made = []
    for train, test in StratifiedKFold(3).split(X, classes):
        problems = [Problem(X[train], np.where(classes[train] == k, 1.0, -1.0), "logistic") for k in range(3)]
        made.append(Fold(problems, MemoryDesign(X[test]), measure_of("accuracy", classes[test], 3)))
    search = Search(made, 1e-2, 1.0, 0.02, Budget(fits=600))
    search.run()
    assert not search.open and search.n_fits % 3 == 0
    for alpha in (0.02, 0.3):
        scores = []
        for fold in made:
            fits = [
                solve(Problem(p.problem.design, p.problem.y, "logistic", alpha=alpha), tol=1e-11)
                for p in fold.parts
            ]
            f = np.stack([fold.rows.scores(fit.w) + fit.intercept for fit in fits], axis=1)
            scores.append(fold.measure.error(f))
        lo, hi = search.bounds(alpha, alpha)
        assert lo - 1e-12 <= np.mean(scores) <= hi + 1e-12 and np.mean(scores) >= search.finish() - 1e-12
