"""Minorants: the one dual currency of gapfit.

A minorant is an affine function that lies below the risk everywhere,

    R(A w + offset, b) >= <a, w> + <e, b> + c     for all w and b,

whoever made it: a subgradient at some point (a cut), a dual point through the conjugate, or a mixture.
Mixtures of minorants are minorants, and none of them knows alpha or the penalty, so they can be shared
between solvers and along a path of alphas. When e = 0, minimising `alpha * Omega(w) + <a, w> + c` over w
bounds the optimum from below; `Problem.dual` does that.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.records import storable


@storable
class Minorant(NamedTuple):
    """R(A w + offset, b) >= <a, w> + <e, b> + c for all w and b."""

    a: Slope
    e: Vector
    c: float
    evidence: str = "cuts"  # how it came about: "conjugate", "cuts" or "accumulated"
    noise: float = 0.0  # how much rounding may have lifted it


def mix(first: Minorant, second: Minorant, share: float) -> Minorant:
    """(1 - share) * first + share * second, for 0 <= share <= 1."""
    keep = 1.0 - share
    return Minorant(
        keep * first.a + share * second.a,
        keep * first.e + share * second.e,
        keep * first.c + share * second.c,
        first.evidence if first.evidence == second.evidence else "cuts",
        keep * first.noise + share * second.noise,
    )


def combine(minorants: Sequence[Minorant], shares: Vector) -> Minorant:
    """The convex combination with the given shares (non-negative, summing to one)."""
    used = [(minorant, share) for minorant, share in zip(minorants, shares, strict=True) if share > 0]
    evidences = {minorant.evidence for minorant, _ in used}
    return Minorant(
        sum((share * minorant.a for minorant, share in used), np.zeros_like(minorants[0].a)),
        sum((share * minorant.e for minorant, share in used), np.zeros_like(minorants[0].e)),
        float(sum(share * minorant.c for minorant, share in used)),
        evidences.pop() if len(evidences) == 1 else "cuts",
        float(sum(share * minorant.noise for minorant, share in used)),
    )
