"""Words and gaps become numbers, by scikit-learn's encoders, also after a file."""

import doctest

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import gapfit
from gapfit import TableEncoder, tables

RNG = np.random.default_rng(0)
N = 120
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(40, 10, N).round(1),
        "job": RNG.choice(["smith", "baker", "cook"], N),
        "income": RNG.normal(3, 1, N).round(2),
        "town": RNG.choice(["York", "Bath"], N),
    }
)
FRAME.loc[[3, 8], "age"] = np.nan
FRAME.loc[5, "job"] = None
NAMES = list(FRAME)
ENCODER = TableEncoder(names=NAMES, categorical=["job", "town"], missing="median", scale=True)


def test_it_is_what_scikit_learn_makes_of_it():
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    theirs = make_column_transformer(
        (numbers, ["age", "income"]), (OneHotEncoder(), ["job", "town"]), sparse_threshold=0
    )
    words = FRAME.assign(job=FRAME["job"].fillna(""))
    ours = clone(ENCODER).fit(FRAME)
    np.testing.assert_allclose(ours.transform(FRAME), theirs.fit_transform(words), atol=1e-14)
    told = ["age", "income", "job=missing", "job=baker", "job=cook", "job=smith", "town=Bath", "town=York"]
    assert ours.get_feature_names_out().tolist() == told
    np.testing.assert_array_equal(ours.fill_, FRAME[["age", "income"]].median())


def test_columns_go_by_name_and_may_be_objects():
    ours = clone(ENCODER).fit(FRAME)
    backwards = FRAME[NAMES[::-1]].assign(more="x")
    np.testing.assert_array_equal(ours.transform(backwards), ours.transform(FRAME))
    np.testing.assert_array_equal(ours.transform(FRAME.to_numpy(dtype=object)), ours.transform(FRAME))


def test_a_word_that_is_new_has_no_column():
    ours = clone(ENCODER).fit(FRAME)
    new = FRAME[:2].assign(town=["Ely", "York"])
    assert ours.unknown(new) == {"town": ["Ely"]} and ours.unknown(FRAME) == {}
    assert ours.transform(new)[:, -2:].tolist() == [[0.0, 0.0], [0.0, 1.0]]


def test_very_many_words_are_a_sparse_matrix():
    X = np.array([[str(k)] for k in range(300)], dtype=object)
    found = TableEncoder(names=["word"], categorical=["word"]).fit_transform(X)
    assert found.format == "csr" and found.shape == (300, 300) and found.sum() == 300


@pytest.mark.parametrize(
    ("changes", "frame", "told"),
    [
        ({"missing": "refuse"}, FRAME, "column 'age' has no value in row 3; missing='median' fills it in"),
        ({"missing": "medain"}, FRAME, "missing must be one of"),
        ({"categorical": ["jop"]}, FRAME, "categorical names 'jop', which is no column; did you mean 'job'"),
        ({"categorical": ["job"]}, FRAME, "column 'town' holds .*categorical=..town.. takes words"),
        ({}, FRAME.assign(age=np.nan), "column 'age' holds no value: leave it out"),
        ({"names": None}, FRAME.to_numpy(), "names must tell the columns of an array"),
        ({"names": NAMES[:2]}, FRAME.to_numpy(), "names are 2, and X has 4 columns"),
    ],
)
def test_what_is_wrong_is_named(changes, frame, told):
    with pytest.raises(ValueError, match=told):
        clone(ENCODER).set_params(**changes).fit(frame)


def test_a_column_that_is_not_there():
    with pytest.raises(ValueError, match="X lacks the column 'town'"):
        clone(ENCODER).fit(FRAME).transform(FRAME.drop(columns="town"))


def test_examples():
    results = doctest.testmod(tables)
    assert results.attempted and not results.failed
    assert gapfit.TableEncoder is TableEncoder
