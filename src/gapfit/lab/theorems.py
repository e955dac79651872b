"""Every statement of the papers in one list, run and reported."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gapfit.lab import page, rates, theory_pictures
from gapfit.lab.accelerated import ACCELERATED
from gapfit.lab.lower_bounds import LOWER
from gapfit.lab.nearby import NEARBY
from gapfit.lab.page import Section, Table
from gapfit.lab.pairs import PAIRS
from gapfit.lab.statement import PAPERS, Finding, Statement
from gapfit.lab.upper_bounds import UPPER

CHAPTERS = (LOWER, UPPER, ACCELERATED, PAIRS, NEARBY)


def statements() -> list[Statement]:
    """All of them, in the order of the report."""
    return [statement for chapter in CHAPTERS for statement in chapter]


def run(say: Callable[[str], Any] = lambda text: None) -> list[Finding]:
    """Check every statement."""
    found = []
    everything = statements()
    for k, statement in enumerate(everything, start=1):
        found.append(statement.run())
        say(f"[{k}/{len(everything)}] {statement.name}: {'holds' if found[-1].holds else 'FAILS'}")
    return found


def report(found: list[Finding], folder: Path) -> None:
    """Tables, pictures, the table of rates: into the folder and its page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "theorems.json").write_text(json.dumps(as_objects(found), indent=1))
    measured = rates.measure()
    pictures = theory_pictures.draw(folder / "pictures", measured)
    paragraphs = [
        f"{sum(f.holds for f in found)} of {len(found)} statements hold. An asterisk marks those that differ "
        "from what is printed: the corrected statement is the one checked. alpha is the papers' lambda.",
        "The papers: " + "; ".join(f"{key}: {paper}" for key, paper in PAPERS.items()) + ".",
    ]
    section = Section("Theorems", paragraphs, [table(found)], pictures[:-1])
    page.keep(folder, "theorems", section)
    page.keep(folder, "rates", Section("Rates", [_RATES], [rates.table(measured)], pictures[-1:]))


_RATES = (
    "A1: the samples lie in a ball. A2: the subgradients of the risk do, which follows from A1. A strong "
    "lower bound is one problem that is slow for every eps, a weak one a problem for each eps."
)


def table(found: list[Finding]) -> Table:
    """Statement, measured, verdict."""
    head = ("name", "statement", "measured", "verdict", "source")
    rows = [
        (f"{f.name} *" if f.erratum else f.name, f.statement, f.measured, f.verdict, f.source) for f in found
    ]
    return Table("What is stated, what was measured", head, rows)


def as_objects(found: list[Finding]) -> list[dict[str, Any]]:
    """For machines: name, statement, measured, holds, source, erratum."""
    return [finding._asdict() for finding in found]
