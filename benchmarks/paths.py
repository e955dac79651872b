"""What a path of many alphas costs: in fits at its smallest alpha, and beside celer's paths of the Lasso.

    python benchmarks/paths.py                        all of the tuning half, then of the reporting half
    python benchmarks/paths.py --half reporting       what nothing was tuned on
    python benchmarks/paths.py --part lasso --seed 7  one part; drawn problems from this seed
    python benchmarks/paths.py --only imdb hinge      cases whose names contain all of these

A path has 50 alphas, each certified to 1e-3; a fit is `solve` from nothing at the smallest of them. CPU time,
one thread, best of some rounds that take turns; each on a problem that knows nothing yet. Lasso paths go from
the smallest alpha without any weight down to a hundredth of it, at 1e-4; celer gets the loosest tolerance at
which the objectives, computed anew, are as good. Sets are read from the folder GAPFIT_DATA (by default
../shared/data); what is absent is named and left out.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from gapfit import Problem, datasets, path, solve

FOLDER = Path(os.environ.get("GAPFIT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
HALVES, PARTS = ("tuning", "reporting"), ("classifiers", "lasso")
ALPHAS, TOL, LASSO_TOL = 50, 1e-3, 1e-4
SETS = {  # file, rows (all, or one half of them), largest and smallest alpha
    "tuning": (
        ("a9a", "binary/a9a", slice(None), 1e-2, 1e-6),
        ("w8a, even rows", "binary/w8a", slice(0, None, 2), 1e-2, 1e-6),
        ("imdb", "text/imdb.train", slice(None), 1e-2, 1e-6),
    ),
    "reporting": (
        ("a9a.t", "binary/a9a.t", slice(None), 1e-1, 1e-5),
        ("w8a", "binary/w8a", slice(None), 1e-2, 1e-6),
        ("w8a, odd rows", "binary/w8a", slice(1, None, 2), 1e-1, 1e-5),
        ("imdb.test", "text/imdb.test", slice(None), 1e-1, 1e-5),
        ("rcv1", "text/rcv1_small.train", slice(None), 1e-1, 1e-5),
        ("spambase", "binary/spambase", slice(None), 1e-1, 1e-5),
    ),
}
SHAPES = ((1_000, 20, 1.0), (10_000, 100, 1.0), (150, 10_000, 1.0), (20_000, 2_000, 0.01), (3_000, 300, 1.0))


def as_text(X: Any) -> Any:
    """Counts of words, weighted by how rare they are, in rows of length one."""
    X = sparse.csr_matrix(X, dtype=np.float64)
    rare = np.log((1 + X.shape[0]) / (1 + np.bincount(X.indices, minlength=X.shape[1]))) + 1
    X = X @ sparse.diags_array(rare)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags_array(1 / np.maximum(lengths, 1e-12)) @ X)


def read(name: str, rows: slice) -> tuple[Any, Any] | None:
    """X and labels of -1 and 1; None if the file is not there."""
    file = FOLDER / f"{name}.libsvm.xz"
    if not file.exists():
        return None
    data = datasets.read_svmlight(file)
    X = as_text(data.X) if name.startswith("text/") else sparse.csr_matrix(data.X)
    return X[rows], np.where(data.y == np.unique(data.y)[-1], 1.0, -1.0)[rows]


def drawn(n: int, d: int, share: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Columns that are alike, and targets of some of them with noise."""
    if share < 1:
        X = sparse.csc_matrix(sparse.random(n, d, share, "csc", rng=rng, data_rvs=rng.standard_normal))
    else:
        X = np.asfortranarray(rng.standard_normal((n, d)) + rng.uniform(0, 1) * rng.standard_normal((n, 1)))
    w = rng.standard_normal(d) * (rng.random(d) < max(0.1 if d < n else 0.005, 3 / d))
    scores = np.asarray(X @ w)
    return X, scores + 0.5 * scores.std() * rng.standard_normal(n)


def turns(rounds: int, **ways: Callable[[], Any]) -> dict[str, tuple[float, Any]]:
    """Each way's least CPU seconds, and what it returned; they take turns."""
    best: dict[str, tuple[float, Any]] = {}
    for _ in range(rounds):
        for name, way in ways.items():
            begun = process_time()
            found = way()
            spent = process_time() - begun
            if name not in best or spent < best[name][0]:
                best[name] = spent, found
    return best


def classifiers(half: str, rounds: int, wanted: Callable[[str], bool]) -> Iterator[tuple[str, float]]:
    print(f"\n{half}: {ALPHAS} alphas, {TOL:g} each: CPU ms of the path, of a fit at the smallest, ratio")
    for name, file, rows, largest, smallest in SETS[half]:
        cases = [(f"{name}, {loss}", loss) for loss in ("hinge", "logistic")]
        if not any(wanted(case) for case, _ in cases):
            continue
        if (data := read(file, rows)) is None:
            print(f"{name}: {file} is not there")
            continue
        for case, loss in cases:
            if not wanted(case):
                continue
            alphas = np.geomspace(largest, smallest, ALPHAS)

            def fresh(alpha: float, data: Any = data, loss: str = loss) -> Problem:
                return Problem(*data, loss, alpha=alpha)

            solve(fresh(smallest), tol=0.1)  # compiled code
            problems = [fresh(smallest) for _ in range(2 * rounds)]
            best = turns(
                rounds,
                fit=lambda problems=problems: solve(problems.pop(), tol=TOL, n_jobs=1),
                path=lambda problems=problems, alphas=alphas: path(problems.pop(), alphas, tol=TOL, n_jobs=1),
            )
            (single, _), (whole, found) = best["fit"], best["path"]
            worked = sum(solution.n_iter > 0 for solution in found)
            missed = sum(not solution.converged for solution in found)
            told = f"{worked} worked for" + (f", {missed} not certified" if missed else "")
            print(
                f"{case:<26} {1e3 * whole:9.1f} {1e3 * single:8.1f} {whole / single:6.1f}   {told}",
                flush=True,
            )
            yield case, whole / single


def lassos(seed: int, rounds: int, wanted: Callable[[str], bool]) -> Iterator[tuple[str, float]]:
    try:
        from celer import celer_path
    except ImportError:
        print("celer is not installed")
        return
    print(f"\nLasso, seed {seed}, {LASSO_TOL:g} each: CPU ms of the path, of celer's, ratio", flush=True)
    for number, (n, d, share) in enumerate(SHAPES):
        X, y = drawn(n, d, share, np.random.default_rng([seed, number]))
        y = y - y.mean()  # celer's paths have no intercept
        top = float(np.abs(X.T @ y).max()) / n
        for count in (50, 20):
            case = f"{n:,} x {d:,}{'' if share == 1 else ' sparse'}, {count} alphas"
            if not wanted(case):
                continue
            alphas = top * np.geomspace(1, 1e-2, count + 1)[1:]

            def ours(X: Any = X, y: Any = y, alphas: Any = alphas) -> Any:
                problem = Problem(X, y, "squared", "l1", alpha=1.0, intercept=False)
                return path(problem, alphas, tol=LASSO_TOL, resumable=False, n_jobs=1)

            found = ours()
            least = np.array([solution.certificate.dual for solution in found])
            tol = loosest(celer_path, X, y, alphas, least)

            def theirs(X: Any = X, y: Any = y, alphas: Any = alphas, tol: float = tol) -> Any:
                return celer_path(X, y, "lasso", alphas=alphas, tol=tol)

            best = turns(rounds, ours=ours, theirs=theirs)
            mine, other = best["ours"][0], best["theirs"][0]
            missed = sum(not solution.converged for solution in best["ours"][1])
            told = f", {missed} not certified" if missed else ""
            figures = f"{1e3 * mine:9.1f} {1e3 * other:8.1f} {mine / other:6.2f}"
            print(f"{case:<34} {figures}   at {tol:.0e}{told}", flush=True)
            yield case, mine / other


def loosest(celer_path: Any, X: Any, y: Any, alphas: Any, least: Any) -> float:
    """Celer's largest tolerance at which every objective is within LASSO_TOL of the lower bound."""
    for tol in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
        weights = celer_path(X, y, "lasso", alphas=alphas, tol=tol)[1]
        residuals = y[:, None] - X @ weights
        J = 0.5 * np.square(residuals).mean(axis=0) + alphas * np.abs(weights).sum(axis=0)
        if (J - least <= LASSO_TOL * J).all():
            return tol
    return tol


def told(of: str, ratios: dict[str, float], most: float, unit: str) -> None:
    if ratios:
        above = sum(ratio > most for ratio in ratios.values())
        print(f"{of}: worst {max(ratios.values()):.2f}, {above} of {len(ratios)} above {most} {unit}")


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--half", choices=HALVES, nargs="*", default=HALVES)
    parser.add_argument("--part", choices=PARTS, nargs="*", default=PARTS)
    parser.add_argument("--seed", type=int, default=int(np.random.SeedSequence().generate_state(1)[0]))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=(), help="parts of the names of cases")
    chosen = parser.parse_args()

    def wanted(case: str) -> bool:
        return all(part in case for part in chosen.only)

    with threadpool_limits(1):
        for half in chosen.half if "classifiers" in chosen.part else ():
            told(half, dict(classifiers(half, chosen.rounds, wanted)), 5, "fits")
        if "lasso" in chosen.part:
            told("Lasso", dict(lassos(chosen.seed, chosen.rounds, wanted)), 1, "times celer's time")


if __name__ == "__main__":
    main()
