"""The command: choose, race, write."""

import argparse
import logging
import time
from itertools import groupby
from pathlib import Path

from linear.strict import machine, page, protocol
from linear.strict.cases import ALPHAS, SECTIONS, comparisons, quick
from linear.strict.components import alpha_text, component, label, load, short
from linear.strict.store import Store

import gapfit


def main():
    arguments = _arguments()
    logging.getLogger("gapfit").setLevel(logging.WARNING)
    began = time.perf_counter()
    store = Store(arguments.out, arguments.fresh)
    facts = machine.describe()
    available = _available(arguments.data or ALPHAS)
    if arguments.quick:
        chosen = quick(available, max(arguments.tol))
    else:
        chosen = comparisons(available, arguments.all, arguments.tol)
    todo = [comparison for comparison in chosen if comparison.section in arguments.section]
    left = [comparison for comparison in todo if comparison.key() not in store.results]
    _say(f"{len(todo)} comparisons, {len(todo) - len(left)} of them known already, into {arguments.out}")
    done = len(todo) - len(left)
    for data, group in groupby(left, key=lambda comparison: comparison.task.data):
        _say(f"{label(data)}: reading")
        course = protocol.Course(load("Dataset", data).get_data(), store, _say, arguments.patience)
        try:
            for comparison in group:
                done += 1
                row = _described(comparison) | course.race(comparison, arguments.rounds)
                row |= _ratios(row)
                store.keep_result(row)
                _say(f"[{done}/{len(todo)}] {_progress(comparison, row)}")
        finally:
            course.close()
    page.write(store, facts, f"gapfit {gapfit.__version__} beside its peers")
    _say(f"{arguments.out / 'table.md'} and report.html, after {time.perf_counter() - began:.0f} s")


def _arguments():
    parser = argparse.ArgumentParser(description="gapfit beside its peers, to equal accuracy.")
    parser.add_argument(
        "--quick", action="store_true", help="one small file, generated data: about two minutes"
    )
    parser.add_argument(
        "--all", action="store_true", help="more peers for the hinge: snapml, SGD, skglm, ..."
    )
    parser.add_argument("--section", type=int, nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--data", nargs="+", choices=ALPHAS, help="only these files")
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-3, 1e-6])
    parser.add_argument("--rounds", type=int, default=protocol.ROUNDS)
    parser.add_argument(
        "--out", type=Path, help="default: benchmarks/results/<version>, or build/bench if quick"
    )
    parser.add_argument("--fresh", action="store_true", help="forget what is known")
    arguments = parser.parse_args()
    arguments.patience = 5.0 if arguments.quick else protocol.AT_MOST
    if arguments.out is None:
        root = Path(__file__).resolve().parents[3]
        kept = root / "benchmarks" / "results" / gapfit.__version__
        arguments.out = root / "build" / "bench" if arguments.quick else kept
    return arguments


def _available(names):
    """The data sets whose files are there; the others are named."""
    found = []
    for name in names:
        dataset = load("Dataset", component(name))
        if dataset.path().is_file():
            found.append(name)
        else:
            _say(f"{name}: skipped, {dataset.file} is not in the folder GAPFIT_DATA")
    return found


def _described(comparison):
    task = comparison.task
    return dict(
        key=comparison.key(),
        section=comparison.section,
        data=label(task.data),
        loss=task.loss,
        penalty=task.penalty,
        alpha=alpha_text(task.alpha),
        intercept=task.intercept,
        tol=short(comparison.tol),
        column=comparison.column,
        peer=comparison.peer and str(comparison.peer),
        peer_intercept=(comparison.peer_task or task).intercept,
    )


def _ratios(row):
    """Ours by theirs. Of a peer that never came a bound is known; ours, if it failed, took all its time."""
    ours, theirs = row.get("ours_seconds"), row.get("peer_seconds")
    if row["outcome"].startswith("ours"):
        ratio = protocol.OURS_AT_MOST / theirs if theirs else None
        return dict(ratio=ratio, ratio_cpu=ratio)
    if theirs:
        return dict(ratio=ours / theirs, ratio_cpu=row["ours_cpu"] / max(row["peer_cpu"], 1e-3))
    return dict(ratio=ours / row["limit"]) if row["outcome"] == "never" else {}


def _progress(comparison, row):
    text = f"{comparison.section}: {comparison.task}, tol {short(comparison.tol)}"
    text += f": gapfit {row.get('ours_seconds', float('nan')):.3f}"
    if row.get("peer_seconds"):
        text += f", {comparison.column} {comparison.peer} {row['peer_seconds']:.3f}, ratio {row['ratio']:.2f}"
    elif comparison.peer:
        text += f", {comparison.column} {comparison.peer}"
    return text + ("" if row["outcome"] == "ok" else f" ({row['outcome']})")


def _say(text):
    print(time.strftime("%H:%M:%S"), text, flush=True)
