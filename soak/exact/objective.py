"""J(w, b) of a case, exactly, and the values that a returned point attains."""

from typing import Any

import numpy as np
from mpmath import mp

from soak.cases import CHAINS, Case
from soak.exact import pointwise, tables
from soak.exact.numbers import dot, number, numbers, total
from soak.exact.penalties import omega, on_simplex
from soak.exact.ranks import RANKS
from soak.exact.several import SEVERAL, chains


class Judge:
    """One case, taken over once; samples of weight zero are absent."""

    def __init__(self, case: Case) -> None:
        n = len(case.X)
        weight = np.ones(n) if case.weight is None else np.asarray(case.weight, dtype=float)
        there = np.flatnonzero(weight)
        self.case = case
        self.weight = numbers(weight[there])
        self.y = case.y[there]
        rows = case.X[there]
        if case.layout == "kernel":
            rows = rows[:, there]
        self.X = [numbers(row) for row in rows]
        self.groups = None if case.groups is None else case.groups[there].tolist()
        self.offset = None if case.offset is None else np.asarray(case.offset, dtype=float)[there]

    def value(self, w: Any, b: Any) -> Any:
        """J(w, b)."""
        return self.penalty(w) + self.risk(numbers(w), numbers(np.atleast_1d(b)))

    def attained(self, w: Any, b: Any) -> Any:
        """J at the nearest point that the penalty's domain contains: floats miss the simplex by rounding."""
        if self.case.penalty != "simplex_entropy":
            return self.value(w, b)
        exact = on_simplex(w)
        entropy = total(x * mp.log(x) for x in exact if x > 0) + mp.log(len(exact))
        return number(self.case.alpha) * entropy + self.risk(exact, numbers(np.atleast_1d(b)))

    def penalty(self, w: Any) -> Any:
        """alpha * Omega(w); in a kernel's space w'Kw / 2."""
        alpha = number(self.case.alpha)
        if self.case.layout == "kernel":
            exact = numbers(w)
            return alpha * total(x * dot(row, exact) for x, row in zip(exact, self.X, strict=True)) / 2
        return alpha * omega(self.case.penalty, self.case.penalty_params, w)

    def risk(self, w: list[Any], b: list[Any]) -> Any:
        """R(A w + offset, b)."""
        name, params = self.case.loss, self.case.loss_params
        if not self.case.intercept:
            b = []
        if name in CHAINS:
            return chains(name, params, self.X, self.y, self.weight, self.groups, w)
        if name in SEVERAL:
            return SEVERAL[name](params, self.y, self.weight, self._rows(w, b))
        f, y = self._scores(w), numbers(self.y)
        if name in RANKS:
            return RANKS[name](params, y, self.weight, f, self.groups)
        if name in tables.LINEAR:
            return tables.linear(name, params, y, self.weight, f, b if name in _SHIFTED else [])
        if name == "scaled_huber":
            return pointwise.scaled_huber(params, y, self.weight, f, b)
        if name == "novelty":
            return pointwise.novelty(params, y, self.weight, f, b)
        if name == "ordinal_thresholds":
            return pointwise.thresholds(params, y, self.weight, f, b)
        if name in pointwise.PHI:
            return pointwise.mean(name, params, y, self.weight, f, b)
        return tables.largest(name, params, y, self.weight, f, b)

    def _scores(self, w: list[Any]) -> list[Any]:
        known = [mp.mpf(0)] * len(self.X) if self.offset is None else numbers(self.offset)
        return [dot(row, w) + o for row, o in zip(self.X, known, strict=True)]

    def _rows(self, w: list[Any], b: list[Any]) -> list[list[Any]]:
        """Weights stand feature by feature, a number for each output."""
        K = len(w) // len(self.X[0])
        b = b or [mp.mpf(0)] * K
        known = np.zeros((len(self.X), K)) if self.offset is None else self.offset
        columns = [w[k::K] for k in range(K)]
        return [
            [dot(row, column) + o + shift for column, o, shift in zip(columns, numbers(line), b, strict=True)]
            for row, line in zip(self.X, known, strict=True)
        ]


_SHIFTED = ("error_rate", "balanced_accuracy")
