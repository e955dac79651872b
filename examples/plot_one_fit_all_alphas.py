"""
One fit speaks of all alphas
============================

A fit at one alpha confines the optimum at every other one: to a ball, whatever the loss; and much more
tightly, for smooth losses, by gradient and curvature (a *Newton certificate*). Nothing is fitted there.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from gapfit import Problem, solve
from gapfit.whereabouts import Balls, NewtonCertificate

X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X)[:, :8], 2.0 * y - 1
problem = Problem(X, y, loss="logistic", alpha=0.1)
fit = solve(problem, tol=1e-6)
b = np.atleast_1d(fit.intercept)
tools = {
    "balls": (Balls(problem, fit.w, b, fit.minorant), "#d55e00"),
    "Newton certificate": (NewtonCertificate(problem, fit.w, b), "#0072b2"),
}

# %%
# The exact curves are fits at each alpha, to check. Their scores stay within the bands.

alphas = np.geomspace(0.05, 0.2, 41)
exact = [solve(problem.at(float(alpha)), tol=1e-10) for alpha in alphas]
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for ax, row in zip(axes, (3, 40, 73), strict=True):
    for name, (tool, colour) in tools.items():
        bounds = [tool.between(float(alpha), float(alpha)).score_bounds(X[row : row + 1]) for alpha in alphas]
        lo, hi = np.array(bounds)[:, :, 0].T
        ax.fill_between(alphas, lo, hi, color=colour, alpha=0.3, lw=0, label=name)
    scores = [X[row] @ one.w + one.intercept for one in exact]
    ax.plot(alphas, scores, color="black", lw=1, label="exact optimum")
    ax.plot(0.1, X[row] @ fit.w + fit.intercept, "o", color="black", ms=5, label="the fit")
    ax.set(xscale="log", xlabel="alpha", ylabel="score", title=f"Sample {row}")
axes[0].legend(frameon=False)
figure.suptitle("Scores at all alphas, from one fit at alpha = 0.1")
plt.show()
