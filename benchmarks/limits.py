"""Do fits come back in time? Every solver on large problems, with a time limit or a Ctrl-C in a step.

    python benchmarks/limits.py [--shapes dense sparse kernel text] [--solvers auto bundle ...] [--losses ...]
                                [--seconds 1] [--interrupt] [--data FOLDER] [--seed 0]

A fit is timed from the call to its return: validation, set-up, steps and the last certificate. A line says
how much longer it took than it was given, in seconds and in passes over the data (a pass is a product with X,
or with a kernel matrix; whatever is cheaper than a millisecond counts as one). What is promised is one second
and three passes. Each fit runs in a process of its own, after the same fit on a small share of the data has
compiled what it needs; one that is not back a minute after its limit is killed and shown as such.
`--interrupt` sends a Ctrl-C instead of giving a limit, and also shows whether a point was saved.
"""

import argparse
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from gapfit import KernelNoveltyDetector, KernelSVC, KernelSVR, Problem, datasets, solve, threads
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Gaussian
from gapfit.registry import SOLVERS, as_solver
from gapfit.solvers.base import missing_need

WARM = 3.0  # seconds in which the small fit meets all that is compiled
PATIENCE = 60.0  # seconds after the limit
TOL = 1e-13  # which no fit of this size reaches in a second, or STALLED says so
MARGINS = ("hinge", "squared_hinge", "logistic", "exponential")
NUMBERS = ("squared", "quantile", "huber", "poisson")
CLASSES = ("crammer_singer", "softmax")
PENALTIES = ("l2", "l1", "elastic_net")


class Case(NamedTuple):
    name: str
    fit: Callable[[float, bool], Any]  # seconds, on a small share of the data or on all


class Shape(NamedTuple):
    """Data, and what targets they have."""

    X: Any
    margins: Any
    numbers: Any
    classes: Any

    def some(self, small: bool) -> "Shape":
        rows = slice(0, 4000 if small else None)
        return Shape(*(part[rows] for part in self))


def drawn(X: Any, rng: np.random.Generator) -> Shape:
    """Targets that a linear model explains in part."""
    scores = X @ rng.normal(size=X.shape[1])
    scores = scores / scores.std() + rng.normal(size=len(scores))
    classes = np.digitize(scores, np.quantile(scores, [0.2, 0.4, 0.6, 0.8])) + 0
    return Shape(X, np.where(scores > 0, 1.0, -1.0), scores, classes)


def dense(rng: np.random.Generator) -> Shape:
    return drawn(rng.normal(size=(200_000, 100)), rng)


def wide(rng: np.random.Generator) -> Shape:
    """20,000 x 200,000, a hundred entries a row, frequent and rare columns."""
    n, d, per_row = 20_000, 200_000, 100
    columns = np.minimum((d * rng.random((n, per_row)) ** 3).astype(np.int64), d - 1)
    rows = np.repeat(np.arange(n), per_row)
    X = sparse.csr_array((rng.random(n * per_row), (rows, columns.ravel())), shape=(n, d))
    X.sum_duplicates()
    return drawn(X, rng)


def text(folder: Path) -> Shape:
    """Reuters' documents, tf-idf of frequent words, the most frequent topic against the others."""
    data = datasets.read_svmlight(folder / "text" / "reuters21578.train.libsvm.xz", multilabel=True)
    words = np.flatnonzero(np.bincount(data.X.indices, minlength=data.X.shape[1]) >= 50)
    X = sparse.csr_array(TfidfTransformer().fit_transform(data.X[:, words]))
    shape = drawn(X, np.random.default_rng(0))
    return shape._replace(margins=np.where(data.y[:, [1]].toarray().ravel() > 0, 1.0, -1.0))


def linear_cases(
    shape: Shape, solvers: list[str], losses: list[str], alphas: tuple[float, ...]
) -> Iterator[Case]:
    for loss in losses:
        for penalty in PENALTIES:
            for alpha in alphas:
                small = problem_of(shape.some(True), loss, penalty, alpha)
                for solver in solvers:
                    if solver == "auto" or missing_need(as_solver(solver), small) is None:
                        yield Case(
                            f"{loss} + {penalty} {alpha:g}: {solver}",
                            lambda seconds, few, of=(loss, penalty, alpha), solver=solver: solve(
                                problem_of(shape.some(few), *of), solver, tol=TOL, max_time=seconds
                            ),
                        )


def problem_of(shape: Shape, loss: str, penalty: str, alpha: float) -> Problem:
    y = shape.classes if loss in CLASSES else shape.margins if loss in MARGINS else shape.numbers
    if loss == "poisson":
        y = np.floor(np.exp(np.minimum(y, 5.0)))
    return Problem(shape.X, y, loss, penalty, alpha)


def kernel_cases(shape: Shape, solvers: list[str]) -> Iterator[Case]:
    machines = {
        "KernelSVC, C=1": lambda **k: KernelSVC(C=1.0, **k),
        "KernelSVC, C=1e4": lambda **k: KernelSVC(C=1e4, **k),
        "KernelSVC, sigmoid": lambda **k: KernelSVC(kernel="sigmoid", cache_size=20_000, **k),
        "KernelSVC, precomputed": lambda **k: KernelSVC(kernel="precomputed", **k),
        "KernelSVR, C=100": lambda **k: KernelSVR(C=100.0, **k),
        "KernelNoveltyDetector": lambda **k: KernelNoveltyDetector(nu=0.3, **k),
    }

    def fit(make: Callable[..., Any], name: str, seconds: float, few: bool) -> Any:
        X, margins, numbers, _ = shape.some(few)
        if "precomputed" in name:
            X = X[:4000, :]
            margins = margins[:4000]
            X = np.exp(-0.05 * ((X**2).sum(1)[:, None] + (X**2).sum(1) - 2 * X @ X.T))
        return make(tol=TOL, max_time=seconds).fit(X, numbers if "SVR" in name else margins)

    for name, make in machines.items():
        yield Case(name, lambda seconds, few, make=make, name=name: fit(make, name, seconds, few))
    for solver in solvers:
        for loss in ("hinge", "logistic"):
            small = kernel_problem(shape.some(True), loss)
            if solver != "auto" and missing_need(as_solver(solver), small) is not None:
                continue
            yield Case(
                f"kernel, {loss}: {solver}",
                lambda seconds, few, loss=loss, solver=solver: solve(
                    kernel_problem(shape.some(few), loss), solver, tol=TOL, max_time=seconds
                ),
            )


def kernel_problem(shape: Shape, loss: str) -> Problem:
    return Problem(KernelDesign(shape.X, Gaussian(0.05)), shape.margins, loss, "l2", 1e-6)


def seconds_of_a_pass(X: Any, *, kernel: bool) -> float:
    design = KernelDesign(X, Gaussian(0.05)) if kernel else Problem(X, np.ones(X.shape[0]), "squared").design
    w = np.random.default_rng(1).normal(size=design.shape[1])
    with threads.using(None):
        design.scores(w[::-1].copy() if not kernel else np.where(np.arange(len(w)) < 10, w, 0.0))
        began = time.perf_counter()
        design.scores(w)
    return max(time.perf_counter() - began, 1e-3)


def measure(case: Case, seconds: float, interrupt: bool, answer: Any) -> None:
    """In a process of its own."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        case.fit(WARM, True)
    except MemoryError as error:
        answer.send((0.0, "refused", str(error)))
        return
    if interrupt:
        threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.perf_counter()
    try:
        result = case.fit(np.inf if interrupt else seconds, False)
    except BaseException as error:
        answer.send((time.perf_counter() - began, f"{type(error).__name__}: {error}"[:90], ""))
        return
    took = time.perf_counter() - began
    status = getattr(result, "status", None) or result.status_
    certificate = getattr(result, "certificate", None) or result.certificates_[0]
    answer.send((took, status.name, f"gap {certificate.gap:.2g} of {certificate.primal:.3g}"))


def run(case: Case, seconds: float, interrupt: bool, passes: float) -> bool:
    """Print a line; whether the promise was kept."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(False)
    process = context.Process(target=measure, args=(case, seconds, interrupt, theirs))
    process.start()
    theirs.close()
    try:
        found = mine.poll(PATIENCE + seconds + 60) and mine.recv()
    except EOFError:
        found = False
    if found is False:
        process.kill()
        print(f"{case.name:45} KILLED", flush=True)
        return False
    process.join()
    took, status, note = found
    over = max(took - seconds, 0.0)
    kept = over <= 1.0 + 3 * passes and ":" not in status
    late = "" if kept else "LATE"
    print(
        f"{case.name:45} {status:12} {over:7.2f} s {over / passes:9.1f} passes  {note[:60]} {late}",
        flush=True,
    )
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shapes", nargs="+", default=["dense", "sparse", "kernel", "text"])
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS))
    parser.add_argument("--losses", nargs="+", default=[*MARGINS, *NUMBERS, *CLASSES])
    parser.add_argument("--alphas", nargs="+", type=float, default=[1e-6])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--interrupt", action="store_true")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    late = total = 0
    for name in given.shapes:
        rng = np.random.default_rng(given.seed)
        if name == "kernel":
            shape = drawn(rng.normal(size=(20_000, 20)), rng)
            cases = kernel_cases(shape, given.solvers)
        else:
            shape = dense(rng) if name == "dense" else wide(rng) if name == "sparse" else text(given.data)
            cases = linear_cases(shape, given.solvers, given.losses, tuple(given.alphas))
        context = multiprocessing.get_context("fork")
        with context.Pool(1) as pool:  # so that this process has no threads when it forks
            passes = pool.apply(seconds_of_a_pass, (shape.X,), {"kernel": name == "kernel"})
        print(f"\n{name}: {shape.X.shape[0]} x {shape.X.shape[1]}, a pass takes {passes:.3f} s", flush=True)
        for case in cases:
            total += 1
            late += not run(case, given.seconds, given.interrupt, passes)
    print(f"\n{late} of {total} were late, or failed")


if __name__ == "__main__":
    main()
