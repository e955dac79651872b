"""
Regression with outliers
========================

The squared loss lets a few wild targets pull the line towards them, because its slope grows with the
residual. Huber's loss and the absolute loss have bounded slopes: each sample pulls with at most a fixed
force.

The data: body mass index against the progress of diabetes, and then one target in ten replaced by a
typing error.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from gapfit import LinearRegressor
from gapfit.losses import Absolute, Huber, Squared

data = load_diabetes()
x = StandardScaler().fit_transform(data.data[:, [2]])
clean = data.target
rng = np.random.default_rng(0)
typed = clean.copy()
wrong = rng.choice(np.flatnonzero(x[:, 0] > 0), size=44, replace=False)
typed[wrong] -= 600  # a sign and a digit went wrong

LOSSES = {
    "squared": (Squared(), "#D55E00", "-", 2.5),
    "Huber, delta = 30": (Huber(delta=30.0), "#56B4E9", "-", 5.0),
    "absolute": (Absolute(), "#000000", "--", 2.0),
}

# %%
# On the left the losses. On the right the lines they find. The grey line was fitted, with the squared
# loss, to the targets before the errors were made.

figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 5.4), width_ratios=[1, 1.5], layout="constrained")
residual = np.linspace(-120, 120, 401)
grid = np.linspace(-2.4, 3.6, 2).reshape(-1, 1)
truth = LinearRegressor(loss="squared", alpha=1e-6).fit(x, clean)
right.scatter(x, typed, s=14, c="#AAAAAA", lw=0)
right.scatter(x[wrong], typed[wrong], s=26, c="black", marker="x", lw=1, label="typing errors")
right.plot(grid, truth.predict(grid), color="#777777", lw=7, alpha=0.4, label="without the errors")
for name, (loss, colour, style, width) in LOSSES.items():
    risk = loss.bind(np.zeros(1), np.ones(1))
    value = [risk.value_and_subgradient(np.array([r]), np.zeros(1))[0] for r in residual]
    left.plot(residual, value / np.max(value), color=colour, ls=style, lw=width, label=name)
    model = LinearRegressor(loss=loss, alpha=1e-6, tol=1e-6).fit(x, typed)
    right.plot(grid, model.predict(grid), color=colour, ls=style, lw=width, label=name)
    error = np.mean(np.abs(model.predict(x) - clean))
    print(f"{name:>18}: mean distance to the clean targets {error:.1f}")
left.set(title="Loss (scaled to the same height)", xlabel="residual", ylabel="loss")
left.legend(loc="upper center")
right.set(title="Fits to targets with errors", xlabel="body mass index (standardised)", ylabel="target")
right.legend(loc="lower left", bbox_to_anchor=(0.0, 0.02))
figure.suptitle("Bounded slopes resist outliers")
plt.show()
