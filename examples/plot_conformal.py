"""
Conformal sets, exactly
=======================

Which targets of a new sample conform to those at hand? Full conformal prediction fits a model for each
candidate. One point and one dual point bound the optimum for a whole range of candidates, so that a few fits
decide them all.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapfit import ConformalRegressor, LinearRegressor

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(-3, 3, 60))
y = 1.5 * x + 0.8 * rng.standard_t(3, size=60)
features = np.stack([x, np.maximum(x, 0), np.maximum(x - 1.5, 0)], axis=1)
model = ConformalRegressor(LinearRegressor(loss="huber", alpha=1e-2), level=0.1).fit(features, y)

grid = np.linspace(-3, 3, 13)
rows = np.stack([grid, np.maximum(grid, 0), np.maximum(grid - 1.5, 0)], axis=1)
lo, hi = model.predict_interval(rows)
found = model.predict_sets(rows[6:7])[0]
print(f"at x = 0 between {found.outer[0][0]:.2f} and {found.outer[-1][1]:.2f}, by {found.n_fits} fits")

# %%
# Right: the share of samples whose residual is at least that of the candidate, by a tight fit for each of 81
# candidates. Candidates above the line conform. The outer set contains all of them, the inner one only such.

from fractions import Fraction  # noqa: E402

candidates = np.linspace(-4, 4, 81)
own = np.vstack([features, rows[6]])
shares = []
for z in candidates:
    target = np.append(y, z)
    residuals = np.abs(
        target - LinearRegressor(loss="huber", alpha=1e-2, tol=1e-10).fit(own, target).predict(own)
    )
    shares.append(float(Fraction(int((residuals >= residuals[-1] - 1e-9).sum()), 61)))

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.fill_between(grid, lo, hi, color="#0072b2", alpha=0.25, lw=0, label="90 % conformal intervals")
left.plot(grid, model.predict(rows), color="#0072b2", label="prediction")
left.plot(x, y, ".", color="black", label="samples")
left.set(xlabel="x", ylabel="y", title="Intervals that contain a new target nine times in ten")
left.legend(frameon=False, loc="upper left")
right.step(candidates, shares, where="mid", color="black", lw=1.2, label="exact p-value, a fit for each")
right.axhline(0.1, color="#d55e00", lw=1, label="level")
for low, high in found.outer:
    right.axvspan(low, high, color="#0072b2", alpha=0.15, lw=0)
for low, high in found.inner:
    right.axvspan(low, high, color="#0072b2", alpha=0.2, lw=0)
right.plot([], [], color="#0072b2", alpha=0.35, lw=8, label=f"the set, by {found.n_fits} fits")
right.set(xlabel="candidate target at x = 0", ylabel="p-value", ylim=(0, 1.02), xlim=(-4, 8))
right.set_title("Few fits decide all candidates")
right.legend(frameon=False)
plt.show()
