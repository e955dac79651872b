"""A drawn problem with its data: what ours and peers are given, and how an answer is graded."""

from functools import cached_property

import numpy as np
from scipy import sparse

from gapfit import Problem, losses, penalties, solve

from . import machines, objective
from .data import make
from .objective import DELTA, EPSILON, L1_RATIO, NU, Q

LOSSES = {
    "quantile": lambda: losses.Quantile(q=Q),
    "epsilon_insensitive": lambda: losses.EpsilonInsensitive(epsilon=EPSILON),
    "squared_epsilon_insensitive": lambda: losses.SquaredEpsilonInsensitive(epsilon=EPSILON),
    "huber": lambda: losses.Huber(delta=DELTA),
    "ordinal": lambda: losses.OrdinalThresholds(base="logistic"),
}
PENALTIES = {"l2": penalties.L2, "l1": penalties.L1, "elastic_net": lambda: penalties.ElasticNet(L1_RATIO)}
TIGHT = 1e-2  # of the tolerance: so well is the optimum known that answers are held against
LONGEST = 60.0  # seconds to find it out


class Task:
    """X, y and alpha."""

    def __init__(self, drawn, folder):
        self.drawn = drawn
        self.X, self.y = make(drawn, folder)
        self.n, self.d = self.X.shape
        self.alpha = drawn.strength * (
            self._vanishing() if drawn.penalty in ("l1", "elastic_net") else self._row()
        )
        self.C = 1 / (self.alpha * self.n)
        if self.kernel:
            self.C = float(np.clip(1e-2 / drawn.strength, 1e-2, 1e3))
            self.nu = self._feasible_nu() if drawn.loss == "nu_svc" else NU

    @property
    def shape(self):
        """As the record has it: what was drawn of a real set is but the most."""
        density = self.X.nnz / (self.n * self.d) if sparse.issparse(self.X) else 1.0
        return {"n": self.n, "d": self.d, "density": density}

    def _feasible_nu(self):
        """Two classes allow twice the share of the smaller one."""
        return min(NU, 1.8 * float(np.unique(self.y, return_counts=True)[1].min()) / self.n)

    @cached_property
    def columns(self):
        """X as solvers that go by columns want it."""
        return sparse.csc_matrix(self.X) if sparse.issparse(self.X) else np.asfortranarray(self.X)

    @property
    def loss(self):
        name = self.drawn.loss
        return LOSSES[name]() if name in LOSSES else name

    @property
    def penalty(self):
        return PENALTIES[self.drawn.penalty]()

    def _problem(self, y, loss, alpha):
        return Problem(self.X, y, loss, self.penalty, alpha, intercept=self.drawn.intercept)

    def _row(self):
        squares = self.X.multiply(self.X) if sparse.issparse(self.X) else np.square(self.X)
        return float(squares.sum() / self.n) or 1.0

    def _vanishing(self):
        """The least alpha at which w is zero."""
        problem = self._problem(self.y, self.loss, 1.0)
        slope = self.X.T @ problem.tangent(np.zeros(self.n)).u
        ratio = 1.0 if self.drawn.penalty == "l1" else L1_RATIO
        return float(np.abs(slope).max()) / ratio or 1.0

    def value(self, w, b):
        """J of an answer."""
        name, kind = self.drawn.loss, self.drawn.penalty
        if name in ("softmax", "crammer_singer", "one_vs_rest", "ordinal"):
            return getattr(objective, name)(self.alpha, self.X, self.y, w, b)
        return objective.linear(name, kind, self.alpha, self.X, self.y, np.ravel(w), float(np.sum(b)))

    @cached_property
    def floor(self):
        """A proved lower bound of J: what nobody can be below."""
        tol = TIGHT * self.drawn.tol
        if self.kernel:
            from . import ours  # it has tasks

            return self._of_machine(machines.bound, ours.machine(self, tol))
        if self.drawn.loss == "one_vs_rest":
            parts = [np.where(self.y == k, 1.0, -1.0) for k in range(int(self.y.max()) + 1)]
            return sum(self._floor(y, "squared_hinge", tol) for y in parts)
        if self.drawn.loss == "softmax":
            return self._floor(self.y, losses.Softmax(), tol)
        if self.drawn.loss == "crammer_singer":
            return self._floor(self.y, losses.CrammerSinger(), tol)
        return self._floor(self.y, self.loss, tol)

    @property
    def kernel(self):
        return self.drawn.penalty == "kernel"

    @cached_property
    def _gram(self):
        return machines.gram(self.X)

    def _of_machine(self, what, model):
        found = machines.machines(self._gram, self.y, model)
        return sum(what(self.drawn.loss, self.C, self.nu, each) for each in found)

    def _floor(self, y, loss, tol):
        return solve(self._problem(y, loss, self.alpha), tol=tol, max_time=LONGEST).certificate.dual

    def error(self, answer):
        """How far an answer is from the optimum, relative to it."""
        value = self._of_machine(machines.value, answer) if self.kernel else self.value(*answer)
        return (value - self.floor) / max(abs(value), abs(self.floor), 1e-300)
