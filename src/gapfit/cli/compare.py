"""`gapfit compare data`: a race of all solvers, and of installed peers, on your own data."""

import logging
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy import sparse

from gapfit.cli.files import Named, Reading, aside, check_pictures, check_place, output_format, reading, say
from gapfit.cli.options import alpha_option, chosen_alpha
from gapfit.cli.train import CLASSIFICATION, REGRESSION
from gapfit.datasets import Data
from gapfit.lab import page, race
from gapfit.lab.peers import Task
from gapfit.problem import Problem

PICTURES = (".png", ".svg", ".pdf")


@click.command()
@click.argument("data")
@click.option("--loss", type=Named([*CLASSIFICATION, *REGRESSION]), default="hinge", show_default=True)
@click.option("--penalty", type=Named(["l2", "l1"]), default="l2", show_default=True)
@alpha_option
@click.option("-c", "--cost", "C", type=float, help="liblinear's C instead of alpha: alpha = 1 / (C n).")
@click.option("--intercept", is_flag=True, help="With an unpenalised intercept.")
@click.option("-e", "--tol", type=float, default=1e-6, show_default=True, help="Relative gap to be reached.")
@click.option("--max-time", type=float, default=10.0, show_default=True, help="Seconds for each solver.")
@click.option("--peers/--no-peers", default=True, help="Race other installed libraries as well.")
@click.option(
    "-o", "--out", default="compare.png", show_default=True,
    help="The picture (.png, .svg, .pdf), or a page with picture and table (.html).",
)  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="No lines on the way.")
@reading
@output_format
def compare(
    data: str,
    *,
    tol: float,
    max_time: float,
    peers: bool,
    out: str,
    quiet: bool,
    reading: Reading,
    output: str,
    **objective: Any,
) -> int:
    """Race every applicable solver on DATA: certified gap against time, in one picture and one table.

    Times are of this machine at this moment. Compilation is left out. Other libraries are run again and again
    with growing effort, and the time of the first run that was good enough counts.
    """
    target_path = Path(out)
    if target_path.suffix not in (*PICTURES, ".html"):
        raise click.UsageError(f"--out must end in {', '.join(PICTURES)} or .html, got {out}")
    check_place(out)
    check_pictures()
    task = make_task(reading(data), **objective)
    logging.getLogger("gapfit").setLevel(logging.ERROR)
    n, d = task.problem.design.shape
    title = f"{Path(data).name}: {n} x {d}, {task.loss}, {task.penalty}, alpha {task.alpha:.3g}"
    result = race.race(task, tol=tol, max_time=max_time, peers=peers, say=aside(quiet=quiet))
    table = race.table(result)
    _write(result, title, table, target_path)
    shown = f"{title}\n\n{page.markdown_table(table)}\n\nminimum >= {result.bound:.10g}; picture in {out}"
    say(output, shown, race.fields(result))
    return 0


def make_task(
    samples: Data, loss: str, penalty: str, alpha: float | None, C: float | None, intercept: bool
) -> Task:
    """The problem, and the data as other libraries take them."""
    if samples.y is None:
        raise click.UsageError("the data hold no targets; name the column with --target")
    X, y = samples.X, np.asarray(samples.y)
    if sparse.issparse(X):
        X = sparse.csr_matrix(X)  # what all peers take, and they want short indices
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    if loss in CLASSIFICATION:
        classes = np.unique(y)
        if len(classes) != 2:
            raise click.UsageError(f"{loss} needs two classes, and the data hold {len(classes)}")
        y = np.where(y == classes[1], 1.0, -1.0)
    chosen = chosen_alpha(alpha, C, lambda C: 1 / (C * X.shape[0]))
    problem = Problem(X, y, loss, penalty, chosen, intercept=intercept)
    return Task(problem, X, y, loss, penalty, intercept)


def _write(result: race.Result, title: str, table: page.Table, path: Path) -> None:
    figure = race.draw(result, title)
    if path.suffix != ".html":
        figure.savefig(path, dpi=150)
        return
    folder = path.parent
    svg = path.with_suffix(".svg")
    figure.savefig(svg)
    note = (
        "Solvers of gapfit show the gap that they had proved by then. Other libraries prove nothing: theirs "
        "is the objective minus the best lower bound proved in this race."
    )
    picture = page.Picture(svg.name, "Relative gap against seconds.")
    section = page.Section(title, [note], [table], [picture])
    path.write_text(page.html("gapfit compare", [section], folder), encoding="utf-8")
