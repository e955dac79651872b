"""What a penalty promises: conjugate, maximiser, proximal points, bounds of rounding, and its forms."""

from collections.abc import Iterator

import numpy as np

from gapfit._types import Slope
from gapfit.penalties import Penalty
from gapfit.penalties.forms import Grouped, Net
from gapfit.rounding import exact_sum
from gapfit.testing.require import require

_ROUNDING = 1e-13


def check_penalty(penalty: Penalty, d: int = 5, *, trials: int = 30, seed: int = 0) -> None:
    """Check all that a penalty says of itself, for d weights: by identities, and at points near by."""
    rng = np.random.default_rng(seed)
    penalty.check(d)
    least = penalty.value(penalty.argmax(np.zeros(d)))
    require(least >= -_ROUNDING, penalty, f"its minimum is {least}, below zero")
    if penalty.least_is_zero:
        require(least <= _ROUNDING, penalty, f"its minimum is {least}, though least_is_zero")
    for _ in range(trials):
        given = rng.normal(size=d) * 10.0 ** rng.uniform(-2, 1)
        _check_shrinkage(penalty, given, rng)
        mu = given * penalty.shrinkage(given)
        w, other = penalty.argmax(mu), penalty.prox(rng.normal(size=d), 0.1)  # prox: any point of the domain
        _check_conjugate(penalty, mu, w, other)
        _check_subgradient(penalty, w, other)
        _check_curvature(penalty, mu, rng)
        _check_prox(penalty, rng.normal(size=d), float(10.0 ** rng.uniform(-2, 1)), other)
        _check_rounding(penalty, mu, w, rng)
        _check_norms(penalty, w, other, rng)
        _check_bounds(penalty, w, other)
        _check_facts(penalty, mu, w, other)


def _nearby(rng: np.random.Generator, d: int, slack: float) -> Iterator[Slope]:
    """Moves of this length."""
    for _ in range(4):
        move = rng.normal(size=d)
        yield slack * move / np.linalg.norm(move)
    yield slack * np.eye(d)[rng.integers(d)]


def _check_conjugate(penalty: Penalty, mu: Slope, w: Slope, other: Slope) -> None:
    conjugate, value = penalty.conjugate(mu), penalty.value(w)
    scale = 1.0 + abs(conjugate) + abs(value)
    require(np.isfinite(conjugate), penalty, "the conjugate is infinite where shrinkage allows it")
    off = conjugate + value - mu @ w
    require(abs(off) <= 1e-10 * scale, penalty, f"Omega*(mu) + Omega(w) - <mu, w> is {off:.3g} at argmax(mu)")
    for point in (other, penalty.prox(mu, 1e-3)):
        gap = penalty.value(point) + conjugate - mu @ point
        what = f"Fenchel-Young fails by {-gap:.3g}: the conjugate is too small"
        require(gap >= -1e-10 * scale, penalty, what)
        curved = 0.5 * penalty.modulus * penalty.norm(point - w) ** 2
        require(gap >= curved - 1e-9 * (scale + curved), penalty, "it is less convex than its modulus says")


def _check_subgradient(penalty: Penalty, w: Slope, other: Slope) -> None:
    for share in (1.0, 1e-2, 1e-4):
        move = share * (other - w)
        below = penalty.value(w) + penalty.subgradient(w) @ move
        if np.isfinite(below):
            noise = 1e-9 * (1.0 + abs(below) + abs(penalty.value(w)))
            require(penalty.value(w + move) >= below - noise, penalty, "the subgradient inequality fails")


def _check_shrinkage(penalty: Penalty, mu: Slope, rng: np.random.Generator) -> None:
    for slack in (0.0, 0.1):
        keep = penalty.shrinkage(mu, slack)
        require(0 <= keep <= 1, penalty, f"shrinkage is {keep}, not between 0 and 1")
        for move in _nearby(rng, len(mu), slack):
            there = penalty.conjugate(keep * (mu + move))
            require(np.isfinite(there), penalty, f"the conjugate is infinite at shrinkage, slack {slack}")
    keep = penalty.shrinkage(mu)
    if keep < 1:
        there = penalty.conjugate(min(1.01 * keep, 1.0) * mu)
        require(np.isinf(there), penalty, "shrinkage is not the largest: the conjugate is finite beyond")


def _check_rounding(penalty: Penalty, mu: Slope, w: Slope, rng: np.random.Generator) -> None:
    """Estimates cover what is within their slack, and what other orders of summation would give."""
    for exact in (False, True):
        above = penalty.value_above(w, exact=exact)
        value = penalty.value(w)
        require(above.below <= value <= above.above, penalty, "value is outside of what value_above says")
        for slack in (0.0, 1e-6, 1e-2):
            keep = penalty.shrinkage(mu, slack)
            bound = penalty.conjugate_above(keep * mu, keep * slack, exact=exact)
            for move in _nearby(rng, len(mu), slack):
                there = penalty.conjugate(keep * (mu + move))
                what = f"conjugate_above is {there - bound.above:.3g} too low within slack {slack:g}"
                require(there <= bound.above + _ROUNDING * (1 + abs(there)), penalty, what)
    if penalty.modulus > 0:
        for slack in (1e-6, 1e-2):
            error = penalty.argmax_error(mu, slack)
            for move in _nearby(rng, len(mu), slack):
                moved = penalty.norm(penalty.argmax(mu + move) - w)
                require(moved <= error * (1 + 1e-9), penalty, f"argmax moves {moved:.3g}, over argmax_error")


def _check_norms(penalty: Penalty, w: Slope, other: Slope, rng: np.random.Generator) -> None:
    d = len(w)
    step = other - w
    norm, length = penalty.norm(step), penalty.length(step)
    require(penalty.norm_below(step) <= norm, penalty, "norm_below is above the norm")
    plain = float(np.sqrt(exact_sum(step * step).value))
    require(length >= plain * (1 - 1e-12), penalty, "length is below the Euclidean length")
    if penalty.modulus > 0:
        require(plain <= penalty.stretch * norm * (1 + 1e-9), penalty, "stretch is too small for the norm")
    X, centre = rng.normal(size=(3, d)), rng.normal(size=d)
    for about in (np.zeros(d), centre):
        reach = penalty.dual_norms(X, about)
        moves = np.abs((X - about) @ step)
        require((moves <= reach * norm * (1 + 1e-9)).all(), penalty, "dual_norms are too small for the norm")


def _check_bounds(penalty: Penalty, w: Slope, other: Slope) -> None:
    lower, upper = penalty.bounds(len(w))
    for point in (w, other, penalty.rounded(other, np.float32).astype(np.float64)):
        inside = ((point >= lower) & (point <= upper)).all()
        require(inside, penalty, "argmax, prox or rounded leave its bounds")
        astray = penalty.astray(point)
        require(np.isfinite(penalty.value(point)) or astray > 0, penalty, "it is infinite at its own point")
    for k, (low, high) in enumerate(zip(lower, upper, strict=True)):
        for end, beyond in ((low, low - 1.0), (high, high + 1.0)):
            if np.isfinite(end):
                outside = w.copy()
                outside[k] = beyond
                require(np.isinf(penalty.value(outside)), penalty, "it is finite outside its bounds")


def _check_facts(penalty: Penalty, mu: Slope, w: Slope, other: Slope) -> None:
    """What its attributes and forms say."""
    value = penalty.value(other)
    if penalty.euclidean:
        half = 0.5 * float(other @ other)
        require(abs(value - half) <= 1e-12 * (1 + half), penalty, "euclidean, but not 1/2 |w|^2")
    if penalty.quadratic:
        twice, once = penalty.conjugate(2 * mu), penalty.conjugate(mu)
        require(abs(twice - 4 * once) <= 1e-9 * (1 + once), penalty, "quadratic, but its conjugate is not")
    if penalty.smooth:
        step = 1e-6 * (other - w)
        for point in (0.5 * (w + other), penalty.argmax(np.zeros_like(mu))):
            rise, slope = (
                penalty.value(point + step) - penalty.value(point),
                float(penalty.subgradient(point) @ step),
            )
            noise = 1e-4 * abs(slope) + 1e-9 * (1 + float((other - w) @ (other - w)))
            require(abs(rise - slope) <= noise, penalty, "smooth, but its subgradient is no gradient")
    if (net := penalty.form(Net)) is not None:
        sum_ = net.l1 * float(np.abs(other).sum()) + 0.5 * net.l2 * float(other @ other)
        require(abs(value - sum_) <= 1e-12 * (1 + value), penalty, f"{net} gives another value")
    if (group := penalty.form(Grouped)) is not None:
        norms = np.sqrt(np.bincount(group.groups, other**2))
        sum_ = float(group.strength @ norms) + 0.5 * group.l2 * float(other @ other)
        require(abs(value - sum_) <= 1e-12 * (1 + value), penalty, "its groups give another value")
    if penalty.conic:
        mixed = 0.7 * value + 0.15 * float(other @ other)
        there = penalty.held(0.7).value(other)
        require(abs(there - mixed) <= 1e-12 * (1 + mixed), penalty, "held is not the mixture with 1/2 |w|^2")


def _check_curvature(penalty: Penalty, mu: Slope, rng: np.random.Generator) -> None:
    if penalty.polyhedral or penalty.conic:
        return
    V = rng.normal(size=(len(mu), 2))
    H = penalty.curvature(mu, V)
    definite = np.allclose(H, H.T) and np.linalg.eigvalsh(H).min() >= -1e-9 * (1 + np.abs(H).max())
    require(definite, penalty, "the curvature is not positive semidefinite")
    step = 1e-6 * (1 + np.abs(mu).max())
    slopes = [(penalty.argmax(mu + s * step * V[:, 0]) @ V[:, 0]) for s in (-1.0, 0.0, 1.0)]
    left, right = (slopes[1] - slopes[0]) / step, (slopes[2] - slopes[1]) / step
    if abs(left - right) <= 1e-3 * (1 + abs(left)):  # no kink of the gradient near by
        off = abs(H[0, 0] - 0.5 * (left + right))
        require(off <= 1e-3 * (1 + abs(left)), penalty, "the curvature does not match the maximiser")


def _check_prox(penalty: Penalty, v: Slope, step: float, other: Slope) -> None:
    w = penalty.prox(v, step)

    def objective(w: Slope) -> float:
        return step * penalty.value(w) + 0.5 * float((w - v) @ (w - v))

    best = objective(w)
    for share in (1e-4, 1e-2, 0.3, 1.0):
        there = objective(w + share * (other - w))
        require(there >= best - 1e-9 * (1 + abs(best)), penalty, f"prox is not the minimum: {there} < {best}")
