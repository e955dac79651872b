"""Several offsets of a smooth risk by Newton's method, without constraints."""

import numpy as np

from gapfit._types import Vector
from gapfit.losses.base import Risk
from gapfit.losses.forms import Smooth
from gapfit.rounding import EPS

_STEPS = 40
_HALVINGS = 30


def minimise_by_newton(
    risk: Risk, scores: Vector, guess: Vector
) -> tuple[Vector, float, Vector, float, Vector] | None:
    """The minimiser b, the value there, the subgradient u, the value once more, as the tangent at b is level
    up to rounding, and its slope in b.

    None if the method gets nowhere, or the risk has no second derivatives.
    """
    if not risk.has(Smooth):
        return None
    size = 1.0 + float(np.abs(scores).max(initial=0.0))
    b = np.array(guess if guess.any() else risk.first_offsets(), dtype=np.float64)
    value, u, e = risk.value_and_subgradient(scores, b)
    for _ in range(_STEPS):
        hessian = risk.offset_hessian(scores, b) if np.isfinite(value) else None
        if hessian is None:
            return None
        # what a shift of b by its rounding, and the summation of u, make of a slope of zero
        rounding = 4 * EPS * (np.abs(u).sum() + np.trace(hessian) * (size + np.abs(b).max()))
        if np.abs(e).max() <= rounding:
            return b, value, u, value, e
        step = np.linalg.lstsq(hessian, e, rcond=1e-13)[0]  # a common shift may not matter
        step *= min(1.0, 4 * (size + float(np.abs(b).max())) / max(float(np.abs(step).max()), 1e-300))
        decrease, s = float(e @ step), 1.0
        # a sum of so many terms may know no better, and to look for a fall that rounding hides takes long
        settled = np.abs(e).max() <= np.sqrt(len(u)) * rounding
        for _ in range(_HALVINGS):
            there = risk.value_and_subgradient(scores, b - s * step)
            fallen = value - there[0] >= 1e-4 * s * decrease and not settled
            if fallen or np.abs(there[2]).max() < 0.5 * np.abs(e).max():  # at the end values only are noise
                break
            if settled:
                return b, value, u, value, e
            s *= 0.5
        else:
            return None
        b, (value, u, e) = b - s * step, there
    return None
