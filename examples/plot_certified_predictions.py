"""
Which predictions are certain
=============================

An approximate fit can be exact where it matters. The gap confines the exact optimum to a ball of
weights, so each score of the optimum lies in an interval. If the whole interval is on one side of zero,
the optimum gives the same label as the model at hand, and more iterations cannot change it.
``certified(X)`` says for which rows this has been proved.

Two features of the breast cancer data can be drawn. A tighter tolerance makes the uncertain region
smaller:
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from gapfit import LinearClassifier

data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data[:, [0, 1]])
y = data.target

corners = np.meshgrid(np.linspace(-2.3, 4.2, 300), np.linspace(-2.5, 4.8, 300))
plane = np.column_stack([axis.ravel() for axis in corners])

BLUE, VERMILION = "#0072B2", "#C04A00"
figure, axes = plt.subplots(1, 3, figsize=(12.5, 4.9), sharey=True, layout="constrained")
for ax, tol in zip(axes, (1e-1, 1e-2, 1e-4), strict=True):
    model = LinearClassifier(loss="logistic", alpha=1e-2, tol=tol, solver="bundle").fit(X, y)
    label, sure = model.predict(plane), model.certified(plane)
    shown = np.where(sure, label, 2).reshape(corners[0].shape)
    ax.pcolormesh(*corners, shown, cmap=ListedColormap(["#F6DDB0", "#B8D6E8", "#FFFFFF"]), rasterized=True)
    ax.contour(*corners, model.decision_function(plane).reshape(shown.shape), levels=[0], colors="black")
    for target, colour, marker in ((0, VERMILION, "^"), (1, BLUE, "o")):
        ax.scatter(*X[y == target].T, c=colour, marker=marker, s=14, lw=0, label=data.target_names[target])
    ax.set_title(f"tol = {tol:g}: {model.certified(X).mean():.1%} certified")
    ax.set_xlabel("mean radius (standardised)")
axes[0].set_ylabel("mean texture (standardised)")
axes[0].legend(loc="upper right", frameon=True)
figure.suptitle("Shaded: the exact optimum provably predicts the same. White: not yet known")
plt.show()

# %%
# So one can stop when the predictions of interest are certain, long before the objective is known to
# many digits. With all thirty features and a held-out test set:

X = StandardScaler().fit_transform(data.data)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
tolerances = 10.0 ** -np.arange(1, 8)
exact = LinearClassifier(loss="logistic", alpha=1e-2, tol=1e-10).fit(X, y)
shares = []
for tol in tolerances:
    model = LinearClassifier(loss="logistic", alpha=1e-2, tol=tol, solver="bundle").fit(X, y)
    sure = model.certified(X_test)
    assert (model.predict(X_test) == exact.predict(X_test))[sure].all()
    shares.append(sure.mean())

figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
ax.semilogx(tolerances, shares, marker="o", lw=2.5)
ax.invert_xaxis()
ax.set(
    title="Test predictions that are certified, by tolerance",
    xlabel="tol (relative gap)",
    ylabel="share certified",
    ylim=(0, 1.05),
)
plt.show()
