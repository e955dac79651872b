"""
Leave-one-out without refitting
===============================

What would a model say of each sample that had never seen it? One fit answers for nearly all: gradient and
curvature of the problem without sample i, at the old solution, are the old ones less those of one loss, and
that confines its optimum. Only where the interval of the left-out score contains zero is a model fitted.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from gapfit import LinearClassifier

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)[:, :10]
model = LinearClassifier(loss="logistic", alpha=1e-3).fit(X, y)
bounds = model.leave_one_out(X, y, refit=False)
exact = model.leave_one_out(X, y)
print(f"{bounds.decided.mean():.1%} decided by the bounds, {exact.n_refits} refits, error {exact.error:.4f}")

# %%
# Left: the samples nearest to the boundary. Intervals on one side of zero settle the label, whatever the
# exact score is; crosses are samples that were refitted. Right: margins with a sample and without it. Samples
# that the model fits only because they are there are those far below the line.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
middle = 0.5 * (exact.lo + exact.hi)
rows = np.argsort(np.abs(middle))[:60]
rows = rows[np.argsort(middle[rows])]
certain = bounds.decided[rows]
lo, hi = bounds.lo[rows][certain], bounds.hi[rows][certain]
left.vlines(np.flatnonzero(certain), lo, hi, color="#0072b2", lw=4, label="decided without a fit")
left.plot(np.flatnonzero(~certain), middle[rows][~certain], "x", color="#d55e00", label="refitted")
left.axhline(0, color="black", lw=1)
left.set(xlabel="samples nearest to the boundary, sorted", ylabel="left-out score", ylim=(-2, 2))
left.set_title("Intervals that contain the exact left-out scores")
left.legend(frameon=False, loc="upper left")
own, out = model.decision_function(X), 0.5 * (exact.lo + exact.hi)
sign = np.where(y == 1, 1, -1)
right.axline((0, 0), slope=1, color="black", lw=1)
right.scatter(sign * own, sign * out, s=10, color="#0072b2", label="label stays")
turned = (own > 0) != (out > 0)
right.scatter(
    sign[turned] * own[turned], sign[turned] * out[turned], s=40, color="#d55e00", label="label turns"
)
right.set(
    xlabel="margin with the sample", ylabel="margin without it", title="What each sample does for itself"
)
right.set(xlim=(-6, 10), ylim=(-6, 10))
right.legend(frameon=False)
plt.show()

# %%
# Which predictions could a single wrong label have made?

audit = model.influence(X[:40], change="flip")
print(f"{audit.robust.sum()} of 40 predictions no single label could change; {audit.n_refits} refits")
