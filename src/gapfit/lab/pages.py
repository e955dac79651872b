"""The table of the documentation that comes from here: the statements.

    python -m gapfit.lab.pages docs

writes it anew into docs/lab.md, between its markers.
"""

import re
import sys
from pathlib import Path

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


def _code(text: str) -> str:
    """Formulas as they stand: characters that Markdown would take for markup are made harmless."""
    return re.sub(r"([*_<>])", r"\\\1", text)


def write(folder: Path) -> None:
    """Put the table into its page."""
    path = folder / "lab.md"
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n\n{statements_table()}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
