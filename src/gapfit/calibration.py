"""From scores to probabilities: a sigmoid, fitted with a certificate, or a rising step function.

A sigmoid (Platt) has two numbers, which minimise a convex function of them,

    J(a, b) = sum_i [t_i log(1 + exp(-(a f_i + b))) + (1 - t_i) log(1 + exp(a f_i + b))] / n  +  tiny a^2 / 2,

where t_i is (n_+ + 1) / (n_+ + 2) for positives and 1 / (n_- + 2) for negatives: with hard targets it would
have no minimum where scores separate the classes. It is a logistic regression on one feature with every
sample twice, so `solve` proves how close to optimal it is. The step function is the isotonic regression of
labels on scores, which pooling adjacent violators finds exactly.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gapfit._types import Vector
from gapfit.problem import Problem
from gapfit.solution import Certificate
from gapfit.solve import solve

__all__ = ["METHODS", "Curve", "calibrated"]

METHODS = ("sigmoid", "isotonic")
_ALPHA = 1e-9  # of the slope, in terms of scores of unit spread
_TOL = 1e-8


class Curve(NamedTuple):
    """A probability as a function of a score: x and y are slope and intercept of a sigmoid, or the points
    that a rising function goes through."""

    x: Vector
    y: Vector
    sigmoid: bool
    certificate: Certificate | None = None  # of the sigmoid's fit

    def __call__(self, scores: Vector) -> Vector:
        if self.sigmoid:
            return np.asarray(expit(self.x[0] * scores + self.y[0]))
        return np.asarray(np.interp(scores, self.x, self.y))


def calibrated(method: str, scores: Vector, positive: NDArray[np.bool_], weight: Vector) -> Curve:
    """The curve for scores of samples that the model has not seen."""
    if method == "isotonic":
        from sklearn.isotonic import IsotonicRegression  # most models are not calibrated

        fit = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        fit.fit(scores, positive.astype(np.float64), sample_weight=weight)
        return Curve(np.asarray(fit.X_thresholds_, float), np.asarray(fit.y_thresholds_, float), False)
    middle, spread = float(np.mean(scores)), float(np.std(scores)) or 1.0
    ups, downs = float(weight[positive].sum()), float(weight[~positive].sum())
    target = np.where(positive, (ups + 1) / (ups + 2), 1 / (downs + 2))
    f = ((scores - middle) / spread)[:, None]
    y = np.repeat([1.0, -1.0], len(f))
    shares = np.concatenate([weight * target, weight * (1 - target)])
    fit = solve(Problem(np.vstack([f, f]), y, "logistic", "l2", _ALPHA, shares), tol=_TOL, resumable=False)
    slope = float(fit.w[0]) / spread
    offset = float(np.sum(fit.intercept)) - slope * middle
    return Curve(np.array([slope]), np.array([offset]), True, fit.certificate)
