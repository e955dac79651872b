"""Estimators with data, drawn for what they say of the optimum: every penalty with a modulus, all scales."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import gapfit
from gapfit.losses import (
    CrammerSinger,
    EpsilonInsensitive,
    Huber,
    OrdinalThresholds,
    Quantile,
    SmoothedHinge,
    SquaredEpsilonInsensitive,
)
from gapfit.penalties import L2, Box, ElasticNet, QuadraticForm, SquaredLp
from soak import zoo
from soak.hostile import Rng, spread


@dataclass(frozen=True)
class Setting:
    """An estimator without its tolerance, and its data."""

    make: Callable[..., Any]
    X: Any
    y: Any
    weight: Any
    text: str
    # for losses of a single score: what "zero" and "bound" say of margins or residuals, within an error
    slopes: Callable[..., tuple[Any, Any]] | None = None

    def fit(self, tol: float) -> Any:
        """Fitted, for at most two seconds."""
        model = self.make(tol=tol, max_time=2.0, n_jobs=1)
        given = {} if self.weight is None else {"sample_weight": self.weight}
        return model.fit(self.X, self.y, **given)


# -- what "zero" and "bound" mean ---------------------------------------------------------------------


def _margin(kink: float, extreme: float | None) -> Callable[..., tuple[Any, Any]]:
    def slopes(f: Any, y: Any, error: Any) -> tuple[Any, Any]:
        never = np.zeros(len(f), bool)
        return y * f >= kink - error, never if extreme is None else y * f <= extreme + error

    return slopes


def _residual(kink: float, extreme: float | None) -> Callable[..., tuple[Any, Any]]:
    def slopes(f: Any, y: Any, error: Any) -> tuple[Any, Any]:
        r, never = np.abs(f - y), np.zeros(len(f), bool)
        return r <= kink + error, never if extreme is None else r >= extreme - error

    return slopes


_LABEL_LOSSES: tuple[tuple[Any, Any], ...] = (
    ("hinge", _margin(1.0, 1.0)),
    ("squared_hinge", _margin(1.0, None)),
    (SmoothedHinge(2.0), _margin(1.0, -1.0)),
    (SmoothedHinge(0.1), _margin(1.0, 0.9)),
    ("logistic", lambda f, y, error: (np.zeros(len(f), bool),) * 2),
    ("exponential", lambda f, y, error: (np.zeros(len(f), bool),) * 2),
)
_TARGET_LOSSES: tuple[tuple[Any, Any], ...] = (
    ("squared", _residual(0.0, None)),
    ("absolute", _residual(0.0, 0.0)),
    (Quantile(0.3), _residual(0.0, 0.0)),
    (EpsilonInsensitive(0.2), _residual(0.2, 0.2)),
    (SquaredEpsilonInsensitive(0.2), _residual(0.2, None)),
    (Huber(1.0), _residual(0.0, 1.0)),
    (Huber(0.05), _residual(0.0, 0.05)),
)


# -- draws --------------------------------------------------------------------------------------------


def _penalty(rng: Rng, d: int) -> Any:
    A = rng.normal(size=(d, d))
    U = np.linalg.qr(A)[0]
    skew = (U * 10.0 ** rng.uniform(-6, 3, d)) @ U.T
    choices = [
        L2(), L2(), ElasticNet(0.3), ElasticNet(0.9), SquaredLp(1.01), SquaredLp(1.05), SquaredLp(1.5),
        SquaredLp(2.0), QuadraticForm(A @ A.T + np.eye(d)),
        QuadraticForm(0.5 * (skew + skew.T)), SquaredLp(1.001), Box(L2(), 0.0, 0.5), "simplex_entropy", "l1",
    ]  # fmt: skip
    return choices[rng.integers(len(choices))]


def _matrix(rng: Rng) -> np.ndarray:
    """Of a tame shape, but with zero rows, copies, shifts and scales."""
    X = rng.normal(size=(int(rng.choice([8, 20, 40])), int(rng.integers(1, 6))))
    if rng.random() < 0.3:
        X[rng.integers(len(X))] = 0.0
    if rng.random() < 0.3:
        X[: len(X) // 2] = X[len(X) // 2 : 2 * (len(X) // 2)]
    if rng.random() < 0.2:
        X += float(spread(rng, 0, 4))
    if rng.random() < 0.4:
        X *= float(spread(rng, -16, 6))
    return X.astype(np.float32) if rng.random() < 0.15 else X


def _setting(rng: Rng, make: Any, X: Any, y: Any, slopes: Any = None, **params: Any) -> Setting:
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], len(X)) if rng.random() < 0.2 else None
    if weight is not None:
        weight[: len(X) // 2] = 1.0
    shown = ", ".join(f"{name}={value!r}" for name, value in params.items())
    text = f"{make.__name__}({shown}), {X.shape} {X.dtype}, |X|={np.abs(X).max():.2g}"
    return Setting(lambda **more: make(**params, **more), X, y, weight, text, slopes)


def _linear(rng: Rng, X: np.ndarray) -> dict[str, Any]:
    size = max(float(np.abs(X).max()), 1e-30)
    alpha = float(spread(rng, -4, 0)) * (size**2 if rng.random() < 0.7 else 1.0)
    return {"alpha": alpha, "penalty": _penalty(rng, X.shape[1])}


def _classifier(rng: Rng) -> Setting:
    X = _matrix(rng)
    loss, slopes = _LABEL_LOSSES[rng.integers(len(_LABEL_LOSSES))]
    return _setting(
        rng, gapfit.LinearClassifier, X, zoo.binary(X, rng), slopes,
        loss=loss, fit_intercept=bool(rng.random() < 0.5), **_linear(rng, X),
    )  # fmt: skip


def _several_classes(rng: Rng) -> Setting:
    X = _matrix(rng)
    kind = [
        {"loss": "hinge"}, {"loss": "logistic"}, {"loss": "softmax"}, {"loss": CrammerSinger()},
        {"loss": "hinge", "multi_class": "joint"},
    ][rng.integers(5)]  # fmt: skip
    params = {**kind, **_linear(rng, X), "penalty": L2(), "fit_intercept": bool(rng.random() < 0.3)}
    return _setting(rng, gapfit.LinearClassifier, X, zoo.levels(X, rng), None, **params)


def _labels_of_several(rng: Rng) -> Setting:
    X = rng.normal(size=(int(rng.choice([8, 20, 60])), 3))
    Y = (X @ rng.normal(size=(3, 3)) + rng.normal() + 0.5 * rng.normal(size=(len(X), 3)) > 0).astype(int)
    Y[0], Y[1] = [1, 0, 1], [0, 1, 0]
    loss = str(rng.choice(["label_ranking", "hamming", "macro_f", "micro_f", "hinge"]))
    return _setting(
        rng, gapfit.LinearClassifier, X, Y, None,
        loss=loss, alpha=float(spread(rng, -3, 0)), fit_intercept=bool(rng.random() < 0.3),
    )  # fmt: skip


def _regressor(rng: Rng) -> Setting:
    X = _matrix(rng)
    loss, slopes = _TARGET_LOSSES[rng.integers(len(_TARGET_LOSSES))]
    y = zoo.real(X / max(float(np.abs(X).max()), 1e-30), rng) + (
        float(spread(rng, 0, 9)) if rng.random() < 0.2 else 0
    )
    return _setting(
        rng, gapfit.LinearRegressor, X, y, slopes,
        loss=loss, fit_intercept=bool(rng.random() < 0.5), **_linear(rng, X),
    )  # fmt: skip


def _novelty(rng: Rng) -> Setting:
    X = _matrix(rng)
    params = {**_linear(rng, X), "nu": float(rng.uniform(0.1, 0.9)), "penalty": L2()}
    return _setting(rng, gapfit.NoveltyDetector, X, np.ones(len(X)), None, **params)


def _ordinal(rng: Rng) -> Setting:
    X = _matrix(rng)
    base = str(rng.choice(["hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential"]))
    loss = OrdinalThresholds(str(rng.choice(["all", "immediate"])), base)  # type: ignore[arg-type]
    return _setting(rng, gapfit.OrdinalClassifier, X, zoo.levels(X, rng), None, loss=loss, **_linear(rng, X))


def _kernel(rng: Rng) -> Setting:
    X = rng.normal(size=(int(rng.choice([8, 20, 40])), 3))
    make, y, slopes, params = [
        (gapfit.KernelSVC, zoo.binary(X, rng), _margin(1.0, 1.0), {"C": float(spread(rng, -2, 3))}),
        (gapfit.KernelSVR, zoo.real(X, rng), _residual(0.1, 0.1), {"C": float(spread(rng, -2, 3))}),
        (gapfit.KernelNoveltyDetector, np.ones(len(X)), None, {"nu": float(rng.uniform(0.1, 0.9))}),
    ][rng.integers(3)]
    kernel = str(rng.choice(["rbf", "linear", "poly"]))
    return _setting(rng, make, X, y, slopes, kernel=kernel, coef0=1.0, **params)


DRAWS = (
    _classifier,
    _regressor,
    _classifier,
    _regressor,
    _several_classes,
    _labels_of_several,
    _novelty,
    _ordinal,
    _kernel,
)
