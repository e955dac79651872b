"""Models in skops files: the same predictions, and no type that gapfit does not name."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapfit import (
    KernelNoveltyDetector,
    KernelSVC,
    KernelSVCCV,
    KernelSVR,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    MetricClassifier,
    NoveltyDetector,
    OrdinalClassifier,
    Ranker,
    SequenceLabeler,
    TableEncoder,
    skops_types,
)
from gapfit.losses import CrammerSinger, Huber
from gapfit.penalties import L2, Box, ElasticNet, GroupLasso

skops = pytest.importorskip("skops.io")

X, Y = load_iris(return_X_y=True)
X = X[20:]
Y = Y[20:]
MODELS = {
    "hinge": LinearClassifier(),
    "calibrated": LinearClassifier(loss="logistic", calibrate="sigmoid"),
    "isotonic": LinearClassifier(calibrate="isotonic"),
    "costs": LinearClassifier(loss=CrammerSinger(np.ones((3, 3)) - np.eye(3)), class_weight="balanced"),
    "regressor": LinearRegressor(loss=Huber(0.5), penalty=ElasticNet(0.3)),
    "groups": LinearClassifier(penalty=GroupLasso([0, 0, 1, 1]), alpha=0.1),
    "box": LinearRegressor(penalty=Box(L2(), 0.0, 1.0)),
    "ordinal": OrdinalClassifier(),
    "ranker": Ranker(),
    "novelty": NoveltyDetector(nu=0.2),
    "chosen": LinearClassifierCV(alphas=[1.0, 0.1], cv=2),
    "rbf": KernelSVC(),
    "linear": KernelSVC(kernel="linear"),
    "poly": KernelSVR(kernel="poly"),
    "kernel novelty": KernelNoveltyDetector(nu=0.2),
    "kernel chosen": KernelSVCCV(Cs=[1.0], cv=2),
}


def stored(model):
    content = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=content)
    strange = set(unknown) - set(skops_types())
    assert all(name.startswith("scipy.sparse.") for name in strange), strange  # of samples that were sparse
    return skops.loads(content, trusted=unknown)


@pytest.mark.parametrize("name", MODELS)
def test_models_come_back(name):
    model = MODELS[name].fit(X, Y)
    again = stored(model)
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificates_ == model.certificates_ and again.status_ is model.status_
    assert again.history_ == model.history_
    if hasattr(model, "predict_proba"):
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    if name in ("hinge", "regressor", "poly"):
        for ours, theirs in zip(again.score_bounds(X), model.score_bounds(X), strict=True):
            assert_array_equal(ours, theirs)


def test_sparse_rows_measures_chains_and_pipelines():
    model = KernelSVC().fit(sparse.csr_matrix(X), Y)
    assert_array_equal(stored(model).predict(X), model.predict(X))
    model = MetricClassifier(cv=2).fit(X, Y == 1)
    assert_array_equal(stored(model).predict(X), model.predict(X))
    chains = [X[:40], X[40:]]
    model = SequenceLabeler().fit(chains, [Y[:40], Y[40:]])
    for ours, theirs in zip(stored(model).predict(chains), model.predict(chains), strict=True):
        assert_array_equal(ours, theirs)
    model = make_pipeline(StandardScaler(), LinearClassifier()).fit(X, Y)
    assert_array_equal(stored(model).predict(X), model.predict(X))


def test_tables_with_words_and_gaps():
    table = np.array([[1.0, "a"], [2.0, "b"], [np.nan, "a"], [4.0, ""]] * 5, dtype=object)
    encoder = TableEncoder(names=["size", "job"], categorical=["job"], missing="median", scale=True)
    model = make_pipeline(encoder, LinearClassifier())
    model.fit(table, np.arange(20) % 2)
    assert_array_equal(stored(model).predict(table), model.predict(table))


def test_nothing_is_loaded_that_was_not_named():
    content = skops.dumps(LinearClassifier().fit(X, Y))
    with pytest.raises(Exception, match="gapfit"):
        skops.loads(content)
    assert all(name.startswith("gapfit.") for name in skops_types())
