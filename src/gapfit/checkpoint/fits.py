"""What `solve` asks of checkpoints: a part for its problem, and solutions as plain states."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from gapfit.checkpoint.store import Checkpoint, Identity, Part
from gapfit.solution import Solution, Status, as_history, as_table

ENDED = (Status.CERTIFIED, Status.STALLED)  # by itself: there is nothing to go on with


@contextmanager
def opened(checkpoint: Any, problem: Any, method: Any, name: str, mark: str | None) -> Iterator[Part | None]:
    """The part of a checkpoint that belongs to the problem and the solver; None without a checkpoint.

    `checkpoint` is a path, of a file that then holds this part alone, or the `Checkpoint` of a larger fit.
    """
    if checkpoint is None:
        yield None
        return
    penalty = getattr(problem.penalty, "plain", problem.penalty)
    # the data come last: their fingerprint knows the loss as well, and a loss is a better answer
    things = {"solver": name, "options of the solver": _options(method), "loss": problem.loss}
    identity = Identity.of({**things, "penalty": penalty, "alpha": problem.alpha, "data": mark})
    shared = {"penalty": problem.penalty, "loss": problem.loss}
    if isinstance(checkpoint, Checkpoint):
        yield checkpoint.part(identity, **shared)
        return
    with Checkpoint(checkpoint, identity) as alone:
        yield alone.part(identity, **shared)


def _options(method: Any) -> dict[str, Any]:
    """What functools.partial has set."""
    if not isinstance(method, partial):
        return {}
    return {**_options(method.func), **method.keywords}


def as_plain(solution: Solution, tol: float) -> dict[str, Any]:
    """The solution as a state, with the tolerance that it was to meet."""
    kept = {name: value for name, value in vars(solution).items() if name not in ("status", "history")}
    history = as_table(solution.history)
    return {**kept, "tol": tol, "status": solution.status.name, "history": history}


def as_solution(plain: dict[str, Any]) -> Solution:
    """What `as_plain` was given."""
    kept = {name: value for name, value in plain.items() if name != "tol"}
    return Solution(**{**kept, "status": Status[plain["status"]], "history": as_history(plain["history"])})
