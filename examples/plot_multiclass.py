"""
Classes that compete
====================

One against the rest, every class has a problem of its own, and a class between two others has no chance: no
half-plane holds it alone. In a joint fit the classes compete, and each only has to score higher than the
others where its samples are. A table of costs then says which errors to avoid.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from gapfit import LinearClassifier
from gapfit.losses import CrammerSinger

centres = [[-2.4, 0.0], [0.0, 0.6], [2.4, 0.0], [0.0, 3.4]]
X, y = make_blobs(n_samples=500, centers=centres, cluster_std=0.75, random_state=0)
COLOURS = np.array(["#0072B2", "#D55E00", "#009E73", "#CC79A7"])
MARKERS = "osD^"


def show(ax, model, title):
    """The regions of a classifier, and the samples."""
    x, z = np.meshgrid(np.linspace(-5, 5, 300), np.linspace(-2.8, 6, 300))
    regions = model.predict(np.column_stack([x.ravel(), z.ravel()])).reshape(x.shape)
    ax.contourf(x, z, regions, levels=np.arange(-0.5, 4), colors=COLOURS, alpha=0.22)
    for k, marker in enumerate(MARKERS):
        ax.scatter(*X[y == k].T, s=14, c=COLOURS[k], marker=marker, lw=0)
    ax.set(title=title, xlabel="first feature", xlim=(-5, 5), ylim=(-2.8, 6))


# %%
# Alone against the rest, the class in the middle gets too little room: it loses samples on both sides.

apart = LinearClassifier(loss="hinge", alpha=1e-3).fit(X, y)
joint = LinearClassifier(loss="hinge", multi_class="joint", alpha=1e-3).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), sharey=True, layout="constrained")
for ax, model, name in zip(axes, (apart, joint), ("one against the rest", "joint"), strict=True):
    show(ax, model, f"{name}: {np.mean(model.predict(X) != y):.1%} wrong")
axes[0].set_ylabel("second feature")
figure.suptitle("Four classes, told apart by straight lines")
plt.show()

# %%
# The joint fit is one problem with one certificate:

print(joint.status_.value)
print(f"J = {joint.objective_:.6f}, at most {joint.dual_gap_:.1e} above its minimum")

# %%
# Say that overlooking the middle class (circles, squares and so on are 0, 1, 2, 3: it is 1) costs eight times
# what other errors cost. The row of a table is the truth, the column is what was predicted.

costs = 1.0 - np.eye(4)
costs[1] *= 8.0
careful = LinearClassifier(loss=CrammerSinger(costs), alpha=1e-3).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), sharey=True, layout="constrained")
for ax, model, name in zip(
    axes, (joint, careful), ("all errors cost 1", "1 overlooked costs 8"), strict=True
):
    cost = costs[y, model.predict(X)].mean()
    show(ax, model, f"{name}: {cost:.3f} a sample by the table")
axes[0].set_ylabel("second feature")
figure.suptitle("A table of costs moves the borders")
plt.show()
