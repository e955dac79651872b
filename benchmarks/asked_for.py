"""Figures for the page of what people ask for: python benchmarks/asked_for.py [--small] > asked_for.md.

Measures on a million sparse rows, quantiles of three million dense ones, memory beside the rows, and answers
that do not depend on where the origin is. Each fit in a process of its own; peak is that of the process.
"""

import argparse
import multiprocessing
import resource
import time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import scale

from gapfit import LinearClassifier, LinearRegressor, MetricClassifier
from gapfit.losses import FBeta, PrecisionAtK, Quantile


def measures(name: str, n: int) -> list[Any]:
    """Rows of ten entries in 1,000 columns, one in 33 positive."""
    rng = np.random.default_rng(0)
    columns, values = rng.integers(0, 1000, size=(n, 10)), rng.random((n, 10))
    X = sparse.csr_array((values.ravel(), columns.ravel().astype(np.int32), np.arange(0, 10 * n + 1, 10)))
    X.sum_duplicates()
    scores = X @ rng.normal(size=X.shape[1])
    y = scores + rng.normal(size=n) > np.quantile(scores, 0.97)
    by_name = {"F1": FBeta(1), "ROC area": "roc_area", "precision at n/100": PrecisionAtK(n // 100)}
    if name == "F1, auto":
        return [MetricClassifier(metric="f1", tol=1e-3), X, y]
    return [MetricClassifier(metric=by_name[name], strategy="surrogate", alpha=1e-4, tol=1e-3), X, y]


def quantiles(penalty: str, n: int) -> list[Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 50))
    y = X[:, 0] + rng.gumbel(size=n)
    alpha = 1e-4 if penalty == "l2" else 1e-3
    return [LinearRegressor(loss=Quantile(0.9), penalty=penalty, alpha=alpha, n_jobs=2), X, y]


def _measured(make: Any, which: str, n: int, out: Any) -> None:
    make(which, 3000)[0].fit(*make(which, 3000)[1:])  # compiles
    model, X, y = make(which, n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    took = time.perf_counter() - wall, time.process_time() - cpu
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gap = max(one.relative_gap for one in model.certificates_)
    data = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    out.put((model.status_.name.lower(), gap, *took, data / 1e9, (after - before) / 1e6))


def alone(*given: Any) -> Any:
    """What `_measured` finds in a process of its own."""
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    process = context.Process(target=_measured, args=(*given, out))
    process.start()
    found = out.get()
    process.join()
    return found


def shifts() -> None:
    """How far weights move when all rows, or all targets, move."""
    rng = np.random.default_rng(0)
    print("\n| loss | weights after a shift of X | of y |\n|---|---|---|")
    X, y = load_breast_cancer(return_X_y=True)
    for loss in ("hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential"):
        model = LinearClassifier(loss=loss, alpha=1e-2, tol=1e-12)
        print(f"| {loss} | {_moved(model, scale(X), y, rng):.1e} | |")
    X, y = load_diabetes(return_X_y=True)
    for loss in (
        "squared",
        "absolute",
        "huber",
        "epsilon_insensitive",
        "squared_epsilon_insensitive",
        "quantile",
    ):
        model = LinearRegressor(loss=loss, alpha=1e-2, tol=1e-12)
        weights = [model.fit(scale(X), y / 50 + shift).coef_.copy() for shift in (0.0, 7.0)]
        y_moved = np.abs(weights[1] - weights[0]).max() / np.abs(weights[0]).max()
        print(f"| {loss} | {_moved(model, scale(X), y / 50, rng):.1e} | {y_moved:.1e} |")


def _moved(model: Any, X: Any, y: Any, rng: np.random.Generator) -> float:
    here = model.fit(X, y).coef_.copy()
    there = model.fit(X + 10 * rng.normal(size=X.shape[1]), y).coef_
    return float(np.abs(there - here).max() / np.abs(here).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a hundredth of the rows")
    less = 100 if parser.parse_args().small else 1
    print(
        "| fit | rows x columns | ended | relative gap | s | CPU s | data, GB | peak less that before, GB |"
    )
    print("|---|---|---|---|---|---|---|---|")
    cases = [
        (measures, name, 1_000_000, 1000) for name in ("F1", "ROC area", "precision at n/100", "F1, auto")
    ]
    cases += [(quantiles, penalty, 3_000_000, 50) for penalty in ("l2", "l1")]
    for make, which, n, d in cases:
        ended, gap, wall, cpu, data, peak = alone(make, which, n // less)
        fit = f"| {make.__name__}: {which} | {n // less:,} x {d:,} | {ended} | {gap:.1e} "
        print(f"{fit}| {wall:.1f} | {cpu:.1f} | {data:.2f} | {peak:.2f} |", flush=True)
    shifts()


if __name__ == "__main__":
    main()
