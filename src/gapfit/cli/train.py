"""`gapfit train data model`: from a data file to a certified model file."""

import os
from dataclasses import dataclass, fields
from typing import Any

import click
from sklearn.base import clone, is_regressor
from sklearn.model_selection import cross_val_score

from gapfit._types import Target
from gapfit.calibration import METHODS
from gapfit.cli.choose import check_choice, choose_option, make_chooser
from gapfit.cli.choose import told as told_of_choice
from gapfit.cli.files import Named, Reading, check_place, output_format, reading, say
from gapfit.cli.fitting import conclude, last_line, watched
from gapfit.cli.fitting import fields as told
from gapfit.cli.kinds import (
    COMPETING,
    SEVERAL,
    kernel_options,
    make_classifier,
    make_machine,
    make_ordinal,
)
from gapfit.cli.measure import make_metric_classifier, measure_name, metric_option
from gapfit.cli.options import (
    alpha_or_c,
    declared_by,
    limits,
    loss_parameter,
    make_loss,
    make_penalty,
    option,
    penalty_option,
    solver_option,
)
from gapfit.cli.search import SEARCH, make_search, search_options
from gapfit.cli.search import told as told_of_search
from gapfit.cli.tables import encoded, table_options
from gapfit.datasets import Data
from gapfit.estimators import LinearClassifier, LinearRegressor, MetricClassifier, NoveltyDetector
from gapfit.estimators.ordinal import NAMES as ORDINAL
from gapfit.estimators.targets import names_of

CLASSIFICATION = [*names_of(Target.LABELS), *COMPETING, *SEVERAL]
REGRESSION = [name for name in names_of(Target.REAL | Target.COUNTS) if name != "quantiles"]  # --quantile
LOSSES = [*CLASSIFICATION, *ORDINAL, *REGRESSION, "novelty"]
# what liblinear calls its solvers by number: loss and penalty (the algorithm is ours to choose)
LIBLINEAR = {
    "0": ("logistic", "l2"), "7": ("logistic", "l2"), "6": ("logistic", "l1"),
    "1": ("squared_hinge", "l2"), "2": ("squared_hinge", "l2"), "5": ("squared_hinge", "l1"),
    "3": ("hinge", "l2"),
    "11": ("squared_epsilon_insensitive", "l2"), "12": ("squared_epsilon_insensitive", "l2"),
    "13": ("epsilon_insensitive", "l2"), "21": ("novelty", "l2"),
}  # fmt: skip


@click.command(context_settings={"ignore_unknown_options": False})
@click.argument("data")
@click.argument("model", required=False)
@click.option(
    "-s",
    "--type",
    "liblinear_type",
    type=Named(LIBLINEAR),
    help="Loss and penalty by liblinear's number.",
)
@click.option("--loss", type=Named(LOSSES), help="Loss [default: hinge].")
@metric_option
@option(MetricClassifier, "strategy", default=None, help="How, for --metric [default: auto].")
@penalty_option
@click.option("--l1-ratio", type=float, default=0.5, show_default=True, help="For --penalty elastic_net.")
@search_options
@choose_option
@click.option("-c", "--cost", "C", type=float, help="liblinear's C instead of alpha.")
@kernel_options
@loss_parameter("epsilon", "-p", "--epsilon")
@option(NoveltyDetector, "nu", "-n", help="For --loss novelty.")
@loss_parameter("q", "--quantile", several="Several of them are fitted together, so that they do not cross.")
@loss_parameter("delta", "--delta")
@loss_parameter("gamma", "--gamma")
@click.option(
    "-B", "--bias", type=float, default=1.0, help="Negative: no intercept. Else it is there, unpenalised."
)
@click.option(
    "-w",
    "--class-weight",
    nargs=2,
    multiple=True,
    metavar="LABEL WEIGHT",
    help="Weight of a class; also -wLABEL WEIGHT.",
)
@option(LinearClassifier, "positive")
@option(LinearClassifier, "calibrate", type=Named(METHODS))
@limits(LinearClassifier)
@solver_option(LinearClassifier)
@click.option(
    "-v",
    "--folds",
    type=click.IntRange(2),
    help="Report the score of cross-validation; write no model. With -C: its folds.",
)
@table_options
@reading
@output_format
def train(
    data: str,
    model: str | None,
    *,
    folds: int | None,
    quiet: bool,
    output: str,
    reading: Reading,
    **options: Any,
) -> int:
    """Fit a model to DATA and write it to MODEL.

    DATA is an svmlight, CSV, npz or Parquet file, possibly compressed, or - for standard input; or a folder
    of shards that `gapfit shard` has written, for data larger than the memory.
    """
    choose = options.pop("choose")
    if choose:
        check_choice(options, checkpoint=options["checkpoint"] is not None)
    elif (model is None) == (folds is None):
        raise click.UsageError("give MODEL, the file to write, or -v FOLDS for cross-validation")
    if folds is not None and not choose and options["checkpoint"] is not None:
        raise click.UsageError("--checkpoint keeps one fit, and -v makes several; leave one of them out")
    check_place(model or "-")
    read = encoded(reading, data, options)
    samples = read.samples
    search = options["alpha"] == SEARCH
    if search:
        options["alpha"] = None
        if folds is not None or options["metric"] is not None or options["C"] is not None:
            raise click.UsageError("--alpha search goes without -v, -c and --metric")
    estimator = make_estimator(samples, Asked.of(options))
    if os.path.isdir(data) and (folds is not None or search or choose):
        raise click.UsageError(
            "-v, -C and --alpha search cut samples into folds, which shards are not made for"
        )
    if search:
        found, seconds = watched(
            lambda: make_search(estimator, options).fit(samples.X, samples.y), quiet=quiet
        )
        words, facts = told_of_search(found)
        best = found.best_estimator_
        words, facts = f"{words}\n{last_line(best, seconds)}", {**facts, **told(best, seconds)}
        return conclude(best, str(model), words, facts, read, quiet=quiet, output=output)
    if choose:
        chooser = make_chooser(estimator, folds, options["scoring"])
        _, seconds = watched(lambda: chooser.fit(samples.X, samples.y), quiet=quiet)
        words, facts = told_of_choice(chooser)
        if model is None:
            say(output, words, facts)
            return 0
        words, facts = f"{words}\n{last_line(chooser, seconds)}", {**facts, **told(chooser, seconds)}
        return conclude(chooser, model, words, facts, read, quiet=quiet, output=output)
    if folds is not None:
        whole = clone(read.model(estimator))  # what a fold leaves out tells its encoder nothing
        scores, _ = watched(lambda: cross_val_score(whole, read.table.X, samples.y, cv=folds), quiet=quiet)
        name = "R^2" if is_regressor(estimator) else "accuracy"
        name = measure_name(options["metric"]) if options["metric"] else name
        say(output, f"{folds}-fold {name} {scores.mean():.6g} +- {scores.std():.2g}", {name: scores})
        return 0
    _, seconds = watched(lambda: estimator.fit(samples.X, samples.y), quiet=quiet, tol=estimator.tol)
    words, facts = last_line(estimator, seconds), told(estimator, seconds)
    return conclude(estimator, str(model), words, facts, read, quiet=quiet, output=output)


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    liblinear_type: str | None
    loss: str | None
    penalty: str | None
    l1_ratio: float
    alpha: float | None
    C: float | None
    bias: float
    class_weight: tuple[tuple[str, str], ...]
    metric: Any
    strategy: str | None
    others: dict[str, Any]  # parameters of losses and of estimators, as they are

    @classmethod
    def of(cls, options: dict[str, Any]) -> "Asked":
        own = {one.name: options[one.name] for one in fields(cls) if one.name in options}
        return cls(**own, others={name: value for name, value in options.items() if name not in own})


def make_estimator(samples: Data, asked: Asked) -> Any:
    """The estimator that the options describe."""
    if asked.metric is not None:
        omega = make_penalty(asked.penalty, asked.l1_ratio)
        return make_metric_classifier(samples, omega, {**vars(asked), **asked.others})
    if asked.strategy is not None:
        raise click.UsageError("--strategy goes with --metric")
    if asked.liblinear_type is not None and (asked.loss or asked.penalty):
        raise click.UsageError("-s names loss and penalty already; leave --loss and --penalty out")
    known_loss, known_penalty = LIBLINEAR.get(asked.liblinear_type or "", ("hinge", "l2"))
    loss, options = asked.loss or known_loss, {**vars(asked), **asked.others}
    if asked.others["calibrate"] is not None and loss not in (*CLASSIFICATION, *ORDINAL):
        raise click.UsageError("--calibrate is for classification")
    if samples.y is None and loss != "novelty":
        raise click.UsageError(
            f"the data hold no targets; name the column with --target{_listed(samples)}, "
            "or use --loss novelty"
        )
    if asked.others["kernel"] is not None:
        return make_machine(samples, loss, options)
    penalty = make_penalty(asked.penalty or known_penalty, asked.l1_ratio)
    weight = {"penalty": penalty, **alpha_or_c(asked.alpha, asked.C)}
    options = {name: value for name, value in options.items() if name not in ("alpha", "C", "penalty")}
    if loss == "novelty":
        return NoveltyDetector(**weight, **declared_by(NoveltyDetector, asked.others))
    if loss in ORDINAL:
        return make_ordinal(samples, loss, weight, options)
    if loss in CLASSIFICATION:
        return make_classifier(samples, loss, weight, options)
    if asked.class_weight:
        raise click.UsageError("-w is for classification")
    made = {"loss": make_loss(loss, asked.others), "fit_intercept": asked.bias >= 0}
    return LinearRegressor(**made, **weight, **declared_by(LinearRegressor, asked.others))


def _listed(samples: Data) -> str:
    """The names of the columns, for an error."""
    names = list(samples.names or ())
    shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    return f" (there are {shown})" if names else ""
