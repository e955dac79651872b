"""`auto` on a card, beside every solver that takes the problem.

    python benchmarks/device_choice.py --seed 1 --cases 30 --out choice.json
    python benchmarks/device_choice.py --grid               # of shapes, losses and alphas, for tuning

Problems are drawn from the seed: how many rows and columns, dense or CSR, loss, alpha, tolerance, intercept.
Each solver has a first run of a few steps, which compiles; then a fit is timed, and a second one if it was
short. Who takes half as long again as `auto` is given up.
"""

import argparse
import json
import logging
import time
from itertools import product
from pathlib import Path

import numpy as np
import torch

from gapfit import Problem, Status, solve
from gapfit.device.rows import quietly
from gapfit.losses import Quantile
from gapfit.registry import as_solver
from gapfit.solvers.base import missing_need

SOLVERS = ("least_squares", "newton", "semismooth_newton", "newton_cg", "lbfgs", "smoothing")
LOSSES = ("hinge", "squared_hinge", "logistic", "squared", "quantile", "poisson")
WIDTHS = (64, 1000, 4096, 8192, 16384)  # few: tiles are chosen for each
SPARSE = {1000: 20, 20_000: 50, 200_000: 80}  # columns, and entries of a row
ENTRIES = 1e6, 6e8
FEWEST = 300  # rows
WARM = 4  # steps
LIMIT = 4.0  # seconds


def dense(rng, n, d):
    """Columns with a factor in common, and scales up to 30 times apart."""
    generator = torch.Generator(device="cuda").manual_seed(int(rng.integers(2**31)))
    X = torch.randn(n, d, device="cuda", generator=generator)
    X += torch.randn(n, 1, device="cuda", generator=generator)
    X *= 10 ** (-1.5 * torch.rand(d, device="cuda", generator=generator))
    return X


def csr(rng, n, d, each):
    """Columns that are the rarer the later, as words are."""
    generator = torch.Generator(device="cuda").manual_seed(int(rng.integers(2**31)))
    rare = torch.rand(n, each, device="cuda", generator=generator)
    columns = torch.sort(((d - each) * rare**3).long(), 1).values + torch.arange(each, device="cuda")
    columns = columns.ravel()  # of each row in ascending order, none twice
    starts = torch.arange(0, n * each + 1, each, device="cuda")
    values = torch.rand(n * each, device="cuda", generator=generator) + 0.1
    with quietly():
        return torch.sparse_csr_tensor(starts, columns, values, (n, d))


def gridded():
    """Shapes, losses and alphas, one after the other: rows, columns, entries of a sparse row, loss, alpha."""
    tall, wide = ((4096, 8000), (1000, 3000), (8192, 30_000)), ((4096, 500), (4096, 1500), (4096, 3500))
    for d, n in (*wide, *tall, (1000, 300), (8192, 6000), (16_384, 3000), (16_384, 30_000)):
        for loss, alpha in product(("squared", "logistic", "hinge"), (1e-2, 1e-4, 1e-6)):
            yield n, d, 0, loss, alpha, 1e-3, True
    for n, d, each in ((500_000, 1000, 20), (400_000, 20_000, 50), (100_000, 200_000, 80)):
        for loss, alpha in product(("squared", "logistic", "hinge"), (1e-4, 1e-6)):
            yield n, d, each, loss, alpha, 1e-3, True


def drawn(rng):
    """One of these, at random."""
    sparse = rng.random() < 0.25
    d = int(rng.choice(list(SPARSE) if sparse else WIDTHS))
    each = SPARSE[d] if sparse else d
    low, high = np.log(max(ENTRIES[0], FEWEST * each)), np.log(ENTRIES[1] / (8 if sparse else 1))
    n = int(np.exp(rng.uniform(low, high)) / each)
    loss, alpha, tol = rng.choice(LOSSES), rng.choice([1e-2, 1e-4, 1e-6]), rng.choice([1e-3, 1e-5])
    return n, d, each if sparse else 0, str(loss), float(alpha), float(tol), bool(rng.random() < 0.7)


def posed(rng, n, d, each, loss, alpha, tol, intercept):
    """The problem, and what it is."""
    X = csr(rng, n, d, each) if each else dense(rng, n, d)
    w = torch.randn(d, device="cuda", generator=torch.Generator(device="cuda").manual_seed(n))
    t = X @ w
    t = t / t.std() + 0.5 * torch.randn(n, device="cuda") + 0.3
    y = torch.where(t > 0, 1.0, -1.0)
    if loss in ("squared", "quantile"):
        y = t
    elif loss == "poisson":
        y = torch.poisson(torch.exp(torch.clamp(t, -3, 2)))
    kind = {"rows": n, "columns": d, "entries of a row": each or d, "loss": loss}
    kind |= {"alpha": alpha, "tol": tol, "intercept": intercept}
    chosen = Quantile(0.9) if loss == "quantile" else loss
    return Problem(X, y, chosen, alpha=alpha, intercept=intercept), kind


class Told(logging.Handler):
    """The solvers that `auto` has taken."""

    def __init__(self):
        super().__init__(logging.INFO)
        self.names = []

    def emit(self, record):
        if "because" in record.msg and record.args[0] not in self.names:
            self.names.append(record.args[0])


def timed(problem, solver, tol, limit):
    """Seconds, or None if the time was not enough; steps."""
    solve(problem, solver, tol=1e-14, max_iter=WARM, max_time=30, resumable=False)
    best = None
    for _ in range(2):
        torch.cuda.synchronize()
        began = time.perf_counter()
        found = solve(problem, solver, tol=tol, max_time=limit, resumable=False)
        torch.cuda.synchronize()
        took = time.perf_counter() - began
        if found.status is not Status.CERTIFIED:
            return best, found.n_iter
        best = took if best is None else min(best, took)
        if took > 0.3:
            break
    return best, found.n_iter


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10**6)
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--grid", action="store_true")
    parser.add_argument("--seconds", type=float, default=np.inf, help="no case begins after these")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rng, began, rows = np.random.default_rng(options.seed), time.perf_counter(), []
    logger = logging.getLogger("gapfit")
    logger.setLevel(logging.INFO)
    cases = gridded() if options.grid else (drawn(rng) for _ in range(options.cases))
    for case in cases:
        if time.perf_counter() - began > options.seconds:
            break
        problem, row = posed(rng, *case)
        told = Told()
        logger.addHandler(told)
        took, steps = timed(problem, "auto", row["tol"], LIMIT)
        logger.removeHandler(told)
        row |= {"auto": took, "steps": steps, "took": told.names}
        for solver in SOLVERS:
            if missing_need(as_solver(solver), problem) is None:
                try:
                    limit = 0.02 + 1.5 * (took or LIMIT)
                    row[solver] = timed(problem, solver, row["tol"], limit)[0]
                except Exception as error:  # too large a Hessian, say
                    row[solver] = type(error).__name__
        known = [row[s] for s in SOLVERS if isinstance(row.get(s), float)]
        row["times the best"] = took / min(known) if took and known else None
        rows.append({k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in row.items()})
        print(rows[-1], flush=True)
        if options.out:
            table = {"card": torch.cuda.get_device_name(), "seed": options.seed, "cases": rows}
            options.out.write_text(json.dumps(table, indent=1) + "\n")
        del problem
    times = [row["times the best"] for row in rows if row["times the best"]]
    print(f"{len(times)} of {len(rows)}: mean of logarithms {np.exp(np.mean(np.log(times))):.3f},"
          f" worst {max(times):.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
