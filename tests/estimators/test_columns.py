"""Errors about X name the columns to blame."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from gapfit import KernelSVC, LinearClassifier, LinearRegressor

TABLE = {"age": [20.0, 30.0, 40.0, 50.0], "wage": [1.0, 2.0, 3.0, 5.0], "sex": [0.0, 1.0, 1.0, 0.0]}
Y = [0, 1, 0, 1]
WRONG = {
    "gap": [1.0, np.nan, 2.0, 3.0],
    "infinite": [1.0, np.inf, 2.0, 3.0],
    "words": ["a", "b", "a", "c"],
    "time": pd.to_datetime(["2020-01-01"] * 4),
}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("make", [LinearClassifier, LinearRegressor, KernelSVC])
def test_columns_that_are_not_numbers_are_named(make, wrong, kind):
    if kind is pl.DataFrame and wrong == "time":
        pytest.skip("scikit-learn takes the nanoseconds of polars for numbers")
    table = kind({**TABLE, "wage": WRONG[wrong]})
    with pytest.raises((TypeError, ValueError), match=r"finite numbers: 'wage'\. gapfit\.TableEncoder"):
        make().fit(table, Y)
    model = make().fit(kind(TABLE), Y)
    with pytest.raises((TypeError, ValueError), match=r"not hold finite numbers: 'wage'"):
        model.predict(table)


def test_many_are_counted():
    table = pd.DataFrame({f"c{k}": ["x"] * 4 for k in range(8)})
    with pytest.raises(ValueError, match="'c4' and 3 more"):
        LinearClassifier().fit(table, Y)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_features_that_are_missing_are_named():
    model = LinearClassifier().fit(pd.DataFrame(TABLE), Y)
    with pytest.raises(ValueError, match=r"(?s)X has 2 features.*expecting 3.*'age', 'wage', 'sex'"):
        model.predict(np.ones((2, 2)))
    with pytest.raises(ValueError, match="wage"):
        model.predict(pd.DataFrame(TABLE).drop(columns="wage"))


def test_arrays_are_told_what_they_were():
    with pytest.raises(ValueError, match="contains NaN") as told:
        LinearClassifier().fit(np.array([[1.0, np.nan], [0.0, 1.0]]), [0, 1])
    assert "Columns" not in str(told.value)
