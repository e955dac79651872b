"""Rankings on queries that no model has seen: Ranker's losses beside a linear RankSVM by explicit pairs.

    python benchmarks/rankings.py --half tuning|reporting [--table FILE]

Queries are drawn from the sets of ordered levels (`unseen/levels.py`), numbers cut such that half of the
documents are not relevant: about 8, 40 or 300 documents each, a third to three times as many, and shifted
each by itself, so that only differences within a query tell anything. MQ2008's five folds belong to the
reporting half. A third of the queries is for training, a third chooses alpha from 1e-1 to 1e-4 by NDCG@10, a
third is for testing; of MQ2008 three parts of five train, one chooses, one tests.

The peer is liblinear (LinearSVC, hinge, no intercept, seeded) on the differences of all pairs of documents of
one query with different relevance: the same objective as Ranker(). Its tol of 1e-3, of slopes, leaves it
within about 1e-6 of the minimum; Ranker's own tol is of the objective. Seconds are CPU seconds of all fits of
a set on one thread, the peer's pairs included.
"""

import argparse
import os
import time
import warnings
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GAPFIT_COMPILE", "at_once")  # the first fit is not timed
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from unseen.levels import sets
from unseen.sets import FOLDER, hashed

from gapfit import Ranker, datasets
from gapfit.losses import PairwiseRanking
from gapfit.ranking_metrics import mean_average_precision, mean_ndcg

ALPHAS = (1e-1, 1e-2, 1e-3, 1e-4)
SIZES = (8, 40, 300)
DOCUMENTS = 9_000
FEWEST = 12  # queries
PAIRS = 3_000_000  # beyond which the peer is left out


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
    C = 1 / (alpha * len(sign))
    peer = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-3, random_state=0)
    return peer.fit(differences * sign[:, None], sign).coef_[0]


def ranker(**options):
    return lambda X, y, qid, alpha: Ranker(alpha=alpha, n_jobs=1, **options).fit(X, y, qid).coef_


WAYS = {
    "Ranker()": ranker(),
    "mean over queries": ranker(loss=PairwiseRanking(mean="queries")),
    'loss="ndcg"': ranker(loss="ndcg"),
    "explicit pairs": by_pairs,
}


def drawn(data, X, y, size, seed):
    """Training, validation and test parts, whole queries each."""
    chance = np.random.default_rng([hashed(data, size) % 2**32, seed])
    some = chance.permutation(len(y))[:DOCUMENTS]
    X, y = StandardScaler().fit_transform(X[some]), y[some].astype(float)
    sizes = (size * 3 ** chance.uniform(-1, 1, size=len(y))).astype(int) + 2
    qid = np.repeat(np.arange(len(y)), sizes)[: len(y)]
    queries = int(qid[-1]) + 1
    X = X + chance.normal(size=(queries, X.shape[1]))[qid]
    part = (chance.permutation(queries) % 3)[qid]
    return [(X[part == k], y[part == k], qid[part == k]) for k in range(3)]


def cases(half):
    for data, X, y in sets(half, cuts=(0.5, 0.75, 0.9, 0.97)):
        for size in SIZES:
            if len(y) >= 3 * FEWEST * size:
                yield f"{data}, {size} a query", [drawn(data, X, y, size, seed) for seed in range(2)]
    files = [FOLDER / "ranking" / f"MQ2008.S{k}.libsvm.xz" for k in range(1, 6)]
    if half == "reporting" and all(file.exists() for file in files):
        parts = [datasets.load(file) for file in files]
        yield (
            "MQ2008",
            [
                [_together([parts[(k + step) % 5] for step in steps]) for steps in ((1, 2, 3), (4,), (0,))]
                for k in range(5)
            ],
        )


def _together(parts):
    X = np.vstack([part.X.toarray() for part in parts])
    return X, np.concatenate([part.y for part in parts]), np.concatenate([part.qid for part in parts])


def tested(way, train, validation, test):
    """NDCG@10 and MAP at the alpha that does best in validation, and the seconds of all fits."""
    began = time.process_time()
    fits = [way(*train, alpha) for alpha in ALPHAS]
    took = time.process_time() - began
    w = max(fits, key=lambda w: mean_ndcg(validation[1], validation[0] @ w, validation[2]))
    scores = test[0] @ w
    return mean_ndcg(test[1], scores, test[2]), mean_average_precision(test[1], scores, test[2]), took


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", required=True, choices=["tuning", "reporting"])
    parser.add_argument("--table", type=Path, help="file to write the table to, in Markdown")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [f"# Rankings, {chosen.half} half: NDCG@10 / MAP / CPU s\n"]
    lines += ["| | pairs | " + " | ".join(WAYS) + " |", "|---" * (len(WAYS) + 2) + "|"]
    less = defaultdict(list)
    for data, splits in cases(chosen.half):
        train = splits[0][0]
        pairs = sum(
            (train[1][train[2] == q][:, None] > train[1][train[2] == q]).sum() for q in np.unique(train[2])
        )
        found = {}
        for name, way in WAYS.items():
            if name != "explicit pairs" or pairs <= PAIRS:
                way(*train, 1.0)  # compiles, and loads
                found[name] = np.array([tested(way, *parts) for parts in splits])
        for name, values in found.items():
            less[name].append(values.mean(axis=0) - found["Ranker()"].mean(axis=0))
        cells = ["/".join(f"{v:.4f}" for v in found[n].mean(axis=0)) if n in found else "" for n in WAYS]
        lines.append(f"| {data} | {pairs:,} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    cells = []
    for values in less.values():
        mean, error = np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
        cells.append(f"{mean[0]:+.4f} ({error[0]:.4f}) / {mean[1]:+.4f} ({error[1]:.4f})")
    lines.append("| less Ranker(), mean (s.e.) | | " + " | ".join(cells) + " |")
    table = "\n".join(lines) + "\n"
    print(table)
    if chosen.table:
        chosen.table.write_text(table)


if __name__ == "__main__":
    main()
