"""What only a certificate can do, in figures: alphas chosen with a proof, left-out labels, widths.

    python benchmarks/what_if.py [selection] [leave_one_out] [exactness] [widths]

CPU seconds of one thread, the least of two runs. `selection`: eps = 0 over the whole range, five folds,
beside a grid of 30 alphas by scikit-learn. `leave_one_out`: labels decided without a fit, and the time of
everything beside that of n warm fits at 1e-6 (from 30 of them). `exactness`: labels and bounds of left-out
scores against Newton's method to machine precision, which knows nothing of gapfit, for 400 samples of each
set, those that were refitted among them. `widths`: mean width of score intervals with
an intercept, in terms of the former way (the extremes of all training scores), at the same gap.

Data are read from the folder GAPFIT_DATA (by default ../shared/data).
"""

import os
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GAPFIT_COMPILE", "at_once")  # the first fit is not timed
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for the soak's judge

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from gapfit import AlphaSearchCV, LinearClassifier, LinearRegressor, Problem, datasets, solve
from gapfit.statements import optimal_ball
from soak.exact.newton import Smooth

FOLDER = Path(os.environ.get("GAPFIT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
RANGES = {
    ("german", "logistic"): (1e-3, 10.0), ("digits", "logistic"): (1e-4, 1.0),
    ("a9a", "logistic"): (1e-3, 1.0), ("german", "hinge"): (1e-2, 10.0), ("digits", "hinge"): (1e-3, 1.0),
    ("a9a", "hinge"): (1e-3, 1.0),
}  # fmt: skip
CHECKED = 400  # samples of each set that are left out by brute force
LEFT_OUT = {"heart": 0.01, "breast": 0.01, "german": 0.01, "digits": 0.001, "a9a": 0.001}


def data(name, rows=None):
    """Samples and labels 0 and 1; columns that are constant are left out."""
    if name == "digits":
        X, digit = load_digits(return_X_y=True)
        X, y = X[:rows] / 16, (digit[:rows] == 8).astype(int)
    elif name == "breast":
        X, y = load_breast_cancer(return_X_y=True)
        X = scale(X)
    else:
        file = {"german": "german.numer", "a9a": "a9a", "heart": "heart_scale"}[name]
        read = datasets.load(FOLDER / "binary" / f"{file}.libsvm.xz")
        X, y = read.X[:2000].toarray(), (read.y[:2000] > 0).astype(int)
        X = scale(X) if name == "german" else X
    return np.ascontiguousarray(X[:, X.std(axis=0) > 0]), y


def timed(work):
    """What it returns, and the least CPU seconds of two runs."""
    seconds = []
    for _ in range(2):
        began = time.process_time()
        result = work()
        seconds.append(time.process_time() - began)
    return result, min(seconds)


def selection():
    for (name, loss), (least, most) in RANGES.items():
        X, y = data(name, 900)
        search, seconds = timed(
            lambda X=X, y=y, loss=loss, least=least, most=most: AlphaSearchCV(
                LinearClassifier(loss=loss), alpha_range=(least, most), eps=0.0
            ).fit(X, y)
        )
        words = (
            f"{name} {X.shape} {loss}: {len(search.alphas_)} alphas, {search.n_fits_} fits, "
            f"{seconds:.2f} s, error {search.best_error_:.4f}, regret {search.proven_regret_:.4f}, "
            f"open {len(search.open_ranges_)}"
        )
        if loss == "logistic":
            grid = {"C": 1 / (0.8 * len(y) * np.geomspace(least, most, 30))}
            peer, other = timed(
                lambda X=X, y=y, grid=grid: GridSearchCV(LogisticRegression(max_iter=1000), grid, cv=5).fit(
                    X, y
                )
            )
            words += f"; grid {1 - peer.best_score_:.4f} in {other:.2f} s: ratio {seconds / other:.1f}"
        print(words, flush=True)


def leave_one_out():
    for name, alpha in LEFT_OUT.items():
        X, y = data(name)
        y = 2.0 * y - 1
        for loss in ("logistic", "squared", "hinge"):
            kind = LinearRegressor if loss == "squared" else LinearClassifier
            model = kind(loss=loss, alpha=alpha).fit(X, y)
            model.leave_one_out(X[:20], y[:20])
            alone = model.leave_one_out(X, y, refit=False)
            found, seconds = timed(lambda model=model, X=X, y=y: model.leave_one_out(X, y))
            began = time.process_time()
            for i in range(30):
                left = np.delete(np.arange(len(y)), i)
                solve(
                    Problem(X[left], y[left], loss, alpha=alpha), tol=1e-6, start=np.ravel(model.coef_).copy()
                )
            refits = (time.process_time() - began) * len(y) / 30
            decided = ((alone.lo > 0) | (alone.hi < 0)).mean()
            print(
                f"{name} {X.shape} {loss}: {decided:.1%} without a fit, {found.n_refits} refits, "
                f"all {found.decided.mean():.1%}, {seconds:.2f} s against {refits:.1f} s: "
                f"{seconds / refits:.1%}",
                flush=True,
            )


def exactness():
    for name, alpha in LEFT_OUT.items():
        X, y = data(name)
        y = 2.0 * y - 1
        for loss in ("logistic", "squared"):
            kind = LinearRegressor if loss == "squared" else LinearClassifier
            model = kind(loss=loss, alpha=alpha).fit(X, y)
            found, alone = model.leave_one_out(X, y), model.leave_one_out(X, y, refit=False)
            assert found.decided.all()
            rng = np.random.default_rng(0)
            again = np.flatnonzero(~alone.decided)[:200]
            rows = np.union1d(rng.permutation(len(y))[: CHECKED - len(again)], again)
            outside, wrong, far = 0, 0, 0.0
            for i in rows.tolist():
                score = _left_out(X, y, loss, alpha, i)
                room = 1e-11 * (1 + abs(score))
                outside += not found.lo[i] - room <= score <= found.hi[i] + room
                outside += not alone.lo[i] - room <= score <= alone.hi[i] + room
                wrong += np.sign(score) != found.labels[i] if loss == "logistic" else 0
                far = max(far, abs(found.predictions[i] - score)) if loss == "squared" else far
            distance = f", predictions within {far:.1e}" if loss == "squared" else f", {wrong} labels wrong"
            print(
                f"{name} {X.shape} {loss}: {len(rows)} samples, {len(again)} of them refitted, "
                f"{outside} of {2 * len(rows)} bounds broken{distance}; {alone.decided.mean():.1%} decided "
                f"without a fit",
                flush=True,
            )


def _left_out(X, y, loss, alpha, i):
    """The score of one sample without it, by Newton's method on the definition."""
    left = np.delete(np.arange(len(y)), i)
    n = len(left)
    case = Smooth(X[left], y[left], loss, np.ones(n), True, np.zeros(n))
    w, b = case.optimum(alpha)
    return float(X[i] @ w + b)


def widths():
    for name in ("german", "breast", "heart"):
        X, y = data(name)
        y = 2.0 * y - 1
        for loss in ("logistic", "hinge", "squared_hinge", "f_beta"):
            for tol in (1e-2, 1e-4, 1e-6):
                problem = Problem(X, y, loss, alpha=1e-2)
                ball = optimal_ball(problem, solve(problem, tol=tol))
                lo, hi = ball.score_bounds(X)
                former = _former(problem, ball, X)
                width = float(np.mean(hi - lo))
                print(f"{name} {loss} tol {tol:g}: {width:.4g}, {width / former:.2f} of the former way")


def _former(problem, ball, X):
    """The best b falls as scores rise: its bounds are those at the extremes of all training scores."""
    mean = problem.mean
    reach = ball.radius * np.linalg.norm(X - mean, axis=1)
    middle = (X - mean) @ ball.centre
    ends = [problem.risk.best_offset(middle + side * reach) for side in (1, -1)]
    if any(end is None for end in ends):
        from gapfit.offset import best_offsets

        try:
            ends = [
                (float(best_offsets(problem.risk, middle + side * reach, np.zeros(1))[1][0]),) * 2
                for side in (1, -1)
            ]
        except TypeError:
            return np.inf
    if not problem.risk.separable:
        return np.inf
    return float(np.mean(2 * reach) + ends[1][1] - ends[0][0])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    PARTS = {f.__name__: f for f in (selection, leave_one_out, exactness, widths)}
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
