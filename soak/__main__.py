"""python -m soak [--seed N] [--minutes M] [--only NAME] [--scale 0.1] [--case K] [--jobs 2]"""

import argparse
import math
import secrets
import sys
import time
from collections.abc import Iterator
from importlib import import_module

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from soak.job import Job
from soak.pool import run
from soak.report import Row, lines, table

AREAS = ("fuzz", "statements", "whereabouts", "warm", "inputs", "files", "kills", "parallel", "inner")


def jobs(area: str, seed: int, scale: float) -> list[Job]:
    """So many cases of an area; at least one."""
    count = math.ceil(scale * import_module(f"soak.areas.{area}").CASES)
    return [Job(area, seed, case) for case in range(count)]


def until(work: list[Job], deadline: float) -> Iterator[Job]:
    """The jobs, as long as there is time."""
    for job in work:
        if time.monotonic() > deadline:
            return
        yield job


def soak(
    areas: list[str], seed: int, scale: float, processes: int, minutes: float, console: Console
) -> list[Row]:
    """All areas, one after the other, with a bar each."""
    deadline, rows = time.monotonic() + 60 * minutes, []
    columns = (TextColumn("{task.description:12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("failed {task.fields[failed]}"), console=console) as progress:
        for area in areas:
            work, row = jobs(area, seed, scale), Row(area)
            bar = progress.add_task(area, total=len(work), failed=0)
            for done in run(until(work, deadline), processes):
                row.add(done)
                progress.update(bar, advance=1, failed=len(row.failed))
            rows.append(row)
    return rows


def main() -> int:
    """Exit code 1 if anything failed."""
    parser = argparse.ArgumentParser(
        prog="python -m soak", description="gapfit under attack; one table at the end."
    )
    parser.add_argument("--seed", type=int, default=None, help="drawn anew and printed if not given")
    parser.add_argument("--minutes", type=float, default=math.inf, help="end earlier")
    parser.add_argument("--only", choices=AREAS, default=None, help="one area")
    parser.add_argument("--scale", type=float, default=1.0, help="a share of the cases")
    parser.add_argument("--case", type=int, default=None, help="one case of the area --only names")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    given = parser.parse_args()
    seed = secrets.randbelow(2**31) if given.seed is None else given.seed
    console = Console(width=160 if not sys.stdout.isatty() else None)
    console.print(f"seed {seed}")
    areas = [given.only] if given.only else list(AREAS)
    if given.case is not None:
        if given.only is None:
            parser.error("--case needs --only")
        row = Row(given.only)
        for done in run([Job(given.only, seed, given.case)], 1):
            row.add(done)
            for failure in done.outcome.failures:
                console.print(f"{failure.kind}: {failure.text}", markup=False, soft_wrap=True)
        rows = [row]
    else:
        rows = soak(areas, seed, given.scale, given.jobs, given.minutes, console)
        for row in rows:
            for line in lines(row):
                console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(table(rows))
    return 1 if any(row.failed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
