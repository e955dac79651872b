"""
Rows on disk, and on a cluster
==============================

A fit needs sums over the samples, so its rows may be in parts that are elsewhere. Here the same support
vector machine is fitted three times: to rows in shards on disk, a sixth of which may be in memory at once; to
rows on the workers of a Dask cluster; and to rows in memory. Each fit proves how close to the optimum it is,
and the three proofs agree. What they cost differs: passes over the rows.
"""

import tempfile
from pathlib import Path

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

from gapfit import Problem, datasets, solve
from gapfit.shards import ShardWriter
from gapfit.shards.arrow import Columns

rng = np.random.default_rng(0)
X = rng.normal(size=(12_000, 30))
y = np.where(X @ rng.normal(size=30) + 2 * rng.normal(size=12_000) > 0.5, 1.0, -1.0)


def watched(problem):
    """The solution, and the relative gap after each pass that was looked at."""
    seen = []

    def watch(progress):
        seen.append((problem.design.cost.passes, progress.gap / progress.primal))

    return solve(problem, tol=1e-5, callbacks=[watch]), np.array(seen)


# %%
# On disk ``dual_cd`` sweeps over each shard as it passes by, and holds the rows that may still move.

with tempfile.TemporaryDirectory() as folder:
    writer = ShardWriter(Path(folder) / "shards", {"made": "here"})
    for rows in np.array_split(np.arange(len(y)), 12):
        writer.add(Columns(X[rows], y[rows]))
    writer.finish()
    shards = datasets.open_shards(Path(folder) / "shards", resident=X.nbytes / 6)
    on_disk, disk_passes = watched(Problem(shards, None, "hinge", alpha=1e-4))

# %%
# On a cluster rows stay with the workers; ``semismooth_newton`` asks them for sums. This one is inside the
# process; with the address of a scheduler nothing else would change.

with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as client:
    rows = da.from_array(X, chunks=(1000, 30))
    on_cluster, rounds = watched(Problem(rows, y, "hinge", alpha=1e-4))

in_memory = solve(Problem(X, y, "hinge", alpha=1e-4), tol=1e-5)
for name, found in (("disk", on_disk), ("cluster", on_cluster), ("memory", in_memory)):
    low, high = found.certificate.dual, found.certificate.primal
    passes = "" if found.cost is None else f"{found.cost.passes} passes, {found.cost.bytes / 1e6:.1f} MB"
    print(f"{name:>8}: {low:.7f} <= min J <= {high:.7f}   {passes}")

# %%
# No lower bound exceeds any objective that was attained, wherever the rows were.

found = [on_disk.certificate, on_cluster.certificate, in_memory.certificate]
assert max(one.dual for one in found) <= min(one.primal for one in found)

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
axes.plot(*disk_passes.T, "o-", color="#0072B2", lw=2, label="disk: dual_cd, a sixth of the rows held")
axes.plot(*rounds.T, "s--", color="#D55E00", lw=2, label="cluster: semismooth_newton")
axes.axhline(1e-5, color="0.5", lw=1)
axes.text(1, 1.15e-5, "tol", color="0.3")
axes.set(title="What is proved after how many passes", xlabel="passes over the rows", yscale="log")
axes.set_ylabel("relative gap")
axes.legend()
plt.show()
