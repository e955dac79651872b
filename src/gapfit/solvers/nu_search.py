"""The nu machines, by a search for the width of the margin or of the tube.

With the width fixed, the problem is that of a kernel machine with C, or with epsilon, which `smo` solves. The
dual weight is monotone in the width, and the coefficients are piecewise linear in it. So the mixture of two
solutions that has the dual weight nu is optimal once they are on one piece: a bracket of the width is made
narrower until the mixture proves it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Vector
from gapfit.losses.nu import NuRisk
from gapfit.problem import Problem
from gapfit.solution import Iterate
from gapfit.solvers.base import Steps, needs
from gapfit.solvers.smo import smo

_EXACT = 1e-13  # the relative gap to which a machine of a fixed width is solved
_LOOKS = 6  # at most, in double precision
_WIDER = 4.0  # the factor by which the width grows until it is bracketed

_WIDEST = 1e100


class _End(NamedTuple):
    width: float
    v: Vector  # the coefficients there
    mass: float  # their dual weight, sum |alpha v|


@needs("conjugate", design="gram")
def nu_search(problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0) -> Steps:
    """Brackets of the width, each mixed to the dual weight nu. One step, one machine of a fixed width."""
    risk = problem.risk
    if not isinstance(risk, NuRisk):
        raise TypeError(f"nu_search takes the losses with nu, not {problem.loss!r}")
    nu, rising = risk.loss.nu, risk.loss.rising
    start = None if state is None else state.get("v", state.get("w"))
    solve_at = _machines(problem, seed)

    def end_at(width: float, v: Vector) -> _End:
        return _End(width, v, float(np.abs(problem.alpha * v).sum()))

    v = problem.minimiser(
        problem.minorant_at(np.zeros(len(risk.p)) if start is None else -problem.alpha * start)
    )
    width = _width(problem, v)
    none = np.zeros_like(v)
    light: _End | None = _End(0.0, none, 0.0) if rising else None  # less dual weight than nu
    heavy: _End | None = None
    if not rising:
        light = _End(0.5 * float(np.ptp(risk.centre)), none, 0.0)
        width = min(width, 0.5 * light.width)
    same_side = 0
    while True:
        v = solve_at(width, v)
        found = end_at(width, v)
        if found.mass < nu * (1 - 1e-14 * len(v)):
            light, same_side = found, max(same_side, 0) + 1
        else:
            heavy, same_side = found, min(same_side, 0) - 1
        if not rising and width == 0.0 and heavy is None:  # a tube of no width costs less than it is worth
            yield _iterate(problem, v)
            return
        if heavy is None:
            if not width < _WIDEST:
                return
            width = _WIDER * width if rising else 0.0
            continue
        assert light is not None
        share = (nu - light.mass) / (heavy.mass - light.mass) if heavy.mass > light.mass else 1.0
        v = (1 - share) * light.v + share * heavy.v
        yield _iterate(problem, v)
        if abs(same_side) > 2:  # one end only has moved: halve the bracket
            share, same_side = 0.5, 0
        last, width = width, (1 - share) * light.width + share * heavy.width
        if width == last or width in (light.width, heavy.width):
            return


def _width(problem: Problem, v: Vector) -> float:
    """A guess: that of the function with these coefficients, or one of its size."""
    assert isinstance(problem.risk, NuRisk)
    scores = problem.scores(v)
    _, width = problem.risk.offset_and_width(scores)
    return width or float(np.abs(scores).max(initial=0.0)) or 1.0


def _machines(problem: Problem, seed: int) -> Callable[[float, Vector], Vector]:
    """The function that solves the problem with a fixed width, from a given start."""

    def solve_at(width: float, start: Vector) -> Vector:
        loss, scale = problem.loss.at(width)  # type: ignore[attr-defined]
        part = Problem(problem.design, problem.y, loss, "l2", problem.alpha * scale, problem.weight)
        v, looks = start / scale, 0
        for iterate in smo(part, {"v": v}, seed=seed):
            v = iterate.point()
            if iterate.primal is None:  # still in single precision
                continue
            looks += 1
            minorant = iterate.minorant() if callable(iterate.minorant) else iterate.minorant
            assert minorant is not None
            gap = iterate.primal - part.dual(minorant)
            if looks == _LOOKS or gap <= _EXACT * abs(iterate.primal):
                break
        return np.asarray(scale * v)

    return solve_at


def _iterate(problem: Problem, v: Vector) -> Iterate:
    """v itself, where zeros are zeros; only its bound needs the last bit of feasibility."""
    minorant, claim = problem.minorant_at(-problem.alpha * v), problem.evaluate(v, np.zeros(0))
    return Iterate(v, np.zeros(0), minorant, claim, lambda: {"v": v})
