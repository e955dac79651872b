"""
The gap closing, for three solvers
==================================

Every solver of gapfit reports the same two numbers while it runs: the best objective it has seen, which
is an upper bound of the minimum, and a lower bound that nothing can go below. They close in on the
optimum, each solver in its own manner. A fit stops when their distance, the gap, is small enough, so
solvers can be compared by what they have *proved* and not by what they call convergence.

The problem is a support vector machine that tells handwritten eights from all other digits, with an
intercept that is not penalised.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gapfit import Problem, solve

X, digit = load_digits(return_X_y=True)
y = np.where(digit == 8, 1.0, -1.0)
problem = Problem(X / 16, y, loss="hinge", alpha=1e-3)

# %%
# * ``bundle`` collects cutting planes and solves a small problem over them at each step;
# * ``dual_cd`` visits one sample after another in the dual problem;
# * ``pegasos`` takes short subgradient steps and never looks back.
#
# ``max_iter`` ends a fit that would take more steps than that. The bounds are valid all the same. Who watches
# a fit, as the callback does here, is shown more of its steps.

SOLVERS = {"bundle": "#0072B2", "dual_cd": "#D55E00", "pegasos": "#009E73"}
for name in SOLVERS:
    solve(problem, name, max_iter=2)  # compiled code is loaded at the first use
watched = dict(tol=1e-6, max_iter=2_000, callbacks=[lambda progress: None])
solutions = {name: solve(problem, name, **watched) for name in SOLVERS}

for name, solution in solutions.items():
    low, high = solution.certificate.dual, solution.certificate.primal
    print(f"{name:>8}: {low:.7f} <= min J <= {high:.7f}   {solution.status.value.partition(';')[0]}")

# %%
# The best lower bound of the three and the best upper bound of the three hold for all of them, whoever
# found them. No solver can contradict another.

lower = max(solution.certificate.dual for solution in solutions.values())
upper = min(solution.certificate.primal for solution in solutions.values())
assert lower <= upper

# %%
# Above, the two bounds of each solver. Below, what they prove: the gap, relative to the objective.

figure, axes = plt.subplot_mosaic(
    [list(SOLVERS), ["gap"] * 3], figsize=(12, 8), height_ratios=[1, 1.1], layout="constrained"
)
first, last = (end(s.history[k].time for s in solutions.values()) for end, k in ((min, 0), (max, -1)))
span = 0.7 * first, 1.4 * last
for name, colour in SOLVERS.items():
    history = [record for record in solutions[name].history if record.proved and record.dual > 0]
    seconds, high, low, gap = np.array([(r.time, r.primal, r.dual, r.gap) for r in history]).T
    axes[name].plot(seconds, high, color=colour, lw=2, label="upper bound")
    axes[name].plot(seconds, low, color=colour, lw=2, ls="--", label="lower bound")
    axes[name].fill_between(seconds, low, high, color=colour, alpha=0.15, lw=0)
    axes[name].set(title=name, xscale="log", xlim=span, ylim=(0, 3 * upper), xlabel="seconds")
    axes[name].legend(fontsize="small")
    axes["gap"].loglog(seconds, gap / high, color=colour, lw=2, marker=".", markevery=0.02, label=name)
axes["bundle"].set_ylabel("objective")
axes["gap"].axhline(1e-6, color="black", lw=1, ls=":")
axes["gap"].text(1.1 * span[0], 1.3e-6, "tol")
axes["gap"].set_title("Proved distance to the optimum")
axes["gap"].set(xlim=span, xlabel="seconds", ylabel="gap / objective")
axes["gap"].legend()
figure.suptitle("Two bounds close in on one optimum")
plt.show()

# %%
# Times depend on the machine and on the data. What to use when is the subject of the page on solvers;
# by default, ``solver="auto"`` chooses.
