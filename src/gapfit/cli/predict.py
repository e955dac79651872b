"""`gapfit predict data model out`: predictions, one a line."""

from collections.abc import Iterator
from typing import Any

import click
import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score

from gapfit.cli.files import Reading, check_place, output_format, reading, say
from gapfit.cli.measure import measure_name
from gapfit.cli.tables import opened
from gapfit.datasets import Data
from gapfit.design.given import Given
from gapfit.estimators import LinearClassifier, MetricClassifier


@click.command()
@click.argument("data")
@click.argument("model")
@click.argument("out", default="-")
@click.option("--scores", is_flag=True, help="Write decision values after each prediction.")
@click.option("-b", "--probabilities", type=int, default=0, help="1: write the classes' probabilities.")
@click.option(
    "--certified", is_flag=True, help="Write 1 after predictions that are provably the optimum's, else 0."
)
@click.option(
    "--robust",
    metavar="TRAINING_DATA",
    help="Write 1 after predictions that no single label of the training data could change, else 0; proved.",
)
@click.option("-q", "--quiet", is_flag=True, help="No last line.")
@reading
@output_format
def predict(
    data: str,
    model: str,
    out: str,
    *,
    quiet: bool,
    reading: Reading,
    output: str,
    **asked: Any,
) -> int:
    """Predict DATA with MODEL and write one line a row to OUT (- is standard output).

    If the data have targets, the share of correct labels (R^2 for regression) is printed at the end.
    """
    check_place(out)
    loaded = opened(model)
    fitted = loaded.model
    names = loaded.names
    fitted.__dict__.pop("feature_names_in_", None)  # what it is asked about has none any more
    _check_asked(fitted, asked)
    samples = loaded.read(reading, data)
    if asked["robust"] is not None:
        seen = loaded.read(reading, asked["robust"])
        asked["robust"] = matched(seen, fitted, names), seen.y
    predictions = []
    with click.open_file(out, "w") as file:
        for X in _blocks(samples, fitted, names):
            columns = _columns(fitted, X, asked)
            predictions.append(columns[0])
            for row in zip(*(_table(column).tolist() for column in columns), strict=True):
                file.write(" ".join(_word(value) for part in row for value in part) + "\n")
    if samples.y is not None and not quiet and out != "-":
        found = np.concatenate(predictions)
        X = samples.X if isinstance(samples.X, Given) else matched(samples, fitted, names)
        if getattr(fitted, "multilabel_", False):
            found = fitted.predict(X)
        name, value = score(fitted, X, samples.y, found)
        if name:
            rows = len(samples.y)
            say(output, f"{name} {value:.6g} on {rows} rows", {name: value, "rows": rows})
    return 0


def _check_asked(fitted: Any, asked: dict[str, Any]) -> None:
    """Refuse what the model cannot say, before anything is read or written."""
    if asked["certified"] and not hasattr(fitted, "certified"):
        raise click.UsageError(
            f"--certified is for classifiers and novelty detectors that are optima of one convex problem or "
            f"several, and {type(fitted).__name__} is none"
        )
    if asked["probabilities"] and not hasattr(fitted, "predict_proba"):
        raise click.UsageError(
            "-b 1 needs a model with probabilities: train one with --calibrate sigmoid or --loss logistic"
        )
    if asked["robust"] is not None and not isinstance(fitted, LinearClassifier):
        raise click.UsageError("--robust is for linear classifiers")


def _columns(fitted: Any, X: Any, asked: dict[str, Any]) -> list[Any]:
    """Predictions, and what is to be written after them."""
    columns = [_labels(fitted, X)]
    if asked["scores"]:
        regression = is_regressor(fitted)
        columns.append(_table(fitted.predict(X) if regression else fitted.decision_function(X)))
    if asked["probabilities"]:
        columns.append(fitted.predict_proba(X))
    if asked["certified"]:
        columns.append(fitted.certified(X).astype(int))
    if asked["robust"] is not None:
        seen, labels = asked["robust"]
        columns.append(fitted.influence(X, change="flip", X=seen, y=labels).robust.astype(int))
    return columns


def _labels(fitted: Any, X: Any) -> Any:
    """Predictions; several labels a sample as svmlight files have them, their numbers with commas."""
    found = fitted.predict(X)
    if not getattr(fitted, "multilabel_", False):
        return found
    return np.array([",".join(map(str, np.flatnonzero(row))) or "-" for row in found], dtype=object)


def _blocks(samples: Data, fitted: Any, names: Any) -> Iterator[Any]:
    """The features in the model's order: those of a file at once, shards one after the other."""
    if isinstance(samples.X, Given):
        for X in samples.X.blocks():
            yield matched(Data(X, names=samples.names), fitted, names)
    else:
        yield matched(samples, fitted, names)


def score(fitted: Any, X: Any, y: Any, predictions: Any) -> tuple[str, float]:
    """The natural score of the model on these targets: the measure it was trained for, if that was one."""
    if isinstance(fitted, MetricClassifier):
        return measure_name(fitted.metric), fitted.score(X, y)
    if is_regressor(fitted):
        if np.ndim(predictions) > np.ndim(y):  # several quantiles of one target
            return "D^2 of quantiles, mean", fitted.score(X, y)
        return "R^2", float(r2_score(y, predictions))
    if is_classifier(fitted):
        return "accuracy", float(accuracy_score(y, predictions))
    return "", 0.0


def matched(samples: Data, fitted: Any, names: Any) -> Any:
    """The features in the model's order: by name if both have names, else by position.

    svmlight files do not say how wide they are, so columns missing at their end are zero.
    """
    X = samples.X
    if names is not None and samples.names is not None:
        place = {name: k for k, name in enumerate(samples.names)}
        if missing := [str(name) for name in names if name not in place]:
            raise ValueError(f"the data lack the model's features {', '.join(missing[:5])}")
        return X[:, [place[name] for name in names]]
    if sparse.issparse(X) and X.shape[1] < fitted.n_features_in_:
        wide = fitted.n_features_in_
        click.echo(f"the data have {X.shape[1]} features of {wide}: the others count as zero", err=True)
        X = X.copy()
        X.resize(X.shape[0], fitted.n_features_in_)
    return X


def _table(values: Any) -> Any:
    return np.asarray(values).reshape(len(values), -1)


def _word(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.17g}" if value != int(value) or abs(value) > 1e15 else str(int(value))
    return str(value)
