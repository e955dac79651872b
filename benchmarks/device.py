"""A card: how fast its memory is read, and how long certified fits take there.

    python benchmarks/device.py                    # all of it, on the card that torch finds
    python benchmarks/device.py --only rates       # the passes over X, beside torch.sum
    python benchmarks/device.py --only fits        # certified fits, beside torch's L-BFGS

Data are drawn on the card from a seed, which is printed. Times are medians of five, after compilation, which
is told apart. Every certificate is checked once more on the CPU, in NumPy, for the smallest problem.
"""

import argparse
import json
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch

from gapfit import Problem, solve
from gapfit.certify import certify
from gapfit.device import DeviceArray, oracle, passes
from gapfit.registry import as_loss

REPEATS = 5
BYTES = 8e9
WIDTHS = (64, 128, 512, 1000, 2000, 4000)
SIZES = {torch.float32: 4, torch.bfloat16: 2, torch.float64: 8}
FITS = [
    # rows, columns, loss, alpha, tol
    (20_000_000, 128, "hinge", 1e-4, 1e-3),
    (20_000_000, 128, "hinge", 1e-4, 1e-5),
    (20_000_000, 128, "hinge", 1e-6, 1e-3),
    (20_000_000, 128, "logistic", 1e-4, 1e-3),
    (20_000_000, 128, "logistic", 1e-4, 1e-5),
    (20_000_000, 128, "quantile", 1e-4, 1e-3),
    (20_000_000, 128, "quantile", 1e-4, 1e-5),
    (4_000_000, 512, "hinge", 1e-4, 1e-3),
    (4_000_000, 512, "hinge", 1e-6, 1e-3),
    (4_000_000, 512, "logistic", 1e-4, 1e-3),
    (1_000_000, 2000, "hinge", 1e-4, 1e-3),
    (1_000_000, 2000, "hinge", 1e-6, 1e-3),
    (1_000_000, 2000, "logistic", 1e-4, 1e-3),
]
SOLVERS = {"hinge": "semismooth_newton", "quantile": "semismooth_newton", "logistic": "newton"}


def seconds(function, repeats=REPEATS):
    """The median, and what came back last."""
    found, times = None, []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        found = function()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return float(np.median(times)), found


def rates():
    """Of the passes, as shares of torch.sum's."""
    for dtype, size in SIZES.items():
        for d in WIDTHS:
            n = int(BYTES / d / size)
            X = torch.randn(n, d, device="cuda", dtype=dtype)
            w = torch.randn(d, device="cuda", dtype=torch.float64)
            u, v = torch.randn(2, n, device="cuda", dtype=torch.float64)
            read = seconds(X.sum)[0]
            row = {"dtype": str(dtype), "columns": d, "torch.sum TB/s": X.numel() * size / read / 1e12}
            calls = {
                "scores": lambda X=X, w=w: passes.scores(X, w),
                "slope": lambda X=X, u=u: passes.adjoint(X, u),
                "two slopes": lambda X=X, u=u, v=v: passes.adjoint(X, u, v),
            }
            y = DeviceArray(torch.where(u > 0, 1.0, -1.0).double())
            for loss in ("hinge", "logistic"):  # scores, losses, slopes and their sums, in one pass
                formula = as_loss(loss).bind(y, np.ones_like(y)).formula()
                numbers = tuple(part.tensor for part in formula.numbers)
                for single, kind in ((True, "float32"), (False, "float64")):
                    call = partial(oracle.through, X, w, 0.1, formula.name, numbers, single=single)
                    calls[f"{loss} in {kind}"] = call
            for name, function in calls.items():
                function()
                row[name] = read / seconds(function)[0]
            yield row
            del X


def drawn(n, d, loss, seed):
    """Rows whose columns have a factor in common and scales up to 30 times apart, and targets of a linear
    model with noise."""
    generator = torch.Generator(device="cuda").manual_seed(seed)
    X = torch.randn(n, d, device="cuda", generator=generator)
    X += torch.randn(n, 1, device="cuda", generator=generator)
    X *= 10 ** (-1.5 * torch.rand(d, device="cuda", generator=generator))
    w = torch.randn(d, device="cuda", generator=generator)
    t = X @ w
    t += 0.5 * t.std() * torch.randn(n, device="cuda", generator=generator) + 0.3
    return X, t / t.std() if loss == "quantile" else torch.where(t > 0, 1.0, -1.0)


def fits(seed, most):
    for n, d, loss, alpha, tol in FITS:
        if n * d > most:
            continue
        X, y = drawn(n, d, loss, seed)
        began = time.perf_counter()
        problem = Problem(X, y, loss, alpha=alpha)
        torch.cuda.synchronize()
        set_up = time.perf_counter() - began
        began = time.perf_counter()
        solve(problem, SOLVERS[loss], tol=0.1, resumable=False)
        first = time.perf_counter() - began
        took, solution = seconds(
            lambda p=problem, s=SOLVERS[loss], t=tol: solve(p, s, tol=t, resumable=False, max_time=20)
        )
        peer, reached = lbfgs(X, y, loss, alpha, solution.certificate.primal * (1 + tol))
        yield {
            "rows": n, "columns": d, "loss": loss, "alpha": alpha, "tol": tol, "status": solution.status.name,
            "relative gap": solution.certificate.relative_gap, "steps": solution.n_iter, "seconds": took,
            "set up": set_up, "first fit": first, "torch L-BFGS": peer, "it reached": reached,
        }  # fmt: skip
        del X, y, problem


def lbfgs(X, y, loss, alpha, goal, limit=10.0):
    """Seconds of torch's L-BFGS until J is as low as that; and whether it got there."""
    w = torch.zeros(X.shape[1], device="cuda", requires_grad=True)
    b = torch.zeros(1, device="cuda", requires_grad=True)
    method = torch.optim.LBFGS([w, b], lr=1, max_iter=5, history_size=20, line_search_fn="strong_wolfe")

    def J():
        f = X @ w + b
        if loss == "hinge":
            risk = torch.clamp(1 - y * f, min=0).mean()
        elif loss == "logistic":
            risk = torch.nn.functional.softplus(-y * f).mean()
        else:
            r = y - f
            risk = torch.maximum(0.5 * r, -0.5 * r).mean()
        return risk + 0.5 * alpha * w @ w

    def closure():
        method.zero_grad()
        value = J()
        value.backward()
        return value

    began, last = time.perf_counter(), np.inf
    while time.perf_counter() - began < limit:
        method.step(closure)
        with torch.no_grad():
            value = float(J())
        if value <= goal:
            return time.perf_counter() - began, True
        if value >= last:
            break
        last = value
    return time.perf_counter() - began, False


def checked(seed):
    """The gap of a fit on the card, and that of its point and its plane once more, on the CPU."""
    for loss in ("hinge", "logistic", "quantile"):
        X, y = drawn(200_000, 64, loss, seed)
        there = Problem(X, y, loss, alpha=1e-4)
        here = Problem(X.cpu().numpy(), y.cpu().numpy(), loss, alpha=1e-4)
        found = solve(there, SOLVERS[loss], tol=1e-6, resumable=False)
        plane = here.minorant_at(found.minorant.u.to_host())
        again = certify(here, found.w.astype(float), np.atleast_1d(found.intercept), plane)
        yield {"loss": loss, "gap on the card": found.certificate.gap, "gap on the CPU": again.gap}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("rates", "fits", "checked"), nargs="*")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10**6)
    parser.add_argument("--most", type=float, default=1e10, help="entries of X")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    print(torch.cuda.get_device_name(), "seed", options.seed, flush=True)
    parts = {"rates": rates(), "fits": fits(options.seed, options.most), "checked": checked(options.seed)}
    table = {"card": torch.cuda.get_device_name(), "torch": torch.__version__, "seed": options.seed}
    for name in options.only or parts:
        table[name] = []
        for row in parts[name]:
            told = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in row.items()}
            table[name].append(told)
            print(name, told, flush=True)
    if options.out:
        options.out.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
