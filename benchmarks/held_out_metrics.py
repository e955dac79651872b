"""A measure on samples that no model has seen: MetricClassifier beside tuned linear models.

    python benchmarks/held_out_metrics.py [--metric f1] [--data mammography ada] [--splits 5] [--rows 10000]
        [--strategy auto] [--out FILE] [--table FILE]

Each split puts half of the samples aside (stratified; at most `--rows` for training), scales by the training
half, and lets every model choose its alpha, or C = 1 / (alpha n), from the same five values by five-fold
cross-validation on the measure. "tuned" models also choose a threshold, as scikit-learn's
TunedThresholdClassifierCV does. Results go to a CSV file, a line for each fit; a run that was stopped goes on
where it was. The table compares with the best of the baselines, chosen with hindsight by their mean on the
test halves. Standard errors are those of the difference over splits, which overlap: they are a little small.

Data are read from the folder GAPFIT_DATA (by default ../shared/data); what is absent is named and left out.
"""

import argparse
import csv
import os
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    train_test_split,
)
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

from gapfit import MetricClassifier, datasets
from gapfit.cli.measure import Measure
from gapfit.metrics import as_metric

FOLDER = Path(os.environ.get("GAPFIT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
ALPHAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
# file, and the class that is positive (None: the smaller one)
SETS = {
    "mammography": ("imbalanced/mammography.npz", None),
    "ada": ("imbalanced/ada.libsvm.xz", None),
    "campaign": ("imbalanced/adbench_campaign.npz", None),
    "shuttle": ("imbalanced/adbench_shuttle.npz", None),
    "cover": ("imbalanced/adbench_cover.npz", None),
    "w8a": ("binary/w8a.libsvm.xz", None),
    "satimage4": ("multiclass/satimage.scale.libsvm.xz", 4),
    "satimage5": ("multiclass/satimage.scale.libsvm.xz", 5),
    "letter1": ("multiclass/letter.scale.libsvm.xz", 1),
    "letter8": ("multiclass/letter.scale.libsvm.xz", 8),
    "letter19": ("multiclass/letter.scale.libsvm.xz", 19),
    "pendigits8": ("multiclass/pendigits.libsvm.xz", 8),
    "a9a": ("binary/a9a.libsvm.xz", None),
    "german": ("binary/german.numer.libsvm.xz", None),
    "spambase": ("binary/spambase.libsvm.xz", None),
    "covtype6": ("multiclass/covtype.libsvm.xz", 6),
    "scene2": ("multilabel/scene.train.libsvm.xz", 2),
    "bibtex15": ("multilabel/bibtex.train.libsvm.xz", 15),
    # topics of news: from frequent to rare, of 9,603 texts
    **{f"reuters{topic}": ("text/reuters21578.train.libsvm.xz", topic) for topic in (3, 4, 6, 10, 15, 25)},
}
BASELINES = {
    "LinearSVC": lambda C: LinearSVC(C=C, dual=False),
    "LinearSVC balanced": lambda C: LinearSVC(C=C, dual=False, class_weight="balanced"),
    "logistic": lambda C: LogisticRegression(C=C, max_iter=1000),
    "logistic balanced": lambda C: LogisticRegression(C=C, max_iter=1000, class_weight="balanced"),
}
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def read(name):
    file, positive = SETS[name]
    if file.endswith(".npz"):
        with np.load(FOLDER / file) as table:
            X, y = table["X"].astype(float), table["y"]
    else:
        several = file.startswith(("text/", "multilabel/"))  # labels a sample
        data = datasets.load(FOLDER / file, **({"multilabel": True} if several else {}))
        X, y = data.X, data.y
        if file.startswith("text/"):
            X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
        if several:
            y = np.where(y[:, [positive]].toarray().ravel(), positive, -1)
    if positive is None:
        labels, counts = np.unique(y, return_counts=True)
        positive = labels[counts.argmin()]
    if sparse.issparse(X) and X.nnz > 0.2 * X.shape[0] * X.shape[1]:
        X = X.toarray()
    return X, (y == positive).astype(int)


def halves(X, y, split, rows):
    size = min(rows, len(y) // 2)
    A, B, a, b = train_test_split(X, y, stratify=y, train_size=size, random_state=split)
    if sparse.issparse(X) and X.shape[1] > 10_000:
        return A, B, a, b  # texts, rows of length 1
    scaler = MaxAbsScaler() if sparse.issparse(X) else StandardScaler()
    return scaler.fit_transform(A), scaler.transform(B), a, b


def value(metric, model, X, y):
    """The measure, at the model's own threshold where there is one."""
    if metric.thresholded:
        scores = np.where(model.predict(X) == 1, 1.0, -1.0)
    else:
        scores = model.decision_function(X)
    return metric.value(scores, y == 1, np.ones(len(y)))


def table_scorer(metric):
    def of_predictions(y, predicted):
        tp, fp = np.array([(y * predicted).sum()]), np.array([((1 - y) * predicted).sum()])
        return float(metric.at(tp, fp, y.sum(), (1 - y).sum())[0])

    return make_scorer(of_predictions)


def plain(make, metric, X, y):
    """C by cross-validation."""
    grid = {"C": [1 / (alpha * len(y)) for alpha in ALPHAS]}
    search = GridSearchCV(make(1.0), grid, scoring=lambda m, A, a: value(metric, m, A, a), cv=FOLDS)
    return search.fit(X, y).best_estimator_


def tuned(make, metric, X, y):
    """C and threshold by cross-validation."""
    fits = [
        TunedThresholdClassifierCV(
            make(1 / (alpha * len(y))), scoring=table_scorer(metric), cv=FOLDS, thresholds=200
        ).fit(X, y)
        for alpha in ALPHAS
    ]
    return max(fits, key=lambda fit: fit.best_score_)


def models(metric, measure, strategy):
    """What fits each model, by name."""
    made = {f"gapfit {strategy}": lambda X, y: MetricClassifier(metric=measure, strategy=strategy).fit(X, y)}
    for label, make in BASELINES.items():
        made[label] = lambda X, y, make=make: plain(make, metric, X, y)
        if metric.thresholded:
            made[f"{label}, tuned"] = lambda X, y, make=make: tuned(make, metric, X, y)
    return made


def known(path):
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {(r["metric"], r["rows"], r["data"], int(r["split"]), r["model"]): float(r["value"]) for r in rows}


def report(results, ours):
    """One line for each data set, in Markdown."""
    lines = []
    names = list(dict.fromkeys(model for _, _, model in results))
    lines.append("| data | splits | " + " | ".join(names) + " | best baseline | difference | s.e. |")
    lines.append("|---" * (len(names) + 5) + "|")
    differences, ahead, behind = [], 0, 0
    for data in dict.fromkeys(data for data, _, _ in results):
        by_model = defaultdict(dict)
        for (where, split, model), score in results.items():
            if where == data:
                by_model[model][split] = score
        splits = sorted(set.intersection(*(set(scores) for scores in by_model.values())))
        if len(by_model) < len(names) or not splits:
            continue
        mean = {m: np.mean([by_model[m][s] for s in splits]) for m in names}
        best = max((m for m in names if m != ours), key=mean.get)
        paired = np.array([by_model[ours][s] - by_model[best][s] for s in splits])
        error = paired.std(ddof=1) / np.sqrt(len(splits)) if len(splits) > 1 else np.nan
        differences.append(paired.mean())
        ahead += paired.mean() > 2 * error
        behind += paired.mean() < -2 * error
        cells = " | ".join(f"{mean[m]:.3f}" for m in names)
        lines.append(f"| {data} | {len(splits)} | {cells} | {best} | {paired.mean():+.3f} | {error:.3f} |")
    if len(differences) > 1:
        error = np.std(differences, ddof=1) / np.sqrt(len(differences))
        mean = np.mean(differences)
        lines.append(f"\nmean difference over {len(differences)} sets: {mean:+.4f}, s.e. {error:.4f}")
        lines.append(f"ahead by more than 2 s.e. on {ahead}, behind on {behind}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--metric", default="f1", help="f1, break_even, roc_area, precision_at_k=50, ...")
    parser.add_argument("--strategy", default="auto")
    parser.add_argument("--data", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=Path("build/held_out_metrics.csv"))
    parser.add_argument("--table", type=Path, help="file to write the table to, in Markdown")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    measure = Measure().convert(chosen.metric, None, None)
    metric = as_metric(measure)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    done, results = known(chosen.out), {}
    fresh = not chosen.out.exists()
    with chosen.out.open("a", newline="") as file:
        writer = csv.writer(file)
        if fresh:
            writer.writerow(["metric", "rows", "data", "split", "model", "value", "seconds", "note"])
        for data in chosen.data:
            if not (FOLDER / SETS[data][0]).exists():
                print(f"{data}: {SETS[data][0]} is not there")
                continue
            X, y = read(data)
            for split in range(chosen.splits):
                A, B, a, b = halves(X, y, split, chosen.rows)
                for name, fit in models(metric, measure, chosen.strategy).items():
                    key = (chosen.metric, str(chosen.rows), data, split, name)
                    if key not in done:
                        start = time.perf_counter()
                        model = fit(A, a)
                        seconds = time.perf_counter() - start
                        done[key] = value(metric, model, B, b)
                        note = getattr(model, "strategy_", "")
                        writer.writerow([*key, done[key], f"{seconds:.2f}", note])
                        file.flush()
                    results[data, split, name] = done[key]
    table = report(results, f"gapfit {chosen.strategy}")
    print(table)
    if chosen.table:
        chosen.table.write_text(f"# {chosen.metric} on held-out samples\n\n{table}")


if __name__ == "__main__":
    main()
