"""Curves of probabilities and tables of choices in files: what is none is refused."""

import numpy as np
import pytest

from gapfit import ModelFileError
from gapfit.calibration import Curve
from gapfit.persistence.fits import CURVES, TABLE
from gapfit.persistence.values import Shelf
from gapfit.solution import Certificate

SIGMOID = Curve(np.array([2.0]), np.array([-1.0]), True, Certificate(0.5, 0.4, 0.1, "conjugate"))
STEPS = Curve(np.array([-1.0, 0.0, 2.0]), np.array([0.0, 0.3, 1.0]), False)


def through(kind, value):
    shelf = Shelf()
    written = kind.write(value, shelf)
    return kind.read(written, Shelf(shelf.arrays))


@pytest.mark.parametrize("curves", [[SIGMOID, SIGMOID], [STEPS]], ids=["sigmoid", "steps"])
def test_curves_come_back(curves):
    again = through(CURVES, curves)
    at = np.linspace(-3, 3, 9)
    assert [curve.certificate for curve in again] == [curve.certificate for curve in curves]
    for one, other in zip(again, curves, strict=True):
        np.testing.assert_array_equal(one(at), other(at))


@pytest.mark.parametrize(
    "curve",
    [
        STEPS._replace(x=np.array([0.0, -1.0, 2.0])),
        STEPS._replace(y=np.array([0.0, 0.7, 0.3])),
        STEPS._replace(y=np.array([0.0, 0.7, 1.5])),
        STEPS._replace(y=np.array([-0.1, 0.7, 1.0])),
        STEPS._replace(x=np.zeros(2)),
        STEPS._replace(x=np.zeros(0), y=np.zeros(0)),
        STEPS._replace(x=np.array([0.0, 1.0, np.nan])),
        SIGMOID._replace(x=np.array([1.0, 2.0]), y=np.array([1.0, 2.0])),
        SIGMOID._replace(sigmoid=1),
    ],
)
def test_what_is_no_curve_is_refused(curve):
    with pytest.raises(ModelFileError):
        through(CURVES, [curve])


def test_tables_come_back_and_others_are_refused():
    table = {"alpha": [1.0, 0.1], "gamma": ["scale", 0.5], "mean_score": [0.5, float("-inf")]}
    assert through(TABLE, table) == table
    for bad in (
        [],
        {"alpha": 1},
        {"alpha": [1.0], "score": []},
        {"alpha": [[]]},
        {"alpha": [{"float": "nan"}]},
    ):
        with pytest.raises(ModelFileError):
            TABLE.read(bad, Shelf())
    with pytest.raises(TypeError):
        TABLE.write({"score": [float("nan")]}, Shelf())
