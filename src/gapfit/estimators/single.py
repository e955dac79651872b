"""Fits that are one problem with weights of their own shape: chains and other structures."""

from typing import Any, NamedTuple

from gapfit._types import Slope
from gapfit.estimators.certified import Parts
from gapfit.problem import Problem
from gapfit.solution import Solution


class Given(NamedTuple):
    """What `fit` was given, as callbacks see it."""

    X: Any
    y: Any
    sample_weight: Any


class OneProblem(Parts):
    """A problem whose solution is the attribute of this name."""

    def __init__(self, problem: Problem, name: str, given: Given) -> None:
        self.only, self.name, self.given = problem, name, given
        self.w: Slope = problem.start()

    def data(self) -> Any:
        return self.only.fingerprint()

    def seen(self) -> dict[str, Any]:
        return dict(X=self.given.X, y=self.given.y, metadata={"sample_weight": self.given.sample_weight})

    def problem(self, k: int) -> Problem:
        return self.only

    def keep(self, problem: Problem, solution: Solution) -> None:
        self.w = solution.w

    def attributes(self, k: int, w: Slope, b: Any) -> dict[str, Any]:
        return {self.name: w}

    def fitted(self) -> dict[str, Any]:
        return {self.name: self.w, "alpha_": float(self.only.alpha)}
