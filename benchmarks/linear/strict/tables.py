"""From the results to tables: rows of cells, the same for Markdown and HTML."""

from typing import NamedTuple

import numpy as np
from linear.strict.cases import SECTIONS

LOST = "✗"


class Cell(NamedTuple):
    text: str
    lost: bool = False


class Table(NamedTuple):
    title: str
    head: list
    rows: list  # of lists of cells
    foot: list  # the same: geometric means and worst cases
    notes: list


def tables(results):
    """One table for each section that has results."""
    found = sorted({int(row["section"]) for row in results})
    return [_table(section, [row for row in results if int(row["section"]) == section]) for section in found]


def _table(section, results):
    columns = list(dict.fromkeys(row["column"] for row in results if row["column"]))
    lines = {}
    for row in results:
        lines.setdefault((row["data"], row["loss"], row["penalty"], row["alpha"], row["tol"]), []).append(row)
    ratios, in_cpu = ({column: [] for column in columns} for _ in range(2))
    rows, notes = [], []
    for (data, loss, penalty, alpha, tol), line in lines.items():
        ours = min((float(row["ours_seconds"]) for row in line if row["ours_seconds"]), default=np.nan)
        uncertified = any(row["outcome"].startswith("ours") for row in line)
        text = f"not certified {LOST}" if uncertified else _seconds(ours)
        cells = [Cell(data), Cell(f"{loss} + {penalty}"), Cell(alpha), Cell(tol), Cell(text, uncertified)]
        if section == 4:
            cells.append(Cell(_megabytes(line, "ours")))
        for column in columns:
            peers = [row for row in line if row["column"] == column]
            cell, ratio, ratio_cpu = _duel(peers)
            cells.append(cell)
            if ratio is not None:
                ratios[column].append(ratio)
                in_cpu[column].append(ratio_cpu)
            notes += [
                f"{data}, {loss}, alpha {alpha}: {row['peer']} {row['outcome'].removeprefix('no: ')}"
                for row in peers
                if row["outcome"].startswith("no: ") and len(peers) == 1
            ]
        rows.append(cells)
    head = ["data", "objective", "alpha", "tol", "gapfit, s"]
    head += ["gapfit, MB"] if section == 4 else []
    head += [f"{column}: s (ratio)" for column in columns]
    blank = [Cell("")] * (len(head) - len(columns) - 1)
    foot = []
    if columns:
        foot.append([Cell("geometric mean"), *blank, *(Cell(_mean(ratios[c])) for c in columns)])
        foot.append([Cell("the same, CPU seconds"), *blank, *(Cell(_mean(in_cpu[c])) for c in columns)])
        worst = [max(ratios[c], default=np.nan) for c in columns]
        foot.append([Cell("worst"), *blank, *(Cell(_ratio(value), value > 1) for value in worst)])
        lost = [f"{sum(r > 1 for r in ratios[c])} of {len(ratios[c])}" for c in columns]
        foot.append([Cell("lost"), *blank, *(Cell(text) for text in lost)])
    return Table(f"{section}. {SECTIONS[section]}", head, rows, foot, list(dict.fromkeys(notes)))


def _duel(peers):
    """The fastest peer of a column: what to show, and the ratios of seconds and CPU seconds for the means."""
    ok = [row for row in peers if row["ratio"] and row["peer_seconds"]]
    if ok:
        best = min(ok, key=lambda row: float(row["peer_seconds"]))
        ratio = float(best["ratio"])
        name = f" {_options(best['peer'])}" if len(peers) > 1 else ""
        memory = f", {_megabytes([best], 'peer')} MB" if best["section"] == "4" else ""
        mark = f" {LOST}" if ratio > 1 else ""
        text = f"{_seconds(float(best['peer_seconds']))}{name}{memory} ({_ratio(ratio)}{mark})"
        return Cell(text, ratio > 1), ratio, float(best["ratio_cpu"])
    never = [row for row in peers if row["outcome"] == "never"]
    if never:
        ratio = max(float(row["ratio"]) for row in never)
        best = min(float(row["peer_best"]) for row in never if row["peer_best"])
        reached = f", reached {best:.1e}" if np.isfinite(best) else ""
        return Cell(f"never (< {_ratio(ratio)}{reached})"), ratio, ratio
    return Cell("" if not peers else "not comparable"), None, None


def _mean(ratios):
    return _ratio(float(np.exp(np.mean(np.log(ratios))))) if ratios else ""


def _ratio(ratio):
    return "" if np.isnan(ratio) else f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"


def _seconds(seconds):
    return f"{seconds:.3f}" if seconds < 10 else f"{seconds:.1f}"


def _megabytes(rows, whose):
    known = [float(row[f"{whose}_megabytes"]) for row in rows if row[f"{whose}_megabytes"]]
    return f"{max(known):.0f}" if known else "?"


def _options(peer):
    """liblinear[dual=True] as "dual=True", sklearn_logistic[solver=lbfgs] as "lbfgs"."""
    inside = peer.partition("[")[2].rstrip("]")
    return {"dual=True": "dual", "dual=False": "primal"}.get(inside, inside.removeprefix("solver="))


def markdown(table):
    def line(cells):
        texts = [f"**{cell.text}**" if cell.lost else cell.text for cell in cells]
        return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"

    head = [Cell(text) for text in table.head]
    lines = [f"## {table.title}", "", line(head), "|" + "---|" * len(head)]
    lines += [line(row) for row in table.rows + table.foot]
    lines += [""] + [f"- {note}" for note in table.notes]
    return "\n".join(lines).rstrip() + "\n"
