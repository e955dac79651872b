"""
Support vectors, proved one by one
==================================

At the optimum of a support vector machine most samples play no part: they lie outside the margin, and
removing them would change nothing. An approximate solution cannot tell for sure which. A gap can: it
bounds every score of the exact optimum, and a sample whose interval lies beyond the margin is
*provably* no support vector.

``support_status_`` says what is proved of each training sample: ``"zero"`` (no support vector),
``"bound"`` (a support vector inside the margin or on the wrong side), ``"support"`` (a support vector),
or ``"undecided"``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from gapfit import LinearClassifier

X, y = make_blobs(n_samples=300, centers=[[-1.2, -0.5], [1.2, 0.5]], cluster_std=1.0, random_state=4)
STATES = {
    "zero": ("#999999", "o", 16),
    "bound": ("#D55E00", "s", 32),
    "undecided": ("#0072B2", "*", 110),
}

# %%
# As the tolerance shrinks, fewer samples are undecided. The last ones lie on the margin itself.

figure, axes = plt.subplots(1, 3, figsize=(12.5, 4.9), sharey=True, layout="constrained")
for ax, tol in zip(axes, (1e-1, 1e-3, 1e-6), strict=True):
    model = LinearClassifier(loss="hinge", alpha=1e-2, tol=tol).fit(X, y)
    for state, (colour, marker, size) in STATES.items():
        rows = model.support_status_ == state
        ax.scatter(*X[rows].T, c=colour, marker=marker, s=size, lw=0, label=f"{state}: {rows.sum()}")
    (w, v), b = model.coef_[0], model.intercept_[0]
    x = np.array([-4.5, 4.5])
    for score, style in ((-1, "--"), (0, "-"), (1, "--")):
        ax.plot(x, (score - b - w * x) / v, color="black", lw=1, ls=style)
    ax.set(title=f"tol = {tol:g}", xlim=(-4.5, 4.5), ylim=(-4.0, 5.6), xlabel="first feature")
    ax.legend(loc="upper left", frameon=True)
axes[0].set_ylabel("second feature")
figure.suptitle("What the gap proves about each sample")
plt.show()

# %%
# The same over many tolerances. What is proved once stays proved: a sample never moves from one group
# to another, only out of the undecided.

tolerances = np.logspace(0, -7, 15)
statuses = [
    LinearClassifier(loss="hinge", alpha=1e-2, tol=tol).fit(X, y).support_status_ for tol in tolerances
]
counts = {state: [np.sum(status == state) for status in statuses] for state in STATES}
for earlier in statuses:
    settled = earlier != "undecided"
    assert (statuses[-1][settled] == earlier[settled]).all()

figure, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
ax.stackplot(
    tolerances,
    *counts.values(),
    colors=[colour for colour, *_ in STATES.values()],
    labels=["no support vector", "support vector at the bound", "undecided"],
)
ax.set(
    title="Undecided samples vanish with the gap",
    xscale="log",
    xlim=(1, 1e-7),
    ylim=(0, len(y)),
    xlabel="tol (relative gap)",
    ylabel="samples",
)
ax.legend(loc="lower left", frameon=True)
plt.show()
