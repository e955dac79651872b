"""Accuracy against time: what ours has proved, and where the peers truly are."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

STYLES = {  # colours that everyone can tell apart, and shapes for print
    "rehline": ("ReHLine", "#D55E00", "s"),
    "liblinear[dual=True]": ("liblinear", "#009E73", "o"),
    "snapml": ("snapml", "#CC79A7", "^"),
    "sklearn_sgd[average=False]": ("SGD", "#E69F00", "v"),
    "liblinear_official[dual=True]": ("liblinear-official", "#56B4E9", "D"),
    "skglm": ("skglm", "#999999", "x"),
}
LOWEST = 1e-8


def draw(store, path):
    """One panel for each data set of section 1, at its smallest alpha; False if there is nothing to draw."""
    panels = {}
    for row in store.read("results"):
        if row["section"] == "1":
            panels.setdefault(row["data"], {})[_number(row["alpha"])] = row["key"].split(" | ")[1]
    if not panels:
        return False
    columns = min(3, len(panels))
    height = -(-len(panels) // columns)
    figure, axes = plt.subplots(height, columns, figsize=(4.2 * columns, 3.4 * height), squeeze=False)
    for axis, (data, tasks) in zip(axes.flat, panels.items(), strict=False):
        _panel(axis, store, tasks[min(tasks)])
        axis.set_title(data + ", " + tasks[min(tasks)].rpartition(", ")[2])
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    handles = {
        label: line
        for axis in axes.flat
        for line, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=len(handles), frameon=False)
    figure.suptitle("Hinge without intercept: relative accuracy against seconds")
    figure.set_layout_engine("constrained")
    for kind in ("png", "svg"):
        figure.savefig(
            path.with_suffix(f".{kind}"), dpi=150, metadata={"Date": None} if kind == "svg" else None
        )
    plt.close(figure)
    return True


def _panel(axis, store, task):
    ours = [row for row in store.read("history") if row["task"] == task]
    finest = min((float(row["tol"]) for row in ours), default=0.0)
    points = [(float(r["seconds"]), float(r["gap"])) for r in ours if float(r["tol"]) == finest]
    _line(axis, points, "gapfit, certified", "#0072B2", "*", linewidth=2)
    for solver, (label, colour, marker) in STYLES.items():
        if points := store.points(task, solver):
            _line(axis, points, label, colour, marker)
    for tol in (1e-3, 1e-6):
        axis.axhline(tol, color="0.8", linewidth=0.8, zorder=0)
    axis.set(
        xscale="log", yscale="log", ylim=(LOWEST, 2), xlabel="seconds", ylabel="gap, or true suboptimality"
    )


def _line(axis, points, label, colour, marker, linewidth=1):
    """Of all settings of a peer, the best that was done by then."""
    points = sorted((seconds, max(gap, LOWEST)) for seconds, gap in points if gap < 2)
    points = [(seconds, min(gap for _, gap in points[: k + 1])) for k, (seconds, _) in enumerate(points)]
    axis.plot(*zip(*points, strict=True) if points else ((), ()), marker=marker, markersize=4, color=colour,
              label=label, linewidth=linewidth)  # fmt: skip


def _number(alpha):
    return 2.0 ** int(alpha[2:]) if alpha.startswith("2^") else float(alpha)
