"""The smoothing family beside the bundle methods: passes over X and CPU seconds to certified gaps.

    python benchmarks/pragam.py [--data a9a w8a ...] [--seconds 5] [--passes 3000] [--out FOLDER] [--fresh]
    python benchmarks/pragam.py --projections

A pass is one product with X or with its transpose, all that are made counted: those of a step, of steps tried
and rejected, and of the final check. Seconds are CPU time of one thread (`time.process_time`), since the
machine may be shared. A fit that needs more than the limits is cut off; "-" then. Results go to `pragam.csv`,
a line a fit, and a run that was stopped goes on where it was; `pragam.md` is the table made of it.

`accelerated` is a variant that is not part of gapfit: accelerated proximal gradients on the dual, with
adaptive restarts. `pragam, L given` is the papers' algorithm, its L by Lanczos' method, whose products count.

Two more data sets compare what `auto` chooses between when coordinate descent stalls: the hinge loss on imdb,
which has 48,000 features, and the Crammer-Singer loss on satimage.
"""

import argparse
import csv
import os
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import maxabs_scale

from gapfit import Problem, datasets, projections, solve, threads
from gapfit.solution import Iterate
from gapfit.solvers.dual_sets import dual_set
from gapfit.solvers.pragam import lipschitz, pragam

GAPS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
SHORT = 1.0  # seconds of a fit whose steps are timed apart from counting
ALPHAS = {
    "spambase": (1e-3, 1e-4),
    "a9a": (1e-3, 1e-4, 2.0**-18),
    "w8a": (1e-3, 1e-4, 2.0**-17),
    "covtype": (1e-3, 1e-4, 2.0**-17),
    "imdb": (1e-5,),
    "satimage": (1e-3, 1e-5),
}
FILES = {
    "covtype": "multiclass/covtype",
    "satimage": "multiclass/satimage.scale",
    "imdb": "text/imdb.train",
}
FIELDS = (
    *("data", "intercept", "alpha", "solver"),
    *(f"passes {gap:g}" for gap in GAPS),
    *(f"s {gap:g}" for gap in GAPS),
    *("steps", "passes", "seconds", "step", "two products", "gap"),
)


def accelerated(problem, state=None):
    """FISTA on the dual: momentum, L found by backtracking, a restart where momentum points the wrong way."""
    Q = dual_set(problem)
    z = before = Q.centre
    a = a_before = problem.design.adjoint(Q.slope(z))
    b = before_b = Q.b
    scores = problem.scores(problem.penalty.argmax(a / -problem.alpha))
    far = Q.step(z, scores, 1 / Q.width(scores)).z
    L = Q.curvature(problem.design.adjoint(Q.slope(far)) - a, Q.distance(far, z)) or 1.0
    t, moved = 1.0, 0.0
    while True:
        L *= 0.9
        t_next = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
        push = (t - 1) / t_next
        beta, slope = Q.blend(before, z, 1 + push), a + push * (a - a_before)
        w = problem.penalty.argmax(slope / -problem.alpha)
        scores = problem.scores(w)
        while True:
            Q.b = 2 * b - before_b
            new, b_new = Q.step(beta, scores, 1 / L)
            (a_new,) = problem.design.adjoints(Q.slope(new))
            bent = Q.distance(new, beta)
            bend = Q.curvature(a_new - slope, bent)
            if bend <= L * (1 + 1e-9):
                break
            L = max(2 * L, min(bend, 1e3 * L))
            Q.recycle(new)
        before_b, b = b, b_new
        risk, h = Q.values(scores, b, new)
        primal = problem.alpha * problem.penalty.value(w) + risk
        yield Iterate(w, b, Q.minorant(a_new, new, h), primal)
        moved, pushed = Q.distance(new, z), push**2 * moved
        wrong_way = bent + moved < pushed  # <new - beta, new - z> < 0
        if before is not Q.centre and before is not z:
            Q.recycle(before)
        Q.recycle(beta)
        before, a_before, t = (new, a_new, 1.0) if wrong_way else (z, a, t_next)
        z, a = new, a_new


def papers_pragam(problem, state=None):
    """Pragam with the L of the whole dual, as in the papers."""
    yield from pragam(problem, state, L=lipschitz(problem))


SOLVERS = {
    "line_search_bundle": "line_search_bundle",
    "bundle": "bundle",
    "pragam, L given": papers_pragam,
    "pragam": "pragam",
    "accelerated": accelerated,
    "smoothing": "smoothing",
}


def solvers_for(name):
    """All of them; on imdb those between which `auto` chooses, on satimage the family as well."""
    few = {"imdb": ("bundle", "smoothing"), "satimage": ("bundle", "pragam", "accelerated", "smoothing")}
    return few.get(name, tuple(SOLVERS))


def load(folder, name):
    """X, y and the loss."""
    data = datasets.load(folder / f"{FILES.get(name, f'binary/{name}')}.libsvm.xz")
    X, y = data.X, data.y
    if name == "satimage":
        return X, np.unique(y, return_inverse=True)[1], "crammer_singer"
    if name == "imdb":
        return TfidfTransformer().fit_transform(X), np.where(y > 5, 1.0, -1.0), "hinge"
    if name in ("a9a", "w8a"):
        return X, y, "hinge"
    return maxabs_scale(X), np.where(y == 2, 1.0, -1.0) if name == "covtype" else y, "hinge"


def counted(problem):
    """Count the products with X and with its transpose from now on."""
    design, count = problem.design, [0]

    def counting(product):
        def counted_product(*vectors):
            before = count[0]
            answer = product(*vectors)
            # two products in one pass are two; one that calls another is one; with zero weights there is none
            count[0] = before + len(vectors) * bool(vectors[0].size > design.shape[1] or vectors[0].any())
            return answer

        return counted_product

    design.scores, design.adjoint = counting(design.scores), counting(design.adjoint)
    design.adjoints = counting(design.adjoints)
    return count


def fit(problem, solver, seconds, passes):
    count, reached, seen = counted(problem), [], []
    began = time.process_time()

    def watch(progress):
        gap = progress.gap / max(abs(progress.primal), abs(progress.dual))
        spent = time.process_time() - began
        while len(reached) < len(GAPS) and gap <= GAPS[len(reached)]:
            reached.append((count[0], round(spent, 3)))
        seen[1:] = [(progress.n_iter, spent)]
        return spent > seconds or count[0] > passes

    solution = solve(problem, solver, tol=GAPS[-1], max_iter=10**7, callbacks=[watch], n_jobs=1)
    spent = time.process_time() - began
    reached += [("", "")] * (len(GAPS) - len(reached))
    # from the first step to the last, without what is done once before and after them; counting shows in
    # short steps, which are timed anew
    steps, during = seen[-1][0] - seen[0][0], seen[-1][1] - seen[0][1]
    step = during / steps if steps else spent / solution.n_iter
    return solution, count[0], spent, step, reached


def seconds_a_step(problem, solver, steps):
    """CPU seconds of a step in the second half of a fit that nobody watches or counts, the best of some."""

    def spent(max_iter):
        began = time.process_time()
        solve(problem, solver, tol=GAPS[-1], max_iter=max_iter, n_jobs=1, resumable=False)
        return time.process_time() - began

    half, times = steps // 2, range(5 if spent(steps) > 0.1 else 25)
    return (min(spent(steps) for _ in times) - min(spent(half) for _ in times)) / (steps - half)


def two_products(problem):
    """CPU seconds of one product with X and one with its transpose: what a step pays for them.

    A step's time is a mean over a whole fit, so the median of many stands against it, not the best of them.
    """
    rng = np.random.default_rng(0)
    w, u = rng.normal(size=problem.design.shape[1]), rng.normal(size=problem.design.shape[0])
    times = []
    with threads.using(1):
        for _ in range(31):
            began = time.process_time()
            problem.design.scores(w)
            problem.design.adjoints(u)
            times.append(time.process_time() - began)
    return float(np.median(times))


def compare(arguments):
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "pragam.csv"
    if arguments.fresh or not path.exists():
        with path.open("w", newline="") as file:
            csv.writer(file).writerow(FIELDS)
    with path.open(newline="") as file:
        done = {(r["data"], r["intercept"], r["alpha"], r["solver"]) for r in csv.DictReader(file)}
    for name in arguments.data:
        tasks = [
            (str(intercept), f"{alpha:.6g}", solver)
            for alpha in ALPHAS[name]
            for intercept in (False, True)
            for solver in solvers_for(name)
        ]
        tasks = [task for task in tasks if (name, *task) not in done]
        if not tasks:
            continue
        X, y, loss = load(arguments.folder, name)
        for warm in solvers_for(name):  # compiled before it is timed
            for intercept in (False, True):
                few = Problem(X[:200], y[:200], loss, intercept=intercept)
                solve(few, SOLVERS[warm], max_iter=3, n_jobs=1)
        for intercept, alpha, solver in tasks:
            given = dict(alpha=float(alpha), intercept=intercept == "True")
            products = two_products(Problem(X, y, loss, **given))
            solution, passes, spent, step, reached = fit(
                Problem(X, y, loss, **given), SOLVERS[solver], arguments.seconds, arguments.passes
            )
            if spent < SHORT and solution.n_iter > 1:
                step = seconds_a_step(Problem(X, y, loss, **given), SOLVERS[solver], solution.n_iter)
            row = (name, intercept, alpha, solver, *(r[0] for r in reached), *(r[1] for r in reached),
                   solution.n_iter, passes, round(spent, 3), f"{step:.3g}", f"{products:.3g}",
                   f"{solution.certificate.relative_gap:.2g}")  # fmt: skip
            print(*row, flush=True)
            with path.open("a", newline="") as file:
                csv.writer(file).writerow(row)
    (arguments.out / "pragam.md").write_text(table(path, arguments))


def table(path, arguments):
    with path.open(newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: list(SOLVERS).index(row["solver"]))
    lines = [
        "# Passes over X and CPU seconds to certified relative gaps",
        "",
        "The hinge loss; satimage: the Crammer-Singer loss.",
        "A pass is one product with X or with its transpose. CPU seconds of one thread, on a shared machine.",
        f"Fits were cut off after {arguments.seconds:g} CPU seconds or {arguments.passes} passes: `-`.",
        "With an intercept, `pragam` is the papers' Pragam-b. The last column: CPU time of a step (the mean",
        "from the first to the last of a fit; of one of less than a second, the mean over its second half,",
        "counting apart) in units of one product with X and one with its transpose (the median of 31).",
        "",
    ]
    titles = " | ".join(f"{g:g}" for g in GAPS)
    problems = {(r["data"], r["intercept"], r["alpha"]) for r in rows}
    for name, intercept, alpha in sorted(
        problems, key=lambda p: (list(ALPHAS).index(p[0]), -float(p[2]), p[1])
    ):
        word = "with an intercept" if intercept == "True" else "no intercept"
        lines += [f"## {name}, alpha = {alpha}, {word}", "", f"| solver | {titles} | step |"]
        lines += ["|---" * (len(GAPS) + 2) + "|"]
        for r in rows:
            if (r["data"], r["intercept"], r["alpha"]) == (name, intercept, alpha):
                cells = [
                    f"{r[f'passes {g:g}']} / {float(r[f's {g:g}']):.2f} s" if r[f"passes {g:g}"] else "-"
                    for g in GAPS
                ]
                step = float(r["step"]) / float(r["two products"])
                lines += [f"| {r['solver']} | {' | '.join(cells)} | {step:.1f} |"]
        lines += [""]
    return "\n".join(lines)


def measure_projections(out):
    """Seconds for one projection, and nanoseconds a variable, from 1e4 to 1e7 variables."""
    lines = ["# project_box_hyperplane: CPU time after compilation, one thread", "",
             "| variables | generic | ms | ns a variable | equal kinks, ms | ns a variable |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    rng = np.random.default_rng(0)
    for n in (10**4, 10**5, 10**6, 10**7):
        lower, upper, sigma = -rng.random(n), rng.random(n), rng.choice([-1.0, 1.0], n)
        times = []
        for m in (rng.normal(size=n) + 0.5, rng.integers(-3, 4, n) / 4):
            best = np.inf
            for _ in range(5):
                began = time.process_time()
                projections.project_box_hyperplane(m, lower, upper, sigma, 0.3 * n)
                best = min(best, time.process_time() - began)
            times.append(best)
        cells = " | ".join(f"{1e3 * t:.3g} | {1e9 * t / n:.3g}" for t in times)
        lines.append(f"| {n:.0e} | | {cells} |")
        print(lines[-1], flush=True)
    lines = [line.replace("| generic ", "").replace(" | | ", " | ") for line in lines]
    lines[3] = "|---|---|---|---|---|"
    (out / "pragam_projections.md").write_text("\n".join([*lines, ""]))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=list(ALPHAS), choices=list(ALPHAS))
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("GAPFIT_DATA", "../shared/data")))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "0.1.0")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--passes", type=int, default=3000)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--projections", action="store_true")
    arguments = parser.parse_args()
    if arguments.projections:
        measure_projections(arguments.out)
    else:
        compare(arguments)


if __name__ == "__main__":
    main()
