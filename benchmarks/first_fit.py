"""What the first fit in a fresh installation costs: the import, the compilation, the fit.

    python benchmarks/first_fit.py                 all cases: cold (nothing on disk), then warm (all is there)
    python benchmarks/first_fit.py --functions     and what each compiled function takes, by signature
    python benchmarks/first_fit.py hinge Ranker    those whose names contain one of these

Each case runs in fresh processes with one thread and a folder of its own for machine code. A process first
imports and fits scikit-learn's nearest estimator, then ours. Seconds are CPU time, and what ours takes longer
than a fit of scikit-learn, the import of gapfit (and of numba) included. `second` is a second fit in the cold
process, which waits for the compiler, and `fit` one in a warm process. Budgets: 4 s for linear estimators,
6 s for all others, .3 s where machine code is on disk.
"""

import argparse
import compileall
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

LINEAR, OTHER, WARM = 4.0, 6.0, 0.3  # seconds over scikit-learn's


def tall(dtype: str = "float64", rows: int = 2000, columns: int = 30, classes: int = 2) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    scores = X[:, :5].sum(axis=1) + rng.standard_normal(rows)
    return X.astype(dtype), np.digitize(scores, np.quantile(scores, np.arange(1, classes) / classes))


def sparse_rows(
    dtype: str = "float64", rows: int = 3000, columns: int = 200, share: float = 0.05
) -> tuple[Any, Any]:
    import numpy as np
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = sparse.random_array((rows, columns), density=share, format="csr", rng=rng, dtype=np.float64)
    y = np.where(X @ rng.standard_normal(columns) + 0.1 * rng.standard_normal(rows) > 0, 1, -1)
    return X.astype(dtype), y


def wide(dtype: str = "float64") -> tuple[Any, Any]:
    return sparse_rows(dtype, 2000, 30_000, 0.002)


def queries() -> tuple[Any, Any, Any]:
    import numpy as np

    X, y = tall(classes=4)
    return X, y, np.repeat(np.arange(len(y) // 20), 20)


def sentences() -> tuple[Any, Any, Any]:
    import numpy as np

    X, y = sparse_rows(rows=200, columns=50, share=0.1)
    return X, np.where(y > 0, "B", "O"), np.full(20, 10)


def regression(data: Callable[[], tuple[Any, Any]] = tall) -> tuple[Any, Any]:
    import numpy as np

    X, y = data()
    return X, y + 0.1 * np.random.default_rng(1).standard_normal(len(y))


def structures() -> tuple[Any, Any]:
    X, y = tall(rows=100, columns=5, classes=3)
    return list(X), list(y)


def three_classes() -> Any:
    from gapfit.structures import Labels

    return Labels(3)


SVC, LOGISTIC = "svm.LinearSVC", "linear_model.LogisticRegression"
Case = tuple[str, dict[str, Any], Callable[[], tuple[Any, ...]], str, float]
CLASSES = partial(tall, classes=4)
TINY = partial(tall, rows=100, columns=5)
CASES: dict[str, Case] = {
    "hinge, tiny": ("LinearClassifier", {"loss": "hinge"}, TINY, SVC, LINEAR),
    "logistic, tiny": ("LinearClassifier", {"loss": "logistic"}, TINY, LOGISTIC, LINEAR),
}


def linear_cases() -> Iterator[tuple[str, Case]]:
    """Losses and penalties of linear models, on data of every kind."""
    shapes: dict[str, Callable[[], tuple[Any, ...]]] = {
        "dense": tall,
        "dense float32": partial(tall, "float32"),
        "sparse": sparse_rows,
        "sparse float32": partial(sparse_rows, "float32"),
        "sparse wide": wide,
    }
    for shape, data in shapes.items():
        for loss in ("hinge", "squared_hinge", "logistic"):
            peer = LOGISTIC if loss == "logistic" else SVC
            yield f"{loss}, {shape}", ("LinearClassifier", {"loss": loss}, data, peer, LINEAR)
        l1 = {"loss": "logistic", "penalty": "l1", "alpha": 1e-2}
        yield (
            f"logistic + l1, {shape}",
            ("LinearClassifier", l1, data, LOGISTIC, LINEAR),
        )
        given = partial(regression, data)
        yield (
            f"squared, {shape}",
            ("LinearRegressor", {"loss": "squared"}, given, "linear_model.Ridge", LINEAR),
        )
        lasso = {"loss": "squared", "penalty": "l1", "alpha": 1e-2}
        yield f"squared + l1, {shape}", ("LinearRegressor", lasso, given, "linear_model.Lasso", LINEAR)
    for loss in ("huber", "quantile", "epsilon_insensitive"):
        yield (
            f"{loss}, dense",
            ("LinearRegressor", {"loss": loss}, regression, "linear_model.HuberRegressor", LINEAR),
        )
    for loss in ("hinge", "softmax", "crammer_singer"):
        budget = OTHER if loss == "crammer_singer" else LINEAR
        yield f"{loss}, four classes", ("LinearClassifier", {"loss": loss}, CLASSES, SVC, budget)


CASES |= dict(linear_cases())
SMALL = partial(tall, rows=200, columns=5, classes=4)
CASES |= {
    "softmax, small": ("LinearClassifier", {"loss": "softmax"}, SMALL, LOGISTIC, LINEAR),
    "crammer_singer, small": (
        "LinearClassifier",
        {"loss": "crammer_singer", "fit_intercept": False},
        SMALL,
        LOGISTIC,
        OTHER,
    ),
    "poisson, small": ("LinearRegressor", {"loss": "poisson"}, SMALL, LOGISTIC, LINEAR),
}
CASES |= {
    "NoveltyDetector": ("NoveltyDetector", {}, tall, "linear_model.SGDOneClassSVM", OTHER),
    "OrdinalClassifier": ("OrdinalClassifier", {}, partial(tall, rows=200, classes=4), LOGISTIC, OTHER),
    "MetricClassifier": ("MetricClassifier", {}, partial(tall, rows=100, columns=5), SVC, OTHER),
    "MetricClassifier, sparse": (
        "MetricClassifier",
        {},
        partial(sparse_rows, rows=300, columns=50),
        SVC,
        OTHER,
    ),
    "Ranker": ("Ranker", {}, queries, SVC, OTHER),
    "KernelSVC": ("KernelSVC", {}, partial(tall, rows=500), "svm.SVC", OTHER),
    "KernelSVC, sparse": ("KernelSVC", {}, partial(sparse_rows, rows=500), "svm.SVC", OTHER),
    "KernelSVC, four classes": ("KernelSVC", {}, partial(tall, rows=500, classes=4), "svm.SVC", OTHER),
    "KernelSVR": ("KernelSVR", {}, partial(regression, partial(tall, rows=500)), "svm.SVR", OTHER),
    "KernelNoveltyDetector": ("KernelNoveltyDetector", {}, partial(tall, rows=500), "svm.OneClassSVM", OTHER),
    "SequenceLabeler": ("SequenceLabeler", {}, sentences, SVC, OTHER),
    "SequenceLabeler, margin": (
        "SequenceLabeler",
        {"loss": "margin"},
        sentences,
        SVC,
        OTHER,
    ),
    "StructuredClassifier": ("StructuredClassifier", {"structure": three_classes}, structures, SVC, OTHER),
}


@contextmanager
def compilations(seconds: dict[str, list[float]]) -> Iterator[None]:
    """Counts and CPU seconds of what numba compiles, each without what it calls."""
    from numba.core import event

    class Watch(event.Listener):
        def __init__(self) -> None:
            self.stack: list[list[float]] = []

        def on_start(self, event: Any) -> None:
            self.stack.append([time.process_time(), 0.0])

        def on_end(self, event: Any) -> None:
            begun, within = self.stack.pop()
            spent = time.process_time() - begun
            if self.stack:
                self.stack[-1][1] += spent
            function = event.data["dispatcher"].py_func
            types = ", ".join(map(str, event.data["args"]))
            seconds[f"{function.__module__.split('.')[-1]}.{function.__name__}({types})"].append(
                spent - within
            )

    with event.install_listener("numba:compile", Watch()):
        yield


def fit_once(name: str, functions: bool) -> dict[str, Any]:
    """In a fresh process: scikit-learn's import and fit, then ours."""
    warnings.simplefilter("ignore")
    estimator, options, make, peer, _ = CASES[name]
    data = make()
    module, kind = peer.split(".")
    theirs = getattr(import_module(f"sklearn.{module}"), kind)()
    theirs.fit(*data[:2])
    begun = time.process_time()
    theirs.fit(*data[:2])
    usual = time.process_time() - begun
    seconds: dict[str, list[float]] = defaultdict(list)
    if estimator == "SequenceLabeler":
        data = ((data[0], data[2]), data[1])
    begun = time.process_time()
    ours = getattr(import_module("gapfit"), estimator)
    imported = time.process_time() - begun
    options = {name: value() if callable(value) else value for name, value in options.items()}
    with compilations(seconds) if functions else nullcontext():
        ours(**options).fit(*data)
    spent = time.process_time() - begun
    begun = time.process_time()
    ours(**options).fit(*data)
    again = time.process_time() - begun
    return {"over": spent - usual, "import": imported, "fit": again, "functions": seconds}


def in_a_process(name: str, folder: str, functions: bool = False) -> dict[str, Any]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--one", name, *(["--functions"] if functions else [])]
    environment = os.environ | threads | {"NUMBA_CACHE_DIR": folder}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("parts", nargs="*", help="of the names of cases")
    parser.add_argument("--functions", action="store_true", help="show what each compiled function takes")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(fit_once(chosen.one, chosen.functions)))
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(os.path.dirname(str(find_spec("gapfit").origin)), quiet=1)  # as pip installs
    columns = f"{'cold':>6} {'budget':>6} {'second':>6} {'warm':>6} {'import':>6} {'fit':>7}"
    print(f"{'CPU s over scikit-learn':<32} {columns}")
    late = 0
    for name, (*_, budget) in CASES.items():
        if chosen.parts and not any(part in name for part in chosen.parts):
            continue
        with tempfile.TemporaryDirectory() as folder:
            cold = in_a_process(name, folder, chosen.functions)
            warm = min((in_a_process(name, folder) for _ in range(2)), key=lambda one: one["over"])
        above = cold["over"] > budget or warm["over"] > WARM
        late += above
        figures = f"{cold['over']:6.2f} {budget:6.1f} {cold['fit']:6.2f} {warm['over']:6.2f}"
        figures = f"{figures} {warm['import']:6.2f} {warm['fit']:7.4f}"
        print(f"{name:<32} {figures}{'  late' if above else ''}", flush=True)
        for function, spent in sorted(cold["functions"].items(), key=lambda one: -sum(one[1])):
            print(f"    {sum(spent):6.2f} {len(spent)} x {function}")
    print(f"{late} of the cases are late")


if __name__ == "__main__":
    main()
