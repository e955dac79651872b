"""Which fits of the default solver are not certified? All pointwise losses on real data, raw and scaled.

    python benchmarks/uncertified.py --data FOLDER [--out uncertified.csv] [--sets ...] [--losses ...]
                                     [--penalties ...] [--seconds 10] [--tol 1e-4]

FOLDER holds `binary/`, `regression/`, `multiclass/` and `text/` with svmlight files (`.libsvm.xz`) and arrays
(`.npz`); sets of scikit-learn are added. Classes are made two: the most frequent one against the rest. Each
fit is a line of the output file, and a run that was stopped goes on where it was. At the end the share of
fits that are not certified is shown, and each of them.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import datasets as toys
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from gapfit import Problem, Status, datasets, solve

MARGINS = ("hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential")
NUMBERS = ("squared", "absolute", "quantile", "epsilon_insensitive", "squared_epsilon_insensitive", "huber")
COUNTS = ("poisson",)
PENALTIES = ("l1", "l2", "elastic_net")
ALPHAS = (1e-2, 1e-4, 1e-6)
FIELDS = ("set", "scaling", "loss", "penalty", "alpha", "status", "gap", "primal", "n_iter", "seconds")
FEW = 6000  # samples of the multi-class sets

Pair = tuple[Any, Any]


def two_classes(X: Any, y: Any) -> Pair:
    values, counts = np.unique(y, return_counts=True)
    return X, np.where(y == values[counts.argmax()], 1.0, -1.0)


def read(path: Path) -> Pair:
    if path.suffix == ".npz":
        stored = np.load(path)
        return stored["X"].astype(np.float64), stored["y"]
    data = datasets.read_svmlight(path)
    full = data.X.nnz > 0.25 * data.X.shape[0] * data.X.shape[1]
    return (data.X.toarray() if full else data.X), data.y


def words(path: Path, topic: int, documents: int, seldom: int) -> Pair:
    """Documents with the words that are not seldom, tf-idf; one topic against the others."""
    data = datasets.read_svmlight(path, multilabel=True)
    X, y = data.X[:documents], data.y[:documents, [topic]].toarray().ravel()
    chosen = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) >= seldom)
    X = sparse.csr_array(TfidfTransformer().fit_transform(X[:, chosen]))
    return X, np.where(y > 0, 1.0, -1.0)


def toy(load: Callable[..., Any]) -> Pair:
    return load(return_X_y=True)


def sets(folder: Path) -> Iterator[tuple[str, bool, Callable[[], Pair]]]:
    """Name, whether its targets are classes, and how to have it."""
    for name in ("iris", "wine", "breast_cancer", "digits"):
        yield name, True, lambda name=name: two_classes(*toy(getattr(toys, f"load_{name}")))
    yield "diabetes", False, partial(toy, toys.load_diabetes)
    for path in sorted((folder / "binary").glob("*.xz")):
        if not path.name.startswith("a9a.t."):
            yield path.name.split(".libsvm")[0], True, lambda path=path: two_classes(*read(path))
    for path in sorted((folder / "regression").glob("*")):
        yield path.name.split(".")[0], False, partial(read, path)
    for name in ("letter.scale", "pendigits", "satimage.scale"):
        path = folder / "multiclass" / f"{name}.libsvm.xz"
        yield name, True, lambda path=path: two_classes(*(part[:FEW] for part in read(path)))
    reuters = folder / "text" / "reuters21578.train.libsvm.xz"
    for topic, documents, seldom in ((1, 3845, 30), (2, 3845, 30), (4, 2000, 40)):
        yield f"reuters-{topic}-{documents}", True, partial(words, reuters, topic, documents, seldom)


def scaled(X: Any, scaling: str) -> Any:
    if scaling == "raw":
        return X
    return MaxAbsScaler().fit_transform(X) if sparse.issparse(X) else StandardScaler().fit_transform(X)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("uncertified.csv"))
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--losses", nargs="+", default=[*MARGINS, *NUMBERS, *COUNTS])
    parser.add_argument("--penalties", nargs="+", default=list(PENALTIES))
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--tol", type=float, default=1e-4)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    done = {tuple(row[key] for key in FIELDS[:5]) for row in rows_of(given.out)}
    for name, classes, load in sets(given.data):
        losses = [loss for loss in given.losses if (loss in MARGINS) == classes]
        if (given.sets and name not in given.sets) or not losses:
            continue
        X, y = load()
        for scaling in ("raw", "standardised"):
            Z = scaled(X, scaling)
            for loss in losses:
                target = y - y.min() if loss in COUNTS else y
                for penalty in given.penalties:
                    for alpha in ALPHAS:
                        key = (name, scaling, loss, penalty, f"{alpha:g}")
                        if key not in done:
                            note(given.out, key, *fitted(Z, target, loss, penalty, alpha, given))
    show(rows_of(given.out))


def fitted(X: Any, y: Any, loss: str, penalty: str, alpha: float, given: Any) -> tuple[Any, ...]:
    began = time.perf_counter()
    try:
        found = solve(
            Problem(X, y, loss, penalty, alpha),
            tol=given.tol,
            max_time=given.seconds,
            n_jobs=1,
            resumable=False,
        )
    except Exception as error:
        return type(error).__name__, "nan", "nan", 0, f"{time.perf_counter() - began:.2f}"
    certificate = found.certificate
    numbers = f"{certificate.relative_gap:.2e}", f"{certificate.primal:.6g}", found.n_iter
    return found.status.name, *numbers, f"{time.perf_counter() - began:.2f}"


def note(path: Path, key: tuple[str, ...], *values: Any) -> None:
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if fresh:
            writer.writerow(FIELDS)
        writer.writerow([*key, *values])


def rows_of(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def show(rows: list[dict[str, str]]) -> None:
    left = [row for row in rows if row["status"] != Status.CERTIFIED.name]
    for row in left:
        print("  ".join(f"{row[key]:>12}" for key in FIELDS))
    print(f"{len(left)} of {len(rows)} fits are not certified")


if __name__ == "__main__":
    main()
