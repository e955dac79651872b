"""The path of an estimator: the models that fits one by one would give."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import scale

from gapfit import LinearClassifier, LinearRegressor, OrdinalClassifier, Ranker, plot_path

BREAST, DIABETES, IRIS = (f(return_X_y=True) for f in (load_breast_cancer, load_diabetes, load_iris))
A, T = scale(DIABETES[0])[:120], scale(DIABETES[1])[:120]
LEVELS = np.digitize(T, [-0.5, 0.5])
ALPHAS = [1e-3, 1.0, 1e-2, 1e-1, 0.3]


@pytest.mark.parametrize(
    ("model", "data", "given"),
    [
        (LinearClassifier(loss="hinge"), (scale(BREAST[0])[:150], BREAST[1][:150]), {}),
        (LinearClassifier(loss="logistic"), IRIS, {"sample_weight": np.linspace(1, 2, 150)}),
        (LinearClassifier(loss="softmax"), IRIS, {}),
        (LinearRegressor(), (A, T), {"offset": 0.1 * T}),
        (LinearRegressor(loss="huber", penalty="elastic_net"), (A, T), {}),
        (OrdinalClassifier(), (A, LEVELS), {}),
        (Ranker(), (A, LEVELS), {"qid": np.arange(120) // 10}),
    ],
    ids=str,
)
def test_the_models_of_fits_one_by_one(model, data, given):
    found = model.set_params(tol=1e-9).path(*data, ALPHAS, **given)
    assert not hasattr(model, "coef_")  # it is not fitted by that
    for k, alpha in enumerate(ALPHAS):
        one = model.set_params(alpha=alpha).fit(*data, **given)
        np.testing.assert_allclose(found.coefs[k], one.coef_, rtol=1e-3, atol=1e-4)
        assert found.objectives[k] == pytest.approx(one.objective_, abs=2e-9 + found.gaps[k] + one.dual_gap_)
        assert found.gaps[k] <= 1e-9 * max(1.0, found.objectives[k]) * (1 + 1e-9)


def test_bad_alphas_are_named():
    with pytest.raises(ValueError, match="alphas must be positive"):
        LinearRegressor().path(A, T, [0.1, 0.0])
    with pytest.raises(ValueError, match="alphas must be positive"):
        LinearRegressor().path(A, T, [])


def test_the_picture_names_the_largest_weights():
    plt = pytest.importorskip("matplotlib.pyplot")
    frame = pd.DataFrame(A, columns=[f"column {k}" for k in range(10)])
    ax = plot_path(LinearRegressor().path(frame, T, ALPHAS))
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(texts) == 8 and all(text.startswith("column ") for text in texts) and len(ax.lines) == 11
    ax = plot_path(LinearClassifier().path(*IRIS, ALPHAS))
    assert "output" in ax.get_legend().get_texts()[0].get_text()
    plt.close("all")
