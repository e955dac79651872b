"""What a loss promises: convexity, subgradients, best offsets, copies as weights, rounding, its forms."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import logsumexp, xlogy

from gapfit._types import Vector
from gapfit.losses.atoms import Atoms
from gapfit.losses.base import Loss, Risk
from gapfit.losses.forms import BinaryEntropy, Conjugate, Curvature, Smooth
from gapfit.losses.multiclass import Simplices
from gapfit.offset import minimise_offsets
from gapfit.rounding import EPS, gamma
from gapfit.testing.require import require

_STEPS = (1e-7, 1e-5, 1e-3, 1e-1, 1.0, 10.0)
_ROUNDING = 1e-13


def check_loss(loss: Loss, y: Any, *, trials: int = 30, seed: int = 0) -> None:
    """Check value, subgradient, offsets, weights, bounds of rounding and the forms of a loss on targets y.

    Convexity and the subgradient inequality are tested at steps of many sizes, so that an error of one part
    in a million in a derivative is found.
    """
    rng = np.random.default_rng(seed)
    y = np.asarray(y, dtype=np.float64)
    n = len(y)
    for trial in range(trials):
        weight = rng.integers(1, 4, n).astype(float)
        risk = loss.bind(y, weight)
        scores = _scores(rng, n * risk.outputs, y)
        b = np.sort(rng.normal(size=risk.offsets.size))
        _check_subgradient(loss, risk, scores, b, rng)
        _check_offset(loss, risk, scores)
        for kind, check in _FORMS.items():
            if (form := risk.form(kind)) is not None:
                check(risk, form, scores, rng)
        _check_estimates(loss, risk, scores, b, rng)
        _check_certain(loss, risk, scores, rng)
        if trial < 5:
            _check_weights(loss, y, weight, scores, b)


def _scores(rng: np.random.Generator, n: int, y: Vector) -> Vector:
    """Scores of several sizes, some of them exactly on the targets, where kinks are."""
    scores = rng.normal(size=n) * 10.0 ** rng.uniform(-1, 0.5)
    on_target = rng.random(n) < 0.2
    return np.where(on_target, np.clip(np.resize(y, n), -5, 5), scores)


def _directions(rng: np.random.Generator, n: int) -> Iterator[Vector]:
    yield rng.normal(size=n)
    single = np.zeros(n)
    single[rng.integers(n)] = rng.choice([-1.0, 1.0])
    yield single


def _check_subgradient(loss: Loss, risk: Risk, scores: Vector, b: Vector, rng: np.random.Generator) -> None:
    value, u, e = risk.value_and_subgradient(scores, b)
    require(np.isfinite(value) and np.isfinite(u).all(), loss, "a value or subgradient is not finite")
    require(value >= risk.infimum - _ROUNDING, loss, f"the value {value} lies below infimum {risk.infimum}")
    for direction in _directions(rng, len(scores)):
        for step in _STEPS:
            for sign in (-1.0, 1.0):
                move, shift = sign * step * direction, sign * step * rng.normal(size=b.shape)
                there = risk.value_and_subgradient(scores + move, b + shift)[0]
                half = risk.value_and_subgradient(scores + 0.5 * move, b + 0.5 * shift)[0]
                below = value + u @ move + e @ shift
                noise = 8 * EPS * (1 + abs(value) + abs(there) + np.abs(u) @ np.abs(scores + move))
                what = f"the subgradient inequality fails by {below - there:.3g}"
                require(there >= below - noise, loss, what)
                require(half <= 0.5 * (value + there) + noise, loss, "it is not convex")


def _check_offset(loss: Loss, risk: Risk, scores: Vector) -> None:
    cone = risk.offsets
    if cone.size == 0 or risk.unattained():
        return
    value, u, height, b, _ = minimise_offsets(risk, scores, np.zeros(cone.size))
    noise = _ROUNDING * (1 + abs(value) + float(np.abs(u) @ np.abs(scores)))
    for end in risk.best_offset(scores) or ():
        if np.isfinite(end):
            there = risk.value_and_subgradient(scores, np.array([end]))[0]
            require(there <= value + noise, loss, f"best_offset says {end}, where the risk is not the least")
    require(cone.contains(b), loss, f"the offsets {b} are not in order")
    # the height is a bound: what rounding may add to tangents as far away as scores are wide is taken off
    width = float(np.abs(u).sum() * (1.0 + np.ptp(scores) + np.ptp(b)))
    short = noise + gamma(risk.roundings(scores)) * (abs(value) + width)
    what = "the tangent at the best offsets is not as high as the risk"
    require(height <= value + noise and value - height <= short, loss, what)
    for direction in np.vstack([np.eye(cone.size), np.ones(cone.size)]):
        for shift in (-1.0, -1e-3, 1e-3, 1.0):
            other = cone.offsets(cone.coordinates(b + shift * direction))
            elsewhere = risk.value_and_subgradient(scores, other)[0]
            require(elsewhere >= value - noise, loss, "the offsets found are not the minimum over b")
            moved = scores + shift * np.cos(np.arange(len(scores)))
            there = risk.value_and_subgradient(moved, other)[0]
            below = height + u @ (moved - scores) - noise * (1 + abs(there))
            require(there >= below, loss, "the tangent at the best offsets is above the risk elsewhere")


def _check_conjugate(risk: Risk, conjugate: Conjugate, scores: Vector, rng: np.random.Generator) -> None:
    loss = risk.loss
    value, u, _ = risk.value_and_subgradient(scores, np.zeros(risk.offsets.size))
    noise = 1e-11 * (1 + abs(value) + np.abs(u) @ np.abs(scores))
    gap = value + conjugate.value(u) - u @ scores
    require(abs(gap) <= noise, loss, f"R(f) + R*(u) - <u, f> is {gap:.3g} at a subgradient, not 0")
    other = conjugate.project(u + rng.normal(size=len(u)) / len(u), balanced=False)
    gap = value + conjugate.value(other) - other @ scores
    require(gap >= -noise, loss, f"Fenchel-Young fails by {-gap:.3g}")
    balanced = conjugate.project(other, balanced=True)
    without = risk.value_and_subgradient(scores, np.zeros(risk.offsets.size))[2] - _sums(risk, u)
    slope = np.abs(without + _sums(risk, balanced)).max(initial=0.0)
    require(slope <= 1e-12 * (1 + np.abs(balanced).sum()), loss, "project_dual does not balance")


def _sums(risk: Risk, u: Vector) -> Vector:
    """What each offset that is added to scores has of the slopes: all, or those of its output."""
    return np.asarray(u.reshape(-1, risk.offsets.size).sum(axis=0) if risk.offsets.size else np.zeros(0))


def _check_atoms(risk: Risk, atoms: Atoms, scores: Vector, rng: np.random.Generator) -> None:
    loss = risk.loss
    value, slopes = atoms.maximise(scores)
    direct, u, _ = risk.value_and_subgradient(scores, np.zeros(risk.offsets.size))
    require(abs(value.sum() - direct) <= 1e-12 * (1 + abs(direct)), loss, "the atoms give another value")
    require(np.allclose(slopes, u, rtol=1e-12, atol=0), loss, "the atoms give another subgradient")


def _check_curvature(risk: Risk, curvature: Curvature, scores: Vector, rng: np.random.Generator) -> None:
    scores = rng.normal(size=len(scores))  # away from kinks
    b, step = np.zeros(risk.offsets.size), 1e-6
    before, here, after = (risk.value_and_subgradient(scores + s * step, b)[1] for s in (-1.0, 0.0, 1.0))
    left, right = (here - before) / step, (after - here) / step
    away_from_seams = np.abs(left - right) <= 1e-3 * (np.abs(left) + np.abs(right))
    error = np.abs(curvature.at(scores, b) - 0.5 * (left + right))[away_from_seams]
    noise = 1e-4 * (np.abs(left) + np.abs(here) / step * _ROUNDING)[away_from_seams] + 1e-8
    require((error <= noise).all(), risk.loss, "the curvature is not the derivative of the subgradient")


def _check_smooth(risk: Risk, _: Smooth, scores: Vector, rng: np.random.Generator) -> None:
    """Gradients on both sides of a point approach each other; those of a kink do not."""
    direction, b = rng.normal(size=len(scores)), np.zeros(risk.offsets.size)

    def apart(step: float) -> float:
        sides = [risk.value_and_subgradient(scores + side * step * direction, b)[1] for side in (-1, 1)]
        return float(np.abs(sides[1] - sides[0]).sum())

    far, near = apart(1e-2), apart(1e-8)
    require(near <= 1e-3 * far + 1e-6, risk.loss, "Smooth, but its subgradient jumps")


def _check_entropy(risk: Risk, entropy: BinaryEntropy, _: Vector, rng: np.random.Generator) -> None:
    (lower, upper), conjugate = entropy.bounds(), risk.form(Conjugate)
    share = rng.uniform(0.01, 0.99, len(lower))
    require(conjugate is not None, risk.loss, "BinaryEntropy without a Conjugate")
    assert conjugate is not None
    width = upper - lower
    expected = float((width * (xlogy(share, share) + xlogy(1 - share, 1 - share))).sum())
    off = conjugate.value(-lower - width * share) - expected
    require(abs(off) <= 1e-10 * (1 + abs(expected)), risk.loss, f"its BinaryEntropy is off by {off:.3g}")


def _check_simplices(risk: Risk, simplices: Simplices, scores: Vector, _: np.random.Generator) -> None:
    F = scores.reshape(len(simplices.p), -1)
    heights = simplices.costs[simplices.row] + F - F[np.arange(len(F)), simplices.truth][:, None]
    best = logsumexp(heights, axis=1) if simplices.entropic else heights.max(axis=1)
    value, expected = risk.value_and_subgradient(scores, np.zeros(risk.offsets.size))[0], simplices.p @ best
    require(abs(value - expected) <= 1e-11 * (1 + abs(value)), risk.loss, "the simplices give another value")


_FORMS: dict[type, Callable[..., None]] = {
    Conjugate: _check_conjugate,
    Atoms: _check_atoms,
    Curvature: _check_curvature,
    Smooth: _check_smooth,
    BinaryEntropy: _check_entropy,
    Simplices: _check_simplices,
}


def _check_estimates(loss: Loss, risk: Risk, scores: Vector, b: Vector, rng: np.random.Generator) -> None:
    """`value_above` covers every point within its slack, `rise` by how much the value can grow there, and
    `conjugate_above` the conjugate."""
    value, u, _ = risk.value_and_subgradient(scores, b)
    for size in (0.0, 1e-8, 1e-3):
        slack = size * rng.uniform(size=len(scores))
        above, rise = risk.value_above(scores, np.zeros_like(scores), b, slack).above, risk.rise(slack)
        for _ in range(3):
            there = risk.value_and_subgradient(scores + slack * rng.choice([-1.0, 1.0], len(scores)), b)[0]
            require(there <= above, loss, f"value_above is too low by {there - above:.3g}, slack {size:g}")
            if rise is not None:
                noise = _ROUNDING * (1 + abs(value))
                require(there <= value + rise + noise, loss, f"it rises by {there - value:.3g}, over `rise`")
    if (conjugate := risk.form(Conjugate)) is not None:
        dual = conjugate.project(u, balanced=False)
        for exact in (False, True):
            bound, at = risk.conjugate_above(dual, exact=exact), conjugate.value(dual)
            noise = _ROUNDING * (1 + abs(at))
            require(bound.below - noise <= at <= bound.above + noise, loss, "conjugate_above is wrong")


def _check_certain(loss: Loss, risk: Risk, scores: Vector, rng: np.random.Generator) -> None:
    """What is certain of a derivative for all scores in an interval is so for each of them."""
    width = rng.uniform(size=len(scores))
    certain = risk.certain(scores - width, scores + width)
    for share in (-1.0, -0.3, 0.4, 1.0):
        u = risk.value_and_subgradient(scores + share * width, np.zeros(risk.offsets.size))[1]
        require((u[certain.zero] == 0).all(), loss, "a derivative that is certainly zero is not")
        require((u[certain.support] != 0).all(), loss, "a derivative that is certainly not zero is zero")


def _check_weights(loss: Loss, y: Vector, weight: Vector, scores: Vector, b: Vector) -> None:
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted = loss.bind(y, weight).value_and_subgradient(scores, b)[0]
    scaled = loss.bind(y, 7.0 * weight).value_and_subgradient(scores, b)[0]
    all_scores = scores.reshape(len(y), -1)[copies].ravel()
    repeated = loss.bind(y[copies], np.ones(len(copies))).value_and_subgradient(all_scores, b)[0]
    checks = [(repeated, "weight k is not k copies")]
    if loss.unit_free:
        checks.append((scaled, "scaling all weights changes the value"))
    for other, what in checks:
        require(abs(other - weighted) <= 1e-12 * (1 + abs(weighted)), loss, what)
