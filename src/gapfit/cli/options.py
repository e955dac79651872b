"""Options that follow from what estimators and losses declare, and what they become."""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, get_args

import click

from gapfit.cli.files import Named
from gapfit.declaration import parameters
from gapfit.penalties import ElasticNet
from gapfit.registry import LOSSES, SOLVERS

Decorator = Callable[[Any], Any]

_ALPHA = 1e-4

penalty_option = click.option(
    "--penalty", type=Named(["l2", "l1", "elastic_net"]), help="Penalty [default: l2]."
)
alpha_option = click.option(
    "--alpha", type=float, help=f"Weight of the penalty; the loss is a mean [default: {_ALPHA:g}]."
)


def option(kind: type, name: str, *flags: str, **changes: Any) -> Decorator:
    """The option for a parameter of an estimator: its type, default and text are those declared."""
    one = parameters(kind)[name]
    types = [known for known in (bool, int, float) if known in (one.type, *get_args(one.type))]
    told = " ".join(one.metadata["text"].split()).partition(". ")[0].rstrip(".")
    settings: dict[str, Any] = {
        "help": f"{told}.",
        "default": one.default,
        "show_default": one.default is not None,
    }
    if types == [bool]:
        settings |= {"is_flag": True, "show_default": False}
    elif one.metadata["choices"]:
        settings["type"] = Named(one.metadata["choices"])
    else:
        settings["type"] = types[0] if types else str
    return click.option(*flags, f"--{name.replace('_', '-')}", **{**settings, **changes})


def limits(kind: type) -> Decorator:
    """The options that say how a fit of this estimator goes and when it ends, and how loud it is."""
    return together(
        option(kind, "tol", "-e"),
        option(kind, "max_iter"),
        option(kind, "max_time"),
        option(kind, "checkpoint", type=click.Path(dir_okay=False)),
        option(kind, "n_jobs"),
        *([option(kind, "device")] if "device" in parameters(kind) else []),
        click.option("-q", "--quiet", is_flag=True, help="No progress and no last lines."),
    )


def solver_option(kind: type) -> Decorator:
    """Algorithms by their names."""
    return option(kind, "solver", type=Named(list(SOLVERS)))


_FLAGS: dict[str, str] = {}  # of the parameters of losses


def loss_parameter(name: str, *flags: str, several: str = "") -> Decorator:
    """The option for a parameter that some losses have; `several` says what more than one of it means."""
    having = {loss: signature(known).parameters for loss, known in LOSSES.items()}
    defaults = {loss: found[name].default for loss, found in having.items() if name in found}
    default = next(iter(defaults.values()))
    _FLAGS[name] = flags[-1]
    told = f"For --loss {', '.join(defaults)} [default: {default:g}]. {several}".rstrip()
    return click.option(*flags, name, type=float, multiple=bool(several), help=told)


def together(*options: Decorator) -> Decorator:
    """Several options, in this order."""

    def decorate(command: Any) -> Any:
        for one in reversed(options):
            command = one(command)
        return command

    return decorate


def declared_by(kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that are parameters of the estimator."""
    return {name: value for name, value in options.items() if name in parameters(kind)}


def make_loss(name: str, options: Mapping[str, Any]) -> Any:
    """The loss, with those of its parameters that were given; its name, if none was."""
    given = {key: options.get(key) for key in _FLAGS if options.get(key) not in (None, ())}
    known = signature(LOSSES[name]).parameters
    if strange := [_FLAGS[key] for key in given if key not in known]:
        raise click.UsageError(f"--loss {name} has no {', '.join(strange)}: leave that out")
    for key, value in given.items():
        given[key] = value[0] if isinstance(value, tuple) and len(value) == 1 else value
    return LOSSES[name](**given) if given else name


def make_penalty(name: str | None, l1_ratio: float) -> Any:
    """The penalty; the share of L1 is that of the elastic net."""
    return ElasticNet(l1_ratio) if name == "elastic_net" else name or "l2"


def one_of(alpha: float | None, other: float | None, name: str) -> None:
    """The weight of the penalty may be said in one way only."""
    if alpha is not None and other is not None:
        raise click.UsageError(f"--alpha and {name} say the same thing twice; give one of them")


def chosen_alpha(alpha: float | None, C: float | None, alpha_of: Callable[[float], float]) -> float:
    """The weight of the penalty, or what C amounts to."""
    given = alpha_or_c(alpha, C)
    return alpha_of(given["C"]) if "C" in given else given["alpha"]


def alpha_or_c(alpha: float | None, C: float | None) -> dict[str, float]:
    """The weight of the penalty as a parameter of an estimator, in the way in which it was given."""
    one_of(alpha, C, "-c")
    if C is None:
        return {"alpha": _ALPHA if alpha is None else alpha}
    if not C > 0:
        raise click.UsageError(f"-c must be positive, got {C}")
    return {"C": C}
