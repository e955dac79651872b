"""What a notebook shows of a fit in scikit-learn's diagrams: the certificate, and the gap on its way."""

from collections.abc import Sequence
from html import escape
from math import inf, isfinite, log10
from typing import Any, NamedTuple

from gapfit.solution import Record, Status

WIDTH, HEIGHT = 220, 48  # of the picture, in pixels

# colours are those of the page, light or dark
_STYLE = (
    "display:block;width:fit-content;margin:.4em 0;padding:.3em .8em;border:1px solid currentColor;"
    "border-radius:.25em;font-size:.85em;line-height:1.5;color:inherit"
)


def box(model: Any) -> Any:
    """scikit-learn's box of an estimator, with a line about the fit. (If it calls that otherwise, one day, it
    draws the box without.)"""
    from sklearn.utils._repr_html.estimator import _VisualBlock

    name = type(model).__name__
    return _VisualBlock("single", model, names=name, name_details=str(model), name_caption=caption(model))


def caption(model: Any) -> str | None:
    """How the fit ended, in a few words; None if there was none."""
    if "certificates_" not in vars(model):
        return None
    words = model.status_.name.lower().replace("_", " ")
    gap = max(one.relative_gap for one in model.certificates_)
    return words if model.status_ is Status.LOCAL or not isfinite(gap) else f"{words}, gap {gap:.2g}"


class WithCertificate(NamedTuple):
    """scikit-learn's table of fitted attributes, with the certificate above it."""

    model: Any
    table: Any

    def __len__(self) -> int:
        return len(self.table)

    def _repr_html_inner(self) -> str:
        return certificate_panel(self.model) + str(self.table._repr_html_inner())


def certificate_panel(model: Any) -> str:
    """The certificate of a fitted model as HTML."""
    proofs = model.certificates_
    worst = max(proofs, key=lambda one: one.relative_gap)
    mark = "&#10003;" if model.converged_ else "&#9888;"
    lines = [f"<b>{mark} {escape(model.status_.value)}</b>"]
    if model.status_ is not Status.LOCAL:
        lines.append(
            f"{worst.dual:.8g} &le; optimum &le; {worst.primal:.8g}; gap {worst.gap:.2g}, "
            f"{worst.relative_gap:.2g} of it (tol {model.tol:.2g})"
        )
    several = f"{len(proofs)} problems, the worst of them shown; at most " if len(proofs) > 1 else ""
    lines.append(f"{several}{model.n_iter_} steps")
    return f'<div class="gapfit-certificate" style="{_STYLE}">{"<br>".join(lines)}{_picture(model)}</div>'


def _picture(model: Any) -> str:
    history = getattr(model, "history_", [])
    if history and isinstance(history[0], list):
        history = max(history, key=lambda part: part[-1].gap)
    line = gap_line(history)
    if not line:
        return ""
    return (
        f'<br><svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="The gap on its way, on a logarithmic scale"><title>The gap on its way, on a '
        f"logarithmic scale; the last point is proved</title>{line}</svg>"
    )


def gap_line(history: Sequence[Record]) -> str:
    """The gap from record to record, the best so far, as a line of SVG; nothing, if there are too few."""
    heights, best = [], inf
    for record in history:
        best = record.gap if record.proved else min(best, record.gap)
        if isfinite(best) and best > 0:
            heights.append(log10(best))
    if len(heights) < 2:
        return ""
    low, high = min(heights), max(heights)
    across, up = (WIDTH - 8) / (len(heights) - 1), (HEIGHT - 8) / (high - low or 1.0)
    points = [(4 + k * across, 4 + (high - height) * up) for k, height in enumerate(heights)]
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    return (
        f'<polyline points="{way}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="currentColor"/>'
    )
