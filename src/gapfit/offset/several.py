"""Eliminating several unpenalised offsets: whichever way is exact and quick for the risk at hand."""

from typing import NamedTuple

import numpy as np

from gapfit._types import Vector
from gapfit.losses.base import Rest, Risk
from gapfit.offset.cuts import minimise_by_cuts
from gapfit.offset.newton import minimise_by_newton
from gapfit.offset.separate import minimise_separately, separate_bounds
from gapfit.offset.single import minimise_offset, minimiser, minimum
from gapfit.rounding import EPS


class Balanced(NamedTuple):
    """R(f', b') >= height + <u, f' - f> for all f' and all b' of the cone."""

    value: float  # the minimum over the cone, attained at b
    u: Vector
    height: float  # the value, up to rounding
    b: Vector
    left: Rest | None  # of the slopes in b; None: what `Risk.imbalance` says of u


def minimise_offsets(risk: Risk, scores: Vector, guess: Vector) -> Balanced:
    """The minimum over all b of the risk's cone, and a tangent there that knows no b."""
    cone = risk.offsets
    if cone.size == 1:
        value, at = minimise_offset(risk, scores, float(guess[0]))
        return Balanced(value, at.u, at.value, np.array([at.b]), None)
    found = minimise_by_newton(risk, scores, guess)
    if found is not None and cone.contains(found[0]):
        b, value, u, height, e = found
        return Balanced(value, u, height, b, risk.left(scores, b, e))
    parts = risk.offset_parts()
    if parts is not None:
        value, u, e, height, b = minimise_separately(parts, scores, guess, ordered=cone.ordered)
        rounding = 64 * EPS * float(np.abs(u).sum())
        if cone.harmless(e, rounding):
            wrong = cone.wrong(e)
            return Balanced(value, u, height, b, Rest(wrong, 4 * cone.size * EPS * np.abs(wrong)))
    return Balanced(*minimise_by_cuts(risk, scores, guess))


def best_offsets(risk: Risk, scores: Vector, guess: Vector) -> tuple[float, Vector]:
    """The minimum over all b of the risk's cone, and where it is."""
    if risk.offsets.size == 1:
        value, b = minimum(risk, scores, float(guess[0]))
        return value, np.array([b])
    found = minimise_offsets(risk, scores, guess)
    return found.value, found.b


def where_least(risk: Risk, scores: Vector, guess: Vector) -> Vector:
    """Where that minimum is."""
    if risk.offsets.size == 1:
        return np.array([minimiser(risk, scores, float(guess[0]))])
    return best_offsets(risk, scores, guess)[1]


def threshold_bounds(risk: Risk, lowest: Vector, highest: Vector) -> tuple[Vector, Vector]:
    """Bounds of all minimising offsets that separate, for any scores between the lowest and the highest.

    Such offsets rise with the scores, each by itself and also in order: the cone is a lattice, on which the
    minimisers of a sum whose slopes in b fall as the scores rise do so, too.
    """
    cone, parts = risk.offsets, risk.offset_parts()
    if parts is None:
        return np.full(cone.size, -np.inf), np.full(cone.size, np.inf)
    below = separate_bounds(parts, lowest, cone, upper=False)
    return below, separate_bounds(parts, highest, cone, upper=True)
