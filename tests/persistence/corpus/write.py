"""Write the model files of this version: `python tests/persistence/corpus/write.py`, once, at its release.

Every later version must load them (test_persistence.py). A folder, once committed, never changes: if a file
of an older version no longer loads, it is not the file that is wrong.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd

import gapfit
from gapfit.losses import Huber, Quantile, SmoothedHinge
from gapfit.penalties import L2, Box, ElasticNet, QuadraticForm

HERE = Path(__file__).parent


def data(d=3):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(24, d))
    return X, X @ np.linspace(1.0, -1.0, d) + 0.3 * rng.normal(size=24)


def probe(model):
    """Where predictions are compared."""
    d = model.n_features_in_
    X = 2.0 * np.cos(np.arange(5.0 * d)).reshape(5, d)
    return pd.DataFrame(X, columns=model.feature_names_in_) if hasattr(model, "feature_names_in_") else X


def models():
    """A model of each class and each kind of content, by name."""
    X, t = data()
    three = np.digitize(t, [-0.7, 0.7])
    names = np.array(["low", "mid", "größer"], dtype=object)[three]
    texts = np.where(t > 0, "over", "under")
    table = pd.DataFrame(X, columns=["a", "b", "ü"])
    Q = np.diag([1.0, 2.0, 3.0]) + 0.25
    classifier, regressor, detector = gapfit.LinearClassifier, gapfit.LinearRegressor, gapfit.NoveltyDetector
    box = Box(ElasticNet(0.2), -0.5, [0.1, np.inf, 2.0])
    return {
        "binary": classifier(alpha=0.01).fit(X, t > 0),
        "multiclass": classifier(loss="logistic", alpha=0.1, tol=1e-3).fit(X, names),
        "text_labels": classifier(loss=SmoothedHinge(0.5), positive=True).fit(X, texts),
        "weighted": classifier(penalty="l1", alpha=0.01, class_weight={0: 1.0, 1: 2.5, 2: 1}).fit(X, three),
        "float32": regressor(loss=Quantile(0.9), alpha=0.01).fit(X.astype(np.float32), t),
        "counts": regressor(loss="poisson", alpha=0.1, max_time=np.inf).fit(table, np.round(np.exp(t / 2))),
        "metric": regressor(loss=Huber(0.5), penalty=QuadraticForm(Q), alpha=0.1).fit(X, t),
        "box": regressor(penalty=box, alpha=0.1, fit_intercept=False).fit(X, t),
        "novelty": detector(nu=0.1, penalty=Box(L2(), 0.0, 1.0)).fit(X + 3),
        "unfitted": classifier(loss="logistic", random_state=3),
    }


def facts(model, path):
    """What a later version must find in the file."""
    parameters = {name: repr(value) for name, value in model.get_params(deep=False).items()}
    found = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "parameters": parameters}
    if hasattr(model, "coef_"):
        X = probe(model)
        found["coef_"] = [value.hex() for value in np.ravel(model.coef_).astype(float).tolist()]
        found["intercept_"] = [value.hex() for value in np.ravel(model.intercept_).tolist()]
        found["status_"], found["n_iter_"] = model.status_.name, model.n_iter_
        found["dual_gap_"] = float(model.dual_gap_)
        found["support_status_"] = np.ravel(model.support_status_).tolist()
        found["predictions"] = model.predict(X).tolist()
        if model._balls[0]:
            found["score_bounds"] = [bound.tolist() for bound in model.score_bounds(X)]
    return found


if __name__ == "__main__":
    folder = HERE / gapfit.__version__
    folder.mkdir()  # it must not be there yet
    found = {}
    for name, model in models().items():
        gapfit.save(model, folder / f"{name}.gapfit")
        found[name] = facts(model, folder / f"{name}.gapfit")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(known)}" for name, known in found.items())
    (folder / "facts.json").write_text(f"{{{lines}}}\n")
