"""What a scan says: means, worst cases, every loss by family and shape, and how well `auto` chose."""

import numpy as np

from .problems import TINY
from .race import reached

BAD = 2.0  # times as slow as a peer: listed with all that is known


def rows_of(records, timed="seconds"):
    """(drawn, ours / fastest peer, that peer) where some peer got there; by loops, or by runs timed alone."""
    found = []
    for drawn, record in records:
        if record["ours"] is None:
            continue
        there = {name: run for name, run in record["peers"].items() if reached(run, drawn)}
        if there:
            name = min(there, key=lambda peer: there[peer][timed])
            found.append((drawn, record["ours"][timed] / there[name][timed], name, record))
    return found


def regrets(records):
    """(drawn, auto / best solver, that solver)."""
    found = []
    for drawn, record in records:
        there = {name: run for name, run in record["solvers"].items() if reached(run, drawn)}
        if record["ours"] and there:
            name = min(there, key=lambda solver: there[solver]["seconds"])
            found.append((drawn, record["ours"]["seconds"] / there[name]["seconds"], name))
    return found


def figures(ratios):
    """Geometric mean, 95th percentile, worst, and how many are above one."""
    ratios = np.array(ratios)
    mean = float(np.exp(np.log(ratios).mean()))
    above = f"{(ratios > 1).sum()} of {len(ratios)}"
    return f"{mean:.2f} | {np.quantile(ratios, 0.95):.2f} | {ratios.max():.2f} | {above}"


def page(seed, records):
    """Markdown."""
    rows, chosen = rows_of(records), regrets(records)
    failed = [(drawn, record) for drawn, record in records if record["failed"]]
    alone = len(records) - len(rows) - sum(record["ours"] is None for _, record in records)
    lines = [
        f"# {len(records)} problems drawn from seed {seed}", "",
        "CPU seconds, one thread, ours / fastest peer at equal accuracy, compile time apart.",
        "Runs of under 20 ms are timed in loops; `alone` they are timed one by one, each after a pause.",
        f"No peer got there in time: {alone}. Ours failed or was not accurate: {len(failed)}.", "",
        "| | geometric mean | 95th percentile | worst | slower than a peer |", "|---|---|---|---|---|",
    ]  # fmt: skip
    if rows:
        lines.append(f"| **all** | {figures([row[1] for row in rows])} |")
        single = rows_of(records, "alone")
        lines.append(f"| all, each run alone | {figures([row[1] for row in single])} |")
        tiny = [ratio for drawn, ratio, *_ in single if drawn.size == "tiny"]
        lines += [f"| tiny, each run alone | {figures(tiny)} |"] if tiny else []
        lines += _groups(rows, lambda drawn: drawn.size)
        lines += _groups(rows, lambda drawn: drawn.family)
    if chosen:
        lines += ["", "## `auto` / best of all solvers", "",
                  "| | geometric mean | 95th percentile | worst | above one |", "|---|---|---|---|---|",
                  f"| all | {figures([row[1] for row in chosen])} |"]  # fmt: skip
        worst = sorted(chosen, key=lambda row: -row[1])[:15]
        lines += ["", *(f"- {ratio:.2f}: {solver} on {drawn}" for drawn, ratio, solver in worst)]
    lines += ["", f"## Slower than a peer by more than {BAD:g}", ""]
    for drawn, ratio, name, record in sorted(rows, key=lambda row: -row[1]):
        if ratio > BAD:
            ours, other = record["ours"]["seconds"], record["peers"][name]["seconds"]
            times = f"{1e3 * ours:.2f} against {1e3 * other:.2f} ms"
            lines.append(f"- {ratio:.2f}: {times}, {name}: {drawn} ({drawn.case})")
    lines += [
        "",
        "## Failed",
        "",
        *(f"- {drawn} ({drawn.case}): {record['failed']}" for drawn, record in failed),
    ]
    return "\n".join(lines) + "\n"


def _groups(rows, key):
    names = sorted({key(drawn) for drawn, *_ in rows})
    return [
        f"| {name} | {figures([ratio for drawn, ratio, *_ in rows if key(drawn) == name])} |"
        for name in names
    ]


def picture(records, path):
    """Every problem a dot: its size across, ours / fastest peer upwards."""
    import matplotlib.pyplot as plt

    rows = rows_of(records)
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for size in sorted({drawn.size for drawn, *_ in rows}):
        here = [(drawn.n * drawn.d * drawn.density, ratio) for drawn, ratio, *_ in rows if drawn.size == size]
        axes.scatter(*zip(*here, strict=True), s=14, alpha=0.7, label=size)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.axvline(TINY, color="grey", linewidth=0.5, linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel="entries of X", ylabel="ours / fastest peer")
    figure.legend(frameon=False, fontsize=8, loc="outside right upper")  # no corner is free of dots
    figure.savefig(path, dpi=150)
    plt.close(figure)
