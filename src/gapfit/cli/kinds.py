"""`gapfit train` beyond linear models of two classes: kernels, ordered levels, several classes or labels."""

from typing import Any

import click
import numpy as np

from gapfit._types import Target
from gapfit.cli.files import Named
from gapfit.cli.options import Decorator, chosen_alpha, declared_by, make_loss, option, together
from gapfit.datasets import Data
from gapfit.estimators import (
    KernelNoveltyDetector,
    KernelSVC,
    KernelSVR,
    LinearClassifier,
    OrdinalClassifier,
)
from gapfit.estimators.kernel_names import FUNCTIONS
from gapfit.estimators.targets import names_of

COMPETING = names_of(Target.CLASSES)
SEVERAL = names_of(Target.INDICATORS)
MACHINES: dict[str, type] = {
    "hinge": KernelSVC, "epsilon_insensitive": KernelSVR, "novelty": KernelNoveltyDetector,
}  # fmt: skip
NOT_FOR_KERNELS = {"penalty": "--penalty", "liblinear_type": "-s", "positive": "--positive"}


class Gamma(click.ParamType):  # type: ignore[type-arg]  # generic in new versions only
    """A number, or one of two rules."""

    name = "gamma"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value in ("scale", "auto"):
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor 'scale' nor 'auto'", param, ctx)


kernel_options: Decorator = together(
    click.option(
        "--kernel",
        type=Named(list(FUNCTIONS)),
        help=f"A machine with this kernel instead of a linear model, for --loss {', '.join(MACHINES)}.",
    ),
    click.option(
        "-g", "--kernel-gamma", type=Gamma(), default="scale", show_default=True, help="Of the kernel."
    ),
    option(KernelSVC, "degree"),
    option(KernelSVC, "coef0"),
)


def make_machine(samples: Data, loss: str, options: dict[str, Any]) -> Any:
    """The kernel machine that the options describe."""
    if loss not in MACHINES:
        raise click.UsageError(f"--kernel takes --loss {', '.join(MACHINES)}, got {loss}")
    if given := [flag for name, flag in NOT_FOR_KERNELS.items() if options.get(name)]:
        raise click.UsageError(f"--kernel has a penalty of its own; leave {', '.join(given)} out")
    kind, n = MACHINES[loss], samples.X.shape[0]
    made = {**declared_by(kind, options), "gamma": options["kernel_gamma"]}
    if kind is not KernelNoveltyDetector:
        made.pop("nu", None)
        alpha, C = options["alpha"], options["C"]
        weighed = alpha is not None or C is not None
        made["C"] = 1 / (n * chosen_alpha(alpha, C, lambda c: 1 / (c * n))) if weighed else 1.0
    if kind is KernelSVR:
        made["epsilon"] = 0.1 if options.get("epsilon") is None else options["epsilon"]
    if kind is KernelSVC:
        made["class_weight"] = class_weights(samples.y, options["class_weight"])
    elif options["class_weight"]:
        raise click.UsageError("-w is for classification")
    return kind(**made)


def make_ordinal(samples: Data, loss: str, weight: dict[str, Any], options: dict[str, Any]) -> Any:
    """Levels in their sorted order."""
    made = {**declared_by(OrdinalClassifier, options), **weight, "loss": loss}
    return OrdinalClassifier(**{**made, "class_weight": class_weights(samples.y, options["class_weight"])})


def make_classifier(samples: Data, loss: str, weight: dict[str, Any], options: dict[str, Any]) -> Any:
    """Of two classes or more, or of several labels a sample."""
    several = np.ndim(samples.y) == 2
    if several and (loss in COMPETING or options["class_weight"]):
        given = f"--loss {loss}" if loss in COMPETING else "-w"
        raise click.UsageError(f"{given} is for one label a sample, and the data have several")
    if loss in SEVERAL and not several:
        raise click.UsageError(f"--loss {loss} is for several labels a sample, which svmlight files may have")
    made = {**declared_by(LinearClassifier, options), **weight, "loss": make_loss(loss, options)}
    made |= {"fit_intercept": options["bias"] >= 0}
    weights = None if several else class_weights(samples.y, options["class_weight"])
    return LinearClassifier(**{**made, "class_weight": weights})


def class_weights(y: Any, given: Any) -> dict[Any, float] | None:
    """The weights of labels as they stand in y."""
    return {_label(y, label): float(weight) for label, weight in given} or None


def _label(y: Any, text: str) -> Any:
    return text if y.dtype.kind == "U" else y.dtype.type(float(text))
