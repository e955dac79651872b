"""
A kernel machine and what is proved of it
=========================================

A support vector machine with a Gaussian kernel on two moons. While the gap is large, the decision of the
exact optimum is known only away from the boundary; when it is closed, everywhere. The samples that are
proved to be support vectors at their bound, and those proved to be none, are told apart from the ones on
the margin.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from gapfit import KernelSVC

X, y = make_moons(200, noise=0.25, random_state=0)
grid = np.stack(np.meshgrid(np.linspace(-1.8, 2.8, 120), np.linspace(-1.4, 1.9, 120)), axis=-1)
points = grid.reshape(-1, 2)

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
for axis, tol in zip(axes, (1e-2, 1e-10), strict=True):
    model = KernelSVC(C=10, gamma=1.0, tol=tol).fit(X, y)
    scores, proved = model.decision_function(points), model.certified(points)
    shape, (first, second) = grid.shape[:2], grid.transpose(2, 0, 1)
    known = (proved * np.sign(scores)).reshape(shape)
    axis.contourf(first, second, known, [-2, -0.5, 0.5, 2], colors=["#cfe3f3", "#ffffff", "#f8dcc8"])
    lines = ["dotted", "solid", "dotted"]
    axis.contour(first, second, scores.reshape(shape), [-1, 0, 1], colors="k", linestyles=lines, linewidths=1)
    for name, style in (
        ("zero", {"marker": "."}),
        ("bound", {"marker": "s"}),
        ("undecided", {"marker": "o", "facecolors": "none", "edgecolors": "k"}),
    ):
        axis.scatter(*X[model.support_status_ == name].T, s=22, label=name, **style)
    axis.set(title=f"relative gap {model.dual_gap_ / model.objective_:.0e}", xlabel="first feature")
axes[0].set_ylabel("second feature")
axes[1].legend(loc="upper right", title="at the optimum")
plt.show()
