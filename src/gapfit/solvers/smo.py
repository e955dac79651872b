"""Sequential minimal optimisation on working sets, for kernel machines.

A working set is solved by steps on pairs, in a tile of the kernel matrix; then the scores of all samples
follow by one sum over the columns that moved. While the optimum is far, tiles are in single precision. Once
it is near, v is settled in double precision, and the free variables, which by then are nearly all identified,
solve a linear system: a few such steps end at machine precision.
"""

from typing import Any

import numpy as np

from gapfit._types import Indices, Vector
from gapfit.design.kept import KeptColumns
from gapfit.design.kernel import Gram
from gapfit.losses.atoms import Atoms
from gapfit.losses.nu import TwoSums
from gapfit.problem import Problem
from gapfit.rounding import EPS
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, Steps, needs
from gapfit.solvers.choice.work import work_of
from gapfit.solvers.pairs.dual import Dual, Slopes
from gapfit.solvers.pairs.exact import Box
from gapfit.solvers.pairs.nu import dual_of
from gapfit.solvers.pairs.rules import Identification, by_rule
from gapfit.solvers.pairs.whole import among_all, is_small
from gapfit.solvers.pairs.working_set import nearest, working_set

_SMALLEST = 1024  # variables in a working set in single precision, at least
_KEPT = 0.5  # of the memory is for columns in single precision
_ROUGH = 1e-3  # the violation, in units of the targets, up to which single precision serves
_EARLY = 1e-2  # the same, where an exact step is cheap
_CHEAP_STEP = 3  # working sets: an exact step that costs no more is cheap
_PER_ENTRY = 15  # multiplications, at most: the entries of a working set that are kept need not be computed
_PER_VARIABLE = 100  # steps at most in one working set, for each variable
_UNSEEN = 16  # working sets between two looks, if the violation does not halve before
_PATIENCE = 30  # working sets without a lower violation, after which single precision is given up


def _effort(problem: Problem) -> Effort:
    """Some working sets a step, of which each reads a small part of the kernel matrix."""
    return Effort(0.0, 1e5 + 0.01 * work_of(problem).product, 100, 0.0)


@needs((Atoms, TwoSums), Gram, effort=_effort)
def smo(
    problem: Problem,
    state: dict[str, Any] | None = None,
    *,
    rule: str | None = None,
    curvature: str = "hessian",
    seed: int = 0,
    trace: Identification | None = None,
) -> Steps:
    """Pairwise steps on working sets, then exact ones on the free variables. One step, some working sets.

    Parameters
    ----------
    rule : None for all that makes it fast, or the name of a rule by which single pairs are chosen among all
        variables, with the whole kernel matrix in memory: "random", "greedy" (the pair that lowers its model
        most, GS-q), "maximal_violation" or "second_order". Then a step is n steps on pairs.
    curvature : of the model of a pair under a rule: "hessian", or "bound", the largest of all pairs.
    seed : of all that is drawn at random
    trace : is told when each variable was identified
    """
    state = state or {}
    remembered = problem.design.state()
    dual = dual_of(problem, state.get("v", state.get("w")))
    trace = trace or Identification()
    known = state["to_the_bit"] if "certificate" in state else None
    if known is not None:
        problem.design.restore(remembered)
        dual.restore(known["dual"])
        trace.restore(known["trace"])
    if rule is not None:
        yield from by_rule(dual, rule, curvature, np.random.default_rng(seed), trace, known)
        return
    if known is None or "fine" not in known:
        if is_small(problem.design):
            yield from among_all(dual, trace, known)
        else:
            yield from _rough(dual, np.random.default_rng(seed), trace, known)
        known = None
    yield from _exact(dual, trace, known)


def _rough(dual: Dual, draw: Any, trace: Identification, known: Any) -> Steps:
    """Working sets in single precision, until the violation is small."""
    largest = int(np.clip(np.sqrt(dual.gram.memory / 32), 4, dual.gram.tiles.most))  # two pairs at least
    columns = KeptColumns(dual.gram.tiles, _KEPT * dual.gram.memory)
    work = min(dual.gram.tiles.work, _PER_ENTRY) * len(dual.v)  # for a column
    last: Indices = np.zeros(0, dtype=np.intp)
    looked = best = np.inf
    waited = sets = 0
    if known is not None:
        last, looked, best, waited, sets = known["rough"]
        draw.bit_generator.state = known["draw"]
        columns.restore(known["columns"])

    def exact() -> dict[str, Any]:
        return {
            "rough": (last, looked, best, waited, sets), "draw": draw.bit_generator.state,
            "columns": columns.state(), "trace": trace.state(),
        }  # fmt: skip

    while True:
        slopes = dual.slopes()
        if dual.regroup(slopes, columns):
            slopes, best = dual.slopes(), np.inf
        violation = slopes.violation
        waited = 0 if violation < 0.9 * best else waited + 1
        best = min(best, violation)
        trace.violation = violation
        free = int(np.count_nonzero(dual.free))
        enough = dual.scale * (_EARLY if free * free < 3 * _CHEAP_STEP * work else _ROUGH)
        if violation <= enough or waited > _PATIENCE + len(dual.v) // 100:
            yield _guess(dual, slopes, lambda: {"fine": (np.inf, 0), "trace": trace.state()})
            return
        target = max(dual.gram.tiles.depth * violation, 0.5 * enough)
        size = int(np.clip(2 * free, min(_SMALLEST, largest), largest))
        last = working_set(dual, slopes, last, size, 0.5 * target, draw)
        box = _box(dual, last, columns.tile(last))
        taken, _ = box.pairs(_PER_VARIABLE * len(last), target)
        dual.move(last, box.v[: len(last)], columns)
        trace.note(dual, taken)
        sets += 1
        if violation < 0.5 * looked or sets % _UNSEEN == 0:  # to look at the gap costs as much as some steps
            looked = min(looked, violation)
            yield _guess(dual, slopes, exact)


def _guess(dual: Dual, slopes: Slopes, exact: Any) -> Iterate:
    """The point with bounds as good as single precision, which say when a look is worth its cost."""
    primal, lower, b = dual.bounds(slopes.middle)
    return dual.iterate(b, None, max(primal - lower, 0.0), primal, None, exact)


def _exact(dual: Dual, trace: Identification, known: Any) -> Steps:
    """Working sets in double precision, solved exactly."""
    memory = np.sqrt(dual.gram.memory / 40)  # for a tile, its free rows and their factor
    best, waited = known["fine"] if known is not None else (np.inf, 0)
    ended = False
    while not ended:
        slopes = dual.slopes()
        if dual.regroup(slopes, None):
            slopes, best = dual.slopes(), np.inf
        free = int(np.count_nonzero(dual.free))
        chosen = nearest(dual, slopes, int(min(1.1 * free + _SMALLEST // 4, memory)))
        if len(chosen) > 1:
            K = dual.gram.tiles.tile(chosen, chosen, np.float64)
            dual.sharpen(chosen, K)
            box = _box(dual, chosen, K)
            noise = 8 * EPS * float(np.abs(dual.f).max(initial=dual.scale))
            steps = box.solve(max(noise, 1e-3 * EPS))
            dual.v[chosen] = np.clip(box.v[: len(chosen)], dual.lower[chosen], dual.upper[chosen])
            trace.note(dual, steps)
        minorant = dual.settle()
        trace.note(dual, 0)
        slopes = dual.slopes()
        trace.violation = slopes.violation
        primal, lower, b = dual.bounds(slopes.middle)
        gap = primal - lower
        waited = 0 if gap < 0.9 * best else waited + 1
        best = min(best, gap)
        ended = waited > _PATIENCE or len(chosen) < 2
        if not ended:
            dual.screen(gap)
        now = {"fine": (best, waited), "trace": trace.state()}
        yield dual.iterate(b, primal, None, None, minorant, now.copy, ended)


def _box(dual: Dual, chosen: Indices, K: Any) -> Box:
    """The problem on the chosen variables, in the precision of their kernel matrix, which is changed."""
    K[np.diag_indices_from(K)] += dual.quad[chosen].astype(K.dtype)

    def of(values: Vector) -> Vector:
        return values[chosen]

    slopes, kink = dual.gradient_at(chosen), of(dual.kink)
    return Box(K, slopes, of(dual.v), of(dual.lower), of(dual.upper), kink, dual.sums)
