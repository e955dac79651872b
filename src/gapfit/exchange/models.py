"""Fitted models as ONNX graphs, with the same formulas as their own `predict`.

What a graph returns: `label` and `scores` of classifiers, `probabilities` where they have some, `prediction`
of regressors, `scores` of rankers (and `relevance` where it is calibrated).
"""

from functools import singledispatch
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from gapfit import estimators
from gapfit.calibration import Curve
from gapfit.design import kernel_functions as kernels
from gapfit.elsewhere import fetched
from gapfit.errors import as_choice
from gapfit.estimators.alpha_search import AlphaSearchCV
from gapfit.estimators.kernel import KernelModel
from gapfit.estimators.one_class import ON_IT
from gapfit.exchange.graph import Graph, Name, Output

__all__ = ["to_onnx"]

Outputs = dict[str, Output]


def to_onnx(model: Any, *, dtype: str = "float64") -> Any:
    """A fitted model as an ONNX model, for onnxruntime and whatever else runs such graphs.

    Parameters
    ----------
    model : fitted linear, multi-class, ordinal, ranking, metric or kernel model.
    dtype : "float64" or "float32", of the input `X` of shape (n, d). All is computed in double precision
        either way, as `predict` does.

    Returns
    -------
    onnx.ModelProto
        `model.SerializeToString()` is the content of a file. Its metadata hold the certificate. Outputs are
        `label`, `scores` and `probabilities` of classifiers, `prediction` of regressors, `scores` and
        `relevance` of rankers, as far as the model has them.
    """
    as_choice("dtype", dtype, ("float64", "float32"))
    check_is_fitted(model)
    graph, X = Graph(), Name("rows")
    outputs = written(model, graph, X)
    return graph.model(X, int(model.n_features_in_), dtype, outputs, _told(model))


def _told(model: Any) -> dict[str, str]:
    facts = {"model": type(model).__name__}
    for name in ("objective_", "dual_objective_", "dual_gap_"):
        if hasattr(model, name):
            facts[name] = repr(np.asarray(getattr(model, name)).tolist())
    if hasattr(model, "feature_names_in_"):
        facts["feature_names_in_"] = repr(list(map(str, model.feature_names_in_)))
    return facts


@singledispatch
def written(model: Any, g: Graph, X: Name) -> Outputs:
    """The outputs of the model, written as nodes of the graph. Register functions for your own classes."""
    raise TypeError(
        f"{type(model).__name__} has no ONNX form: linear, ordinal, ranking, metric and kernel models do"
    )


@written.register
def _(model: AlphaSearchCV, g: Graph, X: Name) -> Outputs:
    return written(model.best_estimator_, g, X)


@written.register(estimators.LinearClassifier)
@written.register(estimators.MetricClassifier)
def _linear_classifier(model: Any, g: Graph, X: Name) -> Outputs:
    scores = _linear_scores(model, g, X)
    width = len(model._dense_coef())
    if getattr(model, "multilabel_", False):
        found = {"label": Output(g.place(g("Greater", scores, 0.0)), np.int64, width)}
        found["scores"] = Output(scores, np.float64, width)
        if hasattr(model, "predict_proba"):
            found["probabilities"] = Output(g.sigmoid(scores), np.float64, width)
        return found
    return _classified(model, g, scores, width)


@written.register
def _(model: estimators.LinearRegressor, g: Graph, X: Name) -> Outputs:
    if model._is_joint():
        raise TypeError(f"{model.loss!r} sorts its quantiles, which is not written as a graph")
    scores, targets = _linear_scores(model, g, X), len(model._dense_coef())
    scores, columns = (scores, targets) if targets > 1 else (g.flat(scores), None)
    mean = g("Exp", scores) if model._exponential_mean else scores
    return {"prediction": Output(mean, np.float64, columns)}


@written.register
def _(model: estimators.Ranker, g: Graph, X: Name) -> Outputs:
    scores = _linear_scores(model, g, X)
    found = {"scores": Output(g.flat(scores), np.float64)}
    if hasattr(model, "calibration_"):
        found["relevance"] = Output(g.flat(_curves_at(model.calibration_, g, scores)), np.float64)
    return found


@written.register
def _(model: estimators.NoveltyDetector, g: Graph, X: Name) -> Outputs:
    return _novelty(g, _linear_scores(model, g, X), model.offset_)


@written.register
def _(model: estimators.OrdinalClassifier, g: Graph, X: Name) -> Outputs:
    latent = g.product(X, model._dense_coef())
    above = g("Sub", latent, model._thresholds[None])
    passed = g("ReduceSum", g.place(g("Greater", latent, model._cuts[None])), np.array([1]), keepdims=0)
    found = {"label": _label(model.classes_, g, passed)}
    found["scores"] = Output(above, np.float64, len(model.thresholds_))
    if not hasattr(model, "predict_proba"):
        return found
    levels = len(model.classes_)
    if model.calibrate is None:
        below = np.triu(np.ones((levels - 1, levels)), 1)  # sums over the thresholds below each level
        proba = g("Softmax", g("MatMul", above, below), axis=1)
    else:
        columns = [_curve_at(curve, g, _column(g, above, k)) for k, curve in enumerate(model.calibration_)]
        for k in range(1, len(columns)):  # the probabilities of being above may only fall
            columns[k] = g("Min", columns[k - 1], columns[k])
        ends = g("Add", g("Mul", columns[0], 0.0), 1.0), g("Mul", columns[0], 0.0)
        steps = [ends[0], *columns, ends[1]]
        proba = g("Concat", *(g("Sub", high, low) for high, low in pairwise(steps)), axis=1)
    return found | {"probabilities": Output(proba, np.float64, levels)}


@written.register
def _(model: estimators.KernelSVC, g: Graph, X: Name) -> Outputs:
    pairs = g("Add", _expansions(model, g, X, model._expansion_coefficients()), model.intercept_[None])
    k = len(model.classes_)
    if k == 2:
        return _classified(model, g, pairs, 1)
    votes = _votes(g, pairs, k)
    shown, width = (votes, k) if model.decision_function_shape == "ovr" else (pairs, k * (k - 1) // 2)
    found = _classified(model, g, votes, k)
    return found | {"scores": Output(shown, np.float64, width)}


@written.register
def _(model: estimators.KernelSVR, g: Graph, X: Name) -> Outputs:
    f = g("Add", _expansions(model, g, X, model.dual_coef_), float(model.intercept_[0]))
    return {"prediction": Output(g.flat(f), np.float64)}


@written.register
def _(model: estimators.KernelNoveltyDetector, g: Graph, X: Name) -> Outputs:
    f = g("Add", _expansions(model, g, X, model.dual_coef_), float(model.intercept_[0]))
    return _novelty(g, f, model.offset_)


# -- scores -------------------------------------------------------------------------------------------------


def _linear_scores(model: Any, g: Graph, X: Name) -> Name:
    return g("Add", g.product(X, model._dense_coef()), np.atleast_1d(fetched(model.intercept_))[None])


def _expansions(model: KernelModel, g: Graph, X: Name, coefficients: NDArray[Any]) -> Name:
    """sum_i c_i k(x, x_i) for each row c of coefficients."""
    if model._precomputed:
        chosen = np.zeros((len(coefficients), model.n_features_in_))
        chosen[:, model.support_] = coefficients
        return g.product(X, chosen)
    vectors = model.support_vectors_
    V = np.asarray(vectors.toarray() if hasattr(vectors, "toarray") else vectors, np.float64)
    return g.product(_kernel(model._fitted_kernel, g, X, V), coefficients)


@singledispatch
def _kernel(function: Any, g: Graph, X: Name, V: NDArray[Any]) -> Name:
    raise TypeError(f"the kernel {function!r} has no ONNX form: linear, rbf, poly and sigmoid have one")


@_kernel.register
def _(function: kernels.Linear, g: Graph, X: Name, V: NDArray[Any]) -> Name:
    return g.product(X, V)


@_kernel.register
def _(function: kernels.Gaussian, g: Graph, X: Name, V: NDArray[Any]) -> Name:
    own = g.total(g("Mul", X, X))
    apart = g("Sub", g("Add", own, (V * V).sum(axis=1)[None]), g.product(X, 2 * V))
    return g("Exp", g("Mul", g("Max", apart, 0.0), -function.gamma))


@_kernel.register
def _(function: kernels.Polynomial, g: Graph, X: Name, V: NDArray[Any]) -> Name:
    inner = g("Add", g.product(X, function.gamma * V), function.coef0)
    return g("Pow", inner, float(function.degree))


@_kernel.register
def _(function: kernels.Sigmoid, g: Graph, X: Name, V: NDArray[Any]) -> Name:
    return g("Tanh", g("Add", g.product(X, function.gamma * V), function.coef0))


def _votes(g: Graph, pairs: Name, k: int) -> Name:
    """Votes of pairs of classes and what decides between equal ones: see `KernelSVC`."""
    first, second = np.triu_indices(k, 1)
    for_first, for_second = (np.eye(k)[side] for side in (first, second))  # (pairs, k)
    won = g.number(g("Greater", pairs, 0.0))
    votes = g("Add", g("MatMul", won, for_first), g("MatMul", g("Sub", 1.0, won), for_second))
    sums = g("MatMul", pairs, for_first - for_second)
    return g("Add", votes, g("Div", sums, g("Mul", g("Add", g("Abs", sums), 1.0), 3.0)))


def _novelty(g: Graph, f: Name, offset: float) -> Outputs:
    """Scores less the threshold, zero where only rounding parts them from it."""
    on_it = g("LessOrEqual", g("Abs", f), ON_IT * abs(float(offset)))
    f = g.flat(g("Where", on_it, 0.0, f))
    label = g("Where", g("GreaterOrEqual", f, 0.0), np.array(1), np.array(-1))
    return {"label": Output(label, np.int64), "scores": Output(f, np.float64)}


# -- labels and probabilities -------------------------------------------------------------------------------


def _label(classes: NDArray[Any], g: Graph, place: Name) -> Output:
    kind = np.asarray(classes).dtype
    kind = np.dtype(np.int64) if kind.kind in "iu" else np.dtype(np.float64) if kind.kind == "f" else kind
    return Output(g("Gather", classes, place, axis=0), kind)


def _classified(model: Any, g: Graph, scores: Name, width: int) -> Outputs:
    """Labels of scores (n, 1), positive for the second class, or of the highest of (n, k)."""
    if width == 1:
        place = g.place(g("Greater", g.flat(scores), 0.0))
        found = {"label": _label(model.classes_, g, place), "scores": Output(g.flat(scores), np.float64)}
    else:
        place = g("ArgMax", scores, axis=1, keepdims=0)
        found = {"label": _label(model.classes_, g, place), "scores": Output(scores, np.float64, width)}
    if hasattr(model, "predict_proba"):
        shares = _own if model.calibrate is None else _calibrated
        found["probabilities"] = Output(shares(model, g, scores, width), np.float64, len(model.classes_))
    return found


def _own(model: Any, g: Graph, scores: Name, width: int) -> Name:
    """Of a loss that is a likelihood."""
    if width == 1:
        return g("Concat", g.sigmoid(g("Neg", scores)), g.sigmoid(scores), axis=1)
    if model._is_joint():
        return g("Softmax", scores, axis=1)
    each = g.sigmoid(scores)
    return g("Div", each, g.total(each))


def _calibrated(model: Any, g: Graph, scores: Name, width: int) -> Name:
    """Of calibrated scores."""
    each = _curves_at(model.calibration_, g, scores)
    if width == 1:
        return g("Concat", g("Sub", 1.0, each), each, axis=1)
    total = g.total(each)
    some = g("Greater", total, 0.0)
    return g("Where", some, g("Div", each, g("Where", some, total, 1.0)), 1.0 / width)


def _column(g: Graph, table: Name, k: int) -> Name:
    return g("Gather", table, np.array([k]), axis=1)


def _curves_at(curves: list[Curve], g: Graph, scores: Name) -> Name:
    columns = [_curve_at(curve, g, _column(g, scores, k)) for k, curve in enumerate(curves)]
    return columns[0] if len(columns) == 1 else g("Concat", *columns, axis=1)


def _curve_at(curve: Curve, g: Graph, f: Name) -> Name:
    """A column of scores as probabilities."""
    if curve.sigmoid:
        return g.sigmoid(g("Add", g("Mul", f, float(curve.x[0])), float(curve.y[0])))
    x, y, last = curve.x, curve.y, len(curve.x) - 1
    reached = g("ReduceSum", g.place(g("GreaterOrEqual", f, x[None])), np.array([1]), keepdims=1)
    low = g("Max", g("Sub", reached, np.array(1)), np.array(0))
    high = g("Min", reached, np.array(last))
    at_low, at_high = g("Gather", x, low, axis=0), g("Gather", x, high, axis=0)
    width = g("Sub", at_high, at_low)
    inside = g("Greater", width, 0.0)
    way = g("Where", inside, g("Div", g("Sub", f, at_low), g("Where", inside, width, 1.0)), 0.0)
    rise = g("Sub", g("Gather", y, high, axis=0), g("Gather", y, low, axis=0))
    return g("Add", g("Gather", y, low, axis=0), g("Mul", way, rise))
