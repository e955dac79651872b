"""
Sparse and positive weights
===========================

The penalty decides what the weights look like. ``L1`` sets some of them to zero, ``ElasticNet`` shares
weight among features that go together, and ``positive=True`` allows only weights that add. They combine
with every loss; here it is Huber's, on scikit-learn's diabetes data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from gapfit import LinearRegressor, Problem, solve
from gapfit.losses import Huber
from gapfit.penalties import L1, L2, Box, ElasticNet

data = load_diabetes()
X, y = StandardScaler().fit_transform(data.data), data.target / data.target.std()
loss = Huber(delta=1.0)

# %%
# A path of ``alpha``, from a weak penalty to a strong one. Lower bounds do not depend on ``alpha`` or
# the penalty, so each solution hands its bounds to the next: pass it as ``start``.

PENALTIES = {
    "L1": L1(),
    "elastic net, l1_ratio = 0.5": ElasticNet(0.5),
    "L1, positive": Box(L1(), 0.0, np.inf),
    "L2": L2(),
}
alphas = np.logspace(-2.3, -0.2, 22)
paths = {}
for name, penalty in PENALTIES.items():
    solution, path = None, []
    for alpha in alphas:
        solution = solve(Problem(X, y, loss, penalty, alpha), "bundle", tol=1e-6, start=solution)
        assert solution.converged
        path.append(solution.w)
    paths[name] = np.array(path)

# %%
# Each line is the weight of one feature. The five largest under ``L1`` half-way along the path have a
# colour.

order = np.argsort(-np.abs(paths["L1"][11]))
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"] + ["#BBBBBB"] * 5
figure, axes = plt.subplots(2, 2, figsize=(12, 8), sharex=True, sharey=True, layout="constrained")
for ax, (name, path) in zip(axes.flat, paths.items(), strict=True):
    for rank, column in reversed(list(enumerate(order))):
        label = data.feature_names[column] if rank < 5 else None
        ax.plot(alphas, path[:, column], color=COLOURS[rank], lw=2.5 if rank < 5 else 1.5, label=label)
    ax.set(title=name, xscale="log", ylim=(-0.26, 0.42))
axes[1, 0].legend(loc="lower left", ncols=3)
for ax in axes[1]:
    ax.set_xlabel("alpha")
for ax in axes[:, 0]:
    ax.set_ylabel("weight")
figure.suptitle("Weights along a path of penalties, every point certified")
plt.show()

# %%
# How many weights are exactly zero at ``alpha = 0.1``, and what the estimators call the same models:

KINDS = [{"penalty": "l1"}, {"penalty": "l1", "positive": True}]
KINDS += [{"penalty": "elastic_net"}, {"penalty": "l2"}]
for kind in KINDS:
    model = LinearRegressor(loss=loss, alpha=0.1, **kind).fit(X, y)
    print(f"{np.sum(model.coef_ == 0):2d} of 10 weights are zero:", kind)
