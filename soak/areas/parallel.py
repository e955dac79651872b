"""Many fits at once, by threads, fork and loky: the bytes of a fit alone, and BLAS left as it was."""

import multiprocessing
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from threadpoolctl import ThreadpoolController

import gapfit
from soak.job import Job
from soak.outcome import Outcome

CASES = 24
LIMIT = 120.0
FIGURE = "fits that differ"
_BLAS_THREADS = 2  # what a user has set, and must find again
_ALPHAS = (1e-1, 1e-2, 1e-3)


def run(job: Job) -> Outcome:
    """One way to run fits at once."""
    rng, outcome = job.rng(), Outcome()
    blas = ThreadpoolController().select(user_api="blas")
    before = blas.limit(limits=_BLAS_THREADS)
    try:
        _WAYS[job.case % len(_WAYS)](outcome, rng)
        counts = [pool["num_threads"] for pool in blas.info()]
        wrong = [count for count in counts if count != _BLAS_THREADS]
        outcome.expect(not wrong, "BLAS threads", f"{counts} after the fits, {_BLAS_THREADS} before")
    finally:
        before.restore_original_limits()
    return outcome


def fit(k: int, X: np.ndarray, y: np.ndarray) -> bytes:
    """The bytes of one fit; which one, k says."""
    rows = slice(0, len(X) - 37 * (k % 7))
    alpha, label = _ALPHAS[k % len(_ALPHAS)], np.where(y > 0, 1, -1)
    kind = k % 5
    if kind == 0:
        model: Any = gapfit.LinearClassifier(alpha=alpha).fit(X[rows], label[rows])
    elif kind == 1:
        model = gapfit.LinearRegressor(alpha=alpha, penalty="l1").fit(X[rows], y[rows])
    elif kind == 2:
        model = gapfit.LinearClassifier(alpha=alpha, loss="logistic").fit(X[rows], label[rows])
    elif kind == 3:
        return bytes(
            gapfit.KernelSVC(C=1 / alpha).fit(X[:150], label[:150]).decision_function(X[:150]).tobytes()
        )
    else:
        model = gapfit.LinearRegressor(alpha=alpha, loss="absolute", solver="bundle", tol=1e-2).fit(
            X[rows], y[rows]
        )
    return bytes(model.coef_.tobytes() + np.float64(model.dual_gap_).tobytes())


def _data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(600, 12))
    return X, np.asarray(X @ rng.normal(size=12) + rng.normal(size=600))


def _compare(outcome: Outcome, alone: list[bytes], together: list[bytes], how: str) -> None:
    differ = sum(a != b for a, b in zip(alone, together, strict=True))
    outcome.expect(
        differ == 0, "other bytes", f"{how}: {differ} of {len(alone)} fits differ from those alone"
    )
    outcome.worst = max(outcome.worst, float(differ))


def _threads(outcome: Outcome, rng: np.random.Generator) -> None:
    """64 fits that all begin at the same moment."""
    X, y = _data(rng)
    alone = [fit(k, X, y) for k in range(64)]
    gate, together = threading.Barrier(64), [b""] * 64

    def one(k: int) -> None:
        gate.wait()
        together[k] = fit(k, X, y)

    running = [threading.Thread(target=one, args=(k,)) for k in range(64)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    _compare(outcome, alone, together, "64 threads")


def _pool(outcome: Outcome, rng: np.random.Generator) -> None:
    """More fits than threads, which begin and end in all orders."""
    X, y = _data(rng)
    alone = [fit(k, X, y) for k in range(30)]
    with ThreadPoolExecutor(5) as pool:
        together = list(pool.map(lambda k: fit(k, X, y), range(30)))
    _compare(outcome, alone, together, "a pool of threads")


def _fork(outcome: Outcome, rng: np.random.Generator) -> None:
    """Processes forked from one that has fitted, threads and all."""
    X, y = _data(rng)
    alone = [fit(k, X, y) for k in range(12)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        together = pool.starmap_async(fit, [(k, X, y) for k in range(12)]).get(timeout=100)
    _compare(outcome, alone, together, "fork")


def _loky(outcome: Outcome, rng: np.random.Generator) -> None:
    X, y = _data(rng)
    alone = [fit(k, X, y) for k in range(12)]
    together = Parallel(n_jobs=2, backend="loky")(delayed(fit)(k, X, y) for k in range(12))
    get_reusable_executor().shutdown(wait=True)  # its processes would wait minutes for more work
    _compare(outcome, alone, list(together), "loky")


def _failing(outcome: Outcome, rng: np.random.Generator) -> None:
    """Fits that fail among fits that do not: BLAS must be as it was all the same."""
    X, y = _data(rng)

    def one(k: int) -> bool:
        try:
            gapfit.LinearRegressor(solver="bundle" if k % 2 else "dual_cd", penalty="l1").fit(X, y)
        except TypeError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        fitted = list(pool.map(one, range(16)))
    outcome.expect(fitted == [bool(k % 2) for k in range(16)], "failing fits", f"{fitted}")


def _jobs(outcome: Outcome, rng: np.random.Generator) -> None:
    """Any number of threads within a fit."""
    X = rng.normal(size=(6000, 40))
    y = np.where(X[:, 0] + rng.normal(size=6000) > 0, 1, -1)
    fits = [
        gapfit.LinearClassifier(n_jobs=jobs, tol=1e-3).fit(X, y).coef_.tobytes() for jobs in (1, 2, 3, None)
    ]
    _compare(outcome, fits[:1] * 3, fits[1:], "n_jobs")


_WAYS: tuple[Callable[[Outcome, np.random.Generator], None], ...] = (
    _threads,
    _pool,
    _fork,
    _loky,
    _failing,
    _jobs,
)
