"""The contracts, as checks that anyone can run on a loss, a penalty or a solver of their own.

    from gapfit.testing import check_loss
    check_loss(MyLoss(), y)

Each raises `ContractError`, naming the promise that was broken and by how much, or returns silently.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.errors import ContractError
from gapfit.losses.base import Loss, Risk
from gapfit.losses.forms import Conjugate, Curvature
from gapfit.losses.piecewise import Atoms
from gapfit.offset import minimise_offsets
from gapfit.penalties import Penalty
from gapfit.problem import Problem
from gapfit.solve import solve

_STEPS = (1e-7, 1e-5, 1e-3, 1e-1, 1.0, 10.0)
_ROUNDING = 1e-13
_EPS = float(np.finfo(float).eps)


def check_loss(loss: Loss, y: Any, *, trials: int = 30, seed: int = 0) -> None:
    """Check value, subgradient, conjugate, offsets and weights of a loss on targets y.

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
        if (conjugate := risk.form(Conjugate)) is not None:
            _check_conjugate(loss, risk, conjugate, scores, rng)
        if (atoms := risk.form(Atoms)) is not None:
            _check_atoms(loss, risk, atoms, scores)
        if (curvature := risk.form(Curvature)) is not None:
            _check_curvature_of_loss(loss, risk, curvature, rng.normal(size=len(scores)))
        if trial < 5:
            _check_weights(loss, y, weight, scores, b)


def check_penalty(penalty: Penalty, d: int = 5, *, trials: int = 30, seed: int = 0) -> None:
    """Check value, conjugate, maximiser, curvature, prox, subgradient and modulus of a penalty."""
    rng = np.random.default_rng(seed)
    least = penalty.value(penalty.argmax(np.zeros(d)))
    _require(least >= -_ROUNDING, penalty, f"its minimum is {least}, below zero")
    for _ in range(trials):
        mu = rng.normal(size=d) * 10.0 ** rng.uniform(-2, 1)
        keep = penalty.shrinkage(mu)
        mu = mu * keep
        w, other = penalty.argmax(mu), penalty.prox(rng.normal(size=d), 0.1)  # prox: any point of the domain
        conjugate, value = penalty.conjugate(mu), penalty.value(w)
        scale = 1.0 + abs(conjugate) + abs(value)
        _require(np.isfinite(conjugate), penalty, "the conjugate is infinite where shrinkage allows it")
        _require(
            abs(conjugate + value - mu @ w) <= 1e-10 * scale,
            penalty,
            "Omega*(mu) + Omega(w) != <mu, w> at argmax(mu)",
        )
        gap = penalty.value(other) + conjugate - mu @ other
        _require(gap >= -1e-10 * scale, penalty, f"Fenchel-Young fails by {gap}")
        curved = 0.5 * penalty.modulus * penalty.norm(other - w) ** 2
        _require(gap >= curved - 1e-9 * (scale + curved), penalty, "it is less convex than its modulus says")
        below = penalty.value(w) + penalty.subgradient(w) @ (other - w)
        if np.isfinite(below):
            _require(
                penalty.value(other) >= below - 1e-9 * scale, penalty, "the subgradient inequality fails"
            )
        _check_curvature(penalty, mu, rng)
        _check_prox(penalty, rng.normal(size=d), float(10.0 ** rng.uniform(-2, 1)), other)


def check_solver(solver: str | Callable[..., Any], problems: list[Problem], *, tol: float = 1e-6) -> None:
    """Check that a solver agrees with the bundle on problems it accepts, repeats itself, and resumes."""
    for problem in problems:
        reference = solve(problem, "bundle", tol=1e-10).certificate
        solution = solve(problem, solver, tol=tol, max_iter=2000)
        certificate = solution.certificate
        for upper, lower in ((certificate.primal, reference.dual), (reference.primal, certificate.dual)):
            slack = 1e-12 * max(abs(upper), abs(lower)) + reference.gap
            _require(
                lower <= upper + slack, solver, f"bounds contradict: {lower} > {upper} on {problem.loss!r}"
            )
        again = solve(problem, solver, tol=tol, max_iter=2000)
        _require(np.array_equal(again.w, solution.w), solver, "the same call gave another answer")
        if solution.n_iter > 2:
            half = solve(problem, solver, tol=0.0, max_iter=solution.n_iter // 2)
            rest = solve(problem, solver, tol=tol, max_iter=4000, start=half)
            _require(rest.n_iter < 4000 or not solution.converged, solver, "it does not go on to the end")
            _require(rest.certificate.gap <= half.certificate.gap, solver, "it lost bounds on the way")


def _require(holds: Any, culprit: object, what: str) -> None:
    if not holds:
        raise ContractError(f"{culprit!r}: {what}")


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
    _require(np.isfinite(value) and np.isfinite(u).all(), loss, "a value or subgradient is not finite")
    _require(value >= risk.infimum - _ROUNDING, loss, f"the value {value} lies below infimum {risk.infimum}")
    for direction in _directions(rng, len(scores)):
        for step in _STEPS:
            for sign in (-1.0, 1.0):
                move, shift = sign * step * direction, sign * step * rng.normal(size=b.shape)
                there = risk.value_and_subgradient(scores + move, b + shift)[0]
                half = risk.value_and_subgradient(scores + 0.5 * move, b + 0.5 * shift)[0]
                below = value + u @ move + e @ shift
                noise = 8 * _EPS * (1 + abs(value) + abs(there) + np.abs(u) @ np.abs(scores + move))
                _require(
                    there >= below - noise, loss, f"the subgradient inequality fails by {below - there:.3g}"
                )
                _require(half <= 0.5 * (value + there) + noise, loss, "it is not convex")


def _check_offset(loss: Loss, risk: Risk, scores: Vector) -> None:
    cone = risk.offsets
    if cone.size == 0 or risk.unattained():
        return
    value, u, height, b, _ = minimise_offsets(risk, scores, np.zeros(cone.size))
    noise = _ROUNDING * (1 + abs(value) + float(np.abs(u) @ np.abs(scores)))
    _require(cone.contains(b), loss, f"the offsets {b} are not in order")
    _require(abs(value - height) <= noise, loss, "the tangent at the best offsets is not as high as the risk")
    for direction in np.vstack([np.eye(cone.size), np.ones(cone.size)]):
        for shift in (-1.0, -1e-3, 1e-3, 1.0):
            other = cone.offsets(cone.coordinates(b + shift * direction))
            elsewhere = risk.value_and_subgradient(scores, other)[0]
            _require(elsewhere >= value - noise, loss, "best_offset is not the minimum over b")
            moved = scores + shift * np.cos(np.arange(len(scores)))
            there = risk.value_and_subgradient(moved, other)[0]
            _require(
                there >= height + u @ (moved - scores) - noise * (1 + abs(there)),
                loss,
                "the tangent at the best offsets is above the risk elsewhere",
            )


def _check_conjugate(
    loss: Loss, risk: Risk, conjugate: Conjugate, scores: Vector, rng: np.random.Generator
) -> None:
    value, u, _ = risk.value_and_subgradient(scores, np.zeros(risk.offsets.size))
    noise = 1e-11 * (1 + abs(value) + np.abs(u) @ np.abs(scores))
    gap = value + conjugate.value(u) - u @ scores
    _require(abs(gap) <= noise, loss, f"R(f) + R*(u) - <u, f> is {gap:.3g} at a subgradient, not 0")
    other = conjugate.project(u + rng.normal(size=len(u)) / len(u), balanced=False)
    gap = value + conjugate.value(other) - other @ scores
    _require(gap >= -noise, loss, f"Fenchel-Young fails by {-gap:.3g}")
    balanced = conjugate.project(other, balanced=True)
    without = risk.value_and_subgradient(scores, np.zeros(risk.offsets.size))[2] - _sums(risk, u)
    slope = np.abs(without + _sums(risk, balanced)).max(initial=0.0)
    _require(slope <= 1e-12 * (1 + np.abs(balanced).sum()), loss, "project_dual does not balance")


def _sums(risk: Risk, u: Vector) -> Vector:
    """What each offset that is added to scores has of the slopes: all, or those of its output."""
    return np.asarray(u.reshape(-1, risk.offsets.size).sum(axis=0) if risk.offsets.size else np.zeros(0))


def _check_atoms(loss: Loss, risk: Risk, atoms: Atoms, scores: Vector) -> None:
    value, slopes = atoms.maximise(scores)
    direct, u, _ = risk.value_and_subgradient(scores, np.zeros(risk.offsets.size))
    _require(abs(value.sum() - direct) <= 1e-12 * (1 + abs(direct)), loss, "the atoms give another value")
    _require(np.allclose(slopes, u, rtol=1e-12, atol=0), loss, "the atoms give another subgradient")


def _check_curvature_of_loss(loss: Loss, risk: Risk, curvature: Curvature, scores: Vector) -> None:
    b, step = np.zeros(risk.offsets.size), 1e-6
    before, here, after = (risk.value_and_subgradient(scores + s * step, b)[1] for s in (-1.0, 0.0, 1.0))
    left, right = (here - before) / step, (after - here) / step
    away_from_seams = np.abs(left - right) <= 1e-3 * (np.abs(left) + np.abs(right))
    error = np.abs(curvature.at(scores, b) - 0.5 * (left + right))[away_from_seams]
    noise = 1e-4 * (np.abs(left) + np.abs(here) / step * _ROUNDING)[away_from_seams] + 1e-8
    _require((error <= noise).all(), loss, "the curvature is not the derivative of the subgradient")


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
        _require(abs(other - weighted) <= 1e-12 * (1 + abs(weighted)), loss, what)


def _check_curvature(penalty: Penalty, mu: Slope, rng: np.random.Generator) -> None:
    if penalty.polyhedral:
        return
    V = rng.normal(size=(len(mu), 2))
    H = penalty.curvature(mu, V)
    _require(
        np.allclose(H, H.T) and np.linalg.eigvalsh(H).min() >= -1e-9 * (1 + np.abs(H).max()),
        penalty,
        "the curvature is not positive semidefinite",
    )
    step = 1e-6 * (1 + np.abs(mu).max())
    slopes = [(penalty.argmax(mu + s * step * V[:, 0]) @ V[:, 0]) for s in (-1.0, 0.0, 1.0)]
    left, right = (slopes[1] - slopes[0]) / step, (slopes[2] - slopes[1]) / step
    if abs(left - right) <= 1e-3 * (1 + abs(left)):  # no kink of the gradient near by
        _require(
            abs(H[0, 0] - 0.5 * (left + right)) <= 1e-3 * (1 + abs(left)),
            penalty,
            "the curvature does not match the maximiser",
        )


def _check_prox(penalty: Penalty, v: Slope, step: float, other: Slope) -> None:
    w = penalty.prox(v, step)

    def objective(w: Slope) -> float:
        return step * penalty.value(w) + 0.5 * float((w - v) @ (w - v))

    best = objective(w)
    for share in (1e-4, 1e-2, 0.3, 1.0):
        there = objective(w + share * (other - w))
        _require(
            there >= best - 1e-9 * (1 + abs(best)), penalty, f"prox is not the minimum: {there} < {best}"
        )
