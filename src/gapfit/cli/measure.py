"""`gapfit train --metric f1`: a classifier for a measure, named on the command line."""

from typing import Any

import click

from gapfit.cli.options import declared_by
from gapfit.datasets import Data
from gapfit.estimators import MetricClassifier
from gapfit.metrics import BY_CLASS, NAMES, WITH_PARAMETER
from gapfit.names import meant


class Measure(click.ParamType):  # type: ignore[type-arg]  # generic in new versions only
    """A measure's name, or name=value for those that have a parameter."""

    name = "measure"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        name, equals, number = str(value).partition("=")
        try:
            if equals and name in WITH_PARAMETER:
                return WITH_PARAMETER[name](float(number))  # type: ignore[call-arg]
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)
        if equals or name not in {**NAMES, **BY_CLASS}:
            known = ", ".join([*NAMES, *BY_CLASS, *(f"{parameter}=VALUE" for parameter in WITH_PARAMETER)])
            guess = meant(name, [*NAMES, *BY_CLASS]) or meant(name, WITH_PARAMETER)
            self.fail(f"{value!r} is not one of {known}{guess}", param, ctx)
        return name


metric_option = click.option(
    "--metric",
    type=Measure(),
    help="Train for this measure instead of a loss: f1, roc_area, f_beta=2, precision_at_k=50, ...",
)

_NOT_FOR_MEASURES = {
    "liblinear_type": "-s", "loss": "--loss", "class_weight": "-w", "positive": "--positive", "C": "-c",
    "epsilon": "-p", "q": "--quantile", "delta": "--delta", "gamma": "--gamma",
}  # fmt: skip


def make_metric_classifier(samples: Data, penalty: Any, options: dict[str, Any]) -> MetricClassifier:
    """The estimator that the options describe."""
    if given := [flag for name, flag in _NOT_FOR_MEASURES.items() if options.get(name)]:
        raise click.UsageError(f"--metric says what to train for; leave {', '.join(given)} out")
    if samples.y is None:
        raise click.UsageError("the data hold no targets; name the column with --target")
    made = {**declared_by(MetricClassifier, options), "penalty": penalty}
    return MetricClassifier(**{**made, "strategy": options["strategy"] or "auto"})


def measure_name(metric: Any) -> str:
    """How the measure is called in print."""
    return metric if isinstance(metric, str) else repr(metric)
