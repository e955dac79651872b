"""The tables of the documentation that come from here: the statements, and the errata.

    python -m gapfit.lab.pages docs

writes them anew into docs/lab.md and docs/errata.md, between their markers.
"""

import re
import sys
from pathlib import Path

from gapfit.lab.errata import ERRATA, PAPERS
from gapfit.lab.page import Table, markdown_table
from gapfit.lab.theorems import CHAPTERS

BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"


def statements_table() -> str:
    """Every statement that is checked, chapter by chapter."""
    rows = [
        (f"`{s.name}`", _code(s.statement), f"{s.source}{' (corrected)' if s.erratum else ''}")
        for chapter in CHAPTERS
        for s in chapter
    ]
    return markdown_table(Table("", ("name", "statement", "source"), rows))


def errata_table() -> str:
    """Every slip, paper by paper."""
    parts = []
    for key, paper in PAPERS.items():
        rows = [
            (_code(e.place), _code(e.printed), _code(e.correct), f"`{e.check}`" if e.check else "derivation")
            for e in ERRATA
            if e.paper == key
        ]
        table = markdown_table(Table("", ("place", "printed", "correct", "shown by"), rows))
        parts.append(f"## {key}: {paper}\n\n{table}")
    return "\n\n".join(parts)


def _code(text: str) -> str:
    """Formulas as they stand: characters that Markdown would take for markup are made harmless."""
    return re.sub(r"([*_<>])", r"\\\1", text)


def write(folder: Path) -> None:
    """Put both tables into their pages."""
    for name, made in (("lab.md", statements_table()), ("errata.md", errata_table())):
        path = folder / name
        before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
        _, _, after = rest.partition(END)
        path.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
