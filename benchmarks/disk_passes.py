"""Passes over shards until a gap is certified, with a share of the rows in memory.

    python benchmarks/disk_passes.py [data folder] [names of data sets ...]

Each set is cut into 16 shards in a temporary folder. All passes count: those of the set-up, of the solver, of
the driver's looks and of the proof. The loss has an intercept. "-" is not reached within 60 passes.
"""

import logging
import os
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
from bundle_passes import load as usual
from bundle_passes import read
from scipy import sparse
from sklearn.preprocessing import maxabs_scale

from gapfit import Problem, datasets, solve
from gapfit.shards import ShardWriter
from gapfit.shards.arrow import Columns

NAMES = ("a9a", "w8a", "covtype", "imdb", "20news")
ALPHAS = (1e-4, 1e-5, 1e-6)
MOST = 60
SHARE = 0.25


def load(folder, name):
    """X and y in {-1, +1}; 100,000 rows of covtype."""
    if name == "covtype":
        X, y = read(folder, "multiclass/covtype")
        rows = np.random.default_rng(0).permutation(X.shape[0])[:100_000]
        return sparse.csr_array(maxabs_scale(X[rows])), np.where(y[rows] == 2, 1.0, -1.0)
    if name == "20news":
        X, y = read(folder, "text/20news_binary_bigram")
        return X, np.where(y == y.max(), 1.0, -1.0)
    return usual(folder, name)


def sharded(folder, X, y, count=16):
    writer = ShardWriter(folder, {})
    edges = np.linspace(0, X.shape[0], count + 1).astype(int)
    for a, b in pairwise(edges):
        writer.add(Columns(X[a:b], y[a:b]))
    writer.finish()
    return folder


def passes(folder, loss, alpha, tol, solver="auto"):
    """How many, by which solvers; None if they are too many."""
    size = datasets.open_shards(folder).parts.bytes
    shards = datasets.open_shards(folder, resident=SHARE * size)
    spent = shards.parts.cost

    def enough(progress):
        return shards.parts.cost.since(spent).passes > MOST

    found = solve(
        Problem(shards, None, loss, alpha=alpha), solver, tol=tol, callbacks=[enough], resumable=False
    )
    return shards.parts.cost.since(spent).passes if found.converged else None


def main():
    arguments = sys.argv[1:]
    folder = Path(arguments[0] if arguments else os.environ.get("GAPFIT_DATA", "../shared/data"))
    logging.getLogger("gapfit").addHandler(logging.NullHandler())
    print("| set | loss | tol | " + " | ".join(f"alpha {alpha:g}" for alpha in ALPHAS) + " |")
    print("|---|---|---|" + "---|" * len(ALPHAS))
    for name in arguments[1:] or NAMES:
        X, y = load(folder, name)
        with tempfile.TemporaryDirectory() as place:
            shards = sharded(Path(place) / "shards", X, y)
            for loss in ("hinge", "logistic"):
                for tol in (1e-3, 1e-5) if loss == "hinge" else (1e-3,):
                    found = [passes(shards, loss, alpha, tol) for alpha in ALPHAS]
                    cells = " | ".join("-" if count is None else str(count) for count in found)
                    print(f"| {name} | {loss} | {tol:g} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
