"""J(w, b) = alpha * Omega(w) + mean loss, evaluated outside all solvers by `gapfit.Problem.evaluate`."""

import numpy as np
from benchmark_utils.columns import with_ones
from benchopt import BaseObjective

from gapfit import Problem
from gapfit.losses import Quantile


class Objective(BaseObjective):
    """The objective that every solver is judged by, whatever it minimises inside.

    Parameters
    ----------
    loss : "hinge", "squared_hinge", "logistic", "quantile" or "squared" (the Lasso's, r^2 / 2)
    penalty : "l2" (1/2 |w|^2) or "l1" (|w|_1)
    alpha : a number, or "max/100": that share of the smallest alpha at which w = 0 is optimal (L1)
    intercept : "none", "free" (not penalised), or "penalised": a column of ones, as liblinear's -B 1 has it
    q : the quantile
    """

    name = "Linear models"
    min_benchopt_version = "1.10"
    requirements = ["pip::gapfit"]
    test_config = {"dataset": {"name": "simulated", "n_samples": 60, "n_features": 8}}
    parameters = {
        "loss": ["hinge"],
        "penalty": ["l2"],
        "alpha": [1e-3],
        "intercept": ["none"],
        "q": [0.9],
    }

    def skip(self, X, y, missing=None):
        if missing:
            return True, missing
        labels = np.isin(y, (-1.0, 1.0)).all()
        if self.loss in ("hinge", "squared_hinge", "logistic") and not labels:
            return True, f"loss {self.loss} wants the labels -1 and +1"
        return False, None

    def set_data(self, X, y, missing=None):
        self.X, self.y = X, y
        self.number = self._alpha()
        self.problem = self._problem(self.number)

    def get_objective(self):
        return dict(
            X=self.X, y=self.y, loss=self.loss, penalty=self.penalty, alpha=self.number,
            intercept=self.intercept, q=self.q,
        )  # fmt: skip

    def evaluate_result(self, w, b, bound=None):
        """J, and the lower bound of its minimum if the solver has proved one."""
        if self.intercept == "penalised":
            value = self.problem.evaluate(np.append(w, b), np.zeros(0))
        else:
            value = self.problem.evaluate(w, np.full(self.problem.n_offsets, b))
        return dict(value=value, bound=np.nan if bound is None else bound)

    def get_one_result(self):
        return dict(w=np.zeros(self.X.shape[1]), b=0.0)

    def _problem(self, alpha):
        X = with_ones(self.X) if self.intercept == "penalised" else self.X
        loss = Quantile(self.q) if self.loss == "quantile" else self.loss
        return Problem(X, self.y, loss, self.penalty, alpha, intercept=self.intercept == "free")

    def _alpha(self):
        if not isinstance(self.alpha, str):
            return self.alpha
        problem = self._problem(1.0)
        slope = problem.oracle(problem.start()).minorant.a
        return float(np.abs(slope).max()) / float(self.alpha.removeprefix("max/"))
