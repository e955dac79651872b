"""Data frames of pandas and polars, in and out."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gapfit import (
    KernelSVC,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    MetricClassifier,
    NoveltyDetector,
    OrdinalClassifier,
    Ranker,
    TableEncoder,
)

X, Y = load_iris(return_X_y=True)
NAMES = ["length", "width", "petal", "sepal"]
FRAMES = {
    "pandas": (pd.DataFrame(X, columns=NAMES), pd.Series(Y)),
    "polars": (pl.DataFrame(X, schema=NAMES), pl.Series(Y)),
}
every_frame = pytest.mark.parametrize("kind", FRAMES)
MODELS = {
    "hinge": LinearClassifier(),
    "chosen": LinearClassifierCV(alphas=[1.0, 0.1], cv=2),
    "regressor": LinearRegressor(),
    "ordinal": OrdinalClassifier(),
    "ranker": Ranker(),
    "kernel": KernelSVC(),
    "novelty": NoveltyDetector(nu=0.3),
    "measure": MetricClassifier(metric="f1_macro", cv=2),
}


@every_frame
@pytest.mark.parametrize("name", MODELS)
def test_frames_are_the_arrays_that_they_hold(kind, name):
    table, target = FRAMES[kind]
    model = MODELS[name].fit(table, target, sample_weight=target * 0 + 1.0)
    plain = MODELS[name].__class__(**model.get_params()).fit(X, Y)
    assert model.feature_names_in_.tolist() == NAMES
    assert_array_equal(np.asarray(model.predict(table)), plain.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["width", "length", "petal", "sepal"]])


@every_frame
def test_words_and_several_labels(kind):
    table, _ = FRAMES[kind]
    words = np.array(["setosa", "versicolor", "virginica"])[Y]
    series = pd.Series(words) if kind == "pandas" else pl.Series(words)
    model = LinearClassifier(loss="logistic").fit(table, series)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    several = np.stack([Y == 0, Y == 2], axis=1).astype(int)
    make = pd.DataFrame if kind == "pandas" else pl.DataFrame
    model = LinearClassifier().fit(table, make(several))
    assert_array_equal(model.predict(table), LinearClassifier().fit(X, several).predict(X))


@every_frame
def test_pipelines_hand_frames_on(kind):
    """`set_output` says what transformers return, and models take it with its names."""
    table, target = FRAMES[kind]
    model = make_pipeline(StandardScaler(), LinearClassifier()).set_output(transform=kind)
    model.fit(table, target)
    assert model[-1].feature_names_in_.tolist() == NAMES
    chosen = SelectFromModel(LinearClassifier(penalty="l1", alpha=0.1)).set_output(transform=kind)
    kept = chosen.fit(table, target).transform(table)
    assert type(kept).__module__.startswith(kind) and set(kept.columns) <= set(NAMES)
    search = GridSearchCV(LinearClassifier(), {"C": [0.1, 1.0]}, cv=2).fit(table, target)
    assert search.best_estimator_.C in (0.1, 1.0)
    assert len(cross_val_predict(LinearRegressor(), table, target, cv=3)) == len(Y)


@every_frame
def test_words_are_encoded(kind):
    table, target = FRAMES[kind]
    words = OneHotEncoder(sparse_output=False)
    colours = np.array(["red", "blue"])[(X[:, 0] > 5.8).astype(int)]
    whole = (
        table.assign(colour=colours) if kind == "pandas" else table.with_columns(pl.Series("colour", colours))
    )
    encode = make_column_transformer((words, ["colour"]), remainder="passthrough")
    model = make_pipeline(encode, LinearClassifier()).set_output(transform=kind).fit(whole, target)
    assert "onehotencoder__colour_red" in model[-1].feature_names_in_
    if kind == "pandas":
        ours = make_pipeline(TableEncoder(categorical=["colour"]), LinearClassifier()).fit(whole, target)
        assert ours.score(whole, target) > 0.9


def test_weights_of_both_frames_agree():
    ours, theirs = (LinearRegressor(C=1.0).fit(*FRAMES[kind]).coef_ for kind in FRAMES)
    assert_allclose(ours, theirs, rtol=0)
