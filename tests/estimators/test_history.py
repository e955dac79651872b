"""Every estimator has a curve to show."""

import warnings

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_iris

import gapfit
from gapfit import plot_convergence, save

mpl.use("Agg")
import matplotlib.pyplot as plt

X, SPECIES = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
TWO = SPECIES == 1

FITS = {
    "hinge": lambda: gapfit.LinearClassifier().fit(X, TWO),
    "logistic": lambda: gapfit.LinearClassifier(loss="logistic").fit(X, TWO),
    "several classes": lambda: gapfit.LinearClassifier().fit(X, SPECIES),
    "softmax": lambda: gapfit.LinearClassifier(loss="softmax").fit(X, SPECIES),
    "squared": lambda: gapfit.LinearRegressor().fit(X[:, 1:], X[:, 0]),
    "quantile": lambda: gapfit.LinearRegressor(loss="quantile").fit(X[:, 1:], X[:, 0]),
    "lasso": lambda: gapfit.LinearRegressor(penalty="l1").fit(X[:, 1:], X[:, 0]),
    "ranker": lambda: gapfit.Ranker().fit(X, SPECIES),
    "ordinal": lambda: gapfit.OrdinalClassifier().fit(X, SPECIES),
    "novelty": lambda: gapfit.NoveltyDetector().fit(X + 3.0),
    "metric": lambda: gapfit.MetricClassifier(alpha=1e-2, cv=2).fit(X, TWO),
    "surrogate": lambda: gapfit.MetricClassifier(strategy="surrogate", alpha=1e-2).fit(X, SPECIES == 0),
    "svc": lambda: gapfit.KernelSVC().fit(X, TWO),
    "svc of several classes": lambda: gapfit.KernelSVC().fit(X, SPECIES),
    "nu svc": lambda: gapfit.KernelSVC(nu=0.2).fit(X, TWO),
    "svr": lambda: gapfit.KernelSVR().fit(X[:, 1:], X[:, 0]),
    "kernel novelty": lambda: gapfit.KernelNoveltyDetector().fit(X),
    "indefinite": lambda: gapfit.KernelSVC(kernel="sigmoid").fit(X, TWO),
    "choice": lambda: gapfit.LinearClassifierCV(alphas=(0.1, 0.01)).fit(X, TWO),
}


@pytest.mark.parametrize("name", FITS)
def test_there_is_a_curve(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FITS[name]()
    parts = model.history_ if isinstance(model.history_[0], list) else [model.history_]
    assert len(parts) == len(model.certificates_)
    for part, certificate in zip(parts, model.certificates_, strict=True):
        assert len(part) >= 2, "a dot is no curve"
        assert part[-1].proved or model.status_.name == "LOCAL"
        assert part[-1].primal == pytest.approx(certificate.primal, rel=1e-6)
        assert part[0].primal >= part[-1].primal - 1e-9 or not part[-1].proved
    bounds, _ = plot_convergence(model)
    assert len(np.unique(bounds.get_lines()[0].get_xdata())) >= 2
    plt.close("all")
    save(model, tmp_path / "model.gapfit")
    assert gapfit.load(tmp_path / "model.gapfit").history_ == model.history_
