"""`gapfit convert in out`: from one data format to another."""

import click

from gapfit import datasets
from gapfit.cli.files import FORMATS, data_format, read, target_column


@click.command()
@click.argument("source")
@click.argument("out")
@data_format
@click.option("--out-format", type=click.Choice(FORMATS), help="Format to write; by default the name tells.")
@target_column
def convert(
    source: str, out: str, *, data_format: str | None, out_format: str | None, target: str | None
) -> int:
    """Read SOURCE and write OUT: svmlight, CSV, npz or Parquet, by their names (- is a standard stream)."""
    datasets.save(out, read(source, data_format, target), format=out_format)
    return 0
