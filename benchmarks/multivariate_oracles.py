"""One look at a risk that is not a mean over samples, in units of one `np.argsort` of as many scores.

    python benchmarks/multivariate_oracles.py [--sizes 1e4 1e5 1e6] [--table FILE]

An oracle call gives the value and a subgradient at new scores, whatever was kept from other calls of no use.
CPU time of one thread, the minimum over rounds in which all take turns; then the wall-clock time of two
threads. Compilation, or loading what was compiled before, is told apart. The table is Markdown.
"""

import argparse
import time
from functools import partial
from pathlib import Path

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


def measure(n):
    """Lines of the table: CPU time, its ratio to the sort, the ratio with two threads, the first call."""
    rng = np.random.default_rng(0)
    calls, first = {}, {}
    for name, loss, y, weight, groups in cases(n):
        risk = loss.bind(y, weight, groups)
        b = np.zeros(risk.offsets.size)
        calls[name] = risk, b, y
        first[name] = once(partial(risk.value_and_subgradient, y, b), time.perf_counter)
    best = dict.fromkeys(["np.argsort", *calls], np.inf)
    wall = dict(best)
    for _ in range(ROUNDS if n <= 100_000 else 5):
        noise = rng.normal(size=n)
        best["np.argsort"] = min(best["np.argsort"], once(partial(np.argsort, noise)))
        elapsed = once(partial(np.argsort, noise), time.perf_counter)
        wall["np.argsort"] = min(wall["np.argsort"], elapsed)
        for name, (risk, b, y) in calls.items():
            scores = noise + 0.5 * y
            call = partial(risk.value_and_subgradient, scores, b)
            with threads.using(1):
                best[name] = min(best[name], once(call))
            scores += 1.0  # new scores, as far as the risk knows
            with threads.using(2):
                wall[name] = min(wall[name], once(call, time.perf_counter))
    for name, seconds in best.items():
        ratios = f"{seconds / best['np.argsort']:.2f} | {wall[name] / wall['np.argsort']:.2f}"
        told = f"{first[name]:.2f}" if name in first else ""
        yield f"| {n:,} | {name} | {1e3 * seconds:.2f} | {ratios} | {told} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=float, default=[1e4, 1e5, 1e6])
    parser.add_argument("--table", type=Path, help="file to write the table to")
    chosen = parser.parse_args()
    lines = ["# One call of an oracle, in units of `np.argsort` of as many scores", ""]
    lines.append("| n | risk | ms | ratio | ratio, two threads | first call, s |")
    lines.append("|---|---|---|---|---|---|")
    print(*lines, sep="\n")
    for size in chosen.sizes:
        for line in measure(int(size)):
            lines.append(line)
            print(line, flush=True)
    if chosen.table:
        chosen.table.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):  # as in `solve`
        main()
