"""A problem that is posed again in other rows, where there are methods for it.

A risk of differences, or of several scores, may be a sum over rows of losses of one score each: of rows that
are made of those of X. Rows that are made are rounded, and nothing that follows from them is proof: what is
handed on is a point, and the dual point as planes of the risk itself.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from gapfit._types import Slope, Vector
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.solution import Certificate, Iterate
from gapfit.solvers.base import Steps


class OtherRows(ABC):
    """The problem in other rows, and its answers in terms of the first one. Its J is J / total."""

    outer: Problem
    problem: Problem
    total: float

    @abstractmethod
    def inside(self, w: Slope) -> Slope:
        """The weights there for weights here, offsets unknown."""

    @abstractmethod
    def outside(self, w: Slope) -> tuple[Slope, Vector]:
        """Weights and offsets here for weights there."""

    @abstractmethod
    def plane(self, u: Vector) -> Minorant:
        """What total * u, a dual point there, says here."""

    def steps(self, state: dict[str, Any], solver: Callable[..., Steps]) -> Steps:
        """Those of a solver there, as they look here."""
        inner: dict[str, Any] = {**state.get("inner", {}), "same": state.get("same", False)}
        if "w" in state and not inner["same"]:
            inner["w"] = self.inside(state["w"])
        if "certificate" in state:
            inner["certificate"] = self._told(state["certificate"])
        steps, certificate = solver(self.problem, inner), None
        while True:
            try:
                iterate = next(steps) if certificate is None else steps.send(self._told(certificate))
            except StopIteration:
                return
            certificate = yield self._iterate(iterate)

    def _told(self, certificate: Certificate) -> Certificate:
        """What is known of J, as it is to be heard there."""
        primal, dual, gap, evidence = certificate
        return Certificate(primal / self.total, dual / self.total, gap / self.total, evidence)

    def _iterate(self, inner: Iterate) -> Iterate:
        total = self.total
        claim = inner.objective if inner.primal is None else inner.primal
        bound = None if inner.minorant is None else partial(self._bound, inner.minorant)
        w, b = self.outside(inner.point())
        return Iterate(
            w, b, bound, None, partial(_snapshot, inner.snapshot),
            None if inner.estimate is None else total * inner.estimate,
            partial(_scaled, total, claim) if callable(claim) else None if claim is None else total * claim,
            way=[(total * J, total * gap) for J, gap in inner.way],
        )  # fmt: skip

    def _bound(self, minorant: Minorant | Callable[[], Minorant]) -> Minorant:
        u = (minorant() if callable(minorant) else minorant).u
        return self.outer.nothing() if u is None else self.plane(self.total * u)


def _scaled(total: float, claim: Callable[[], float]) -> float:
    return total * claim()


def _snapshot(inner: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The solver's own state, apart, so that it is not taken for one of this problem, and if it ended."""
    if not (state := inner()):
        return {}
    return {"inner": state, "ended": bool(state.get("ended"))}
