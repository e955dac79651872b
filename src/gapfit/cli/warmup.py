"""`gapfit warmup`: fits to small data of every kind, so that later processes find all machine code on disk.

What a fit compiles is what it runs. So the parts are fits, as users make them.
"""

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np
from scipy import sparse

from gapfit import datasets, estimators
from gapfit.errors import IncompatibleSolver
from gapfit.registry import SOLVERS
from gapfit.structures import Labels
from gapfit.versions import versions

Fit = Callable[[], Any]
_WIDE = 10_000  # columns are too many for solvers that keep a square of them
_STEPS = 20  # of a solver that is asked for by name: all that it compiles is compiled by then


@click.command()
@click.argument("parts", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Name the parts and do nothing.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no last line.")
def warmup(parts: tuple[str, ...], *, listed: bool, quiet: bool) -> int:
    """Compile ahead what first fits would compile, for images and read-only installations.

    PARTS are some of those that --list names; without any, all are compiled. Machine code is kept where
    NUMBA_CACHE_DIR says, beside the package without that, and with the user's caches if that is read-only.
    """
    unknown = set(parts) - set(PARTS)
    if unknown:
        raise click.UsageError(f"unknown part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if listed:
        click.echo("\n".join(f"{name:<12} {(made.__doc__ or '').strip()}" for name, made in PARTS.items()))
        return 0
    if versions()["Compiled code"]["GAPFIT_CACHE"] == "0":
        raise click.UsageError("GAPFIT_CACHE=0 keeps no machine code; unset it")
    began = perf_counter()
    with _at_once():
        for name in parts or PARTS:
            start = perf_counter()
            for fit in PARTS[name]():
                _once(fit)
            if not quiet:
                click.echo(f"{name:<12} {perf_counter() - start:6.1f} s", err=True)
    if not quiet:
        folder = versions()["Compiled code"]["folder"]
        click.echo(f"compiled in {perf_counter() - began:.0f} s, kept in {folder}")
    return 0


@contextmanager
def _at_once() -> Iterator[None]:
    """No first fit runs as Python in this block."""
    before = os.environ.get("GAPFIT_COMPILE")
    os.environ["GAPFIT_COMPILE"] = "at_once"
    try:
        yield
    finally:
        del os.environ["GAPFIT_COMPILE"]
        os.environ.update({} if before is None else {"GAPFIT_COMPILE": before})


def _once(fit: Fit) -> None:
    """Fits are short, and need not converge; a solver that does not serve this problem is left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit()
        except IncompatibleSolver:
            return


def _fit(model: Any, *data: Any) -> Fit:
    return lambda: model.fit(*data)


def _tall(dtype: Any = np.float64, rows: int = 400, columns: int = 12) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    return X.astype(dtype), X[:, :3].sum(axis=1) + rng.standard_normal(rows)


def _kinds() -> Iterator[tuple[Any, Any]]:
    """Dense and sparse, tall and wide, of both precisions; the targets are numbers."""
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        yield _tall(dtype)
        for rows, columns, share in ((3000, 200, 0.05), (2000, 3 * _WIDE, 0.002)):
            X = sparse.random_array((rows, columns), density=share, format="csr", rng=rng)
            yield X.astype(dtype), X @ rng.standard_normal(columns) + 0.1 * rng.standard_normal(rows)


def _linear() -> Iterator[Fit]:
    """linear classifiers and regressors as they are by default"""
    for X, f in _kinds():
        y = f > np.median(f)
        for loss in ("hinge", "squared_hinge", "logistic"):
            for penalty, alpha in (("l2", 1e-2), ("l2", 1e-5), ("l1", 1e-2)):
                yield _fit(estimators.LinearClassifier(loss=loss, penalty=penalty, alpha=alpha), X, y)
        for loss in ("squared", "huber", "quantile", "epsilon_insensitive", "poisson"):
            for penalty in ("l2", "l1", "elastic_net"):
                t = np.abs(f).round() if loss == "poisson" else f
                yield _fit(estimators.LinearRegressor(loss=loss, penalty=penalty, alpha=1e-2), X, t)


def _solvers() -> Iterator[Fit]:
    """every solver by its name, on losses with and without kinks"""
    for X, f in (kind for kind in _kinds() if kind[0].shape[1] < _WIDE):
        y = f > np.median(f)
        for solver in SOLVERS:
            for loss in ("hinge", "logistic", "squared_hinge"):
                for penalty in ("l2", "l1", "elastic_net"):
                    named: dict[str, Any] = {"loss": loss, "penalty": penalty, "solver": solver}
                    yield _fit(estimators.LinearClassifier(alpha=1e-2, max_iter=_STEPS, **named), X, y)


def _classes() -> Iterator[Fit]:
    """several classes, ordered ones, novelties"""
    for X, f in _kinds():
        y = np.digitize(f, np.quantile(f, (0.25, 0.5, 0.75)))
        for loss in ("hinge", "softmax", "crammer_singer"):
            yield _fit(estimators.LinearClassifier(loss=loss, alpha=1e-2), X, y)
        yield _fit(estimators.OrdinalClassifier(alpha=1e-2), X, y)
        yield _fit(estimators.NoveltyDetector(), X)


def _measures() -> Iterator[Fit]:
    """measures and rankings"""
    for dtype in (np.float64, np.float32):
        X, f = _tall(dtype, 200, 5)
        y = f > np.quantile(f, 0.7)
        for metric in ("f1", "roc_area", "balanced_accuracy", "break_even", "matthews"):
            yield _fit(estimators.MetricClassifier(metric=metric, max_iter=_STEPS), X, y)
        grades, query = np.digitize(f, (-1.0, 0.0, 1.0)), np.repeat(np.arange(20), 10)
        few_and_many = (("auto", query), ("bundle", query), ("pair_rows", None))  # pairs
        for loss in ("pairwise", "ndcg", "map"):
            for solver, queries in few_and_many:
                ranker = estimators.Ranker(loss=loss, max_iter=_STEPS, solver=solver)
                yield _fit(ranker, X, np.minimum(grades, 1), queries)


def _kernels() -> Iterator[Fit]:
    """kernel machines"""
    X, f = _tall(rows=300)
    for kernel in ("rbf", "linear", "poly"):
        for data in (X, sparse.csr_array(X)):
            for y in (f > 0, np.digitize(f, (-1.0, 1.0))):
                yield _fit(estimators.KernelSVC(kernel=kernel), data, y)
            yield _fit(estimators.KernelSVR(kernel=kernel), data, f)
            yield _fit(estimators.KernelNoveltyDetector(kernel=kernel), data)


def _structures() -> Iterator[Fit]:
    """sequences and other structures"""
    X, f = _tall(rows=300)
    lengths, labels = np.full(30, 10), np.digitize(f, (-1.0, 1.0))
    for data in (X, sparse.csr_array(X), sparse.csr_array(X.astype(np.float32))):
        for loss in ("crf", "margin"):
            yield _fit(estimators.SequenceLabeler(loss=loss, alpha=1e-1), (data, lengths), labels)
    few = list(X[:50]), list(labels[:50])
    yield _fit(estimators.StructuredClassifier(structure=Labels(3), alpha=1e-1), *few)


def _files() -> Iterator[Fit]:
    """data files"""
    X, f = _tall()

    def there_and_back() -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("data.svm", "data.csv"):
                path = str(Path(folder, name))
                datasets.save(path, datasets.Data(X, f))
                datasets.load(path)

    yield there_and_back


PARTS: dict[str, Callable[[], Iterator[Fit]]] = {
    "linear": _linear,
    "classes": _classes,
    "measures": _measures,
    "kernels": _kernels,
    "structures": _structures,
    "solvers": _solvers,
    "files": _files,
}
