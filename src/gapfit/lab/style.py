"""How the lab's pictures look: fit for print, in colours and line styles that everyone can tell apart."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gapfit.lab.page import Picture

# Okabe and Ito's colours, told apart by people with any kind of colour vision
BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK, GREY = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#777777",
)  # fmt: skip
CYCLE = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK, GREY)
DASHES = ("-", "--", "-.", ":")
KINDS = ("svg", "pdf", "png")

_SETTINGS: Any = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "font.size": 9,
    "figure.facecolor": "white",
    "figure.titlesize": 11,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.6,
    "savefig.facecolor": "white",
    "svg.hashsalt": "gapfit",  # the same picture is the same file
}


@contextmanager
def canvas(rows: int, columns: int, width: float, height: float) -> Iterator[tuple[Any, Any]]:
    """A figure of panels of this size in inches, and its axes in rows and columns; closed by no window."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'gapfit[plot]'") from error
    with rc_context(_SETTINGS):
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        yield figure, figure.subplots(rows, columns, squeeze=False)


def picture(
    folder: Path, name: str, fill: Callable[..., None], *what: Any,
    rows: int = 1, columns: int = 1, width: float = 3.4, height: float = 2.6,
) -> Picture:  # fmt: skip
    """What `fill` draws into a figure and its axes, as SVG (for the page), PDF (for a paper) and PNG.

    Its docstring is the caption.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with canvas(rows, columns, width, height) as (figure, axes):
        fill(figure, axes, *what)
        for kind in KINDS:
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
            figure.savefig(folder / f"{name}.{kind}", dpi=150, metadata=metadata)
    return Picture(f"{name}.svg", " ".join((fill.__doc__ or "").split()))


def plain_ticks(axis: Any) -> None:
    """Powers of ten on logarithmic axes, and no numbers between them."""
    from matplotlib.ticker import NullFormatter

    for each in (axis.xaxis, axis.yaxis):
        each.set_minor_formatter(NullFormatter())


def shared_legend(figure: Any, axes: Any) -> None:
    """One legend below all panels."""
    found: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        rows = -(-len(found) // 8)
        columns = -(-len(found) // rows)
        figure.legend(found.values(), found, loc="outside lower center", ncols=columns)
