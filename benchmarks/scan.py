"""gapfit beside its peers on problems that nobody has chosen: all of them are drawn from a seed.

    python benchmarks/scan.py [--cases 400] [--seed N] [--only "hinge"] [--largest 2e7] [--no-regret]

The seed is drawn anew unless it is given, and printed. One thread, CPU time. A run that was stopped goes on
where it was: `--seed N` again. What was looked at while tuning is no evidence: tune on some seeds, report on
others.
Results go to build/scan/SEED (or --out): records.jsonl, report.md, picture.png.
"""

import argparse
import json
import os
import secrets
from dataclasses import replace
from pathlib import Path

from drawn.data import files
from drawn.problems import as_dict, draw
from drawn.race import race
from drawn.report import page, picture
from drawn.worker import Worker
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

FOLDER = Path(os.environ.get("GAPFIT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default=None, help='families whose name has this in it, as "hinge" or "l1"')
    parser.add_argument("--largest", type=float, default=2e8, help="entries of X, at most")
    parser.add_argument("--no-regret", action="store_true", help="do not run all other solvers of gapfit")
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    seed = secrets.randbelow(2**31) if given.seed is None else given.seed
    console = Console()
    out = given.out or Path("build/scan") / str(seed)
    out.mkdir(parents=True, exist_ok=True)
    console.print(f"seed {seed}, into {out}")
    there, path = files(FOLDER), out / "records.jsonl"
    known = {}
    if path.is_file():
        known = {line["drawn"]["case"]: line["record"] for line in map(json.loads, path.open())}
    drawn = [draw(seed, case, there, given.largest, given.only) for case in range(given.cases)]
    worker = Worker(FOLDER)
    bar = Progress(
        TextColumn("scan"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console
    )
    with bar, path.open("a") as file:
        task = bar.add_task("scan", total=len(drawn), completed=len(known))
        for problem in drawn:
            if problem.case in known:
                continue
            record = known[problem.case] = race(worker, problem, regret=not given.no_regret)
            file.write(json.dumps({"drawn": as_dict(problem), "record": record}) + "\n")
            file.flush()
            bar.advance(task)
    worker.end()
    records = [(replace(each, **known[each.case].get("shape", {})), known[each.case]) for each in drawn]
    text = page(seed, records)
    (out / "report.md").write_text(text)
    picture(records, out / "picture.png")
    console.print(text, markup=False)


if __name__ == "__main__":
    main()
