"""Options and readers that the commands share."""

import json
import os
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import Any, NamedTuple

import click
import numpy as np

from gapfit import datasets
from gapfit.datasets import Data
from gapfit.datasets.files import TABLES, format_of
from gapfit.datasets.tables import read_table
from gapfit.names import meant

FORMATS = ("svmlight", "csv", "npz", "parquet")

target_column = click.option(
    "--target", metavar="NAME|NUMBER", help="Target column of a CSV or Parquet table."
)
output_format = click.option(
    "--format", "output", type=click.Choice(["text", "json"]), default="text", help="What is printed."
)


class Reading(NamedTuple):
    """How data files are read: what the options of a command say."""

    data_format: str | None
    target: str | None
    drop: tuple[str, ...]
    no_header: bool
    delimiter: str | None
    zero_based: bool
    multilabel: bool

    def __call__(self, path: str, **more: Any) -> Data:
        """A data file, or a folder of shards; columns may be given by their numbers."""
        if os.path.isdir(path):
            if self != Reading(None, None, (), False, None, False, False):
                raise click.UsageError("a folder of shards knows its format and its targets")
            shards = datasets.open_shards(path)
            return Data(shards, shards.y, shards.groups, shards.names)
        _, given = self._options(path)
        column = None if self.target is None else _column(self.target)
        samples = datasets.load(path, format=self.data_format, target=column, **given, **more)
        if not samples.X.shape[0]:
            raise click.UsageError(f"{path} holds no samples")
        return samples

    def table(self, path: str, **more: Any) -> Data:
        """A table with words and gaps."""
        chosen, given = self._options(path)
        if chosen not in TABLES or os.path.isdir(path):
            raise click.UsageError(
                f"--categorical, --missing and --scale are for tables ({', '.join(TABLES)}), and so are "
                f"models that were trained with them; {path} is none"
            )
        if chosen == "csv" and path.endswith((".tsv", ".tsv.gz")):
            given.setdefault("delimiter", "\t")
        column = None if self.target is None else _column(self.target)
        samples = read_table(path, format=chosen, target=column, **given, **more)
        if not samples.X.shape[0]:
            raise click.UsageError(f"{path} holds no samples")
        return samples

    def _options(self, path: str) -> tuple[str, dict[str, Any]]:
        """The format of a file, and what its reader is told."""
        chosen = format_of(path, self.data_format)
        asked = {
            "drop": [_column(name) for name in self.drop] or None, "delimiter": self.delimiter,
            "header": False if self.no_header else None, "zero_based": self.zero_based or None,
            "multilabel": self.multilabel or None,
        }  # fmt: skip
        given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
        for name in given:
            if chosen not in _FOR[name]:
                raise click.UsageError(
                    f"{FLAGS[name]} is for {' and '.join(_FOR[name])}, and {path} is {chosen}"
                )
        return chosen, given


_FOR = {
    "drop": ("csv", "parquet"), "delimiter": ("csv",), "header": ("csv",), "zero_based": ("svmlight",),
    "multilabel": ("svmlight",),
}  # fmt: skip
FLAGS = {
    "drop": "--drop", "delimiter": "--delimiter", "header": "--no-header", "zero_based": "--zero-based",
    "multilabel": "--multilabel",
}  # fmt: skip
# what the readers' own advice is called on the command line; patterns of `re`
SPELT = {
    r"target='([^']*)'": r"--target \1",
    r"drop=\['([^']*)'\]": r"--drop \1",
    r"header=False": "--no-header",
    r"zero_based=True": "--zero-based",
    r"multilabel=True": "--multilabel",
    r"drop=\[(\d+)[^]]*\]": r"--drop \1",
    r"categorical=\['([^']*)'\]": r"--categorical \1",
    r"missing='(\w+)'": r"--missing \1",
    r"^categorical names": "--categorical names",
}


def _column(name: str) -> str | int:
    return int(name) if name.lstrip("-").isdigit() else name


def reading(command: Any) -> Any:
    """The options that say how DATA is read; the command is given them as `reading`."""

    @wraps(command)
    def with_reading(*arguments: Any, **options: Any) -> Any:
        own = {name: options.pop(name) for name in Reading._fields}
        return command(*arguments, reading=Reading(**own), **options)

    for one in reversed((
        click.option("--data-format", type=Named(FORMATS), help="Format; by default the name tells."),
        target_column,
        click.option("--drop", multiple=True, metavar="NAME|NUMBER", help="Column of a table to leave out."),
        click.option("--no-header", is_flag=True, help="The first line of a CSV file is data."),
        click.option("--delimiter", help="Between the fields of a CSV file [default: ,]."),
        click.option("--zero-based", is_flag=True, help="Indices of an svmlight file count from 0."),
        click.option("--multilabel", is_flag=True, help="An svmlight file has several labels a sample."),
    )):  # fmt: skip
        with_reading = one(with_reading)
    return with_reading


class Named(click.Choice):  # type: ignore[type-arg]  # generic in new versions only
    """One of some names; an unknown one is told which of them it may have meant."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(error.message.rstrip(".") + meant(str(value), self.choices), param, ctx)


def check_pictures(instead: str = "") -> None:
    """Refuse before any work what would end in a picture that cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise click.UsageError(f"pictures need matplotlib: pip install 'gapfit[plot]'{instead}")


def check_place(path: str) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
    if path == "-":
        return
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise click.UsageError(f"{path} is a folder; give the name of a file in it")
    if not os.path.isdir(folder):
        raise click.UsageError(f"{path} cannot be written: there is no folder {folder}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise click.UsageError(f"{path} cannot be written: permission is denied")


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
