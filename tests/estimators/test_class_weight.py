"""`class_weight_` is what every class weighed, in the order of `classes_`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import gapfit
from gapfit import KernelSVC, LinearClassifier, OrdinalClassifier

X, Y = load_iris(return_X_y=True)
X, Y = X[20:], Y[20:]
WEIGHTS = [None, "balanced", {0: 2.0, 2: 0.5}]


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize("make", [LinearClassifier, KernelSVC, OrdinalClassifier])
def test_it_is_that_of_scikit_learn(make, weights, tmp_path):
    model = make(class_weight=weights).fit(X, Y)
    assert_allclose(model.class_weight_, SVC(class_weight=weights).fit(X, Y).class_weight_)
    gapfit.save(model, tmp_path / "model")
    assert_allclose(gapfit.load(tmp_path / "model").class_weight_, model.class_weight_)


def test_classes_of_weight_zero_have_none():
    model = LinearClassifier(class_weight={0: 0.0, 1: 3.0}).fit(X, Y)
    assert model.classes_.tolist() == [1, 2] and model.class_weight_.tolist() == [3.0, 1.0]


def test_labels_weigh_the_same():
    model = LinearClassifier(class_weight={0: 2.0}).fit(X, Y)
    model.set_params(class_weight=None).fit(X, np.stack([Y == 0, Y == 2], axis=1))
    assert model.class_weight_.tolist() == [1.0, 1.0]
