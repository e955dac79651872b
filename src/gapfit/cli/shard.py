"""`gapfit shard data out/`: from a data file of any size to shards."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from gapfit.cli.files import output_format, say, target_column
from gapfit.datasets.files import FORMATS
from gapfit.shards.convert import SHARD_BYTES
from gapfit.shards.convert import shard as convert

_MEGABYTE = 2**20


@click.command()
@click.argument("source")
@click.argument("out")
@click.option(
    "--data-format", type=click.Choice(FORMATS), help="Format of SOURCE; by default the name tells."
)
@target_column
@click.option("--n-features", type=int, help="The number of columns; by default what SOURCE has.")
@click.option("--dtype", type=click.Choice(["float64", "float32"]), default="float64", show_default=True)
@click.option(
    "--shard-mb", type=int, default=SHARD_BYTES // _MEGABYTE, show_default=True, help="Size of a shard."
)
@click.option("--merge", is_flag=True, help="Keep one of equal samples of a shard, weighted by their number.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no last line.")
@output_format
def shard(
    source: str,
    out: str,
    *,
    data_format: str | None,
    target: str | None,
    n_features: int | None,
    dtype: str,
    shard_mb: int,
    merge: bool,
    quiet: bool,
    output: str,
) -> int:
    """Convert SOURCE, of any size, to a folder OUT of shards that fits read from disk.

    SOURCE is an svmlight (plain or packed), CSV, Parquet, npy or npz file. It is read in pieces, so that the
    memory holds one shard. The same command after an interruption goes on where it was.
    """
    column = int(target) if target is not None and target.lstrip("-").isdigit() else target
    with _progress(quiet=quiet) as told:
        manifest = convert(
            source, out, format=data_format, target=column, n_features=n_features, dtype=dtype,
            shard_bytes=shard_mb * _MEGABYTE, merge=merge, progress=told,
        )  # fmt: skip
    facts = {
        "rows": manifest.rows, "columns": manifest.columns, "entries": manifest.entries,
        "bytes": manifest.bytes, "shards": len(manifest.shards),
    }  # fmt: skip
    if not quiet:
        words = "{rows} rows, {columns} columns, {entries} entries in {shards} shards of {bytes} bytes"
        say(output, words.format(**facts), facts)
    return 0


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[float, float], None] | None]:
    """A line on a terminal that says what is done and how long the rest takes."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
        yield lambda done, left: live.update(f"{done:.1%} done, {left:.0f} s left")
