"""The bundle's passes over the data, and seconds, to certified gaps: where should it cut?

    python benchmarks/bundle_passes.py [data folder] [CPU seconds a fit] [names of data sets ...]

A pass is one product with X and one with its transpose: what a step of the bundle costs, whatever
`stabilise` is. A line shows passes / CPU seconds at the relative gaps 1e-2, 1e-3, 1e-4, 1e-6, on one thread.
The pairwise loss (one minus a convex bound of the ROC area) stands for risks that are not sums over samples.
"""

import os
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import maxabs_scale, normalize

from gapfit import Problem, datasets, solve
from gapfit.losses.base import NONE, Loss, Risk
from gapfit.solvers.bundle import bundle

GAPS = (1e-2, 1e-3, 1e-4, 1e-6)
STABILISE = ("level", "line_search", None)


class PairwiseHinge(Loss):
    """The mean over all pairs of a positive and a negative sample of max(0, 1 - (f_pos - f_neg))."""

    def bind(self, y, weight, groups=None):
        return PairwiseRisk(self, y > 0)


class PairwiseRisk(Risk):
    offsets, infimum = NONE, 0.0

    def __init__(self, loss, positive):
        self.loss, self.positive = loss, positive
        self.pairs = positive.sum() * (~positive).sum()

    def value_and_subgradient(self, scores, b):
        order = np.argsort(scores + np.where(self.positive, -0.5, 0.5), kind="stable")
        positive = self.positive[order]
        negatives_above = np.count_nonzero(~positive) - np.cumsum(~positive)
        u = np.empty(len(scores))
        u[order] = np.where(positive, -negatives_above, np.cumsum(positive)) / self.pairs
        return float(u @ scores + negatives_above[positive].sum() / self.pairs), u, np.zeros(0)


def read(folder, name):
    data = datasets.load(folder / f"{name}.libsvm.xz")
    return data.X, data.y


def load(folder, name):
    """X and y in {-1, +1}."""
    if name == "imdb":
        X, y = read(folder, "text/imdb.train")
        return normalize(TfidfTransformer().fit_transform(X)), np.where(y > 5, 1.0, -1.0)
    if name == "letter":
        X, y = read(folder, "multiclass/letter.scale")
        return X, np.where(y == y.min(), 1.0, -1.0)
    X, y = read(folder, f"binary/{name}")
    return (maxabs_scale(X) if name == "spambase" else X), y


TASKS = [
    *(("a9a", "hinge", intercept, alpha) for intercept in (False, True) for alpha in (1e-3, 1e-4, 1e-5)),
    ("a9a", "hinge", False, 2.0**-18),
    *(("w8a", "hinge", intercept, alpha) for intercept in (False, True) for alpha in (1e-3, 1e-4, 1e-5)),
    *(("spambase", "hinge", intercept, alpha) for intercept in (False, True) for alpha in (1e-3, 1e-4, 1e-5)),
    *(("imdb", "hinge", intercept, alpha) for intercept in (False, True) for alpha in (1e-3, 1e-4, 1e-5)),
    *((name, "pairs", False, alpha) for name in ("w8a", "letter") for alpha in (1e-3, 1e-4, 1e-5)),
]


def fit(problem, stabilise, seconds):
    """Passes and CPU seconds at which each gap was certified."""
    began, reached = time.process_time(), []

    def watch(progress):
        gap = progress.gap / max(abs(progress.primal), abs(progress.dual))
        while len(reached) < len(GAPS) and gap <= GAPS[len(reached)]:
            reached.append(f"{progress.n_iter:5d} /{time.process_time() - began:6.2f}")
        return time.process_time() - began > seconds

    solver = partial(bundle, stabilise=stabilise)
    solve(problem, solver, tol=GAPS[-1], callbacks=[watch], n_jobs=1)
    return reached + ["    - /     -"] * (len(GAPS) - len(reached))


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("GAPFIT_DATA", "../shared/data"))
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 20.0
    chosen = sys.argv[3:]
    print(f"passes / CPU seconds to relative gaps {GAPS}; at most {seconds:g} CPU s a fit")
    loaded = {}
    for name, loss, intercept, alpha in TASKS:
        if chosen and name not in chosen:
            continue
        X, y = loaded[name] = loaded.get(name) or load(folder, name)
        problem = Problem(
            X, y, PairwiseHinge() if loss == "pairs" else loss, alpha=alpha, intercept=intercept
        )
        print(f"{name} {loss}, alpha {alpha:.2g}, {'with' if intercept else 'no'} intercept")
        for stabilise in STABILISE:
            print(f"  {stabilise!s:12s}", "  ".join(fit(problem, stabilise, seconds)), flush=True)


if __name__ == "__main__":
    main()
