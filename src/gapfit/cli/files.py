"""Options and readers that the commands share."""

import json
import os
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from gapfit import datasets
from gapfit.datasets import Data

FORMATS = ("svmlight", "csv", "npz", "parquet")

data_format = click.option(
    "--data-format", type=click.Choice(FORMATS), help="Format of the data; by default the name tells."
)
target_column = click.option(
    "--target", metavar="NAME|NUMBER", help="Target column of a CSV or Parquet table."
)
output_format = click.option(
    "--format", "output", type=click.Choice(["text", "json"]), default="text", help="What is printed."
)


def read(path: str, data_format: str | None, target: str | None, n_features: int | None = None) -> Data:
    """A data file, or a folder of shards; `target` may be the number of a column."""
    if os.path.isdir(path):
        if data_format is not None or target is not None:
            raise click.UsageError("a folder of shards knows its format and its targets")
        shards = datasets.open_shards(path)
        return Data(shards, shards.y, shards.groups, shards.names)
    column = int(target) if target is not None and target.lstrip("-").isdigit() else target
    return datasets.load(path, format=data_format, target=column, n_features=n_features)


def aside(*, quiet: bool) -> Callable[[str], None]:
    """What tells people of the way, on standard error, unless nobody wants to know."""
    return (lambda text: None) if quiet else (lambda text: click.echo(text, err=True))


def say(output: str, text: str, fields: dict[str, Any]) -> None:
    """Print the text, or the fields as one line of JSON."""
    click.echo(json.dumps(fields, default=_plain) if output == "json" else text)


def _plain(value: Any) -> Any:
    """JSON's idea of a NumPy value."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return str(value)
