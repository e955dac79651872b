"""The report: Markdown, and one HTML file that needs nothing else."""

from base64 import b64encode
from html import escape

from linear.strict.picture import draw
from linear.strict.tables import markdown, tables

RULES = (
    "Ratios are seconds of gapfit divided by seconds of the peer: below 1 gapfit is faster, above 1 it has "
    "lost (marked ✗).",
    "gapfit runs with default settings until it has *proved* a relative gap of tol; validation and proof are "
    "timed. A peer's iterations (or tolerance) are swept, and its fastest setting counts whose true "
    "suboptimality, recomputed against the best known lower bound, is at most tol.",
    "Runs alternate; the minimum of the rounds counts. Compilation, and the conversion of the data to a "
    "peer's format, are not timed. Threads are as by default on both sides.",
    'A peer that takes more than 20 times as long (60 s at most) is shown as "never": its ratio is below the '
    "number given, and that number goes into the mean.",
)

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
body { color: #222; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid #ccc; padding: .2rem .6rem; text-align: left; }
th, tfoot td { background: #f2f2f2; }
td.lost { background: #fde3d8; font-weight: bold; }
img { max-width: 100%; }
li { margin: .2rem 0; }
"""


def write(store, facts, title):
    """table.md, picture.png, picture.svg and report.html in the folder of the results."""
    found = tables(list(store.results.values()))
    drawn = draw(store, store.folder / "picture")
    rules = "\n".join(f"- {rule}" for rule in (*RULES, *facts))
    parts = [f"# {title}\n", rules + "\n", *map(markdown, found)]
    if drawn:
        parts.insert(2, "![Accuracy against time](picture.png)\n")
    (store.folder / "table.md").write_text("\n".join(parts))
    (store.folder / "report.html").write_text(_html(found, facts, title, store.folder if drawn else None))


def _html(found, facts, title, folder):
    rules = "".join(
        f"<li>{escape(rule).replace('*proved*', '<em>proved</em>')}</li>" for rule in (*RULES, *facts)
    )
    picture = ""
    if folder:
        data = b64encode((folder / "picture.svg").read_bytes()).decode()
        picture = f'<img alt="Accuracy against time" src="data:image/svg+xml;base64,{data}">'
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>'
        f"<body><h1>{escape(title)}</h1><ul>{rules}</ul>{picture}"
        f"{''.join(map(_section, found))}</body></html>\n"
    )


def _section(table):
    def line(cells):
        return "<tr>" + "".join(_cell(cell) for cell in cells) + "</tr>"

    head = "".join(f"<th>{escape(text)}</th>" for text in table.head)
    body, foot = ("".join(map(line, rows)) for rows in (table.rows, table.foot))
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    return (
        f"<h2>{escape(table.title)}</h2><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        f"<tfoot>{foot}</tfoot></table><ul>{notes}</ul>"
    )


def _cell(cell):
    return f'<td class="lost">{escape(cell.text)}</td>' if cell.lost else f"<td>{escape(cell.text)}</td>"
