"""Pictures: of a fit, of a search for alpha, of weights along alphas, of what cross-validation chose from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gapfit.solution import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UPPER, _LOWER, _GAP = "#0072b2", "#d55e00", "#009e73"  # told apart by colour-blind eyes, too


def plot_convergence(fit: Any, *, axes: "Sequence[Axes] | None" = None) -> "Sequence[Axes]":
    """Plot upper bound, lower bound and gap against time.

    Dots are proved. Between them, lines follow what the solver claims on its way: the best of it so far.

    Parameters
    ----------
    fit : a `Solution`, a fitted estimator, or a history (a list of records)
        A fit in several parts (one class against the rest) shows the part that ended with the largest gap.
    axes : two matplotlib axes, for the bounds and for the gap; made if not given.

    Returns
    -------
    axes : the two axes
    """
    history = _history(fit)
    if axes is None:
        _, axes = _pyplot().subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    time, upper, lower, gap, proved = _curves(history)
    dots: dict[str, Any] = dict(marker=".", markevery=proved.tolist(), linewidth=1.2)
    left, right = axes
    left.plot(time, upper, **dots, color=_UPPER, label="upper bound: the best objective")
    left.plot(time, lower, **dots, color=_LOWER, label="lower bound: no weights can do better")
    left.fill_between(time, lower, upper, where=np.isfinite(lower), alpha=0.15, color="grey", linewidth=0)
    left.set_ylim(*_window(upper, lower))
    left.set(xlabel="time (s)", ylabel="objective", title="The optimum lies between")
    told = None if proved.all() else "dots: proved; lines: as the solver says"
    left.legend(frameon=False, fontsize="small", title=told, title_fontsize="small")
    shown = np.isfinite(gap) & (gap > 0)
    dots["markevery"] = proved[shown].tolist()
    right.semilogy(time[shown], gap[shown], **dots, color=_GAP)
    title = "Proven distance to the optimum" if told is None else "Distance to the optimum"
    right.set(xlabel="time (s)", ylabel="gap", title=title)
    return left, right


def _curves(history: list[Record]) -> tuple[Any, ...]:
    """Time, both bounds, the gap, and which records are proved. What is claimed goes up and down: the best so
    far is drawn of it, from one proof to the next, less what was refuted by values met later."""
    _, time, upper, lower, gap, proved = np.array(history, dtype=np.float64).T
    proved = proved > 0
    lower[~proved & (lower > upper[-1])] = -np.inf
    for part in np.split(np.arange(len(time)), np.flatnonzero(proved)):
        upper[part] = np.fmin.accumulate(upper[part])
        lower[part] = np.fmax.accumulate(lower[part])
    return time, upper, lower, np.where(proved, gap, upper - lower), proved


def _history(fit: Any) -> list[Record]:
    history = getattr(fit, "history_", getattr(fit, "history", fit))
    if not isinstance(history, Sequence) or isinstance(history, str):
        raise TypeError(
            f"fit must be a Solution, a fitted estimator of one convex problem or several, or a history; "
            f"{type(fit).__name__} has none"
        )
    if len(history) and isinstance(history[0], list):
        history = max(history, key=lambda part: part[-1].gap)
    if not len(history):
        raise ValueError("fit has an empty history")
    return [Record(*record) for record in history]


def _window(upper: np.ndarray, lower: np.ndarray) -> tuple[float, float]:
    """The heights worth showing: the first steps may be far away, and would flatten the rest."""
    low, high = lower[-1] if np.isfinite(lower[-1]) else upper[-1], upper[-1]
    reach = 3 * max(abs(low), abs(high), 1e-300)
    finite = lower[np.isfinite(lower)]
    bottom = max(finite.min(initial=low), low - reach)
    top = min(upper.max(), high + reach)
    margin = 0.05 * max(top - bottom, 1e-12 * reach)
    return bottom - margin, top + margin


def _axes(ax: "Axes | None") -> "Axes":
    """Those given, or new ones."""
    if ax is not None:
        return ax
    made: Axes = _pyplot().subplots(figsize=(6.4, 3.8), layout="constrained")[1]
    return made


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'gapfit[plot]'") from error
    return plt


def plot_alpha_search(search: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Plot what a fitted `AlphaSearchCV` has proved: the errors of its fits, and the floor below all errors.

    Parameters
    ----------
    search : fitted AlphaSearchCV
    ax : matplotlib axes; made if not given.

    Returns
    -------
    ax : the axes
    """
    ax = _axes(ax)
    least, most, floor = search.floor_.T
    ax.stairs(
        floor, np.append(least, most[-1]), baseline=None, color=_LOWER, label="proven floor: no error below"
    )
    ax.plot(search.alphas_, search.errors_, marker=".", linewidth=1, color=_UPPER, label="error of the fits")
    for k, (first, last) in enumerate(search.open_ranges_):
        ax.axvspan(first, last, color="grey", alpha=0.25, label="left open" if k == 0 else None)
    ax.plot(
        search.best_alpha_, search.best_error_, "*", markersize=13, color=_GAP, zorder=3,
        label=f"the best alpha, within {search.proven_regret_:.2g} of any",
    )  # fmt: skip
    ax.set(xscale="log", xlabel="alpha", ylabel="cross-validated error", title="Every alpha is accounted for")
    ax.legend(frameon=False, fontsize="small")
    return ax


_LABELLED = 8  # weights with a label, at most


def plot_path(path: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Plot the weights of a model against alpha.

    Parameters
    ----------
    path : what `path` of a linear estimator returns
    ax : matplotlib axes; made if not given.

    Returns
    -------
    ax : the axes
    """
    ax = _axes(ax)
    order = np.argsort(path.alphas)
    weights = path.coefs.reshape(len(path.alphas), -1)[order]
    features = path.coefs.shape[-1]
    lines = ax.plot(path.alphas[order], weights, linewidth=1, color="grey", alpha=0.6)
    largest = np.argsort(-np.abs(weights).max(axis=0), kind="stable")[:_LABELLED]
    for place, column in enumerate(largest.tolist()):
        name = f"feature {column % features}" if path.names is None else str(path.names[column % features])
        name += f", output {column // features}" if weights.shape[1] > features else ""
        lines[column].set(color=f"C{place}", linewidth=1.6, alpha=1.0, label=name)
    ax.axhline(0.0, color="black", linewidth=0.6)
    ax.set(xscale="log", xlabel="alpha", ylabel="weight", title="Weights against alpha")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_selection(model: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Plot the scores by which a fitted estimator whose name ends in CV has chosen.

    Parameters
    ----------
    model : a fitted LinearClassifierCV, LinearRegressorCV, OrdinalClassifierCV, RankerCV or KernelSVCCV
    ax : matplotlib axes; made if not given.

    Returns
    -------
    ax : the axes
    """
    ax = _axes(ax)
    table = model.cv_results_
    (across, *others) = [name for name in table if not name.startswith(("score_", "mean_", "std_"))]
    places, mean, std = (np.array(table[name]) for name in (across, "mean_score", "std_score"))
    curves = list(zip(*(table[name] for name in others), strict=True)) if others else [()] * len(places)
    for number, kind in enumerate(dict.fromkeys(curves)):
        at = np.array([one == kind for one in curves])
        label = ", ".join(f"{name}={value}" for name, value in zip(others, kind, strict=True))
        (line,) = ax.plot(
            places[at], mean[at], marker=".", color=f"C{number}", label=label or "mean over folds"
        )
        band = mean[at] - std[at], mean[at] + std[at]
        ax.fill_between(places[at], *band, color=line.get_color(), alpha=0.15, linewidth=0)
    best = int(np.nanargmax(mean))
    ax.plot(
        places[best], mean[best], "*", markersize=13, color=_LOWER, zorder=3,
        label=f"chosen: {across} = {places[best]:.3g}",
    )  # fmt: skip
    ax.set(xscale="log", xlabel=across, ylabel="cross-validated score", title="How it was chosen")
    ax.legend(frameon=False, fontsize="small")
    return ax
