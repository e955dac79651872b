"""What is known of a model and of what it does on some data, as numbers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapfit.elsewhere import fetched

FEATURES = 15  # of the largest weights
WORSE = 0.01  # of the objective: ranges of weights are over all models no worse than that
BINS = 10  # of equal numbers of samples, for a reliability curve
NARROWED = 100  # features, at most, whose ranges are made narrow by fits to the training data
ROBUST = 2000  # rows, at most, that are asked whether a single label could change their prediction

Table = dict[str, dict[str, float]]  # rows by name, each with numbers by name


class Samples(NamedTuple):
    """Features as the model takes them, and targets."""

    X: Any
    y: Any


class Feature(NamedTuple):
    """A weight, and between which two it lies in every model that is about as good."""

    name: str
    weight: float
    low: float
    high: float


class Bin(NamedTuple):
    """Samples of about one predicted probability, and how many of them were positive."""

    predicted: float
    observed: float
    low: float
    high: float
    size: int


class Facts(NamedTuple):
    """All that the page tells."""

    model: Any
    rows: int
    scores: Table  # of the model first, then of baselines
    confusion: tuple[list[str], NDArray[Any]] | None
    features: list[Feature]
    certified: float | None  # share of predictions that are provably the optimum's
    robust: tuple[float, int] | None  # share that no single training label could change, and of how many
    reliability: list[Bin]


def facts_of(model: Any, data: Samples, names: Any = None, training: Samples | None = None) -> Facts:
    """What a model does on data, beside baselines; more, if the training data are there."""
    X, y = data
    several = getattr(model, "multilabel_", False)
    one_label = y is not None and not several
    confusion = _confusion(model, X, y) if one_label and is_classifier(model) else None
    return Facts(
        model,
        X.shape[0],
        {} if y is None else _scores(model, data, training),
        confusion,
        _features(model, names, training),
        _certified(model, X),
        _robust(model, X, training),
        _reliability(model, X, y) if one_label else [],
    )


# -- scores -----------------------------------------------------------------------------------------------


def _scores(model: Any, data: Samples, training: Samples | None) -> Table:
    X, y = data
    if getattr(model, "multilabel_", False):
        return {"this model": _of_several_labels(y, np.asarray(model.predict(X)))}
    if is_classifier(model):
        return _of_labels(model, data, training)
    if is_regressor(model):
        return _of_numbers(model, data, training)
    return {}


def _of_several_labels(y: Any, found: Any) -> dict[str, float]:
    y = np.asarray(y)[:, : found.shape[1]]
    return {
        "all labels right": float((y == found).all(axis=1).mean()),
        "labels right": float((y == found).mean()),
        "micro F1": float(metrics.f1_score(y, found, average="micro", zero_division=0)),
        "macro F1": float(metrics.f1_score(y, found, average="macro", zero_division=0)),
    }


def _of_labels(model: Any, data: Samples, training: Samples | None) -> Table:
    X, y = data
    classes, truth = model.classes_, np.asarray(y)
    table = {"this model": _label_scores(truth, model.predict(X), classes)}
    table["this model"] |= _by_scores(model, X, truth)
    seen = truth if training is None else np.asarray(training.y)
    kinds, counts = np.unique(seen, return_counts=True)
    most = kinds[counts.argmax()]
    table[f"always {most}"] = _label_scores(truth, np.full(len(truth), most), classes)
    if len(classes) == 2 and most != classes[1]:
        table[f"always {classes[1]}"] = _label_scores(truth, np.full(len(truth), classes[1]), classes)
    if training is not None:
        other = _scaled(LogisticRegression(max_iter=1000)).fit(training.X, seen)
        told = _label_scores(truth, other.predict(X), classes) | _by_scores(other, X, truth)
        table["LogisticRegression, C = 1, of scikit-learn"] = told
    return table


def _label_scores(truth: Any, found: Any, classes: Any) -> dict[str, float]:
    averaged: dict[str, Any] = {"average": "macro"}
    if len(classes) == 2:
        averaged = {"pos_label": classes[1]}
    return {
        "accuracy": float(metrics.accuracy_score(truth, found)),
        "balanced accuracy": float(metrics.recall_score(truth, found, average="macro", zero_division=0)),
        "F1" if len(classes) == 2 else "macro F1": float(
            metrics.f1_score(truth, found, zero_division=0, **averaged)
        ),
        "Matthews": float(metrics.matthews_corrcoef(truth, found)),
    }


def _by_scores(model: Any, X: Any, truth: Any) -> dict[str, float]:
    """What depends on scores or probabilities: of two classes that are both there."""
    classes = model.classes_
    if len(classes) != 2 or len(np.unique(truth)) != 2:
        return {}
    positive = truth == classes[1]
    told = {"ROC area": float(metrics.roc_auc_score(positive, model.decision_function(X)))}
    if hasattr(model, "predict_proba"):
        p = np.clip(model.predict_proba(X)[:, 1], 1e-15, 1 - 1e-15)
        told |= {
            "log loss": float(-np.mean(np.where(positive, np.log(p), np.log1p(-p)))),
            "Brier": float(np.mean((p - positive) ** 2)),
        }
    return told


def _of_numbers(model: Any, data: Samples, training: Samples | None) -> Table:
    X, y = data
    truth = np.asarray(y, dtype=np.float64)
    seen = truth if training is None else np.asarray(training.y, dtype=np.float64)
    guesses: Mapping[str, Callable[[Any], Any]] = {"the mean": np.mean, "the median": np.median}
    levels = getattr(getattr(model, "loss", None), "quantiles", None)
    if levels is not None:
        always = np.broadcast_to(np.quantile(seen, levels), (len(truth), len(levels)))
        told = {"this model": model.predict(X), "always the quantiles": always}
        return {name: _quantile_scores(truth, found, levels) for name, found in told.items()}
    table = {"this model": _number_scores(truth, model.predict(X))}
    for name, guess in guesses.items():
        table[f"always {name}"] = _number_scores(truth, np.full(len(truth), guess(seen)))
    if training is not None:
        other = _scaled(Ridge()).fit(training.X, seen)
        table["Ridge, alpha = 1, of scikit-learn"] = _number_scores(truth, other.predict(X))
    return table


def _number_scores(truth: Any, found: Any) -> dict[str, float]:
    return {
        "R^2": float(metrics.r2_score(truth, found)),
        "mean absolute error": float(metrics.mean_absolute_error(truth, found)),
        "root mean squared error": float(np.sqrt(metrics.mean_squared_error(truth, found))),
    }


def _quantile_scores(truth: Any, found: Any, levels: Any) -> dict[str, float]:
    """What each quantile costs, and the share that lies at or below it."""
    pairs = list(zip(levels, found.T, strict=True))
    cost = {f"pinball, {q:g}": float(metrics.mean_pinball_loss(truth, f, alpha=q)) for q, f in pairs}
    return cost | {f"share below, {q:g}": float(np.mean(truth <= f)) for q, f in pairs}


def _scaled(estimator: Any) -> Any:
    return make_pipeline(StandardScaler(with_mean=False), estimator)


def _confusion(model: Any, X: Any, y: Any) -> tuple[list[str], NDArray[Any]]:
    classes = list(model.classes_)
    found = metrics.confusion_matrix(np.asarray(y), model.predict(X), labels=classes)
    return [str(one) for one in classes], found


# -- the model --------------------------------------------------------------------------------------------


def _features(model: Any, names: Any, training: Samples | None) -> list[Feature]:
    """The largest weights, of a model with one weight a feature; ranges where they are proved."""
    try:
        weights = np.asarray(fetched(model.coef_))
    except AttributeError:
        return []
    if np.atleast_2d(weights).shape[0] != 1:
        return []
    weights = weights.ravel()
    low = high = np.full(len(weights), np.nan)
    if hasattr(model, "coef_range"):
        known: dict[str, Any] = {}
        if training is not None and training.X.shape[1] <= NARROWED:  # some fits for each of them
            known = {"X": training.X, "y": training.y}
        low, high = (np.asarray(end).ravel() for end in model.coef_range(WORSE, **known))
    order: Sequence[int] = [int(k) for k in np.argsort(-np.abs(weights))[:FEATURES] if weights[k] != 0]
    called = [f"feature {k + 1}" for k in range(len(weights))] if names is None else [str(n) for n in names]
    return [Feature(called[k], float(weights[k]), float(low[k]), float(high[k])) for k in order]


def _certified(model: Any, X: Any) -> float | None:
    """The share of predictions that are provably the optimum's; None where the model cannot tell."""
    try:
        return float(np.mean(model.certified(X)))
    except (AttributeError, ValueError):
        return None


def _robust(model: Any, X: Any, training: Samples | None) -> tuple[float, int] | None:
    if training is None or not hasattr(model, "influence") or len(getattr(model, "classes_", ())) != 2:
        return None
    rows = X[:ROBUST]
    asked = model.influence(rows, change="flip", X=training.X, y=training.y)
    return float(np.mean(asked.robust)), rows.shape[0]


def _reliability(model: Any, X: Any, y: Any) -> list[Bin]:
    """Of two classes: bins of equal numbers of samples, with Wilson's intervals of 95 %."""
    if len(getattr(model, "classes_", ())) != 2 or not hasattr(model, "predict_proba"):
        return []
    p, positive = model.predict_proba(X)[:, 1], np.asarray(y) == model.classes_[1]
    found = []
    for some in np.array_split(np.argsort(p, kind="stable"), min(BINS, max(len(p) // 10, 1))):
        share, n = float(positive[some].mean()), len(some)
        low, high = _wilson(share, n)
        found.append(Bin(float(p[some].mean()), share, low, high, n))
    return found


def _wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    width = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(float(centre - width), 0.0), min(float(centre + width), 1.0)
