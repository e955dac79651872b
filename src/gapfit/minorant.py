"""Minorants: the one dual currency of gapfit.

A minorant is an affine function that lies below the risk everywhere,

    R(A w + offset, b) >= <a, w> + <e, b> + c     for all w and b,

whoever found the evidence for it: a subgradient at some point (a cut), a dual point through the conjugate, or
a mixture of those. `Problem` alone makes them. Mixtures of minorants are minorants, and none of them knows
alpha or the penalty, so they can be shared between solvers and along a path of alphas. When e = 0, minimising
`alpha * Omega(w) + <a, w> + c` over w bounds the optimum from below; `Problem.dual` does that.
"""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.errors import ContractError
from gapfit.records import storable
from gapfit.rounding import gamma


@storable
class Minorant(NamedTuple):
    """R(A w + offset, b) >= <a, w> + <e, b> + c for all w and b, but for rounding, which is counted.

    The minorant that is meant has a slope within `spread` of a, in length, and is at most `noise` lower.
    """

    a: Slope
    e: Vector
    c: float
    evidence: str = "cuts"  # what it rests on: "conjugate", "cuts" or "accumulated"
    noise: float = 0.0
    spread: float = 0.0
    size: float = 0.0  # a bound on the length of a
    u: Vector | None = None  # the dual point that it was made of, where that is kept
    maker: int = 0  # of the problem that made it
    made: bool = True  # from u alone, or with a slope that a solver had at hand?


def mix(first: Minorant, second: Minorant, share: float) -> Minorant:
    """(1 - share) * first + share * second, for 0 <= share <= 1."""
    return combine((first, second), np.array([1.0 - share, share]))


def combine(minorants: Sequence[Minorant], shares: Vector, a: Slope | None = None) -> Minorant:
    """The convex combination with the given shares (non-negative, summing to one); `a` if it is known."""
    used = [(minorant, float(share)) for minorant, share in zip(minorants, shares, strict=True) if share > 0]
    total = sum(share for _, share in used)
    if len({minorant.maker for minorant, _ in used}) > 1:
        raise ContractError("minorants of different problems cannot be mixed")
    if not used:
        raise ArithmeticError("no share of a combination is positive: they have overflowed")
    first, _ = used[0]
    if a is None:
        a = used[0][1] * first.a
        for minorant, share in used[1:]:
            a += share * minorant.a
    c = sum(share * minorant.c for minorant, share in used)
    # shares are rounded, and so are the products and the sum
    lost = gamma(4 * len(used) + 8) + abs(total - 1.0)
    size = sum(share * abs(minorant.c) for minorant, share in used)
    length = sum(share * minorant.size for minorant, share in used)
    evidences = {minorant.evidence for minorant, _ in used}
    points = [share * minorant.u for minorant, share in used if minorant.u is not None]
    return first._replace(
        a=a,
        e=sum((share * minorant.e for minorant, share in used), np.zeros_like(first.e)),
        c=float(c),
        evidence=evidences.pop() if len(evidences) == 1 else "cuts",
        noise=sum(share * minorant.noise for minorant, share in used) + lost * size,
        spread=sum(share * minorant.spread for minorant, share in used) + lost * length,
        size=length,
        made=all(minorant.made for minorant, _ in used),
        u=reduce(add, points) if len(points) == len(used) else None,
    )
