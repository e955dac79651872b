"""`gapfit convert in out`: from one data format to another."""

import click

from gapfit import datasets
from gapfit.cli.files import FORMATS, Reading, check_place, reading


@click.command()
@click.argument("source")
@click.argument("out")
@click.option("--out-format", type=click.Choice(FORMATS), help="Format to write; by default the name tells.")
@reading
def convert(source: str, out: str, *, out_format: str | None, reading: Reading) -> int:
    """Read SOURCE and write OUT: svmlight, CSV, npz or Parquet, by their names (- is a standard stream)."""
    check_place(out)
    datasets.save(out, reading(source), format=out_format)
    return 0
