"""Tilting: a logistic model bent towards the measure itself, in which predictions are rounded off.

From the optimum of a cost-weighted logistic objective J it goes downhill on

    strength * J(w, b) / J* - M(tp, fp, P - tp, N - fp),       tp = sum of v_i p_i over the positives,
    p_i = 1 / (1 + exp(-slope (x_i'w + b - theta))),           fp = the same over the negatives,

over w, b and theta, M being the measure. That is not convex: the result is a local optimum, and nothing is
proved of it. A large strength gives the logistic model back. Scores are slope (x'w + b - theta): theta is
where this fit would cut, so thresholds found on other samples carry over.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from gapfit._types import Vector
from gapfit.design.forms import RowSums
from gapfit.elsewhere import fetched
from gapfit.estimators.pool.members import Cost, Done, Fitted, Settings, TwoClasses
from gapfit.metrics import Metric, best_threshold
from gapfit.problem import Problem

_STEPS = 100  # of the local search
_STEP = 1e-5  # of the classes' weights, to take derivatives of the measure


@dataclass(frozen=True)
class Tilt:
    """A logistic model, bent towards the measure."""

    anchor: Cost
    slope: float
    strength: float
    strategy = "tilt"

    @property
    def alpha(self) -> float:
        """That of the anchor."""
        return self.anchor.alpha

    def fit(self, samples: TwoClasses, settings: Settings, done: Done) -> Fitted:
        """From the optimum of the anchor, whose certificate goes with the result."""
        metric = settings.metric.smoothed
        assert metric is not None
        same = (done[tilt].anchor for tilt in done if isinstance(tilt, Tilt) and tilt.anchor == self.anchor)
        anchor = done.get(self.anchor) or next(same, None) or self.anchor.fit(samples, settings, {})
        problem = self.anchor.problem(samples, settings.penalty)
        objective = _Tilted(problem, samples, metric, self, anchor.objective)
        theta, _ = best_threshold(metric, anchor.scores(samples.design), samples.positive, samples.weight)
        start = np.r_[anchor.w / objective.unit, anchor.b, theta]
        found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
        w, b, theta = found.x[:-2] * objective.unit, float(found.x[-2]), float(found.x[-1])
        return anchor._replace(
            w=self.slope * w, b=self.slope * (b - theta), n_iter=int(found.nit), objective=float(found.fun),
            anchor=anchor,
        )  # fmt: skip


class _Tilted:
    """The objective and its gradient, in units of each feature's size."""

    def __init__(
        self, problem: Problem, samples: TwoClasses, metric: Metric, tilt: Tilt, optimum: float
    ) -> None:
        self.problem, self.metric = problem, metric
        self.positive, self.weight = samples.positive, samples.weight
        self.slope, self.strength = tilt.slope, tilt.strength / max(optimum, 1e-12)
        self.P, self.N = samples.masses
        n = len(self.weight)
        square = problem.form(RowSums).matrix.squares(problem.design.held(np.full(n, 1.0 / n)))
        self.unit = 1.0 / np.sqrt(np.where(square > 0, square, 1.0))

    def __call__(self, point: Vector) -> tuple[float, Vector]:
        problem = self.problem
        w, b, theta = point[:-2] * self.unit, point[-2:-1], float(point[-1])
        f = problem.design.scores(w)
        risk, u, e = problem.risk.value_and_subgradient(f, b)
        soft = expit(self.slope * (fetched(f) + b[0] - theta))
        taken = self.weight * soft
        tp = float(taken[self.positive].sum())
        value, by_tp, by_fp = self.measure(tp, float(taken.sum()) - tp)
        bend = taken * (1.0 - soft) * np.where(self.positive, by_tp, by_fp) * self.slope
        slope = problem.design.adjoint(self.strength * u - problem.design.held(bend))
        slope += self.strength * problem.alpha * problem.penalty.subgradient(w)
        tilted = float(bend.sum())
        J = problem.alpha * problem.penalty.value(w) + risk
        gradient = np.r_[slope * self.unit, self.strength * e - tilted, tilted]
        return self.strength * J - value, gradient

    def measure(self, tp: float, fp: float) -> tuple[float, float, float]:
        """The measure at real counts, and its derivatives."""
        P, N = self.P, self.N
        lo_p, hi_p = max(tp - _STEP * P, 0.0), min(tp + _STEP * P, P)
        lo_n, hi_n = max(fp - _STEP * N, 0.0), min(fp + _STEP * N, N)
        at: Any = self.metric.at(np.array([tp, lo_p, hi_p, tp, tp]), np.array([fp, fp, fp, lo_n, hi_n]), P, N)
        return float(at[0]), float((at[2] - at[1]) / (hi_p - lo_p)), float((at[4] - at[3]) / (hi_n - lo_n))
