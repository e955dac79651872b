"""Steps among the coordinates at which a model with L1 is smooth: a parabola, as long as no sign changes."""

from typing import Any

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.solvers.columns.bend import Bend


def glide(form: Any, terms: Any, w: Slope, tolerance: float) -> bool:
    """Move w to the minimum among the coordinates at which the model is smooth; did a kink stop that?"""
    l1, l2, lower, upper = terms
    smooth = np.flatnonzero((w > lower) & (w < upper) & ((w != 0) | (l1 == 0)))
    if not len(smooth):
        return False
    here, low, high = w[smooth], lower[smooth], upper[smooth]
    if l1 > 0:  # no further than to zero
        low = np.where(here > 0, np.maximum(low, 0.0), low)
        high = np.where(here < 0, np.minimum(high, 0.0), high)
    gradient = form.derivatives(smooth) + l1 * np.sign(here) + l2 * here

    def beyond_a_kink(v: Slope) -> bool:
        return bool(((here + v < low) | (here + v > high)).any())

    way = form.solve(smooth, Bend(l2), -gradient, tolerance, beyond_a_kink)
    if not np.isfinite(way).all():
        return False  # beyond single precision; sweeps are not
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(way > 0, (high - here) / way, np.where(way < 0, (low - here) / way, np.inf))
    whole_way = form.image(smooth, way)

    def towards(length: float) -> tuple[float, Slope, Vector]:
        """Go that length, each coordinate up to its kink: how far on the straight line to that target the
        model falls (it is a parabola, since no sign changes), the target, and the image of the step."""
        target = np.clip(here + length * way, low, high)
        there = np.flatnonzero(reach <= length)
        target[there] = np.where(way > 0, high, low)[there]
        step = target - here
        image = length * whole_way
        if len(there):
            image += form.image(smooth[there], (step - length * way)[there])
        slope, bend = float(gradient @ step), form.bend(smooth, step, image) + l2 * float(step @ step)
        return 1.0 if bend <= -slope else max(-slope / bend, 0.0), target, image

    kinks = np.unique(reach[reach < 1])
    share, target, image = towards(1.0)
    if share < 1 and len(kinks):
        # to the last kink up to which the model falls all the way; to the first it does
        near, far = 0, len(kinks)
        share, target, image = towards(float(kinks[0]))
        while far - near > 1:
            middle = (near + far) // 2
            trial = towards(float(kinks[middle]))
            if trial[0] == 1:
                near, (share, target, image) = middle, trial
            else:
                far = middle
    form.go(smooth, share * (target - here), share * image)
    w[smooth] = target if share == 1 else here + share * (target - here)
    return len(kinks) > 0
