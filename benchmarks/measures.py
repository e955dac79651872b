"""A measure on samples that no model has seen: MetricClassifier beside tuned baselines, family by family.

    python benchmarks/measures.py --half tuning|reporting [--metric f1] [--ours auto] [--splits 3]
        [--family adult ...] [--out FILE] [--table FILE]

The sets are those of `unseen/sets.py`. Every choice of a baseline is made on the training part: C from ten by
five-fold cross-validation on average precision (LogisticRegressionCV, plain and balanced; LinearSVC by a
search), the threshold as scikit-learn's TunedThresholdClassifierCV does, on the measure. "together" chooses C
and threshold at once, by the measure. LightGBM, if it is installed, is an outside reference; it is no linear
model. Seconds are CPU seconds, scores of a fit go to a CSV file line by line; a run that was stopped goes on
where it was. Splits are drawn from the number of the split and the name of the set.

Differences are means over splits, then sets, then families; standard errors are over families.
"""

import argparse
import csv
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
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, TunedThresholdClassifierCV
from sklearn.svm import LinearSVC
from unseen.sets import families

from gapfit import MetricClassifier
from gapfit.cli.measure import Measure
from gapfit.metrics import as_metric

CS = np.geomspace(1e-4, 1e4, 10)  # LogisticRegressionCV's own
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
CLASSES = ((0, 200), (200, 500), (500, 2_000), (2_000, 5_000), (5_000, np.inf))  # of training rows
FIELDS = ["metric", "family", "task", "rows", "positives", "split", "model", "value", "seconds"]


def scorer(metric):
    """The measure of predictions, for scikit-learn."""

    def of_predictions(y, predicted):
        tp, fp = np.array([(y * predicted).sum()]), np.array([((1 - y) * predicted).sum()])
        return float(metric.at(tp, fp, y.sum(), (1 - y).sum())[0])

    return make_scorer(of_predictions)


def cut(model, metric, X, y):
    """The model with a threshold for the measure, if it has one."""
    if not metric.thresholded:
        return model.fit(X, y)
    return TunedThresholdClassifierCV(model, scoring=scorer(metric), cv=FOLDS).fit(X, y)


def logistic(metric, X, y, **options):
    search = LogisticRegressionCV(
        Cs=CS, cv=FOLDS, scoring="average_precision", max_iter=1000, use_legacy_attributes=False,
        l1_ratios=(0.0,), **options,
    ).fit(X, y)  # fmt: skip
    return cut(LogisticRegression(C=float(search.C_), max_iter=1000, **options), metric, X, y)


def svc(metric, X, y):
    search = GridSearchCV(LinearSVC(), {"C": CS}, scoring="average_precision", cv=FOLDS, refit=False)
    return cut(LinearSVC(**search.fit(X, y).best_params_), metric, X, y)


def together(metric, X, y):
    fits = [cut(LogisticRegression(C=C, max_iter=1000), metric, X, y) for C in CS]
    return max(fits, key=lambda fit: fit.best_score_)


def boosted(metric, X, y):
    from lightgbm import LGBMClassifier

    return cut(LGBMClassifier(n_jobs=1, verbose=-1, random_state=0), metric, X, y)


def models(metric, measure, ours):
    """What fits each model, by name; ours first."""

    def own(strategy):
        return lambda metric, X, y: MetricClassifier(metric=measure, strategy=strategy).fit(X, y)

    made = {f"gapfit {strategy}": own(strategy) for strategy in ours}
    made["logistic"] = logistic
    made["logistic balanced"] = lambda *data: logistic(*data, class_weight="balanced")
    made["LinearSVC"] = svc
    if metric.thresholded:
        made["logistic together"] = together
    try:
        import lightgbm  # noqa: F401
    except ImportError:
        print("LightGBM is not installed: left out")
    else:
        made["LightGBM"] = boosted
    return made


def value(metric, model, X, y):
    """The measure, at the model's own threshold where there is one."""
    if metric.thresholded:
        scores = np.where(model.predict(X) == 1, 1.0, -1.0)
    elif hasattr(model, "decision_function"):
        scores = model.decision_function(X)
    else:
        scores = model.predict_proba(X)[:, 1]
    return metric.value(scores, y == 1, np.ones(len(y)))


def by_family(values):
    """One mean for each family, of the means of its tasks."""
    tasks = defaultdict(list)
    for (family, task, _rows, _split), number in values.items():
        tasks[family, task].append(number)
    means = defaultdict(list)
    for (family, _), numbers in tasks.items():
        means[family].append(np.mean(numbers))
    return {family: float(np.mean(numbers)) for family, numbers in means.items()}


def mean_and_error(values):
    one = np.array([*by_family(values).values()])
    if not len(one):
        return "-"
    error = one.std(ddof=1) / np.sqrt(len(one)) if len(one) > 1 else np.nan
    return f"{one.mean():+.4f} ({error:.4f})"


def tables(found, seconds, ours):
    """The differences from each other model, by size, and the means of all sets, in Markdown."""
    others = [model for model in found if model != ours]
    common = set.intersection(*(set(found[model]) for model in found))
    sizes = [f"{low:g}-{high:g}" for low, high in CLASSES]
    lines = [f"| {ours} less | families | all | " + " | ".join(f"rows {s}" for s in sizes) + " | CPU time |"]
    lines.append("|---" * (len(sizes) + 4) + "|")
    for other in others:
        less = {key: found[ours][key] - found[other][key] for key in common}
        parts = [{k: v for k, v in less.items() if low < k[2] <= high} for low, high in CLASSES]
        quotient = np.exp(np.mean([np.log(seconds[ours][k] / seconds[other][k]) for k in common]))
        cells = " | ".join(mean_and_error(part) for part in [less, *parts])
        lines.append(f"| {other} | {len(by_family(less))} | {cells} | {quotient:.2f} |")
    lines += ["", "| family | " + " | ".join(found) + " |", "|---" * (len(found) + 1) + "|"]
    means = {model: by_family({k: found[model][k] for k in common}) for model in found}
    for family in sorted(means[ours]):
        lines.append(f"| {family} | " + " | ".join(f"{means[m][family]:.3f}" for m in found) + " |")
    total = [f"{np.mean([*means[m].values()]):.4f}" for m in found]
    return "\n".join([*lines, "| mean | " + " | ".join(total) + " |"]) + "\n"


def known(path):
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {tuple(row[name] for name in FIELDS[:-2]): (row["value"], row["seconds"]) for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", required=True, choices=["tuning", "reporting"])
    parser.add_argument("--metric", default="f1", help="f1, matthews, roc_area, precision_at_k=50, ...")
    parser.add_argument("--ours", nargs="*", default=["auto"], help="strategies of MetricClassifier")
    parser.add_argument("--family", nargs="*", help="some of them only")
    parser.add_argument("--splits", type=int, default=3, help="half of it beyond 3,000 rows, rounded up")
    parser.add_argument("--out", type=Path, help="CSV file, by default build/measures_HALF.csv")
    parser.add_argument("--table", type=Path, help="file to write the table to, in Markdown")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    measure = Measure().convert(chosen.metric, None, None)
    metric = as_metric(measure)
    out = chosen.out or Path(f"build/measures_{chosen.half}.csv")
    out.parent.mkdir(parents=True, exist_ok=True)
    done, fresh = known(out), not out.exists()
    ways = models(metric, measure, chosen.ours)
    found, seconds = defaultdict(dict), defaultdict(dict)
    with out.open("a", newline="") as file:
        writer = csv.writer(file)
        if fresh:
            writer.writerow(FIELDS)
        for family, tasks, sources in families(chosen.half, chosen.family):
            for task in tasks:
                for split in range(chosen.splits if task.rows <= 3_000 else -(-chosen.splits // 2)):
                    parts = None
                    for model, fit in ways.items():
                        key = tuple(map(str, (chosen.metric, *task.key, split, model)))
                        if key not in done:
                            parts = parts or task.split(sources[task.file], split)
                            began = time.process_time()
                            fitted = fit(metric, *parts[:2])
                            took = time.process_time() - began
                            done[key] = (f"{value(metric, fitted, *parts[2:]):.6f}", f"{took:.4f}")
                            writer.writerow([*key, *done[key]])
                            file.flush()
                        at = (family, task.name, task.rows, split)
                        found[model][at], seconds[model][at] = map(float, done[key])
                print(task.name, *(f"{m} {found[m][at]:.3f}" for m in found), sep="  ", flush=True)
    title = f"# {chosen.metric}, {chosen.half} half: means over splits 0 to {chosen.splits - 1}\n\n"
    table = title + tables(found, seconds, next(iter(ways)))
    print(table)
    if chosen.table:
        chosen.table.write_text(table)


if __name__ == "__main__":
    main()
