"""The convergence picture."""

import importlib
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from gapfit import LinearClassifier, plot_convergence, solve
from gapfit.solution import Record
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
        plot_convergence([])


def test_lines_follow_what_is_claimed_and_dots_are_proved():
    start, end = Record(0, 0.0, 1.0, 0.0, 1.0), Record(3, 3.0, 0.5, 0.4, 0.1)
    claims = [Record(1, 1.0, 0.7, 0.6, 0.1, False), Record(2, 2.0, 0.8, 0.3, 0.5, False)]
    bounds, gap = plot_convergence([start, *claims, end])
    upper, lower = bounds.get_lines()
    np.testing.assert_array_equal(upper.get_ydata(), [1.0, 0.7, 0.7, 0.5])
    np.testing.assert_array_equal(lower.get_ydata(), [0.0, 0.0, 0.3, 0.4])  # 0.6 is above what was met
    assert upper.get_markevery() == lower.get_markevery() == [True, False, False, True]
    np.testing.assert_allclose(gap.get_lines()[0].get_ydata(), [1.0, 0.7, 0.4, 0.1])
    assert "proved" in bounds.get_legend().get_title().get_text()


def test_the_picture_of_the_demo_is_a_curve(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "examples")
    demo = importlib.import_module("demo")
    drawn = []
    monkeypatch.setattr(demo, "plot_convergence", lambda fit: drawn.extend(plot_convergence(fit)))
    assert demo.main() == 0 and (tmp_path / demo.PICTURE).exists()
    upper, lower = lines(drawn[0])
    (gap,) = lines(drawn[1])
    for curve in (upper, lower, gap):
        assert len(np.unique(curve[:, 0])) >= 10 and len(np.unique(curve[:, 1])) >= 8
    assert (np.diff(upper[:, 1]) <= 0).all() and gap[-1, 1] <= 1e-3 * gap[0, 1]


def test_without_matplotlib_the_way_out_is_told(monkeypatch):
    solution = solve(labels_problem(), tol=1e-3)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'gapfit\[plot\]'"):
        plot_convergence(solution)
