"""
Reading digits that follow a rule
=================================

Single handwritten digits are hard to tell apart when they are badly spoilt. In a sequence they help each
other: here each digit is the one before it plus one, most of the time. A chain learns both, the pictures and
the rule. The same certificate as everywhere else says how far each fit is from its optimum.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gapfit import LinearClassifier, SequenceLabeler

# %%
# Two hundred sequences of eight digits, with strong noise on the pixels.

digits = load_digits()
rng = np.random.default_rng(0)
pictures = [digits.data[digits.target == k] / 16 for k in range(10)]
X, y = [], []
for _ in range(200):
    steps = np.where(rng.random(8) < 0.8, 1, rng.integers(0, 10, 8))
    labels = np.cumsum(steps) % 10
    rows = np.array([pictures[k][rng.integers(len(pictures[k]))] for k in labels])
    X.append(rows + 0.8 * rng.normal(size=rows.shape))
    y.append(labels)
train, test = slice(0, 100), slice(100, 200)

# %%
# A classifier that sees one digit at a time, and two chains.

alone = LinearClassifier(loss="softmax", alpha=1e-2, tol=1e-3)
alone.fit(np.concatenate(X[train]), np.concatenate(y[train]))
scores = {"one at a time": alone.score(np.concatenate(X[test]), np.concatenate(y[test]))}
chains = {}
for loss in ("crf", "margin"):
    chains[loss] = SequenceLabeler(loss=loss, alpha=0.1, tol=1e-2).fit(X[train], y[train])
    scores[f"chain, {loss}"] = chains[loss].score(X[test], y[test])
for name, score in scores.items():
    print(f"{name:15} {score:.3f} of the digits right")

# %%
# What the chain learnt of the rule, and what a sequence looks like to it.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
image = left.imshow(chains["crf"].transitions_, cmap="viridis")
left.set(title="Weights of transitions", xlabel="to", ylabel="from", xticks=range(10), yticks=range(10))
figure.colorbar(image, ax=left)
marginals = chains["crf"].predict_marginals(X[test][:1])[0]
image = right.imshow(marginals.T, cmap="viridis", vmin=0, vmax=1, aspect="auto")
right.plot(y[test][0], "o", color="#D55E00", markersize=9, label="right label")
right.set(title="Probabilities along one sequence", xlabel="place", ylabel="digit", yticks=range(10))
right.legend(loc="upper right", framealpha=0.9, frameon=True)
figure.colorbar(image, ax=right)
plt.show()
