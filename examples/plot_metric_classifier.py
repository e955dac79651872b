"""
Training for F1
===============

A rare class, of which one half is easy to see and the other is hidden among the negatives. A logistic model
is asked for probabilities everywhere, so it settles for a compromise between the halves, and the best
threshold cannot repair its direction. ``MetricClassifier(strategy="pool")`` looks for the line that is best
for F1 itself.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score

from gapfit import LinearClassifier, MetricClassifier
from gapfit.metrics import best_threshold, sweep

rng = np.random.default_rng(0)


def draw(n):
    """One in ten is positive; half of the positives are hidden among the negatives, a little higher up."""
    y = rng.random(n) < 0.1
    hidden = y & (rng.random(n) < 0.5)
    X = rng.normal(size=(n, 2))
    X[y & ~hidden] = 0.4 * X[y & ~hidden] + [2.4, -1.2]
    X[hidden] += [0.0, 1.8]
    return X, y


X, y = draw(3000)
X_test, y_test = draw(20_000)

# %%
# Four models: logistic, with the best threshold for its training scores; the convex bound of F1; what
# ``strategy="auto"`` chooses, which is a logistic model as well; and the pool, with its local searches.

logistic = LinearClassifier(loss="logistic", alpha=1e-3).fit(X, y)
threshold, _ = best_threshold("f1", logistic.decision_function(X), y)
convex = MetricClassifier(strategy="surrogate", score_weight=3.0).fit(X, y)
auto = MetricClassifier().fit(X, y)
pool = MetricClassifier(strategy="pool", alpha=[1e-2, 1e-3]).fit(X, y)
models = {
    "logistic, tuned": (logistic.coef_[0], logistic.intercept_[0] - threshold),
    "convex bound": (convex.coef_[0], convex.intercept_[0]),
    f"auto ({auto.strategy_})": (auto.coef_[0], auto.intercept_[0]),
    f"pool ({pool.strategy_})": (pool.coef_[0], pool.intercept_[0]),
}
for name, (w, b) in models.items():
    print(f"{name:18} test F1 {f1_score(y_test, X_test @ w + b > 0):.3f}")

# %%
# The lines, and F1 on the test samples along all thresholds.

figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.8), layout="constrained")
left.scatter(*X[~y].T, s=6, color="#BBBBBB", label="negative")
left.scatter(*X[y].T, s=10, color="#000000", marker="x", lw=0.8, label="positive")
x = np.array([-4.0, 5.0])
for (name, (w, b)), colour, dash in zip(
    models.items(), ("#0072B2", "#009E73", "#CC79A7", "#D55E00"), ("--", ":", "-.", "-"), strict=True
):
    left.plot(x, -(w[0] * x + b) / w[1], color=colour, ls=dash, lw=2.2, label=name)
    scores = X_test @ w + b
    cuts = sweep(scores, y_test, np.ones(len(y_test)))
    f1 = 2 * cuts.tp / (cuts.tp + cuts.fp + y_test.sum())
    share = (cuts.tp + cuts.fp) / len(y_test)
    right.plot(share, f1, color=colour, ls=dash, lw=2.2)
    own = scores > 0
    right.plot(own.mean(), f1_score(y_test, own), "o", color=colour, ms=8)
left.set(title="Where each model cuts", xlabel="first feature", ylabel="second feature", ylim=(-4, 5))
left.legend(loc="lower left", fontsize=10, frameon=True)
right.set(
    title="Test F1 of all thresholds; dots: the model's own", xlabel="share predicted positive", ylabel="F1"
)
right.set(xlim=(0, 0.4), ylim=(0, 1))
figure.suptitle("A line for F1 is not the line for probabilities")
plt.show()

# %%
# The convex bound and the logistic models carry certificates, the tilted model none: its objective is not
# convex. These data were made to show a difference, and are many. Where a linear model fits, the lines fall
# together, and with few positives the search finds noise: that is why it is not the default.

print(f"convex bound: gap {convex.dual_gap_:.2g}; auto: gap {auto.dual_gap_:.2g}; pool: gap {pool.dual_gap_}")
