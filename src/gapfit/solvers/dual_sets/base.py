"""Dual points of polyhedral risks, and proximal steps among them.

The risk is a maximum over a convex set Q of dual points z, each of which gives an affine minorant:

    R(f, b) = max over z in Q of  <u(z), f> + <e(z), b> - h(z),      u linear, h convex.

Three operations are all that the smoothing family of solvers needs: the proximal step

    step(centre, f, length) = argmax over z in Q, e(z) = 0 of  <u(z), f> - h(z) - |z - centre|^2 / (2 length),

u(z), and h(z). Norms weigh a sample by its share in the mean, so that a sample of weight k equals k copies.
The multiplier of e(z) = 0 is the offset b that suits the smoothed risk.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from gapfit import threads
from gapfit._types import Slope, Vector
from gapfit.elsewhere import loops_of
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.records import storable

_SPARE = 8  # arrays kept for reuse


@storable
class Response(NamedTuple):
    """A proximal step and the offsets that belong to it."""

    z: Any
    b: Vector


class DualSet(ABC):
    """Q, with its norm and proximal steps."""

    parts: list[slice]  # of the samples, for compiled loops
    centre: Any  # a point of Q from which all of it is near
    spread: float  # the largest |z - centre|^2 / 2 in Q

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.b = np.zeros(problem.n_offsets)  # where the search for offsets begins
        self.spare: list[Any] = []
        self.offset = problem.offset if problem.offset.any() else None

    def scores(self, w: Slope) -> Vector:
        """A w and the known part of the scores, if there is any."""
        scores = self.problem.design.scores(w)
        return scores if self.offset is None else scores + self.offset

    def step(self, centre: Any, scores: Vector, length: float) -> Response:
        """The proximal step from the centre."""
        line = self.line(centre, scores, scores, length)
        line.slope(0.0)
        return line.stop()

    def line(self, centre: Any, scores: Vector, along: Vector, length: float) -> "Line":
        """Proximal steps at scores + t * along, for a line search; a set has its own lines, or steps."""
        return Line(self, centre, scores, along, length)

    def each(self, loop: Any, *given: Any, out: tuple[Any, ...] = ()) -> list[Any]:
        """What a compiled loop returns for each part of the samples."""
        if (device := loops_of(self.centre)) is not None:
            return [device(loop, *given, *out)]
        return threads.each(lambda rows: loop(*given, rows.start, rows.stop, *out), self.parts)

    def sums(self, loop: Any, *given: Any, out: tuple[Any, ...] = ()) -> Any:
        """What a compiled loop adds up, several sums at a time."""
        of_parts = self.each(loop, *given, out=out)
        return of_parts[0] if len(of_parts) == 1 else tuple(map(sum, zip(*of_parts, strict=True)))

    @abstractmethod
    def slope(self, z: Any) -> Vector:
        """u(z)."""

    def blend(self, first: Any, second: Any, share: float) -> Any:
        """(1 - share) * first + share * second, of dual points or of scores."""
        mixed = second - first
        mixed *= share
        mixed += first
        return mixed

    def recycle(self, *arrays: Any) -> None:
        """Take back dual points or scores that nobody will read again.

        Fresh memory costs a visit of the operating system for each page.
        """
        alike = [x.reshape(self.centre.shape) for x in arrays if x.size == self.centre.size]
        self.spare = [*self.spare, *alike][-_SPARE:]

    def room(self) -> Any:
        """An array for a dual point, with anything in it."""
        return self.spare.pop() if self.spare else np.empty_like(self.centre)

    @abstractmethod
    def values(self, scores: Vector, b: Vector, z: Any) -> tuple[float, float]:
        """R(f, b) and h(z)."""

    @abstractmethod
    def distance(self, z: Any, other: Any) -> float:
        """|z - other|^2."""

    @abstractmethod
    def weigh(self, scores: Vector) -> Vector:
        """The linear part of u at the gradient of <u(z), scores> in z."""

    def width(self, scores: Vector) -> float:
        """The smoothing at which most samples that have these scores are on the rounded part."""
        del scores
        return 1.0

    def minorant(self, a: Slope, z: Any, h: float) -> Minorant:
        """The minorant of z, whose slope a = A'u(z) and h(z) are known."""
        return self.problem.claimed(self.slope(z), a, -h)

    def curvature(self, difference: Slope, squared: float) -> float:
        """How much the dual bends along a step: |A'du|^2 / alpha, in units of the squared step."""
        if squared == 0:
            return 0.0
        return self.problem.inner(difference, difference) / (self.problem.alpha * squared)


class Line:
    """Proximal steps along a line of scores. Offsets may be left inexact until it is known where to stop."""

    def __init__(self, Q: DualSet, centre: Any, scores: Vector, along: Vector, length: float) -> None:
        self.Q, self.centre, self.scores, self.along, self.length = Q, centre, scores, along, length

    def slope(self, t: float) -> float:
        """<u(z), along> at scores + t * along: how steep the smoothed risk is there."""
        self.response = self.Q.step(self.centre, self.scores + t * self.along, self.length)
        return float(self.Q.slope(self.response.z) @ self.along)

    def stop(self) -> Response:
        """The proximal step where the slope was last asked for."""
        return self.response
