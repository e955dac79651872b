"""The pictures of the papers' experiments, drawn from measured curves."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gapfit.lab.curves import METHODS
from gapfit.lab.data import RECIPES
from gapfit.lab.experiments import (
    GAP_ALPHAS,
    OBJECTIVE_ALPHAS,
    OBJECTIVE_METHODS,
    TEXTS,
    Job,
    Store,
    race_curves,
)
from gapfit.lab.page import Picture, Section, Table
from gapfit.lab.style import BLACK, CYCLE, DASHES, picture, plain_ticks, shared_legend

_COLOURS = {method: (CYCLE[k], DASHES[k % 3]) for k, method in enumerate(METHODS)}
_LEAST = 1e-10


def draw(store: Store, names: Sequence[str], folder: Path) -> Section:
    """All pictures of these data sets, and the section of the report that shows them."""
    text = (
        "Hinge loss, penalty lambda/2 |w|^2, no intercept but for Pragam-b, one thread. A curve ends when "
        "its time is up or its gap is closed. The error is the best objective so far minus a proved lower "
        "bound of the minimum. A step of Pegasos-1 is an epoch of n single samples, one of liblinear a sweep."
    )
    stand_ins = [RECIPES[name].label for name in names if store.generated(name)]
    paragraphs = [text]
    if stand_ins:
        paragraphs.append(f"Generated stand-ins, the files being absent: {', '.join(stand_ins)}.")
    return Section("The papers' experiments", paragraphs, [], _pictures(store, names, folder))


def _pictures(store: Store, names: Sequence[str], folder: Path) -> list[Picture]:
    texts = [name for name in TEXTS if name in names]
    pictures = []
    if texts:
        pictures = [
            picture(folder, "gap-against-steps", _gap, store, texts, columns=len(texts)),
            picture(folder, "objective", _objective, store, texts, rows=2, columns=len(texts)),
        ]
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    for race in _RACES:
        drawn = picture(folder, race.file, _race, store, names, race, rows=rows, columns=columns)
        pictures.append(drawn._replace(caption=f"{race.title} (the 2009 paper's {race.figure})."))
    return pictures


def _gap(figure: Any, axes: Any, store: Store, names: Sequence[str]) -> None:
    """Certified gap of qp-bmrm against steps for several lambda (the 2007 paper's Figure 2)."""
    for axis, name in zip(axes[0], names, strict=True):
        for k, alpha in enumerate(GAP_ALPHAS):
            curve = store.curve(Job(name, "qp-bmrm", alpha))
            if curve is not None:
                gap = np.maximum(np.array(curve.J) - np.array(curve.D), _LEAST)
                axis.semilogy(curve.step, gap, DASHES[k % 4], color=CYCLE[k], label=f"λ = {alpha:g}")
        axis.set(xlabel="steps", ylabel="gap", title=_title(store, name))
    shared_legend(figure, axes)
    figure.suptitle("qp-bmrm: the certified gap, for several λ")


def _objective(figure: Any, axes: Any, store: Store, names: Sequence[str]) -> None:
    """Objective against time and against steps (the 2007 paper's Figure 3)."""
    for column, name in enumerate(names):
        alpha = OBJECTIVE_ALPHAS[name]
        bounds = store.bounds(name, alpha)
        for method in OBJECTIVE_METHODS:
            curve = store.curve(Job(name, method, alpha))
            if curve is None:
                continue
            colour, dash = _COLOURS[method]
            for row, x in enumerate((curve.seconds, curve.step)):
                axes[row, column].plot(x, curve.J, dash, color=colour, label=method)
        for axis, label in zip(axes[:, column], ("seconds", "steps"), strict=True):
            if bounds is not None:
                axis.axhline(bounds[1] + 1e-3, color=BLACK, lw=0.8, label="minimum + 0.001")
                axis.set_ylim(bounds[0] - 0.02 * bounds[0], 3 * bounds[1])
            axis.set(xscale="log", xlabel=label, ylabel="objective")
            plain_ticks(axis)
        axes[0, column].set_title(f"{_title(store, name)}, λ = {alpha:g}")
    shared_legend(figure, axes)
    figure.suptitle("Objective: bundle, line search, Pegasos")


class _Race(NamedTuple):
    """All methods on all data: a column of their curves against another."""

    y: str  # "error" or "accuracy"
    x: str  # "steps" or "seconds"
    title: str
    figure: str  # of the 2009 paper

    @property
    def file(self) -> str:
        return f"{self.y}-against-{'time' if self.x == 'seconds' else self.x}"


_RACES = (
    _Race("error", "steps", "Primal error against steps", "Figure 1"),
    _Race("error", "seconds", "Primal error against time", "Figure 2"),
    _Race("accuracy", "steps", "Test accuracy against steps", "Figure 3"),
    _Race("accuracy", "seconds", "Test accuracy against time", "Figure 4"),
)


def _race(figure: Any, axes: Any, store: Store, names: Sequence[str], race: _Race) -> None:
    for axis, name in zip(axes.flat, names, strict=False):
        _race_panel(axis, store, name, race)
        power = np.log2(RECIPES[name].alpha)
        axis.set(xlabel=race.x, title=f"{_title(store, name)}, λ = $2^{{{power:.0f}}}$")
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    shared_legend(figure, axes)
    figure.suptitle(race.title)


def _race_panel(axis: Any, store: Store, name: str, race: _Race) -> None:
    is_error = race.y == "error"
    lowest, highest = np.inf, 0.0
    for method, curve, bound in race_curves(store, name):
        if is_error and METHODS[method].intercept:
            continue  # another objective
        colour, dash = _COLOURS[method]
        y = np.maximum(np.array(curve.J) - bound, _LEAST) if is_error else 100 * np.array(curve.accuracy)
        axis.plot(curve.step if race.x == "steps" else curve.seconds, y, dash, color=colour, label=method)
        lowest, highest = min(lowest, float(np.min(y))), max(highest, float(np.max(y)))
    axis.set_xscale("log")
    if is_error:
        axis.set(yscale="log", ylabel="J - min J", ylim=(0.5 * lowest, 2 * min(highest, 10.0)))
    else:
        axis.set(ylabel="accuracy (%)", ylim=(max(highest - 15, 40), highest + 0.5))
    plain_ticks(axis)


def _title(store: Store, name: str) -> str:
    recipe = RECIPES[name]
    if store.generated(name):
        return f"stand-in for {recipe.label}"
    return f"{recipe.label} (for {recipe.stands_for})" if recipe.stands_for else recipe.label


def ends(store: Store, names: Sequence[str]) -> Section:
    """What each method had reached at the end."""
    rows = []
    for name in names:
        for method, curve, bound in race_curves(store, name):
            error = "" if METHODS[method].intercept else f"{curve.J[-1] - bound:.2e}"
            gap = curve.J[-1] - curve.D[-1]
            rows.append(
                (_title(store, name), method, f"{curve.step[-1]:.0f}", f"{curve.seconds[-1]:.2f}", error,
                 f"{gap:.2e}" if np.isfinite(gap) else "none", f"{curve.accuracy[-1]:.2%}")
            )  # fmt: skip
    head = ("data", "method", "steps", "seconds", "J - min J", "certified gap", "test accuracy")
    return Section(
        "The experiments in numbers", [], [Table("Where each method was at the end", head, rows)], []
    )
