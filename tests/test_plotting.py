"""The convergence picture."""

import matplotlib as mpl
import numpy as np
import pytest

from gapfit import LinearClassifier, plot_convergence, solve
from problems import labels_problem

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def lines(axes):
    return [line.get_xydata() for line in axes.get_lines()]


def test_both_bounds_and_the_gap_are_drawn():
    solution = solve(labels_problem(), "bundle", tol=1e-6)
    bounds, gap = plot_convergence(solution)
    upper, lower = lines(bounds)
    history = np.array(solution.history)
    np.testing.assert_array_equal(upper[:, 1], history[:, 2])
    np.testing.assert_array_equal(lower[:, 1], history[:, 3])
    np.testing.assert_array_equal(lines(gap)[0][:, 1], history[:, 4])
    low, high = bounds.get_ylim()
    assert low < history[-1, 3] <= history[-1, 2] < high
    assert gap.get_yscale() == "log"


def test_estimators_histories_and_axes_of_ones_own():
    X, y = labels_problem().design.X, labels_problem().y
    model = LinearClassifier(alpha=1e-2).fit(X, y)
    _, axes = plt.subplots(1, 2)
    assert plot_convergence(model, axes=axes)[0] is axes[0]
    plot_convergence(model.history_)
    several = LinearClassifier(alpha=1e-2).fit(X, np.arange(len(y)) % 3)
    plot_convergence(several)


def test_an_empty_history_is_refused():
    with pytest.raises(ValueError, match="fit has an empty history"):
        plot_convergence(solve(labels_problem(), max_iter=0))
