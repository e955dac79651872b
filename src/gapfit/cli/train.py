"""`gapfit train data model`: from a data file to a certified model file."""

from typing import Any

import click
import numpy as np
from sklearn.model_selection import cross_val_score

from gapfit.cli.files import data_format, output_format, read, say, target_column
from gapfit.cli.fitting import exit_code, fields, last_line, limits, one_of, solver_option, watched
from gapfit.cli.measure import make_metric_classifier, measure_name, metric_option, strategy_option
from gapfit.datasets import Data
from gapfit.estimators import LinearClassifier, LinearRegressor, NoveltyDetector
from gapfit.losses import EpsilonInsensitive, Huber, Quantile, SmoothedHinge, SquaredEpsilonInsensitive
from gapfit.penalties import ElasticNet
from gapfit.persistence import save

CLASSIFICATION = ("hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential")
REGRESSION = (
    "squared", "absolute", "quantile", "epsilon_insensitive", "squared_epsilon_insensitive", "huber",
    "poisson",
)  # fmt: skip
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
    type=click.Choice(LIBLINEAR),
    help="Loss and penalty by liblinear's number.",
)
@click.option(
    "--loss", type=click.Choice([*CLASSIFICATION, *REGRESSION, "novelty"]), help="Loss [default: hinge]."
)
@metric_option
@strategy_option
@click.option("--penalty", type=click.Choice(["l2", "l1", "elastic_net"]), help="Penalty [default: l2].")
@click.option("--l1-ratio", type=float, default=0.5, show_default=True, help="For --penalty elastic_net.")
@click.option("--alpha", type=float, help="Weight of the penalty; the loss is a mean [default: 1e-4].")
@click.option("-c", "--cost", "C", type=float, help="liblinear's C instead of alpha: alpha = 1 / (C n).")
@click.option("-p", "--epsilon", type=float, help="Of the epsilon-insensitive losses [default: 0.1].")
@click.option("-n", "--nu", type=float, default=0.5, show_default=True, help="For --loss novelty.")
@click.option("--quantile", "q", type=float, help="For --loss quantile [default: 0.5].")
@click.option("--delta", type=float, help="For --loss huber [default: 1].")
@click.option("--gamma", type=float, help="For --loss smoothed_hinge [default: 1].")
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
@click.option("--positive", is_flag=True, help="Weights must not be negative.")
@limits(tol=1e-4)
@solver_option
@click.option(
    "-v", "--folds", type=click.IntRange(2), help="Report the score of cross-validation; write no model."
)
@data_format
@target_column
@output_format
def train(
    data: str, model: str | None, *, folds: int | None, quiet: bool, output: str, **options: Any
) -> int:
    """Fit a model to DATA and write it to MODEL.

    DATA is an svmlight, CSV, npz or Parquet file, possibly compressed, or - for standard input.
    """
    if (model is None) == (folds is None):
        raise click.UsageError("give MODEL, the file to write, or -v FOLDS for cross-validation")
    if folds is not None and options["checkpoint"] is not None:
        raise click.UsageError("--checkpoint keeps one fit, and -v makes several; leave one of them out")
    samples = read(data, options.pop("data_format"), options.pop("target"))
    if samples.y is not None and np.ndim(samples.y) != 1:
        raise click.UsageError(f"{data} holds several labels per sample, which train does not take")
    estimator = make_estimator(samples, **options)
    if folds is not None:
        scores, _ = watched(lambda: cross_val_score(estimator, samples.X, samples.y, cv=folds), quiet=quiet)
        name = "R^2" if isinstance(estimator, LinearRegressor) else "accuracy"
        name = measure_name(options["metric"]) if options["metric"] else name
        say(output, f"{folds}-fold {name} {scores.mean():.6g} +- {scores.std():.2g}", {name: scores})
        return 0
    _, seconds = watched(lambda: estimator.fit(samples.X, samples.y), quiet=quiet)
    if samples.names is not None:
        estimator.feature_names_in_ = np.array(samples.names, dtype=object)
    save(estimator, str(model))
    if not quiet:
        say(output, last_line(estimator, seconds), fields(estimator, seconds))
    return exit_code(estimator)


def make_estimator(
    samples: Data,
    *,
    liblinear_type: str | None,
    loss: str | None,
    penalty: str | None,
    l1_ratio: float,
    alpha: float | None,
    C: float | None,
    bias: float,
    class_weight: tuple[tuple[str, str], ...],
    nu: float,
    metric: Any,
    strategy: str | None,
    **rest: Any,
) -> Any:
    """The estimator that the options describe."""
    if metric is not None:
        given = dict(liblinear_type=liblinear_type, loss=loss, C=C, class_weight=class_weight, alpha=alpha)
        omega = ElasticNet(l1_ratio) if penalty == "elastic_net" else penalty or "l2"
        return make_metric_classifier(samples, metric, strategy, omega, {**given, **rest})
    if strategy is not None:
        raise click.UsageError("--strategy goes with --metric")
    if liblinear_type is not None and (loss or penalty):
        raise click.UsageError("-s names loss and penalty already; leave --loss and --penalty out")
    known_loss, known_penalty = LIBLINEAR.get(liblinear_type or "", ("hinge", "l2"))
    loss, penalty_name = loss or known_loss, penalty or known_penalty
    one_of(alpha, C, "-c")
    n = samples.X.shape[0]
    made: dict[str, Any] = {
        "penalty": ElasticNet(l1_ratio) if penalty_name == "elastic_net" else penalty_name,
        "alpha": 1 / (C * n) if C else alpha if alpha is not None else 1e-4,
    }
    parameters = {
        "quantile": (Quantile, rest.pop("q")),
        "huber": (Huber, rest.pop("delta")),
        "smoothed_hinge": (SmoothedHinge, rest.pop("gamma")),
        "epsilon_insensitive": (EpsilonInsensitive, rest.get("epsilon")),
        "squared_epsilon_insensitive": (SquaredEpsilonInsensitive, rest.pop("epsilon")),
    }
    if loss == "novelty":
        return NoveltyDetector(nu=nu, **made, **rest)
    if samples.y is None:
        raise click.UsageError(
            "the data hold no targets; name the column with --target, or use --loss novelty"
        )
    maker, value = parameters.get(loss, (None, None))
    made |= {"loss": maker(value) if maker and value is not None else loss, "fit_intercept": bias >= 0}
    if loss in REGRESSION:
        if class_weight:
            raise click.UsageError("-w is for classification")
        return LinearRegressor(**made, **rest)
    weights = {_label(samples.y, label): float(weight) for label, weight in class_weight}
    return LinearClassifier(class_weight=weights or None, **made, **rest)


def _label(y: Any, text: str) -> Any:
    """The label as it stands in y."""
    return text if y.dtype.kind == "U" else y.dtype.type(float(text))
