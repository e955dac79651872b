"""
Novelty detection
=================

``NoveltyDetector`` learns what normal samples look like and flags the rest. It looks for a direction
and a threshold that all but a share ``nu`` of the samples exceed. It is linear in its features, and
becomes flexible when they are: here they come from Nyström's approximation of a Gaussian kernel, and
the boundary follows the data.

At the optimum at most a share ``nu`` of the training samples lies below the threshold, and at least
that share lies on it or below.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline

from gapfit import NoveltyDetector

rng = np.random.default_rng(0)
X, _ = make_moons(n_samples=400, noise=0.12, random_state=0)
strangers = rng.uniform([-2.2, -1.6], [3.2, 2.1], size=(60, 2))

corners = np.meshgrid(np.linspace(-2.2, 3.2, 250), np.linspace(-1.6, 2.1, 250))
plane = np.column_stack([axis.ravel() for axis in corners])

# %%
# Three values of ``nu``. The black line is the threshold; the number above each picture is the share of
# the training samples beyond it.

figure, axes = plt.subplots(1, 3, figsize=(12.5, 4.6), sharey=True, layout="constrained")
for ax, nu in zip(axes, (0.05, 0.15, 0.3), strict=True):
    detector = NoveltyDetector(nu=nu, tol=1e-6)
    model = make_pipeline(Nystroem(gamma=3.0, n_components=60, random_state=0), detector).fit(X)
    flagged = model.predict(X) == -1
    scores = model.decision_function(X) / detector.offset_
    assert np.mean(scores < -1e-5) <= nu <= np.mean(scores <= 1e-5)
    field = model.decision_function(plane).reshape(corners[0].shape) / detector.offset_
    ax.contourf(*corners, field, levels=np.linspace(-1, 0, 9), cmap="Blues", alpha=0.6)
    ax.contour(*corners, field, levels=[0], colors="black", linewidths=2.5)
    ax.scatter(*X[~flagged].T, s=16, c="#0072B2", lw=0, label="normal")
    ax.scatter(*X[flagged].T, s=55, c="#D55E00", marker="X", lw=0.8, edgecolors="white", label="flagged")
    ax.set(title=f"nu = {nu:g}: {flagged.mean():.1%} flagged", xticks=[], yticks=[])
axes[0].legend(loc="lower left", frameon=True)
figure.suptitle("The threshold leaves at most a share nu of the samples outside")
plt.show()

# %%
# New samples are judged by the same rule. ``certified`` tells which of these verdicts the exact optimum
# shares for certain.

detector = NoveltyDetector(nu=0.15, tol=1e-6)
features = Nystroem(gamma=3.0, n_components=60, random_state=0)
detector.fit(features.fit_transform(X))
verdict = detector.predict(features.transform(strangers))
sure = detector.certified(features.transform(strangers))
print(f"strangers flagged: {np.mean(verdict == -1):.0%}; verdicts certified: {sure.mean():.0%}")
