"""A card: how fast its memory is read, and how long certified fits take there.

    python benchmarks/device.py                    # all of it, on the card that torch finds
    python benchmarks/device.py --only rates       # the passes over X, beside torch.sum
    python benchmarks/device.py --only fits        # certified fits, beside torch's L-BFGS
    python benchmarks/device.py --only sorts       # a look at losses of the order of scores, in device sorts
    python benchmarks/device.py --only kernel      # KernelSVC, beside two cores of the CPU
    python benchmarks/device.py --only beside      # the same fits on all cores of the CPU; rechecked there
    python benchmarks/device.py --only parts       # rows in memory or in parts, other solvers; rechecked

Data are drawn from a seed, which is printed. Times are medians of five, after compilation, which is told
apart. cuML would be a peer; the machine of the committed results had none.
"""

import argparse
import json
import os
import time
from functools import partial
from itertools import cycle
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from gapfit import KernelSVC, Problem, solve
from gapfit.certify import recheck
from gapfit.device import DeviceArray, DeviceDesign, oracle, passes
from gapfit.device.streamed import PartedRows
from gapfit.losses import Quantile
from gapfit.registry import as_loss

REPEATS = 5
BYTES = 8e9
WIDTHS = (64, 128, 512, 1000, 2000, 4000)
SIZES = {torch.float32: 4, torch.bfloat16: 2, torch.float64: 8}
FUSED = [("hinge", "float32"), ("logistic", "float32"), ("hinge", "float64")]
OTHERS = [("exponential", "float32"), ("poisson", "float32")]  # of float32 rows: to choose tiles takes time
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
    (4_000_000, 512, "quantile", 1e-4, 1e-3),
    (1_000_000, 2000, "hinge", 1e-4, 1e-3),
    (1_000_000, 2000, "hinge", 1e-6, 1e-3),
    (1_000_000, 2000, "logistic", 1e-4, 1e-3),
    (1_000_000, 2000, "quantile", 1e-4, 1e-3),
]
SOLVERS = {"hinge": "semismooth_newton", "quantile": "semismooth_newton", "logistic": "newton"}
LOSSES = {"hinge": "hinge", "quantile": Quantile(0.9), "logistic": "logistic"}


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
            counts = DeviceArray(torch.floor(3 * torch.abs(u)))
            # scores, losses, slopes and their sums, in one pass
            fused = {torch.float32: FUSED + OTHERS, torch.bfloat16: FUSED}.get(dtype, [])
            for loss, kind in fused:
                formula = as_loss(loss).bind(counts if loss == "poisson" else y, np.ones_like(y)).formula()
                numbers = tuple(part.tensor for part in formula.numbers)
                losses = oracle.Prepared(formula.name, numbers)
                call = partial(oracle.through, X, w / d, 0.1, losses, single=kind == "float32")
                calls[f"{loss} in {kind}"] = call
            for name, function in calls.items():
                for _ in range(4):  # chosen, compiled, recorded
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
        problem = Problem(X, y, LOSSES[loss], alpha=alpha)
        torch.cuda.synchronize()
        set_up = time.perf_counter() - began
        began = time.perf_counter()
        solve(problem, SOLVERS[loss], tol=0.1, resumable=False)
        first = time.perf_counter() - began
        took, solution = seconds(
            lambda p=problem, s=SOLVERS[loss], t=tol: solve(p, s, tol=t, resumable=False, max_time=20)
        )
        known = solution.certificate.primal
        peer, roughly = lbfgs(X, y, loss, alpha, known, tol)
        yield {
            "rows": n, "columns": d, "loss": loss, "alpha": alpha, "tol": tol, "status": solution.status.name,
            "relative gap": solution.certificate.relative_gap, "steps": solution.n_iter, "seconds": took,
            "set up": set_up, "first fit": first, "torch L-BFGS": peer, "to within tol": roughly,
        }  # fmt: skip
        del X, y, problem


def lbfgs(X, y, loss, alpha, goal, tol, limit=10.0):
    """Seconds of torch's L-BFGS until J is as low as the goal, and until it is no higher than that by more
    than tol of it; None where J fell no more, or ten seconds had passed, before it got there."""
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
            risk = torch.maximum(0.9 * r, -0.1 * r).mean()
        return risk + 0.5 * alpha * w @ w

    def closure():
        method.zero_grad()
        value = J()
        value.backward()
        return value

    began, last, roughly = time.perf_counter(), np.inf, None
    while time.perf_counter() - began < limit:
        method.step(closure)
        with torch.no_grad():
            value = float(J())
        now = time.perf_counter() - began
        if value <= goal * (1 + tol) and roughly is None:
            roughly = now
        if value <= goal:
            return now, roughly
        if value >= last:
            break
        last = value
    return None, roughly


def sorts(seed):
    """What a look at 20 million scores takes, in sorts of these scores."""
    n = 20_000_000
    generator = torch.Generator(device="cuda").manual_seed(seed)
    y = torch.where(torch.rand(n, device="cuda", generator=generator) < 0.3, 1.0, -1.0).double()
    f = torch.randn(n, device="cuda", generator=generator, dtype=torch.float64) + 0.5 * y
    sort = seconds(lambda: torch.sort(f))[0]  # of these float64 numbers, with where they were
    yield {"sort": "float64", "rows": n, "milliseconds": 1e3 * sort}
    short = torch.randint(-(2**31), 2**31, (n,), device="cuda", generator=generator, dtype=torch.int32)
    yield {"sort": "int32", "rows": n, "milliseconds": 1e3 * seconds(lambda: torch.sort(short))[0]}
    turns = cycle([DeviceArray(f), DeviceArray(f + 0.1 * y)])  # no two looks are at the same scores
    for loss in ("f_beta", "roc_area", "break_even"):
        risk = as_loss(loss).bind(DeviceArray(y), np.ones_like(DeviceArray(y)))
        b = np.zeros(risk.offsets.size)

        def look(risk=risk, b=b):
            return risk.value_and_subgradient(next(turns), b)

        look()
        took = seconds(look)[0]
        yield {"loss": loss, "rows": n, "milliseconds": 1e3 * took, "sorts": took / sort}


def images(n, seed):
    """Ten kinds of blobs of 28 x 28 pixels that vary along thirty directions, most of them dark; which are
    even."""
    rng = np.random.default_rng(seed)
    place = np.stack(np.meshgrid(np.arange(28), np.arange(28)), -1).reshape(-1, 2)

    def smooth(k):
        at, width = rng.uniform(4, 24, (k, 6, 2)), rng.uniform(2.0, 4.0, (k, 6, 1))
        bumps = np.exp(-((place[None, None] - at[:, :, None]) ** 2).sum(-1) / (2 * width**2))
        return (rng.normal(size=(k, 6, 1)) * bumps).sum(1)

    kinds, ways, kind = 1.2 * smooth(10), smooth(30), rng.integers(0, 10, n)
    X = kinds[kind] + 0.35 * rng.normal(size=(n, 30)) @ ways + 0.05 * rng.normal(size=(n, 784))
    return np.clip(X, 0.0, 1.0).astype(np.float32), kind % 2


def kernel(seed):
    """KernelSVC on 60,000 images: on the card, and on two cores."""
    X, y = images(60_000, seed)

    def fit(device=None):
        return KernelSVC(C=10.0, tol=1e-3, device=device, n_jobs=2, cache_size=4000).fit(X, y)

    began = time.perf_counter()
    fit("cuda")
    first = time.perf_counter() - began
    took, model = seconds(partial(fit, "cuda"))
    fit_small = KernelSVC(C=10.0, n_jobs=2).fit(X[:4000], y[:4000])  # compiles
    with threadpool_limits(2):
        alone, known = seconds(fit, 1)
    yield {
        "rows": len(X), "columns": X.shape[1], "status": model.status_.name, "seconds": took,
        "first fit": first, "two cores": alone, "times": alone / took,
        "relative gap": model.dual_gap_ / model.objective_,
        "their optima differ by": abs(model.objective_ - known.objective_) / known.objective_,
        "support vectors": len(model.support_), "of 4,000": len(fit_small.support_),
    }  # fmt: skip


def beside(seed):
    """The same fit on the card and on all cores, and its certificate once more on the CPU."""
    for loss, tol in (("hinge", 1e-3), ("logistic", 1e-3), ("quantile", 1e-3), ("hinge", 1e-6)):
        X, y = drawn(2_000_000, 128, loss, seed)
        there = Problem(X, y, LOSSES[loss], alpha=1e-4)
        here = Problem(X.cpu().numpy(), y.cpu().numpy(), LOSSES[loss], alpha=1e-4)
        calls = [
            partial(solve, problem, SOLVERS[loss], tol=tol, resumable=False) for problem in (there, here)
        ]
        calls[0]()
        took, found = seconds(calls[0])
        calls[1]()
        cpu, _ = seconds(calls[1], 3)
        again = recheck(there, found)
        yield {
            "loss": loss, "rows": 2_000_000, "columns": 128, "tol": tol, "seconds": took, "CPU": cpu,
            "cores": os.cpu_count(), "gap on the card": found.certificate.gap, "gap on the CPU": again.gap,
        }  # fmt: skip


def parts(seed):
    """Rows in memory, copied block by block, and several tensors as one X; other solvers; more features. Each
    certificate is made once more on the CPU."""
    X, y = drawn(2_000_000, 128, "hinge", seed)
    thirds = torch.tensor_split(X, 3)
    designs = {
        "one tensor": X, "three tensors": DeviceDesign(list(thirds)),
        "a third in memory": DeviceDesign([thirds[0], thirds[1].cpu(), thirds[2]]),
        "all in memory": DeviceDesign(PartedRows([X.cpu()], X.device)),
    }  # fmt: skip
    cases = [(name, "semismooth_newton", design, 1e-4) for name, design in designs.items()]
    cases += [("one tensor", solver, X, 1e-2) for solver in ("smoothing", "pragam", "bundle")]
    for name, solver, design, alpha in cases:
        problem = Problem(design, y, "hinge", alpha=alpha)
        call = partial(solve, problem, solver, tol=1e-3, resumable=False, max_time=20)
        call()
        took, found = seconds(call, 3)
        again = found.dual_point is not None and recheck(problem, found)
        yield {
            "rows": 2_000_000, "columns": 128, "design": name, "solver": solver, "status": found.status.name,
            "seconds": took, "steps": found.n_iter, "gap on the card": found.certificate.gap,
            "gap on the CPU": again.gap if again else "no dual point was kept",
        }  # fmt: skip
    X, y = drawn(200_000, 4096, "hinge", seed)
    problem = Problem(X, y, "hinge", alpha=1e-4)
    call = partial(solve, problem, tol=1e-3, resumable=False, max_time=20)
    call()
    took, found = seconds(call)
    yield {
        "rows": 200_000, "columns": 4096, "design": "one tensor", "solver": "auto", "seconds": took,
        "status": found.status.name, "steps": found.n_iter, "gap on the card": found.certificate.gap,
        "gap on the CPU": recheck(problem, found).gap,
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("rates", "fits", "sorts", "kernel", "beside", "parts"), nargs="*")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10**6)
    parser.add_argument("--most", type=float, default=1e10, help="entries of X")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    print(torch.cuda.get_device_name(), "seed", options.seed, flush=True)
    seed = options.seed
    known = {
        "rates": rates(), "fits": fits(seed, options.most), "sorts": sorts(seed), "kernel": kernel(seed),
        "beside": beside(seed), "parts": parts(seed),
    }  # fmt: skip
    table = {"card": torch.cuda.get_device_name(), "torch": torch.__version__, "seed": options.seed}
    for name in options.only or known:
        table[name] = []
        for row in known[name]:
            told = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in row.items()}
            table[name].append(told)
            print(name, told, flush=True)
            if options.out:  # as soon as it is known
                options.out.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
