"""Formulas of compiled code, for tensors: what happens to one sample there happens to all of them here.

A formula without branches means the same for a number and for a tensor, once `min`, `max`, `abs` and the
choice between two values are torch's. So it is not written down again: its code is given other names to look
up.
"""

import sys
from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import torch

from gapfit.compiled.atoms import chosen

__all__ = ["fused", "in_tiles", "on_tensors", "parts_of", "renamed"]

_TILE = 2048  # numbers

Function = Callable[..., Any]


def _larger(a: Any, b: Any) -> Any:
    return torch.maximum(a, b) if isinstance(b, torch.Tensor) else torch.clamp(a, min=b)


def _smaller(a: Any, b: Any) -> Any:
    return torch.minimum(a, b) if isinstance(b, torch.Tensor) else torch.clamp(a, max=b)


_NAMES: dict[str, Any] = {"min": _smaller, "max": _larger, "abs": torch.abs}


@cache
def on_tensors(formula: Any) -> Function:
    """The formula, and those that it is made of, for tensors."""
    if formula is chosen:
        return torch.where
    return renamed(formula, {**_NAMES, **parts_of(formula, on_tensors)})


def parts_of(formula: Any, spelt: Function) -> dict[str, Any]:
    """The formulas that one is made of, by name, spelt for those who run it."""
    function = getattr(formula, "py_func", formula)
    known = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    return {name: spelt(part) for name, part in known.items() if hasattr(part, "py_func") or part is chosen}


def renamed(formula: Any, names: dict[str, Any]) -> Function:
    """The code of a formula, in which some names mean something else."""
    function = getattr(formula, "py_func", formula)
    # torch's compiler looks names up in the module that a function says it is from
    room = ModuleType(f"{__name__}.{function.__name__}")
    vars(room).update({**function.__globals__, **names, "__name__": room.__name__})
    sys.modules[room.__name__] = room
    return FunctionType(function.__code__, vars(room), function.__name__)


def fused(function: Function) -> Function:
    """A function of tensors as one kernel, where they are on a card; it is compiled when first used there."""
    compiled: list[Function] = []

    def run(*arguments: Any) -> Any:
        if not _on_a_card(arguments):
            return function(*arguments)
        if not compiled:
            compiled.append(torch.compile(_apart(function), dynamic=True))
        return compiled[0](*arguments)

    return run


def _apart(function: Function) -> Function:
    """The same function, with code of its own: torch's compiler counts how often one code is compiled, for
    whatever it closes over, and runs it call by call after the eighth time."""
    code = function.__code__.replace()
    names, defaults = function.__globals__, function.__defaults__
    return FunctionType(code, names, function.__name__, defaults, function.__closure__)


def _on_a_card(things: Any) -> bool:
    """Is one of these tensors on a card? Records hold tensors, too."""
    return any(_on_a_card(one) if isinstance(one, tuple) else one.is_cuda for one in things)


def in_tiles(*vectors: torch.Tensor) -> torch.Tensor:
    """The sums of vectors over tiles of their entries: many at once, where one sum of all would have to wait
    for itself."""
    short = -len(vectors[0]) % _TILE
    return torch.stack([torch.nn.functional.pad(x, (0, short)).reshape(-1, _TILE).sum(1) for x in vectors])
