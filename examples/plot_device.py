"""
Fits on a card
==============

What a fit takes on one NVIDIA H200, from `benchmarks/results/device/h200.json`, beside torch's L-BFGS. gapfit
ends with a proof of its tolerance. L-BFGS is stopped as soon as its objective is within that tolerance of the
certified one, and as soon as it is as low (which it does not always get), neither of which it can know by
itself.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt

# %%
# The file is written by `python benchmarks/device.py`.

folder = Path(__file__).resolve().parent if "__file__" in globals() else Path.cwd()  # where this script is
table = json.loads((folder.parent / "benchmarks" / "results" / "device" / "h200.json").read_text())

# %%
# Left: seconds, after compilation, medians of five. Right: how fast one pass for scores, losses, slopes and
# sums reads its data, beside a sum of all entries; the call as a whole, with what Python takes.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.8), gridspec_kw={"width_ratios": [3, 2]})
fits = table["fits"][::-1]
peers = {"to within tol": ("L-BFGS, within the tolerance", "s"), "torch L-BFGS": ("L-BFGS, as low", "D")}
for k, fit in enumerate(fits):
    furthest = max(fit[name] for name in peers if fit[name] is not None)
    left.plot([fit["seconds"], furthest], [k, k], color="0.8", zorder=1)
left.scatter([fit["seconds"] for fit in fits], range(len(fits)), label="gapfit, certified", zorder=2)
for name, (label, marker) in peers.items():
    there = [(fit[name], k) for k, fit in enumerate(fits) if fit[name] is not None]
    left.scatter(*zip(*there, strict=True), label=label, marker=marker, s=24)
names = [
    f"{fit['rows'] / 1e6:.0f}M x {fit['columns']:,} {fit['loss']}, {fit['alpha']:.0e}, to {fit['tol']:.0e}"
    for fit in fits
]
left.set_yticks(range(len(fits)), names, fontsize=8)
left.set_xscale("log")
left.set_xlabel("seconds")
left.set_title("Certified fits: rows, loss, alpha, tolerance", fontsize=10)
left.legend(loc="upper center", bbox_to_anchor=(0.4, -0.13), ncol=3, fontsize=8)
for dtype, marker in (("float32", "o"), ("bfloat16", "s")):
    rates = [row for row in table["rates"] if row["dtype"] == f"torch.{dtype}"]
    widths = [str(row["columns"]) for row in rates]
    for loss, style in (("hinge", "-"), ("logistic", ":")):
        shares = [row[f"{loss} in float32"] for row in rates]
        right.plot(widths, shares, style, marker=marker, label=f"{loss}, {dtype} rows")
right.axhline(1.0, color="0.8", zorder=0)
right.set_ylim(0, 1.15)
right.set_title("One pass over X", fontsize=10)
right.set_xlabel("columns of X, 8 GB in all")
right.set_ylabel("share of torch.sum's rate")
right.legend(loc="lower right", fontsize=8)
figure.tight_layout()
plt.show()
