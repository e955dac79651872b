"""
Cutting planes in one dimension
===============================

Where does the lower bound come from? From tangents. A convex risk lies above each of its tangents, so
the highest of several tangents is a model of the risk that is never too high. The penalty plus this
model is easy to minimise, and its minimum can only be too low: it is a lower bound on the objective,
everywhere.

Here is the whole method on a problem with a single weight, where everything can be drawn. The loss is
logistic, the penalty is ``1/2 |w|^2``, and there is no intercept.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapfit import Problem, solve

rng = np.random.default_rng(1)
y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
X = (0.6 * y + rng.normal(size=60)).reshape(-1, 1)
problem = Problem(X, y, loss="logistic", alpha=0.1, intercept=False)

# %%
# ``problem.oracle(w)`` evaluates the risk at ``w`` and returns a *minorant*: the tangent ``<a, w> + c``
# there. The first guess, ``w = 4``, is a bad one. Each further tangent is taken where the model so far
# is smallest.

grid = np.linspace(-1.5, 6.0, 1501)
penalty = 0.5 * problem.alpha * grid**2
risk = np.array([problem.oracle(np.array([w])).risk for w in grid])

w, tangents, steps = 4.0, [], []
for _ in range(3):
    at = problem.oracle(np.array([w]))
    tangents.append(at.minorant.a[0] * grid + at.minorant.c)
    model = penalty + np.max(tangents, axis=0)
    steps.append({"w": w, "risk": at.risk, "model": model, "J": 0.5 * problem.alpha * w**2 + at.risk})
    w = grid[model.argmin()]

# %%
# Above, the risk and its tangents; below, the same with the penalty added. The best value seen is an
# upper bound of the minimum, and the lowest point of the model a lower bound. The band between them is
# the gap, and the minimum lies inside it.

BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "#777777"
figure, axes = plt.subplots(2, 3, figsize=(12, 7), sharex=True, sharey="row", layout="constrained")
for k, (top, bottom) in enumerate(axes.T):
    step, upper, lower = steps[k], min(s["J"] for s in steps[: k + 1]), steps[k]["model"].min()
    for line in tangents[: k + 1]:
        top.plot(grid, line, color=GREY, lw=1, ls=":")
    top.plot(grid, risk, color=BLUE, lw=2.5, label="risk R(w)")
    top.plot(grid, np.max(tangents[: k + 1], axis=0), color=VERMILION, lw=2, ls="--", label="highest tangent")
    top.plot(step["w"], step["risk"], "o", ms=9, color=BLUE, label="newest tangent, taken here")
    top.set_title("1 tangent" if k == 0 else f"{k + 1} tangents")
    bottom.axhspan(lower, upper, color=VERMILION, alpha=0.13, lw=0, label="gap")
    bottom.plot(grid, penalty + risk, color=BLUE, lw=2.5, label="objective J(w)")
    bottom.plot(grid, step["model"], color=VERMILION, lw=2, ls="--", label="penalty + highest tangent")
    bottom.plot(grid[step["model"].argmin()], lower, "s", ms=8, color=VERMILION, label="its lowest point")
    bottom.set_title(f"{lower:.3f} ≤ min J ≤ {upper:.3f}")
    bottom.set(xlabel="weight w", xlim=(grid[0], grid[-1]))
axes[0, 0].set(ylim=(0.0, 1.7), ylabel="risk")
axes[1, 0].set(ylim=(0.0, 1.7), ylabel="objective")
axes[0, 0].legend(loc="upper right", fontsize="small")
figure.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")
figure.suptitle("Tangents below the risk prove how low the objective can get")
plt.show()

# %%
# Three tangents leave a small gap. ``solve`` does the same with better places to cut, in any number of
# dimensions, and reports the two bounds as its certificate.

solution = solve(problem, "bundle", tol=1e-9)
certificate = solution.certificate
print(f"w = {solution.w[0]:.6f} after {solution.n_iter} steps")
print(f"{certificate.dual:.12f} <= min J <= {certificate.primal:.12f}")
