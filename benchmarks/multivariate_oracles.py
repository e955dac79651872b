"""One look at a risk that is not a mean over samples, in units of one `np.argsort` of as many scores.

    python benchmarks/multivariate_oracles.py [sizes, as 1e4,1e5,1e6]

An oracle call gives the value and a subgradient at new scores, whatever was kept from other calls of no use.
CPU time of one thread, the minimum over rounds in which all take turns; then the wall-clock time of two
threads. Compilation, or loading what was compiled before, is told apart.
"""

import sys
import time
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from gapfit import losses, threads

ROUNDS = 9
SHARE = 0.1  # of positives


def uninformed(tp, fp, fn, tn):
    """1 - informedness: linear, though the search does not know."""
    return 1 - (tp / (tp + fn) - fp / (fp + tn))


def cases(n):
    """Name, loss, targets, groups."""
    rng = np.random.default_rng(n)
    y = np.where(rng.random(n) < SHARE, 1.0, -1.0)
    levels = rng.integers(0, 5, n).astype(float)
    queries = rng.integers(0, max(n // 100, 1), n)
    weights = rng.uniform(0.5, 2.0, n)
    one = np.ones(n)
    yield "FBeta(1)", losses.FBeta(), y, one, None
    yield "FBeta(0.5)", losses.FBeta(0.5), y, one, None
    yield "FBeta(1), weights", losses.FBeta(), y, weights, None
    yield "Jaccard", losses.Jaccard(), y, one, None
    yield "PrecisionAtK(n/20)", losses.PrecisionAtK(n // 20), y, one, None
    yield "BreakEven", losses.BreakEven(), y, one, None
    yield "ErrorRate", losses.ErrorRate(), y, one, None
    yield "RocArea", losses.RocArea(), y, one, None
    yield "RocArea, weights", losses.RocArea(), y, weights, None
    yield "PartialRocArea(0.1)", losses.PartialRocArea(0.1), y, one, None
    yield "PairwiseRanking", losses.PairwiseRanking(), levels, one, queries
    yield "NDCG(10)", losses.NDCG(10), levels, one, queries
    yield "OrdinalPairs", losses.OrdinalPairs(), levels, one, None
    yield "PrecisionAtRecall(0.8)", losses.PrecisionAtRecall(0.8), y, one, None
    yield "RecallAtPrecision(0.8)", losses.RecallAtPrecision(0.8), y, one, None
    yield "Matthews", losses.Matthews(), y, one, None
    yield "Contingency(linear)", losses.Contingency(uninformed, "linear"), y, one, None
    yield "Contingency(predicted)", losses.Contingency(uninformed, "predicted"), y, one, None
    yield "Contingency(fp)", losses.Contingency(uninformed, "fp"), y, one, None


def once(function, clock=time.process_time):
    start = clock()
    function()
    return clock() - start


def main(sizes):
    for n in sizes:
        rng = np.random.default_rng(0)
        names, risks, compiled = [], [], []
        spread = {}
        for name, loss, y, weight, groups in cases(n):
            risk = loss.bind(y, weight, groups)
            b = np.zeros(risk.offsets.size)
            names.append(name)
            risks.append((risk, b))
            spread[name] = y
            compiled.append(once(partial(risk.value_and_subgradient, y, b), time.perf_counter))
        best = dict.fromkeys(["np.argsort", *names], np.inf)
        wall = dict(best)
        for _ in range(ROUNDS if n <= 100_000 else 5):
            noise = rng.normal(size=n)
            best["np.argsort"] = min(best["np.argsort"], once(partial(np.argsort, noise)))
            elapsed = once(partial(np.argsort, noise), time.perf_counter)
            wall["np.argsort"] = min(wall["np.argsort"], elapsed)
            for name, (risk, b) in zip(names, risks, strict=True):
                scores = noise + 0.5 * spread[name]
                call = partial(risk.value_and_subgradient, scores, b)
                with threads.using(1):
                    best[name] = min(best[name], once(call))
                scores += 1.0  # new scores, as far as the risk knows
                with threads.using(2):
                    wall[name] = min(wall[name], once(call, time.perf_counter))
        print(f"\nn = {n:<10,}{'ms':>20}{'ratio':>9}{'2 threads':>12}{'first call':>13}")
        for name, seconds in best.items():
            first = f"{compiled[names.index(name)]:11.2f} s" if name in names else ""
            ratios = seconds / best["np.argsort"], wall[name] / wall["np.argsort"]
            print(f"{name:24}{1e3 * seconds:10.2f}{ratios[0]:9.2f}{ratios[1]:12.2f}{first}")


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):  # as in `solve`
        main([int(float(size)) for size in (sys.argv[1] if len(sys.argv) > 1 else "1e4,1e5,1e6").split(",")])
