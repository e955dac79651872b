"""What new users try first, and what once went wrong there."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from gapfit import (
    KernelSVC,
    LinearClassifier,
    LinearRegressor,
    Ranker,
    SequenceLabeler,
    UnboundedProblem,
    plot_convergence,
)
from house import ROOT

X, Y = load_iris(return_X_y=True)


def test_a_linear_kernel_has_weights_for_each_pair_of_classes_to_be_looked_at():
    model, theirs = KernelSVC(kernel="linear", tol=1e-9).fit(X, Y), SVC(kernel="linear", tol=1e-9).fit(X, Y)
    assert model.coef_.shape == (3, 4)
    assert_allclose(model.coef_, theirs.coef_, atol=1e-4)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0  # it is made anew each time: what is written would be lost


def test_a_nu_that_leaves_no_margin_is_too_small():
    rows = np.random.default_rng(0).normal(size=(40, 1))
    with pytest.raises(UnboundedProblem, match="Take a larger nu"):
        KernelSVC(kernel="linear", nu=1e-9).fit(rows, np.arange(40) % 2)
    with pytest.raises(UnboundedProblem, match="too large: at most"):
        KernelSVC(nu=0.999).fit(X, Y == 1)


@pytest.mark.parametrize("make", [LinearClassifier, LinearRegressor, KernelSVC])
def test_one_number_is_a_weight_for_all(make):
    one, all_of_them = make().fit(X, Y, sample_weight=2.0), make().fit(X, Y, sample_weight=np.full(150, 2.0))
    assert_array_equal(one.predict(X), all_of_them.predict(X))


@pytest.mark.parametrize("what", [LinearClassifier(), 3, "model", np.ones(3)])
def test_what_has_no_curve_is_named(what):
    pytest.importorskip("matplotlib")
    with pytest.raises(TypeError, match=f"{type(what).__name__} has none"):
        plot_convergence(what)


def test_a_table_is_no_list_of_sequences():
    with pytest.raises(TypeError, match="list of sequences"):
        SequenceLabeler().fit(pd.DataFrame(X), Y)


def test_queries_that_are_forgotten_are_told_of():
    model = Ranker().fit(X, Y, qid=np.arange(150) % 10)
    with pytest.warns(UserWarning, match="qid"):
        model.score(X, Y)


def test_probabilities_that_are_not_there_say_how_to_get_them():
    model = LinearClassifier().fit(X, Y)
    with pytest.raises(AttributeError) as told:
        model.predict_proba(X)
    assert "calibrate" in str(told.value.__cause__) and "logistic" in str(told.value.__cause__)


def test_no_example_waits_for_a_clock():
    """Pages are built on slow machines as well."""
    for path in (ROOT / "examples").glob("plot_*.py"):
        assert "max_time=" not in path.read_text(), path.name
