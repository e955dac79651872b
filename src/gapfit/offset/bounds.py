"""Where the best offset can be when the scores are known up to something.

Of a risk that is a sum over samples the minimisers over b fall as the scores rise. If the slope in b is
positive at b and the lowest scores, no minimiser is larger, whatever the scores are; and the other way round.
To check a slope takes one look at the risk. Where to look follows from its second derivatives.
"""

import numpy as np

from gapfit._types import Vector
from gapfit.losses.base import Risk
from gapfit.offset.single import offset_interval, resolution_of, tangent

_MARGIN = 0.05  # of the way that the scores push the minimiser, added to it: a look then succeeds at once
_FAR = 4.0  # times the margin from the minimiser, a look that succeeded was too far out
_LOOKS = 5


def offset_bounds(risk: Risk, lowest: Vector, highest: Vector, guess: float) -> tuple[float, float]:
    """Bounds of all minimisers over b for any scores between these; `guess` is about the middle ones'."""
    push = bend = 0.0
    if "curvature" in risk.capabilities and np.isfinite(highest - lowest).all():
        scores = 0.5 * (lowest + highest)
        middle, D = tangent(risk, scores, guess), risk.curvature(scores, np.array([guess]))
        bend = float(D.sum())
        if bend > 0 and np.isfinite(middle.e):
            guess, push = guess - middle.e / bend, 0.5 * float(D @ (highest - lowest)) / bend
    lower = _outermost(risk, highest, guess, -push, bend, upper=False)
    return lower, _outermost(risk, lowest, guess, push, bend, upper=True)


def _outermost(risk: Risk, scores: Vector, guess: float, push: float, bend: float, *, upper: bool) -> float:
    """A bound of all minimisers over b at these scores, from above or from below.

    It is near by if the minimiser is about at guess + push, and `bend` the second derivative in b there.
    """
    direction, b = (1.0 if upper else -1.0), guess + push
    if push == 0:
        return offset_interval(risk, scores, b)[int(upper)]
    margin = max(_MARGIN * abs(push), resolution_of(scores, b))
    for _ in range(_LOOKS):
        slope = direction * tangent(risk, scores, b + direction * margin).e
        if 0 < slope <= _FAR * margin * bend:
            return b + direction * margin
        if slope > 0:
            break
        margin *= 2
    return offset_interval(risk, scores, b)[int(upper)]
