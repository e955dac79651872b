"""MQ2008, five folds: Ranker beside a linear RankSVM by explicit pairs.

    python benchmarks/ranking_folds.py [--table FILE]

Fold k tests on part k, chooses alpha from 1e-2, 1e-3, 1e-4 on the part before it by NDCG@10, and trains on
the other three. The peer is liblinear (LinearSVC, hinge, no intercept) on the differences of all pairs of
documents of one query with different relevance: the same objective as Ranker(loss="pairwise"). Seconds are
CPU seconds of the three fits on one thread, the peer's pairs included.

Data are read from the folder GAPFIT_DATA (by default ../shared/data).
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from gapfit import Ranker, datasets
from gapfit.ranking_metrics import mean_average_precision, mean_ndcg

FOLDER = Path(os.environ.get("GAPFIT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
ALPHAS = (1e-2, 1e-3, 1e-4)


def together(parts):
    X = np.vstack([part.X.toarray() for part in parts])
    return X, np.concatenate([part.y for part in parts]), np.concatenate([part.qid for part in parts])


def by_pairs(X, y, qid, alpha):
    """liblinear on explicit pairs; every second one turned round, so that there are two classes."""
    better, worse = [], []
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        up, down = np.nonzero(y[rows][:, None] > y[rows])
        better.append(rows[up])
        worse.append(rows[down])
    differences = X[np.concatenate(better)] - X[np.concatenate(worse)]
    sign = np.where(np.arange(len(differences)) % 2, 1.0, -1.0)
    peer = LinearSVC(loss="hinge", C=1 / (alpha * len(sign)), fit_intercept=False, tol=1e-3)
    return peer.fit(differences * sign[:, None], sign).coef_[0]


def by_ranker(loss, X, y, qid, alpha):
    return Ranker(loss=loss, alpha=alpha, tol=1e-3, n_jobs=1).fit(X, y, qid).coef_


WAYS = {
    'Ranker(loss="pairwise")': lambda *data: by_ranker("pairwise", *data),
    'Ranker(loss="ndcg")': lambda *data: by_ranker("ndcg", *data),
    "liblinear on explicit pairs": by_pairs,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=Path, help="file to write the table to, in Markdown")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    parts = [datasets.load(FOLDER / "ranking" / f"MQ2008.S{k}.libsvm.xz") for k in range(1, 6)]
    found = {name: [] for name in WAYS}
    for name, way in WAYS.items():
        way(*together(parts[:1]), 1.0)  # compiles
        for fold in range(5):
            train, validation, test = (
                together([parts[(fold + step) % 5] for step in steps]) for steps in ((1, 2, 3), (4,), (0,))
            )
            tried, seconds = [], 0.0
            for alpha in ALPHAS:
                began = time.process_time()
                w = way(*train, alpha)
                seconds += time.process_time() - began
                tried.append((mean_ndcg(validation[1], validation[0] @ w, validation[2]), w))
            w = max(tried, key=lambda pair: pair[0])[1]
            scores = test[0] @ w
            found[name].append(
                (
                    mean_ndcg(test[1], scores, test[2]),
                    mean_average_precision(test[1], scores, test[2]),
                    seconds,
                )
            )
    lines = ["| | NDCG@10 | MAP | CPU s |", "|---|---|---|---|"]
    for name, values in found.items():
        ndcg, average_precision, seconds = np.mean(values, axis=0)
        lines.append(f"| {name} | {ndcg:.4f} | {average_precision:.4f} | {seconds:.2f} |")
    print("\n".join(lines))
    if chosen.table:
        chosen.table.write_text("# MQ2008, means over five folds\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
