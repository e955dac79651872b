"""Which solver for which problem: the first line of the table that fits.

| the problem                                   | solver              | because                     |
|-----------------------------------------------|---------------------|-----------------------------|
| a kernel; lines and parabolas                 | `smo`               | pairs, then exact steps     |
| squared loss, few features                    | `least_squares`     | X'X and X'y are enough      |
| lines and parabolas, or logistic; small data  | `small_newton`      | one compiled call           |
| losses with lines, L2, few features           | `semismooth_newton` | tens of steps at any alpha  |
| smooth loss, quadratic penalty, few features  | `newton`            | a handful of steps          |
| smooth loss, L2, three samples a feature      | `newton_cg`         | a handful of passes         |
| lines and parabolas, or logistic, L2          | `dual_cd`           | its steps only read X       |
| softmax, L2, few features                     | `newton_cg`         | a handful of steps          |
| classes that compete, L2                      | `simplex_cd`        | its steps only read X       |
| chains, L2; margins: if weights are many      | `chain_dual`        | a pass is worth many        |
| structures, L2, alpha n not small             | `block_frank_wolfe` | few calls of the oracle     |
| losses with lines, L1 or elastic net          | `rounded_cd`        | works on columns in use     |
| smooth loss, L1 or elastic net                | `primal_cd`         | the same                    |
| few pairs to be put in order                  | `pair_rows`         | they are rows of a hinge    |
| softmax, L1 or elastic net                    | `classes_in_turn`   | the same, class by class    |
| joint quantiles, L1, L2 or elastic net        | `sum_rows`          | lines, with more rows       |
| differentiable loss and penalty               | `lbfgs`             | few passes                  |
| anything else                                 | `bundle`            | takes everything            |

"Few features" means that a d x d matrix is set up and factorised in the time of some passes over X, or in a
few milliseconds. Where it takes six passes and more, `newton_cg` goes first, for as many steps as the matrix
is worth. With fewer than two samples for each feature (five, if the loss has kinks), or very many features,
`dual_cd` goes first, in haste (`newton_cg`, where the loss has no such dual): coordinate descent is fast on
easy problems and endless on hard ones, and its first steps tell which. `smoothing` waits, or `newton_cg`
where it does not apply, and then the Newton methods if the matrix would fit. Before `semismooth_newton`
`dual_cd` goes first as well, if X is large but samples are not very many for each feature: a sweep tells
whether few of them matter; it gives up if more than a quarter of all still is in play. `simplex_cd` gives up
on large data after ten visits to each sample that have not helped, and is left out where data are tiny and
there are intercepts. What few pairs are, `choice.shapes` says. A solver hands over to the next when its gap
no longer halves while its steps double, of which it gets 64; in haste, when it has not fallen to a quarter,
in 6 steps (12, if the loss has kinks) and whenever they double. `bundle` is always the last. The choice and
the reason are logged under `gapfit` at level INFO. Rows that are elsewhere have a table in `choice.passes`.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Slope, Vector
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import BinaryEntropy, Pairs, Smooth
from gapfit.problem import Problem
from gapfit.registry import as_solver
from gapfit.solution import Iterate
from gapfit.solvers.base import OVERFLOWS, Steps, has_room, missing_need, takes_seed
from gapfit.solvers.choice.larger_alphas import from_larger_alphas
from gapfit.solvers.choice.passes import by_passes, is_elsewhere
from gapfit.solvers.choice.patience import Patience, Watch
from gapfit.solvers.choice.shapes import (
    CHEAP,
    has_few_pairs,
    has_lines,
    is_parabola,
    is_small,
    is_small_shape,
    mixes_well,
    passes_of_a_hessian,
)
from gapfit.solvers.least_squares import least_squares
from gapfit.solvers.newton import newton as newton_steps
from gapfit.solvers.small_newton import small_newton

logger = logging.getLogger("gapfit")

SUMMED = 150  # steps on sums of scores as rows: where crossings are very dear, these may not end
FEW = 500  # features whose Hessian is factorised in milliseconds
MANY = 3000  # features whose Hessian is too large to factorise again and again
PASSES = 10  # over X: a Hessian and its factor may cost that
SMALL = 200_000  # entries of X: Newton's method is quick then, and its answer knows no order of the samples
TINY = 20_000  # entries: a bundle is soon found then, and intercepts keep coordinate descent busy for long
CROWD = 1600  # samples for each feature: then the first steps learn from a share of them
IN_PLAY = 0.25  # of the samples, still in play after a sweep, are too many for coordinate descent
VISITS = 10.0  # to each sample, after which coordinate descent on classes must have made headway
DEAR = 6  # passes over X: a Hessian that costs so many is not set up without need
DEAR_ONCE = 36  # the same, where the Hessian is set up once and that is all
WORTH = 2.0  # steps of conjugate gradients for each pass that a Hessian costs; half, if the loss has seams
WIDE = 2  # samples for each feature: with fewer, coordinate descent on samples is quick, or soon gives up
WIDE_WITH_KINKS = 5  # the same, for losses with kinks: Newton's method takes more steps there
ENOUGH = 3  # samples for each feature, for conjugate gradients to be quick
CROWDED = 10  # samples for each feature: with more, larger alphas teach less than they cost
HASTE = 6  # steps, in haste, from the first one on; twice as many, if the loss has kinks


class Choice(NamedTuple):
    """A solver, the reason for it in words, and options under which it may soon give up."""

    name: str
    why: str
    probe: Mapping[str, Any] = MappingProxyType({})
    haste: int = 0
    limit: int = 0  # of its steps
    descends: bool = False  # by larger alphas first, if this one is small


LAST = Choice("bundle", "it takes every loss and every penalty")


def auto(problem: Problem, state: dict[str, Any] | None = None, *, seed: int = 0) -> Steps:
    """Delegate to the solvers of `plan`, one after the other; `seed` is for those that draw at random."""
    state = state or {}
    watch: Watch | None = None
    first = 0
    if "certificate" in state:  # the very same fit goes on
        watch, first = state["watch"], state["turn"]
    elif "solver" in state:
        names = [choice.name for choice in plan(problem)]
        if state["solver"] in names:  # that is where the fit to be continued was
            first = names.index(state["solver"])
        else:
            state = _point_of(state)  # the rest is in another solver's terms
    known = first if state.get("solver") else None  # whose state there is has no need of a probe
    last: Iterate | None = None
    for turn, choice in enumerate(plan(problem)):
        if choice is LAST:
            break
        if turn < first:
            continue
        name, why, probe, haste, limit, descends = choice
        if turn == known and "certificate" not in state:
            probe = {}
        if descends and state.keys().isdisjoint(("w", "certificate")):
            state = yield from from_larger_alphas(problem, name)
        steps = _start(problem, state, name, why, seed, **probe)
        patience = Patience(haste, limit, turn, watch)
        reached, gave_up = yield from patience.run(steps, state)
        watch = None
        if reached is None or (gave_up and probe):
            logger.info("auto: %s gave up, too many samples are in play", name)
            state = _point_of(state)
            continue  # so little has taught nothing
        last = reached
        logger.info("auto: the gap of %s stopped falling", name)
        state = {"w": min(last.point(), problem.start(), key=partial(_value, problem, last.b))}
    if last is not None:
        bound = last.minorant() if callable(last.minorant) else last.minorant
        state["cuts"] = [cut for cut in (problem.zero_plane(), bound) if cut is not None]
    last_one = _start(problem, state, *LAST[:2], seed)
    yield from _labelled(last_one, turn=turn, watch=None)


def _point_of(state: dict[str, Any]) -> dict[str, Any]:
    """The point to start from, if there is one, and nothing else."""
    return {"w": state["w"]} if "w" in state else {}


def _value(problem: Problem, b: Vector, w: Slope) -> float:
    """J at w, with the best offsets, near b or not."""
    return problem.best(w, b)[0]


def _start(problem: Problem, state: dict[str, Any], name: str, why: str, seed: int, **options: Any) -> Steps:
    """The steps of the named solver, their states marked with its name."""
    logger.info("auto: %s, because %s", name, why)
    solver = as_solver(name)
    if takes_seed(solver):
        options["seed"] = seed
    return _labelled(solver(problem, state=state, **options), solver=name)


def plan(problem: Problem) -> Iterator[Choice]:
    """The solvers for this problem in the order in which they are to try."""
    (n, d), size = problem.design.shape, problem.design.size

    def takes(name: str) -> bool:
        return missing_need(as_solver(name), problem) is None

    if takes("smo"):
        yield Choice("smo", "there is a kernel")
        yield LAST
        return
    if is_elsewhere(problem):
        yield from (Choice(*told) for told in by_passes(problem, takes))
        yield LAST
        return
    if takes("pair_rows") and has_few_pairs(problem) and has_room(as_solver("pair_rows"), problem):
        yield from (Choice("pair_rows", "pairs are few"), LAST)
        return
    one_step = is_parabola(problem)
    if for_small_data(problem) is small_newton:  # others are what the table says anyway
        yield Choice("small_newton", "the data are small")
    near = d <= MANY and (d <= FEW or d**3 / CHEAP <= PASSES * size)
    few = near and (d <= FEW or size / n <= CHEAP * PASSES or not takes("dual_cd"))
    lines = has_lines(problem) and not problem.has(Smooth)
    newtons = ("semismooth_newton", "newton") if lines else ("newton", "semismooth_newton")
    newton = next((name for name in ("least_squares", *newtons) if takes(name)), None)
    passes = passes_of_a_hessian(problem)
    few = few and (problem.penalty.smooth or passes <= 2 * DEAR)  # else few columns may do
    enough = 1 if one_step else WIDE if problem.has(Smooth) else WIDE_WITH_KINKS
    wide = n < enough * d  # then steps on samples are few
    smooth = takes("newton_cg") and problem.risk.outputs == 1
    dear = passes >= (DEAR_ONCE if one_step else DEAR)
    crowd = n >= ENOUGH * d and size > SMALL
    if smooth and dear and (crowd or (wide and not takes("dual_cd"))):
        then = newton if d <= MANY else "dual_cd" if takes("dual_cd") else "lbfgs"
        worth = WORTH / 2 if problem.has(Atoms) else WORTH
        limit = round(worth * passes) if d <= MANY else 0
        yield Choice("newton_cg", "a Hessian costs many passes", limit=limit)
        if then:
            yield Choice(then, "conjugate gradients are slow here")
    elif (
        newton
        and (few or (one_step and problem.penalty.smooth and d <= MANY and not dear))
        and not (wide and takes("dual_cd"))
    ):
        polyhedral = not problem.has(Smooth)
        probed = polyhedral and n < CROWD * d and size > SMALL and takes("dual_cd")
        if probed:
            yield Choice("dual_cd", "few samples may be in play", {"most_active": IN_PLAY})
        yield Choice(newton, f"X has {d} columns only")
        if newton == "newton" and has_lines(problem) and takes("semismooth_newton"):
            yield Choice("semismooth_newton", "Newton's method may get lost on lines")
    elif takes("dual_cd"):
        soon = newton and (near or one_step)
        waiting = [] if soon else [name for name in ("smoothing", "newton_cg") if takes(name)][:1]
        if newton and d <= MANY:
            waiting.append(newton)
        elif waiting:
            waiting.append("dual_cd")  # with all the time in the world
        haste = HASTE if problem.has(Smooth) else 2 * HASTE
        yield Choice("dual_cd", "the penalty is L2 and X is wide", haste=haste if waiting else 0)
        yield from (Choice(name, "it may be faster here") for name in waiting)
    elif takes("newton_cg") and problem.risk.outputs > 1 and d <= FEW * problem.risk.outputs:
        yield Choice("newton_cg", f"X has {d // problem.risk.outputs} columns only")
    elif takes("simplex_cd") and not (problem.n_offsets and size <= TINY):
        large = size > SMALL
        follows = "newton_cg" if takes("newton_cg") else "smoothing" if large and takes("smoothing") else None
        probe = {"patience": VISITS} if large and follows else {}
        yield Choice("simplex_cd", "classes compete and the penalty is L2", probe)
        if follows:
            yield Choice(follows, "it does not go sample by sample")
    elif takes("chain_dual") and (takes("lbfgs") or d > MANY):
        yield Choice("chain_dual", "the samples are chains and the penalty is L2")
        if takes("lbfgs"):
            yield Choice("lbfgs", "loss and penalty are differentiable")
    elif takes("block_frank_wolfe") and mixes_well(problem):
        yield Choice("block_frank_wolfe", "each sample has planes of its own, and few are to be asked for")
    elif takes("rounded_cd") and not problem.penalty.smooth and has_lines(problem):
        why = "the loss has lines and the penalty makes weights zero"
        yield Choice("rounded_cd", why, descends=n <= CROWDED * d)
    elif takes("primal_cd") and not problem.penalty.smooth:
        why = "the loss is smooth and the penalty makes weights zero"
        yield Choice("primal_cd", why, descends=n <= CROWDED * d)
    elif takes("classes_in_turn") and not problem.penalty.smooth:
        yield Choice("classes_in_turn", "each class has a smooth loss, and the penalty makes weights zero")
    elif takes("sum_rows"):
        yield Choice("sum_rows", "the loss is made of lines in sums of scores", limit=SUMMED)
    elif takes("lbfgs"):
        yield Choice("lbfgs", "loss and penalty are differentiable")
    yield LAST


def by_moments(problem: Problem) -> bool:
    """Does `least_squares` go first, in double precision? Its first step is all, at whatever alpha."""
    exact = problem.dtype == np.float64 and is_parabola(problem)
    return exact and next(plan(problem)).name == least_squares.__name__


def for_small_data(problem: Problem) -> Callable[..., Steps] | None:
    """The solver that goes first where data are so small that nothing else need be asked, if there is one."""
    n, d = problem.design.shape
    if problem.risk.has(Pairs):
        rows = as_solver("pair_rows")
        here = not missing_need(rows, problem)  # else samples may be elsewhere, where nobody counts pairs
        return rows if here and is_small_shape(problem.form(Pairs).number(), d) else None
    if not is_small(problem):
        return None
    if is_parabola(problem):
        method = least_squares if n >= d else None
    else:
        entropies = problem.risk.has(Atoms) or problem.risk.has(BinaryEntropy)
        method = small_newton if entropies else newton_steps if n >= d else None
    return None if method is None or missing_need(method, problem) else method


def _labelled(steps: Steps, **marks: Any) -> Steps:
    """The solver's iterates, their states marked with these; it ends where one of its steps overflows."""
    certificate: Any = None
    while True:
        try:
            iterate = next(steps) if certificate is None else steps.send(certificate)
        except StopIteration:
            return
        except OVERFLOWS as error:
            logger.info("auto: a step overflowed: %s", error)
            return
        certificate = yield iterate._replace(snapshot=partial(_marked, iterate, **marks))


def _marked(iterate: Iterate, **marks: Any) -> dict[str, Any]:
    """The state, if there is one, with these marks."""
    state = iterate.snapshot()
    return {**state, **marks} if state else {}
