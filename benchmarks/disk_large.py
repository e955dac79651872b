"""A fit to more data than the memory is allowed to hold: rate of conversion and of passes, peak memory.

    python benchmarks/disk_large.py FOLDER GIGABYTES [--loss hinge logistic] [--columns 10000]
                                    [--resident 128] [--no-text]

Draws a svmlight text of a tenth of the size, whose conversion is timed, and shards of the size that is asked
for. Rows have 100 entries in float32. Each fit runs in a process of its own, with two threads, and tells its
peak memory (the highest that the kernel has seen, mapped files included) beside 500 MB and 100 bytes a row;
passes, seconds, and the rate of a pass beside that of reading the same files from the page cache. The folder
is left as it is: remove it.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
from scipy import sparse

ENTRIES = 100


def block(rng, rows, columns, weights):
    """Rows with popular and rare columns, and labels that a plane tells apart, mostly."""
    indices = np.sort((columns * rng.random((rows, ENTRIES), np.float32) ** 2).astype(np.int32), axis=1)
    indices += np.arange(ENTRIES, dtype=np.int32)  # strictly rising
    data = rng.standard_normal((rows, ENTRIES), np.float32) / np.float32(np.sqrt(ENTRIES))
    X = sparse.csr_array((data.ravel(), indices.ravel(), np.arange(rows + 1, dtype=np.int32) * ENTRIES),
                         shape=(rows, columns + ENTRIES))  # fmt: skip
    X.has_canonical_format = True
    scores = X @ weights
    return X, np.where(scores + 0.5 * rng.standard_normal(rows) + 0.2 > 0, 1.0, -1.0)


def write_shards(folder, gigabytes, columns):
    from gapfit.shards import ShardWriter
    from gapfit.shards.arrow import Columns
    from gapfit.shards.convert import SHARD_BYTES

    rng, writer = np.random.default_rng(0), ShardWriter(folder, {})
    weights = rng.standard_normal(columns + ENTRIES)
    rows = SHARD_BYTES // (8 * ENTRIES)
    for _ in range(max(1, round(gigabytes * 1e9 / (8 * ENTRIES * rows)))):
        writer.add(Columns(*block(rng, rows, columns, weights)))
    return writer.finish()


def write_text(path, gigabytes, columns):
    from gapfit import datasets

    rng = np.random.default_rng(1)
    weights = rng.standard_normal(columns + ENTRIES)
    with open(path, "wb") as file:
        while file.tell() < gigabytes * 1e9:
            X, y = block(rng, 20_000, columns, weights)
            datasets.save(file, datasets.Data(X, y), format="svmlight")


def memory():
    """Resident bytes, the most that there were; and those that are the process's own now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if line.endswith("kB")}
    return found["VmHWM"], found["RssAnon"]


class Peak(threading.Thread):
    """The most memory of its own that the process has, looked at every few milliseconds."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most, self.over = 0, threading.Event()

    def run(self):
        while not self.over.wait(0.004):
            self.most = max(self.most, memory()[1])


def convert(path, folder):
    from gapfit.shards import shard

    tiny = Path(folder).with_name("tiny.svm")
    tiny.write_text("1 1:1\n-1 2:1\n")
    shard(tiny, Path(folder).with_name("tiny"), dtype="float32")  # compiled by now
    before, began = memory()[1], time.process_time()
    peak = [before]
    shard(path, folder, dtype="float32", progress=lambda *_: peak.append(memory()[1]))
    seconds = time.process_time() - began
    size = os.path.getsize(path)
    return dict(text_MB=size / 1e6, MB_per_cpu_s=size / 1e6 / seconds, extra_MB=(max(peak) - before) / 1e6)


def fit(folder, loss, resident, max_iter=1000, alpha=1e-5, tol=1e-3):
    from gapfit import Problem, datasets, solve, threads
    from gapfit.design.memory import MemoryDesign

    shards = datasets.open_shards(folder, resident=resident * 1e6)
    solve(Problem(*_tiny(), loss), tol=1e-3)
    Path("/proc/self/clear_refs").write_text("5")  # the highest from now on
    (began_with, base), peak = memory(), Peak()
    peak.start()
    began = time.perf_counter()
    problem = Problem(shards, None, loss, alpha=alpha)
    found = solve(problem, tol=tol, n_jobs=2, resumable=False, max_iter=max_iter)
    seconds = time.perf_counter() - began
    peak.over.set()
    highest = memory()[0]
    design, u, rates = problem.design, np.ones(len(shards)), {}
    for name, verb in (
        ("scores", lambda: design.over(MemoryDesign.scores, w=np.ones(design.shape[1]))),
        ("adjoint", lambda: design.adjoints(u)),
    ):
        times = []
        with threads.using(2):
            for _ in range(3):
                start = time.perf_counter()
                verb()
                times.append(time.perf_counter() - start)
        rates[f"{name}_GB_s"] = shards.parts.bytes / 1e9 / min(times)
    start = time.perf_counter()
    for one in shards.parts.manifest.shards:
        with open(Path(folder) / one.file, "rb", buffering=0) as file:
            while file.read(2**22):
                pass
    rates["read_GB_s"] = shards.parts.bytes / 1e9 / (time.perf_counter() - start)
    return dict(
        loss=loss, GB=shards.parts.bytes / 1e9, rows=len(shards), status=found.status.name,
        relative_gap=found.certificate.relative_gap, seconds=seconds, passes=found.cost.passes + 1,
        base_MB=began_with / 1e6, base_own_MB=base / 1e6, peak_own_MB=peak.most / 1e6, peak_MB=highest / 1e6,
        allowed_MB=500 + 1e-4 * len(shards),
        own_bytes_a_row=(peak.most - base - 1e6 * resident) / len(shards), **rates,
    )  # fmt: skip


def _tiny():
    X, y = block(np.random.default_rng(2), 200, 50, np.ones(150))
    return X, y


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("gigabytes", type=float)
    parser.add_argument("--loss", nargs="+", default=["hinge", "logistic"])
    parser.add_argument("--columns", type=int, default=10_000)
    parser.add_argument("--rate", action="store_true", help="passes only, no fit")
    parser.add_argument("--resident", type=float, default=128, help="megabytes of rows that are held")
    parser.add_argument("--no-text", action="store_true", help="no conversion")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder = given.folder
    if given.step == "convert":
        print(json.dumps(convert(folder / "data.svm", folder / "converted")))
    elif given.step:
        steps = 0 if given.rate else 1000
        print(json.dumps(fit(folder / "shards", given.step, given.resident, steps)))
    else:
        folder.mkdir(parents=True, exist_ok=True)
        if not given.no_text and not (folder / "data.svm").exists():
            write_text(folder / "data.svm", given.gigabytes / 10, given.columns)
        if not (folder / "shards" / "manifest.json").exists():
            write_shards(folder / "shards", given.gigabytes, given.columns)
        for step in (*([] if given.no_text else ["convert"]), *given.loss):
            more = ["--step", step, "--resident", str(given.resident), *(["--rate"] if given.rate else [])]
            again = [sys.executable, __file__, str(folder), str(given.gigabytes), *more]
            done = subprocess.run(again, check=True, stdout=subprocess.PIPE, text=True)
            print(done.stdout.strip(), flush=True)


if __name__ == "__main__":
    main()
