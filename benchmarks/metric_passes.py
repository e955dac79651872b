"""Passes over the data, and CPU seconds, for F1 and the ROC area: the bundle beside plain cutting planes.

    python benchmarks/metric_passes.py [--limit 60] [--table FILE]

Both minimise alpha/2 |w|^2 + R(X w) to a certified relative gap of 1e-3. Plain cutting planes cut at the
model's minimiser, as SVM-Perf does with one slack variable; ours are the level bundle that `auto` chooses. A
pass is one product with X and one with its transpose. Where plain cutting planes do not arrive within the
limit (CPU seconds, one thread), the passes they had made by then stand in, marked ">".

Data are read from the folder GAPFIT_DATA (by default ../shared/data); what is absent is named and left out.
"""

import argparse
import os
import time
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import maxabs_scale

from gapfit import Problem, datasets, losses, solve
from gapfit.solvers.bundle import bundle

FOLDER = Path(os.environ.get("GAPFIT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
LOSSES = {"F1": losses.FBeta(), "ROC area": losses.RocArea()}
ALPHAS = (1e-3, 1e-4)
SETS = {
    "a9a": "binary/a9a.libsvm.xz",
    "w8a": "binary/w8a.libsvm.xz",
    "covtype": "multiclass/covtype.libsvm.xz",
    **{f"reuters {topic}": "text/reuters21578.train.libsvm.xz" for topic in (1, 3, 6, 15)},
}


def load(name):
    """X and y in {-1, +1}."""
    file = FOLDER / SETS[name]
    if name.startswith("reuters"):
        data = datasets.load(file, multilabel=True)
        topic = int(name.split()[1])
        chosen = data.y[:, [topic]].toarray().ravel() > 0
        return TfidfTransformer(sublinear_tf=True).fit_transform(data.X), np.where(chosen, 1.0, -1.0)
    data = datasets.load(file)
    if name == "covtype":
        return maxabs_scale(data.X), np.where(data.y == 2, 1.0, -1.0)
    return data.X, np.where(data.y > 0, 1.0, -1.0)


def fit(X, y, loss, alpha, stabilise, limit):
    """Passes, CPU seconds, and whether the gap was certified."""
    problem = Problem(X, y, loss, alpha=alpha, intercept=False)
    began = time.process_time()

    def over(progress):
        return time.process_time() - began > limit

    solution = solve(problem, partial(bundle, stabilise=stabilise), tol=1e-3, callbacks=[over], n_jobs=1)
    return solution.n_iter, time.process_time() - began, solution.converged


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds for one fit")
    parser.add_argument("--data", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--table", type=Path, help="file to write the table to, in Markdown")
    chosen = parser.parse_args()
    lines = [
        "| data | loss | alpha | ours: passes | s | cutting planes: passes | s | ratio of passes |",
        "|---" * 8 + "|",
    ]
    ratios = []
    for loss in LOSSES.values():  # compiles
        fit(np.eye(4), np.array([-1.0, 1.0, 1.0, -1.0]), loss, 1.0, "level", 1.0)
    for name in chosen.data:
        if not (FOLDER / SETS[name]).exists():
            print(f"{name}: {SETS[name]} is not there")
            continue
        X, y = load(name)
        for (label, loss), alpha in ((pair, alpha) for pair in LOSSES.items() for alpha in ALPHAS):
            ours, seconds, certified = fit(X, y, loss, alpha, "level", chosen.limit)
            plain, plain_seconds, arrived = fit(X, y, loss, alpha, None, chosen.limit)
            ratios.append(ours / plain)
            lines.append(
                f"| {name} | {label} | {alpha:g} | {'' if certified else '>'}{ours} | {seconds:.2f} | "
                f"{'' if arrived else '>'}{plain} | {plain_seconds:.2f} | {ratios[-1]:.3f} |"
            )
            print(lines[-1], flush=True)
    lines.append(f"\ngeometric mean of the ratios: {np.exp(np.mean(np.log(ratios))):.3f}")
    print(lines[-1])
    if chosen.table:
        chosen.table.write_text(
            "# Passes over the data to a certified relative gap of 1e-3\n\n" + "\n".join(lines) + "\n"
        )


if __name__ == "__main__":
    main()
