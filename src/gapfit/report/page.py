"""The facts as one HTML page: no script, no network, light and dark."""

from collections.abc import Sequence
from html import escape
from math import isfinite
from typing import Any

import numpy as np

from gapfit.report.facts import WORSE, Bin, Facts, Feature, Table
from gapfit.report.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axes, Point, finite
from gapfit.solution import Status

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c1e21; --soft: #5c6370; --edge: #d5d8dd;
  --band: #f4f5f7; --upper: #0072b2; --lower: #d55e00; --gap: #00805f; }
@media (prefers-color-scheme: dark) { :root { --paper: #15171a; --ink: #e6e8eb; --soft: #9aa2ad;
  --edge: #3a3f46; --band: #1e2126; --upper: #56b4e9; --lower: #f0884a; --gap: #2fc79b; } }
* { box-sizing: border-box; }
body { font: 15px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { max-width: 46rem; } .soft { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .6rem 0; }
th, td { border-bottom: 1px solid var(--edge); padding: .3rem .8rem .3rem 0; text-align: right; }
th { font-weight: 600; color: var(--soft); } th:first-child, td:first-child, .words td { text-align: left; }
tr.first td { font-weight: 600; }
.verdict { border-left: 4px solid var(--gap); background: var(--band); padding: .7rem 1rem; margin: 1rem 0; }
.verdict.open { border-color: var(--lower); }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; } .pictures svg { flex: 1 1 22rem; max-width: 30rem; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
svg .title { fill: var(--ink); font-size: 12.5px; font-weight: 600; }
.frame { fill: none; stroke: var(--edge); } .grid { stroke: var(--edge); stroke-width: .5; }
.line { fill: none; stroke-width: 1.8; } .whisker { stroke-width: 1.5; }
.upper { stroke: var(--upper); } .lower { stroke: var(--lower); } .gap { stroke: var(--gap); }
.plain { stroke: var(--soft); stroke-dasharray: 4 3; }
.dot { stroke: none; } .dot.upper { fill: var(--upper); } .dot.lower { fill: var(--lower); }
.dot.gap { fill: var(--gap); }
.bars { display: grid; grid-template-columns: max-content 1fr max-content; gap: .25rem .8rem; }
.bars svg { width: 100%; height: 1.2rem; } .bars span { font-variant-numeric: tabular-nums; }
.zero { stroke: var(--soft); stroke-width: 1; }
.weight { stroke: var(--upper); stroke-width: 9; stroke-linecap: round; vector-effect: non-scaling-stroke; }
"""


CLIP = (
    f'<svg width="0" height="0" style="position:absolute" aria-hidden="true"><clipPath id="frame">'
    f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}"/>'
    "</clipPath></svg>"
)


def page(title: str, facts: Facts, told: Sequence[tuple[str, str]]) -> str:
    """The page; `told` are lines about where model and data come from."""
    sections = [
        _certificate(facts.model), _convergence(facts.model), _scores(facts), _confusion(facts),
        _certain(facts), _calibration(facts.reliability), _features(facts.features), _parameters(facts.model),
    ]  # fmt: skip
    origin = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in told)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>{CLIP}"
        f'<h1>{escape(title)}</h1><table class="words">{origin}</table>'
        f"{''.join(sections)}</body></html>\n"
    )


def _section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>" if any(parts) else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, first: bool = False) -> str:
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = [
        f"<tr{' class=first' if first and k == 0 else ''}>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in row)
        + "</tr>"
        for k, row in enumerate(rows)
    ]
    return f'<div class="scroll"><table><tr>{names}</tr>{"".join(lines)}</table></div>'


# -- what is proved ---------------------------------------------------------------------------------------


def _certificate(model: Any) -> str:
    proofs = sorted(model.certificates_, key=lambda one: -one.relative_gap)
    worst, many = proofs[0], len(proofs) > 1
    kind = "verdict" if model.converged_ else "verdict open"
    words = escape(model.status_.value[0].upper() + model.status_.value[1:]) + "."
    if model.status_ is not Status.LOCAL:
        lies = f"The optimum lies between {worst.dual:.8g} and {worst.primal:.8g}: the model is at most"
        lie = f"{len(proofs)} convex problems were solved, and each solution is at most"
        words += (
            f" {lie if many else lies} {max(one.gap for one in proofs):.2g} from "
            f"{'its optimum' if many else 'it'}, {worst.relative_gap:.2g} of the objective; "
            f"tol was {model.tol:.2g}."
        )
    rows = [
        [str(k + 1), f"{one.primal:.8g}", f"{one.dual:.8g}", f"{one.gap:.3g}", f"{one.relative_gap:.3g}"]
        for k, one in enumerate(proofs[:10])
    ]
    several = f"<p>Of {len(proofs)}, the worst:</p>" if len(proofs) > len(rows) else ""
    head = ["", "objective", "lower bound", "gap", "relative gap"]
    return _section(
        "What is proved", f'<div class="{kind}">{words}</div>', several,
        _table(head, rows) if many else "",
    )  # fmt: skip


def _convergence(model: Any) -> str:
    history, which = getattr(model, "history_", []), ""
    if history and isinstance(history[0], list):
        which = f" Of {len(history)} fits, that with the largest gap."
        history = max(history, key=lambda part: part[-1].gap)
    if len(history) < 2:
        return ""
    upper, lower = np.inf, -np.inf
    high: list[Point] = []
    low: list[Point] = []
    gaps: list[Point] = []
    proved: list[list[Point]] = [[], [], []]
    last = history[-1].primal
    for record in history:
        below = -np.inf if not record.proved and record.dual > last else record.dual
        upper, lower = (
            (record.primal, record.dual) if record.proved else (min(upper, record.primal), max(lower, below))
        )
        points = (record.time, upper), (record.time, lower), (record.time, upper - lower)
        for line, point in zip((high, low, gaps), points, strict=True):
            line.append(point)
        if record.proved:
            for dots, point in zip(proved, points, strict=True):
                dots.append(point)
    ends = history[0].time, history[-1].time
    reach = 3 * max(abs(last), abs(history[-1].dual) if isfinite(history[-1].dual) else 0.0, 1e-300)
    heights = [min(max(y, last - reach), last + reach) for _, y in finite(high) + finite(low)]
    bounds = Axes("The optimum lies between", "seconds", "objective", ends, (min(heights), max(heights)))
    for kind, line, dots in (("upper", high, proved[0]), ("lower", low, proved[1])):
        bounds.line(finite(line), kind)
        bounds.dots(finite(dots), kind)
    bounds.legend([("upper", "upper bound"), ("lower", "lower bound")])
    shown = bounds.svg("Both bounds of the objective against time")
    falling = [(x, y) for x, y in finite(gaps) if y > 0]
    if len(falling) > 1:
        sizes = [y for _, y in falling]
        fall = Axes("Distance to the optimum", "seconds", "gap", ends, (min(sizes), max(sizes)), "y")
        fall.line(falling, "gap")
        fall.dots([(x, y) for x, y in finite(proved[2]) if y > 0], "gap")
        shown += fall.svg("The gap against time")
    note = "Dots are proved; lines between them follow what the solver claimed on its way."
    told = f'<p class="soft">{note}{which}</p>'
    return _section("How it was fitted", f'<div class="pictures">{shown}</div>', told)


def _certain(facts: Facts) -> str:
    rows = []
    if facts.certified is not None:
        rows.append(["are provably those of the exact optimum", f"{facts.certified:.1%}", f"{facts.rows}"])
    if facts.robust is not None:
        share, rows_asked = facts.robust
        told = "would be the same whichever single label of the training data were wrong"
        rows.append([told, f"{share:.1%}", f"{rows_asked}"])
    return _section(
        "How certain predictions are", _table(["predictions that", "share", "of rows"], rows) if rows else ""
    )


# -- what it does -----------------------------------------------------------------------------------------


def _scores(facts: Facts) -> str:
    if not facts.scores:
        return ""
    table: Table = facts.scores
    names = list(table["this model"])
    rows = [
        [who, *(f"{numbers[name]:.4g}" if name in numbers else "" for name in names)]
        for who, numbers in table.items()
    ]
    note = ""
    if "F1" in names:
        positive = escape(str(facts.model.classes_[1]))
        note = f"<p>F1 is that of the label {positive}, as are probabilities below.</p>"
    return _section(f"Scores on {facts.rows} rows", _table(["", *names], rows, first=True), note)


def _confusion(facts: Facts) -> str:
    if facts.confusion is None or len(facts.confusion[0]) > 20:
        return ""
    classes, counts = facts.confusion
    rows = [[f"{name}", *map(str, row)] for name, row in zip(classes, counts.tolist(), strict=True)]
    return _section(
        "Labels, and what was predicted", _table(["label", *(f"as {one}" for one in classes)], rows)
    )


def _calibration(bins: Sequence[Bin]) -> str:
    if not bins:
        return ""
    axes = Axes("Are probabilities what they say?", "predicted", "observed", (0.0, 1.0), (0.0, 1.0))
    axes.line([(0.0, 0.0), (1.0, 1.0)], "plain")
    for one in bins:
        axes.whisker((one.predicted, one.low), (one.predicted, one.high), "upper")
    axes.line([(one.predicted, one.observed) for one in bins], "upper")
    axes.dots([(one.predicted, one.observed) for one in bins], "upper")
    n = sum(one.size for one in bins)
    off = sum(one.size * abs(one.predicted - one.observed) for one in bins) / n
    told = (
        f"<p>Samples in {len(bins)} groups of about equal size by their probability, and the share of each "
        f"that was positive, with intervals of 95 %. On average they are off by {off:.3f}.</p>"
    )
    picture = axes.svg("Observed shares against predicted probabilities")
    return _section("Calibration", told, f'<div class="pictures">{picture}</div>')


# -- what it is made of -----------------------------------------------------------------------------------


def _features(features: Sequence[Feature]) -> str:
    if not features:
        return ""
    ranges = all(isfinite(one.low) and isfinite(one.high) for one in features)
    ends = [0.0, *(one.weight for one in features)]
    if ranges:
        ends += [end for one in features for end in (one.low, one.high)]
    low, high = min(ends), max(ends)
    width = (high - low) or 1.0

    def at(value: float) -> float:
        return 4 + 392 * (value - low) / width

    rows = []
    for one in features:
        line = ""
        told = f"{one.weight:.4g}"
        if ranges:
            ends_at = f'x1="{at(one.low):.1f}" y1="10" x2="{at(one.high):.1f}" y2="10"'
            line = f'<line class="whisker upper" {ends_at}/>'
            told += f" [{one.low:.3g}, {one.high:.3g}]"
        zero = f'<line class="zero" x1="{at(0.0):.1f}" y1="0" x2="{at(0.0):.1f}" y2="20"/>'
        dot = f'<path class="weight" d="M{at(one.weight):.1f} 10h0"/>'
        rows.append(
            f"<span>{escape(one.name)}</span>"
            f'<svg viewBox="0 0 400 20" preserveAspectRatio="none" aria-hidden="true">{zero}{line}{dot}</svg>'
            f"<span>{escape(told)}</span>"
        )
    note = (
        f"<p>Every model whose objective is within {WORSE:.0%} of the optimum has its weights in these "
        "ranges; this is proved. Weights are of the features as the model takes them: compare them if these "
        "have one scale.</p>"
    )
    return _section("The largest weights", note if ranges else "", f'<div class="bars">{"".join(rows)}</div>')


def _parameters(model: Any) -> str:
    rows = [[name, repr(value)] for name, value in sorted(model.get_params(deep=False).items())]
    table = _table(["", "value"], rows).replace("<table>", '<table class="words">')
    return _section(f"Parameters of {type(model).__name__}", table)
