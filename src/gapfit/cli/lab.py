"""`gapfit lab`: the papers' theorems and figures, run on this machine."""

import json
import logging
from pathlib import Path
from typing import Any

import click

from gapfit.cli.files import aside, check_pictures, output_format
from gapfit.lab import experiments, figure_pictures, page, theorems
from gapfit.lab.data import RECIPES, default_folder

out_folder = click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("lab"), show_default=True,
    help="Folder for the report and what belongs to it.",
)  # fmt: skip


@click.group()
def lab() -> None:
    """Run the papers behind gapfit: their theorems and their experiments."""
    logging.getLogger("gapfit").setLevel(logging.ERROR)


@lab.command("theorems")
@out_folder
@click.option("--report/--no-report", "wanted", default=True, help="Write index.html, report.md, pictures.")
@click.option("-q", "--quiet", is_flag=True, help="No lines on the way.")
@output_format
def theorems_command(*, out: Path, wanted: bool, quiet: bool, output: str) -> int:
    """Check each statement of the papers: what it says, what was measured, whether it holds.

    Exit code 2 if one does not. With --format json a list of objects with name, statement, measured, holds,
    source, erratum (does it differ from what is printed?).
    """
    if wanted:
        check_pictures(", or --no-report does without them")
    found = theorems.run(aside(quiet=quiet))
    if wanted:
        theorems.report(found, out)
        click.echo(f"{out / 'index.html'} and report.md", err=True)
    if output == "json":
        click.echo(json.dumps(theorems.as_objects(found), indent=1))
    else:
        click.echo("\n".join(_lines(found)))
    return 0 if all(finding.holds for finding in found) else 2


@lab.command("figures")
@out_folder
@click.option(
    "--data", "source", type=click.Path(file_okay=False, path_type=Path),
    help="Folder with the files [default: GAPFIT_DATA]; what is absent is generated.",
)  # fmt: skip
@click.option("--only", multiple=True, type=click.Choice(list(RECIPES)), help="Some of the data sets.")
@click.option("--limit", type=float, default=5.0, show_default=True, help="Seconds for each curve.")
@click.option("-e", "--tol", type=float, default=1e-8, show_default=True, help="Relative gap that ends one.")
@click.option("-q", "--quiet", is_flag=True, help="No lines on the way.")
def figures_command(
    *, out: Path, source: Path | None, only: tuple[str, ...], limit: float, tol: float, quiet: bool
) -> int:
    """Repeat the papers' experiments: gap, objective, error and accuracy against steps and time.

    Each curve is kept when it is done; a run that was stopped goes on where it was.
    """
    check_pictures()
    if source is not None and not source.is_dir():
        raise click.UsageError(f"--data {source} is not a folder")
    names = list(only) or list(RECIPES)
    store = experiments.Store(out, source or default_folder(), limit, tol)
    store.run(experiments.jobs(names), aside(quiet=quiet))
    page.keep(out, "figures", figure_pictures.draw(store, names, out / "pictures"))
    page.keep(out, "ends", figure_pictures.ends(store, names))
    click.echo(f"{out / 'index.html'} and report.md")
    return 0


def _lines(found: list[Any]) -> list[str]:
    lines = []
    for finding in found:
        lines += [
            f"{'holds' if finding.holds else 'FAILS'}  {finding.name}",
            f"       {finding.statement}",
            f"       measured: {finding.measured}",
        ]
    held = sum(finding.holds for finding in found)
    return [*lines, f"{held} of {len(found)} statements hold"]
