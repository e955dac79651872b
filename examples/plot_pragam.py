"""
Faster than cutting planes: smoothing and the excessive gap
===========================================================

Cutting planes need a number of steps that grows like 1/gap. Pragam smooths the loss, moves a primal and a
dual point such that the smoothed objective of the one stays below the lower bound of the other (the
"excessive gap"), and needs 1/sqrt(gap). With an intercept that is not penalised it is known as Pragam-b.
``smoothing`` rounds the loss off as well, but around a centre that follows the dual solution, and minimises
the rounded objective with L-BFGS.

A step is a pass through the data and back, or little more, for all of them: cutting planes and smoothing make
two products with the data, Pragam three. All gaps are certified in the same way.
"""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from gapfit import Problem, solve
from gapfit.solvers.pragam import lipschitz, pragam

X, y = load_breast_cancer(return_X_y=True)
X, y = StandardScaler().fit_transform(X), np.where(y == 0, 1.0, -1.0)
problems = {
    "without an intercept": Problem(X, y, alpha=1e-2, intercept=False),
    "with an intercept": Problem(X, y, alpha=1e-2, intercept=True),
}

# %%
# The papers' Pragam is told the Lipschitz constant L of the dual's gradient, that of the worst direction.
# Left to itself ``pragam`` only counts the bends that it meets.

LINES = {
    "line_search_bundle": ("line-search bundle", "#E69F00", "-"),
    "bundle": ("bundle", "#0072B2", "-"),
    "papers": ("Pragam, L given", "#D55E00", "--"),
    "pragam": ("Pragam", "#D55E00", "-"),
    "smoothing": ("smoothing", "#009E73", "-"),
}
STEPS = 1000

figure, axes = plt.subplots(1, 2, figsize=(12, 5), sharey=True, layout="constrained")
for axis, (title, problem) in zip(axes, problems.items(), strict=True):
    for name, (label, colour, style) in LINES.items():
        solver = partial(pragam, L=lipschitz(problem)) if name == "papers" else name
        solution = solve(problem, solver, tol=1e-7, max_iter=STEPS)
        steps, gaps = np.array([(record.n_iter, record.gap / record.primal) for record in solution.history]).T
        label = label.replace("Pragam", "Pragam-b") if problem.n_offsets else label
        axis.loglog(steps, gaps, color=colour, ls=style, lw=2, label=label)
        print(f"{title:>20} {label:>20}: {solution.n_iter:4d} steps, relative gap {gaps[-1]:.1e}")
    axis.set(title=f"Hinge loss {title}", xlabel="steps", ylim=(1e-7, 30), xlim=(1, STEPS))
    axis.legend(loc="lower left")
axes[0].set_ylabel("certified gap / objective")
figure.suptitle("Gap against steps")
plt.show()

# %%
# The line-search bundle keeps one plane and follows 1/gap; the bundle keeps all of them and solves a problem
# over them at each step. Pragam keeps two points, needs no such problem, and leaves the line-search bundle
# behind. Smoothing around a moving centre comes close to the bundle, without its problem over all planes.
