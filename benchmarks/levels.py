"""Ordered levels on samples that no model has seen: OrdinalClassifier beside mord and a rounded ridge.

    python benchmarks/levels.py --half tuning|reporting [--splits 5] [--rows 3000] [--out FILE] [--table FILE]

The sets are those of `unseen/levels.py`. Half of the samples (at most `--rows`) are trained on, scaled by
these. All models have alpha = 1e-4, mord the same in its own units; the ridge chooses its own. Errors are in
levels, seconds CPU seconds. A line a fit goes to a CSV file; a run that was stopped goes on where it was.
The table has the mean over splits of each set: less than the default, with the standard error over splits.
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
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from unseen.levels import sets
from unseen.sets import hashed

from gapfit import OrdinalClassifier
from gapfit.losses import OrdinalThresholds

ALPHA = 1e-4
OURS = {
    f"{kind} {base}": OrdinalThresholds(kind, base)
    for kind in ("all", "immediate")
    for base in ("hinge", "squared_hinge", "logistic")
}


def rounded_ridge(X, y):
    model = RidgeCV(np.geomspace(1e-3, 1e3, 13)).fit(X, y)
    return lambda Z: np.clip(np.rint(model.predict(Z)), y.min(), y.max())


def ways():
    made = {"default": lambda X, y: OrdinalClassifier(alpha=ALPHA).fit(X, y).predict}
    for name, loss in OURS.items():
        made[name] = lambda X, y, loss=loss: OrdinalClassifier(loss=loss, alpha=ALPHA).fit(X, y).predict
    made["rounded ridge"] = rounded_ridge
    try:
        import mord
    except ImportError:
        print("mord is not installed: left out")
    else:
        made["mord all logistic"] = lambda X, y: mord.LogisticAT(alpha=ALPHA * len(y)).fit(X, y).predict
        made["mord immediate"] = lambda X, y: mord.LogisticIT(alpha=ALPHA * len(y)).fit(X, y).predict
    return made


def known(path):
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {(r["data"], r["split"], r["model"]): [r["error"], r["wrong"], r["seconds"]] for r in rows}


def table(found):
    """For the error and for the share of wrong levels: of each set, and the mean difference over sets."""
    names = list(dict.fromkeys(model for _, _, model in found))
    data = list(dict.fromkeys(where for where, _, _ in found))
    values = defaultdict(list)
    for (where, _, model), numbers in found.items():
        values[where, model].append([float(number) for number in numbers])
    lines = []
    for column, what in enumerate(("mean absolute error", "share of wrong levels")):
        lines += [f"\n## {what}\n", "| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
        means = defaultdict(list)
        for where in data:
            ours = np.array(values[where, "default"])[:, column]
            cells = []
            for name in names:
                there = np.array(values[where, name])[:, column]
                less = there - ours
                error = less.std(ddof=1) / np.sqrt(len(less)) if len(less) > 1 else np.nan
                mark = " **<**" if less.mean() < -2 * error else " >" if less.mean() > 2 * error else ""
                cells.append(f"{there.mean():.4f}{mark}")
                means[name].append(less.mean())
            lines.append(f"| {where} | " + " | ".join(cells) + " |")
        cells = [f"{np.mean(m):+.4f} ({np.std(m, ddof=1) / np.sqrt(len(m)):.4f})" for m in means.values()]
        lines.append("| less the default | " + " | ".join(cells) + " |")
    seconds = {
        name: np.exp(np.mean([np.log(min(np.array(values[where, name])[:, 2])) for where in data]))
        for name in names
    }
    lines += ["\n## CPU milliseconds, geometric mean over sets of the least over splits\n"]
    lines += ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    lines.append("| " + " | ".join(f"{1e3 * seconds[name]:.1f}" for name in names) + " |")
    lines.append("\n**<** is better than the default by more than two standard errors over splits, > worse.")
    return "\n".join(lines).replace("\\\n", "\n") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", required=True, choices=["tuning", "reporting"])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--out", type=Path, help="CSV file, by default build/levels_HALF.csv")
    parser.add_argument("--table", type=Path, help="file to write the table to, in Markdown")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    out = chosen.out or Path(f"build/levels_{chosen.half}.csv")
    out.parent.mkdir(parents=True, exist_ok=True)
    done, fresh, found = known(out), not out.exists(), {}
    with out.open("a", newline="") as file:
        writer = csv.writer(file)
        if fresh:
            writer.writerow(["data", "split", "model", "error", "wrong", "seconds"])
        for data, X, y in sets(chosen.half):
            for split in range(chosen.splits):
                seed = (hashed(data) + split) % 2**32
                size = min(chosen.rows, len(y) // 2)
                A, B, a, b = train_test_split(X, y, train_size=size, random_state=seed)
                scaler = StandardScaler().fit(A)
                A, B = scaler.transform(A), scaler.transform(B)
                for model, fit in ways().items():
                    key = (data, str(split), model)
                    if key not in done:
                        began = time.process_time()
                        predict = fit(A, a)
                        took = time.process_time() - began
                        off = np.abs(predict(B) - b)
                        done[key] = [f"{off.mean():.6f}", f"{(off > 0).mean():.6f}", f"{took:.5f}"]
                        writer.writerow([*key, *done[key]])
                        file.flush()
                    found[key] = done[key]
    text = f"# Ordered levels, {chosen.half} half: splits 0 to {chosen.splits - 1}\n" + table(found)
    print(text)
    if chosen.table:
        chosen.table.write_text(text)


if __name__ == "__main__":
    main()
