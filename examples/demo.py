"""Eights against all other digits: a certified linear SVM beside scikit-learn's LinearSVC.

Run it with `make demo`, or `python examples/demo.py`. It prints one table, writes `demo.png` (the
two bounds closing in on the optimum) into the current directory, and exits with status 1 if the
fit did not converge.
"""

import sys
import time
import warnings

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from gapfit import LinearClassifier, plot_convergence

ALPHA = 1e-4
PICTURE = "demo.png"


def data():
    """scikit-learn's bundled digits, pixels in [0, 1]; about one sample in ten is an eight."""
    X, digit = load_digits(return_X_y=True)
    return train_test_split(
        X / 16.0, (digit == 8).astype(int), test_size=0.25, stratify=digit == 8, random_state=0
    )


def objective(model, X, y):
    """J(w, b) = alpha/2 |w|^2 + mean hinge loss, from the coefficients alone."""
    w, b = model.coef_.ravel(), float(np.ravel(model.intercept_)[0])
    margins = np.where(y == 1, 1.0, -1.0) * (X @ w + b)
    return ALPHA / 2 * (w @ w) + np.maximum(0.0, 1.0 - margins).mean()


def timed_fit(model, X, y):
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def fit_linear_svc(X, y):
    model = LinearSVC(loss="hinge", C=1 / (ALPHA * len(y)), max_iter=20_000, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        seconds = timed_fit(model, X, y)
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    return model, seconds, "stopped at max_iter" if warned else "its own criterion met"


def table(ours, ours_seconds, svc, svc_seconds, svc_status, X, y, X_test, y_test):
    relative = ours.dual_gap_ / max(abs(ours.objective_), abs(ours.dual_objective_))
    scores = [
        (name, [metric(y_test, getattr(m, method)(X_test)) for m in (ours, svc)])
        for name, metric, method in (
            ("test accuracy", accuracy_score, "predict"),
            ("test F1", f1_score, "predict"),
            ("test ROC-AUC", roc_auc_score, "decision_function"),
        )
    ]
    result = Table(title="Digit 8 against the rest: hinge loss, L2 penalty")
    result.add_column("")
    result.add_column("gapfit", justify="right")
    result.add_column("LinearSVC", justify="right")
    result.add_row("objective J, recomputed here", *(f"{objective(m, X, y):.9f}" for m in (ours, svc)))
    result.add_row("upper bound", f"{ours.objective_:.9f}", "-")
    result.add_row("lower bound", f"{ours.dual_objective_:.9f}", "-")
    result.add_row("gap (relative)", f"{ours.dual_gap_:.1e} ({relative:.1e})", "-")
    result.add_row("status", str(getattr(ours.status_, "value", ours.status_)), svc_status)
    result.add_row("time of the fit", f"{ours_seconds:.3f} s", f"{svc_seconds:.3f} s", end_section=True)
    for name, values in scores:
        result.add_row(name, *(f"{value:.4f}" for value in values))
    certified = ours.certified(X_test)
    result.add_row("test predictions certified", f"{certified.sum()} of {certified.size}", "-")
    return result


def main():
    X, X_test, y, y_test = data()
    console = Console(width=None if sys.stdout.isatty() else 100)
    console.print(
        f"{len(y)} training samples, {X.shape[1]} features, {y.mean():.1%} positive; "
        f"alpha = {ALPHA:g}, that is C = {1 / (ALPHA * len(y)):.3g}"
    )
    first_seconds = timed_fit(LinearClassifier(alpha=ALPHA), X, y)
    ours = LinearClassifier(alpha=ALPHA)
    ours_seconds = timed_fit(ours, X, y)
    svc, svc_seconds, svc_status = fit_linear_svc(X, y)

    console.print(table(ours, ours_seconds, svc, svc_seconds, svc_status, X, y, X_test, y_test))
    console.print(
        "Timed: fit() on the wall clock, input checks and certificate included; for gapfit the "
        f"second fit. The first fit in this process took {first_seconds:.3f} s. LinearSVC "
        "penalises its intercept, so it minimises a slightly different objective; J is the same "
        "formula for both."
    )
    plot_convergence(ours)
    plt.savefig(PICTURE, dpi=120)
    console.print(f"Wrote {PICTURE}.")
    return 0 if ours.converged_ else 1


if __name__ == "__main__":
    sys.exit(main())
