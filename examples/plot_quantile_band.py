"""
A band of quantiles
===================

The squared loss fits the mean. ``Quantile(q)`` fits a curve below which a share ``q`` of the targets
lies, and two such curves make a band. With an intercept that is not penalised, the share is right on
the training data up to the handful of samples that lie on the curve, whatever the penalty does to the
weights.

The noise of these data grows to the right and is skewed, so a band around the mean of constant width
would be wrong everywhere.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from gapfit import LinearRegressor
from gapfit.losses import Quantile

rng = np.random.default_rng(0)
n = 600
x = np.sort(rng.uniform(0, 10, n)).reshape(-1, 1)
y = np.sin(x[:, 0]) + 0.2 * x[:, 0] + (0.1 + 0.12 * x[:, 0]) * (rng.gamma(2.0, size=n) - 2.0)

# %%
# Splines make the curve flexible; the model is linear in their values. ``score_bounds`` tells how far
# the predictions of the exact optimum can be from ours, so the width of the lines below is no illusion.

QUANTILES = {0.05: "#0072B2", 0.5: "#000000", 0.95: "#D55E00"}
grid = np.linspace(0, 10, 400).reshape(-1, 1)
curves, slack = {}, {}
for q in QUANTILES:
    regressor = LinearRegressor(loss=Quantile(q), alpha=1e-3, tol=1e-7)
    model = make_pipeline(SplineTransformer(n_knots=10, include_bias=False), regressor).fit(x, y)
    curves[q] = model.predict(grid)
    lo, hi = regressor.score_bounds(model[:-1].transform(grid))
    slack[q] = (hi - lo).max()
    below, on_or_below = np.mean(y < model.predict(x) - 1e-6), np.mean(y <= model.predict(x) + 1e-6)
    print(f"q = {q:<4}  {below:.3f} of the samples below, {on_or_below:.3f} on or below")
    assert below <= q <= on_or_below

# %%
# The certified bounds on the three curves are narrower than the lines that draw them.

print("widest interval of a predicted quantile:", f"{max(slack.values()):.1e}")

figure, ax = plt.subplots(figsize=(10, 5.6), layout="constrained")
ax.scatter(x, y, s=14, c="#999999", alpha=0.6, lw=0)
ax.fill_between(grid[:, 0], curves[0.05], curves[0.95], color="#56B4E9", alpha=0.25, lw=0)
for q, colour in QUANTILES.items():
    ax.plot(grid, curves[q], color=colour, lw=2.5)
    ax.text(10.1, curves[q][-1], f"{q:.0%}", color=colour, va="center", fontsize=14)
ax.set(title="Nine targets in ten lie in the band", xlabel="x", ylabel="y", xlim=(0, 10.6))
plt.show()
