"""Tables with words and gaps on the command line: how they are read, and what of it the model file keeps."""

from typing import Any, NamedTuple

import click
import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from gapfit.cli.files import Named, Reading
from gapfit.cli.options import Decorator, together
from gapfit.datasets import Data
from gapfit.persistence import load
from gapfit.tables import STRATEGIES, TableEncoder

table_options: Decorator = together(
    click.option(
        "--categorical",
        multiple=True,
        metavar="COLUMN",
        help="A column of a table whose values are words, or numbers that stand for something.",
    ),
    click.option(
        "--missing",
        type=Named(STRATEGIES),
        default="refuse",
        show_default=True,
        help="What is done about gaps among a table's numbers. Among words a gap is a word.",
    ),
    click.option("--scale", is_flag=True, help="Numbers of a table less their mean, over their deviation."),
)


class Encoded(NamedTuple):
    """Samples as numbers, the table that they come from, and what has made numbers of it, if there was."""

    samples: Data
    table: Data
    encoder: TableEncoder | None

    def model(self, estimator: Any) -> Any:
        """What is written to a file: the estimator, behind the encoder if there is one."""
        steps = [("table", self.encoder), ("model", estimator)]
        return estimator if self.encoder is None else Pipeline(steps)

    @property
    def names(self) -> Any:
        """Of the features, if the estimator is to be told; an encoder knows them itself."""
        return self.samples.names if self.encoder is None else None


def encoded(reading: Reading, path: str, options: dict[str, Any]) -> Encoded:
    """Read the samples for a fit; takes its own options out."""
    how = {name: options.pop(name) for name in ("categorical", "missing", "scale")}
    if not (how["categorical"] or how["missing"] != "refuse" or how["scale"]):
        samples = dense_labels(reading(path))
        return Encoded(samples, samples, None)
    table = reading.table(path, categorical=how["categorical"])
    encoder = TableEncoder(names=tuple(table.names or ()), **how)
    return Encoded(numbers_of(encoder.fit(table.X), table), table, encoder)


def dense_labels(samples: Data) -> Data:
    """Several labels a sample as a table of zeros and ones."""
    return samples._replace(y=samples.y.toarray()) if sparse.issparse(samples.y) else samples


def numbers_of(encoder: TableEncoder, table: Data) -> Data:
    """The table as numbers, by the names of what they mean."""
    for column, words in encoder.unknown(table.X).items():
        shown = ", ".join(map(repr, words[:5])) + (", ..." if len(words) > 5 else "")
        told = f"column {column!r} holds words that the model has not seen ({shown}); they count as none"
        click.echo(told, err=True)
    return Data(encoder.transform(table.X), table.y, None, tuple(encoder.get_feature_names_out()))


class Loaded(NamedTuple):
    """A model from a file, and the encoder before it, if there is one."""

    model: Any
    encoder: TableEncoder | None
    names: Any  # of the features, as far as they are known

    def read(self, reading: Reading, path: str) -> Data:
        """Samples for the model: of a table, the columns that it knows."""
        if self.encoder is None:
            return dense_labels(reading(path))
        only = [str(name) for name in self.encoder.columns_]
        table = reading.table(path, categorical=tuple(self.encoder.categorical), only=only)
        return numbers_of(self.encoder, table)


def opened(path: str) -> Loaded:
    """The model in a file."""
    found = load(path)
    if not isinstance(found, Pipeline):
        return Loaded(found, None, getattr(found, "feature_names_in_", None))
    first, last = found.steps[0][1], found.steps[-1][1]
    if len(found.steps) != 2 or not isinstance(first, TableEncoder):
        raise click.UsageError(f"{path} holds a pipeline that the command line has not written")
    return Loaded(last, first, np.asarray(first.get_feature_names_out()))
