"""What a fit is about to return, and what it may rest on."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from gapfit._types import Slope, Vector
from gapfit.losses.forms import Conjugate
from gapfit.minorant import Minorant
from gapfit.problem import Problem
from gapfit.solution import Certificate

CLEARLY = 0.999  # times a gap, one is smaller by more than rounding
_NOTABLE = 1e-3  # of alpha, the size of the domain of a norm's conjugate: rounding of slopes counts there


class Proof(NamedTuple):
    """A point as it will be returned, and what is proved of it."""

    w: Slope
    b: Vector
    certificate: Certificate
    rests_on: Minorant
    of: tuple[Slope, Minorant, Minorant]  # the best point so far that it stands for, and the best minorants

    def stands_for(self, *best: Any) -> bool:
        """Have these not changed since?"""
        return all(one is other for one, other in zip(self.of, best, strict=True))

    def or_better(self, other: "Proof") -> "Proof":
        """The other one only if it is better by more than rounding."""
        return other if other.certificate.gap < CLEARLY * self.certificate.gap else self


def slopes_round_across(problem: Problem, minorant: Minorant) -> bool:
    """Is rounding of slopes large beside the penalty's domain, outside of which they prove nothing?"""
    return problem.penalty.modulus == 0 and minorant.spread > _NOTABLE * problem.alpha


def sharpest(problem: Problem, known: Minorant, w: Slope, b: Vector) -> Iterator[Minorant]:
    """What may prove most of w with exact sums: the minorant known to. Where slopes round across the domain,
    solvers scale their dual points down, and the one at w, to be drawn in, may prove more."""
    yield known
    if slopes_round_across(problem, known) and problem.has(Conjugate):
        yield problem.minorant_at(problem.tangent(problem.scores(w), b).u, exact=True)
