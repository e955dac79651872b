"""
The intercept is not penalised
==============================

Adding a constant to a feature (kelvins instead of degrees Celsius) should not change a linear model:
the intercept can take it up. It does so exactly, if it costs nothing. scikit-learn's ``LinearSVC``
solves another problem: it adds a constant column to ``X`` and penalises its weight along with the
others. There, the constant that was added to the feature is paid for, and the weights change.

Two classes in two dimensions, moved away from the origin step by step:
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from gapfit import LinearClassifier

X, y = make_blobs(n_samples=120, centers=[[-0.8, -0.8], [0.8, 0.8]], cluster_std=0.9, random_state=3)
alpha = 1e-2
C = 1 / (alpha * len(y))  # the same balance of penalty and loss
shifts = np.array([0.0, 3.0, 10.0])


def fits(shift):
    """Both models on the shifted data."""
    moved = X + np.array([0.0, shift])
    ours = LinearClassifier(loss="hinge", alpha=alpha, tol=1e-8).fit(moved, y)
    theirs = LinearSVC(loss="hinge", C=C, tol=1e-6, max_iter=1_000_000).fit(moved, y)
    return ours, theirs


# %%
# The boundaries, drawn in the coordinates of the original data. If the shift made no difference, all
# lines of a model would coincide.

figure, axes = plt.subplots(1, 2, figsize=(12, 6.8), sharex=True, sharey=True, layout="constrained")
x = np.linspace(-3.5, 3.5, 2)
STYLES = [("#0072B2", "-", 5.0), ("#E69F00", "--", 3.0), ("#000000", ":", 2.0)]
for shift, (colour, style, width) in zip(shifts, STYLES, strict=True):
    for ax, model in zip(axes, fits(shift), strict=True):
        (w, v), b = model.coef_[0], model.intercept_[0]
        label = f"{shift:>2g}:  w = ({w:.2f}, {v:.2f})"
        ax.plot(x, -(w * x + b) / v - shift, color=colour, ls=style, lw=width, label=label)
TITLES = ("gapfit: intercept not penalised", "LinearSVC: intercept penalised")
for ax, title in zip(axes, TITLES, strict=True):
    for label, marker in ((0, "o"), (1, "^")):
        ax.scatter(*X[y == label].T, c="#999999", marker=marker, s=28, alpha=0.7)
    ax.set(title=title, xlim=(-3.5, 3.5), ylim=(-3.2, 3.2), xlabel="first feature")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), title="constant added, weights found")
axes[0].set_ylabel("second feature, shift taken out")
figure.suptitle("Boundaries after a constant is added to one feature")
plt.show()

# %%
# gapfit's weights stay the same to the accuracy of the fit. Those of ``LinearSVC`` move.

weights = np.array([[model.coef_[0] for model in fits(shift)] for shift in shifts])
ours, theirs = weights[:, 0], weights[:, 1]
print("largest change of a weight, gapfit:   ", np.abs(ours - ours[0]).max().round(6))
print("largest change of a weight, LinearSVC:", np.abs(theirs - theirs[0]).max().round(6))
assert np.abs(ours - ours[0]).max() < 1e-3 < np.abs(theirs - theirs[0]).max()

# %%
# A larger ``intercept_scaling`` makes the penalty on the intercept smaller, so that the problem of
# ``LinearSVC`` comes closer to this one. But then its solver needs more sweeps: with a scale of 100 it
# is still far off after a thousand of them. With an intercept that is not penalised there is nothing to
# tune.

moved = X + np.array([0.0, 10.0])
reference = LinearClassifier(loss="hinge", alpha=alpha, tol=1e-8).fit(moved, y)
for scaling in (1, 10, 100):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        svc = LinearSVC(loss="hinge", C=C, intercept_scaling=scaling, random_state=0).fit(moved, y)
    margins = np.where(y == 1, 1, -1) * svc.decision_function(moved)
    J = alpha / 2 * (svc.coef_**2).sum() + np.maximum(0, 1 - margins).mean()
    print(f"intercept_scaling={scaling:<4} J = {J:.6f}   (the optimum: {reference.objective_:.6f})")
