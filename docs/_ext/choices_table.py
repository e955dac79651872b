"""Writes the table of what `auto` chooses, by asking it: drawn data of some shapes, two alphas each."""

from pathlib import Path

import numpy as np
from scipy import sparse

from gapfit import Problem, losses
from gapfit.solvers.auto import plan

# samples, features, share of entries that are not zero
SHAPES = (
    (300, 10, 1.0),
    (5000, 20, 1.0),
    (5000, 300, 1.0),
    (300, 5000, 1.0),
    (50_000, 100, 1.0),
    (20_000, 30_000, 1e-3),
)
STRENGTHS = (0.1, 1e-4)  # alpha, relative to the mean square of a row
LABELS, COUNTS, CLASSES = "labels", "counts", "classes"
PROBLEMS = (
    ("hinge", "hinge", "l2", LABELS),
    ("squared hinge", "squared_hinge", "l2", LABELS),
    ("logistic", "logistic", "l2", LABELS),
    ("squared", "squared", "l2", LABELS),
    ("quantile", losses.Quantile(0.7), "l2", LABELS),
    ("Poisson", "poisson", "l2", COUNTS),
    ("softmax", "softmax", "l2", CLASSES),
    ("Crammer-Singer", "crammer_singer", "l2", CLASSES),
    ("squared, `L1`", "squared", "l1", LABELS),
    ("logistic, `L1`", "logistic", "l1", LABELS),
    ("hinge, `L1`", "hinge", "l1", LABELS),
)


def drawn(n, d, density):
    """X, and targets of each kind."""
    rng = np.random.default_rng(0)
    if density < 1:
        each = round(density * d)
        indices = np.sort(rng.integers(0, d, size=(n, each)), axis=1).ravel()
        X = sparse.csr_matrix((rng.normal(size=n * each), indices, np.arange(n + 1) * each), shape=(n, d))
        X.sum_duplicates()
    else:
        X = rng.normal(size=(n, d))
    score = np.ravel(X @ rng.normal(size=d))
    third = np.quantile(score, [1 / 3, 2 / 3])
    y = {
        LABELS: np.where(score > 0, 1.0, -1.0),
        COUNTS: (score > 0) * 1.0,
        CLASSES: np.searchsorted(third, score),
    }
    return X, y


def cell(X, y, loss, penalty):
    """The first choice for each alpha; once, if it is the same."""
    row = float(X.multiply(X).sum() if sparse.issparse(X) else np.square(X).sum()) / X.shape[0]
    names = [plan(Problem(X, y, loss, penalty, alpha=s * row))[0].name for s in STRENGTHS]
    return " or ".join(f"`{name}`" for name in dict.fromkeys(names))


def table():
    """The page, as Markdown."""
    data = [drawn(*shape) for shape in SHAPES]
    heads = [f"{n:,} x {d:,}" + (f", {100 * s:g} %" if s < 1 else "") for n, d, s in SHAPES]
    lines = [f"| loss | {' | '.join(heads)} |", "|---" * (len(SHAPES) + 1) + "|"]
    for name, loss, penalty, kind in PROBLEMS:
        cells = [cell(X, y[kind], loss, penalty) for X, y in data]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def setup(app):
    """Write it before the pages are read."""

    def before(app):
        folder = Path(app.srcdir) / "auto_choices"
        folder.mkdir(exist_ok=True)
        (folder / "choices.md").write_text(table(), encoding="utf-8")

    app.connect("builder-inited", before)
    return {"parallel_read_safe": True}
