"""The report: one HTML page that needs nothing else, not even a network, and the same in Markdown.

Each part of the lab keeps its section in the folder of the results; the page is put together from those that
are there, so that parts can be run one after the other.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 74rem; margin: 2rem auto; padding: 0 1rem; }
body { color: #222; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid #ccc; padding: .25rem .6rem; text-align: left; vertical-align: top; }
th { background: #f2f2f2; }
td.bad { background: #fde3d8; font-weight: bold; }
figure { margin: 1.5rem 0; }
figcaption { color: #444; max-width: 60rem; }
img { max-width: 100%; height: auto; }
.scroll { overflow-x: auto; }
"""


class Table(NamedTuple):
    """Rows of text; cells that begin with an exclamation mark are bad news, and marked."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


class Picture(NamedTuple):
    """An SVG file in the folder `pictures`."""

    file: str
    caption: str


class Section(NamedTuple):
    """A part of the report."""

    title: str
    paragraphs: Sequence[str]
    tables: Sequence[Table]
    pictures: Sequence[Picture]


ORDER = ("theorems", "rates", "figures", "ends")
TITLE = "The papers behind gapfit, run"


def keep(folder: Path, name: str, section: Section) -> None:
    """Put a section into the folder and write the page anew."""
    target = folder / "sections" / f"{name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(section))
    write(folder)


def write(folder: Path) -> Path:
    """index.html and report.md, of all sections in the folder."""
    sections = []
    for name in ORDER:
        path = folder / "sections" / f"{name}.json"
        if path.is_file():
            sections.append(_read(path))
    page = folder / "index.html"
    page.write_text(html(TITLE, sections, folder / "pictures"), encoding="utf-8")
    (folder / "report.md").write_text(markdown(TITLE, sections), encoding="utf-8")
    return page


def _read(path: Path) -> Section:
    title, paragraphs, tables, pictures = json.loads(path.read_text())
    return Section(
        title, paragraphs, [Table(*table) for table in tables], [Picture(*picture) for picture in pictures]
    )


def html(title: str, sections: Sequence[Section], pictures: Path) -> str:
    """The whole page, pictures inside."""
    body = "".join(_html_section(section, pictures) for section in sections)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
        f"<style>{STYLE}</style></head><body><h1>{escape(title)}</h1>{body}</body></html>\n"
    )


def _html_section(section: Section, folder: Path) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    parts += [f"<p>{escape(text)}</p>" for text in section.paragraphs]
    for table in section.tables:
        head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
        rows = "".join("<tr>" + "".join(map(_html_cell, row)) + "</tr>" for row in table.rows)
        parts.append(
            f"<h3>{escape(table.caption)}</h3><div class=scroll><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )
    for file, caption in section.pictures:
        data = b64encode((folder / file).read_bytes()).decode()
        parts.append(
            f'<figure><img alt="{escape(caption, quote=True)}" src="data:image/svg+xml;base64,{data}">'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )
    return "".join(parts)


def _html_cell(cell: str) -> str:
    return f'<td class="bad">{escape(cell[1:])}</td>' if cell.startswith("!") else f"<td>{escape(cell)}</td>"


def markdown(title: str, sections: Sequence[Section]) -> str:
    """The same as plain text; pictures by name."""
    lines = [f"# {title}", ""]
    for section in sections:
        lines += [f"## {section.title}", ""]
        for text in section.paragraphs:
            lines += [text, ""]
        for table in section.tables:
            lines += [f"### {table.caption}", "", markdown_table(table), ""]
        for file, caption in section.pictures:
            lines += [f"![{caption}](pictures/{file})", ""]
    return "\n".join(lines)


def markdown_table(table: Table) -> str:
    """Head, rule and rows."""

    def line(cells: Sequence[Any]) -> str:
        texts = (f"**{cell[1:]}**" if cell.startswith("!") else cell for cell in map(str, cells))
        return "| " + " | ".join(text.replace("|", r"\|") for text in texts) + " |"

    return "\n".join([line(table.head), "|" + "---|" * len(table.head), *map(line, table.rows)])
