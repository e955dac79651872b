"""Draws the house from its syntax trees: every unit of the package above those that it imports."""

import sys
from collections import Counter
from pathlib import Path
from textwrap import fill

import matplotlib.pyplot as plt

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from house import FILES, IMPORTS, unit_of

COMMON = (
    3  # files that so many units import, and that need no more than each other, are there for all of them
)
WIDTH, HEIGHT = 1.55, 0.42  # of a box and the room about it, in inches
A_ROW = 7  # boxes side by side, at most: a floor of more has several rows
BLUE, GREY = "#0072B2", "#8a8a8a"


def arrows():
    """Who imports whom when it is loaded or run; lazily too, where that does not point back."""
    found = {unit_of(path): set() for path in FILES}
    for lazy in (False, True):
        for path in FILES:
            for one in IMPORTS[path]:
                unit = unit_of(path)
                back = one.unit == unit or unit in below(one.unit, found)
                if one.lazy is lazy and not (one.typing or back):
                    found[unit].add(one.unit)
    del found["__init__"], found["__main__"]  # they import all the rest
    return {unit: targets & found.keys() for unit, targets in found.items()}


def below(unit, edges):
    """All that a unit leads to."""
    seen, left = set(), [unit]
    while left:
        for target in edges.get(left.pop(), ()):
            if target not in seen:
                seen.add(target)
                left.append(target)
    return seen


def without_detours(edges):
    """The arrows that no way round replaces."""
    return {
        unit: {t for t in targets if not any(t in below(other, edges) for other in targets - {t})}
        for unit, targets in edges.items()
    }


def floors(edges):
    """Each unit one floor above the highest that it imports."""
    found = {}

    def floor(unit):
        if unit not in found:
            found[unit] = 1 + max((floor(target) for target in edges[unit]), default=-1)
        return found[unit]

    for unit in edges:
        floor(unit)
    return found


def places(edges, floor):
    """Where each unit stands: on its floor, near the middle of what it imports."""
    at, height = {}, 0.0
    for level in range(max(floor.values()) + 1):
        units = sorted(unit for unit in edges if floor[unit] == level)
        middle = {u: sum(at[t][0] for t in edges[u]) / len(edges[u]) if edges[u] else 0.0 for u in units}
        units.sort(key=lambda unit: (middle[unit], unit))
        rows = -(-len(units) // A_ROW)
        for row in (units[k::rows] for k in range(rows)):
            for k, unit in enumerate(row):
                at[unit] = ((k - (len(row) - 1) / 2) * WIDTH, height)
            height += 0.6
        height += 0.25
    return at


def shared(candidates, edges):
    """The files that all may import: they stand below the picture, without arrows."""
    popular = Counter(target for targets in edges.values() for target in targets)
    found = {unit for unit in candidates if popular[unit] >= COMMON}
    while above := {unit for unit in found if edges[unit] - found - {"compiled"}}:
        found -= above
    return found


def draw(path):
    """The picture, as a file."""
    edges, lines, files = arrows(), Counter(), Counter()
    for file in FILES:
        lines[unit_of(file)] += len(file.read_text(encoding="utf-8").splitlines())
        files[unit_of(file)] += 1
    common = shared({unit for unit in edges if files[unit] == 1}, edges)
    edges = {unit: targets - common for unit, targets in edges.items() if unit not in common}
    edges = without_detours(edges)
    at = places(edges, floors(edges))
    figure, axes = plt.subplots(figsize=(A_ROW * WIDTH, 0.7 + max(y for _, y in at.values())))
    for unit, targets in edges.items():
        for target in targets:
            (x, y), (u, v) = at[unit], at[target]
            axes.plot([x, u], [y - HEIGHT / 2, v + HEIGHT / 2], color=GREY, linewidth=0.9, zorder=0)
    for unit, (x, y) in at.items():
        folder = files[unit] > 1
        style = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": BLUE if folder else GREY}
        told = (
            f"{unit}/\n{files[unit]} files, {lines[unit]:,} lines"
            if folder
            else f"{unit}\n{lines[unit]} lines"
        )
        axes.text(x, y, told, ha="center", va="center", fontsize=8.5, bbox=style)
    told = "Below all of it: " + ", ".join(sorted(common))
    axes.text(0, -0.5, fill(told, 120), ha="center", va="top", fontsize=8.5, color="#444444")
    axes.set_axis_off()
    axes.margins(0.02)
    figure.savefig(path, bbox_inches="tight")
    plt.close(figure)


def setup(app):
    """Draw before the pages are read."""

    def before(app):
        folder = Path(app.srcdir) / "auto_house"
        folder.mkdir(exist_ok=True)
        draw(folder / "house.svg")

    app.connect("builder-inited", before)
    return {"parallel_read_safe": True}
