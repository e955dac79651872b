"""
Probabilities for margins
=========================

A support vector machine has scores, not probabilities. ``calibrate`` fits them within the fit, to scores of
samples left out. A curve on the diagonal keeps its word: of samples that are said to be positive with
probability p, the share p is.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss

from gapfit import KernelSVC, LinearClassifier, MetricClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(8000, 12))
y = (rng.random(8000) < expit(X[:, :4] @ [3.0, 2.0, -2.0, 1.0] - 2.0 + 0.5 * X[:, 4] ** 2)).astype(int)
train, test = slice(0, 1000), slice(1000, None)
plain = LinearClassifier(alpha=1e-3).fit(X[train], y[train])
models = {
    "hinge, sigmoid": LinearClassifier(alpha=1e-3, calibrate="sigmoid"),
    "hinge, isotonic": LinearClassifier(alpha=1e-3, calibrate="isotonic"),
    "kernel, sigmoid": KernelSVC(calibrate="sigmoid"),
    "trained for F1, sigmoid": MetricClassifier(strategy="cost_path", alpha=1e-3, calibrate="sigmoid"),
}
said = {"hinge scores through 1 / (1 + exp(-f))": expit(plain.decision_function(X[test]))}
for name, model in models.items():
    said[name] = model.fit(X[train], y[train]).predict_proba(X[test])[:, 1]
for name, p in said.items():
    print(f"{name}: log loss {log_loss(y[test], np.clip(p, 1e-3, 1 - 1e-3)):.3f}")
gap = models["hinge, sigmoid"].calibration_[0].certificate.relative_gap
print(f"the sigmoid is within {gap:.0e} of the best one")

# %%
# Left: what became of those who were told p. Right: how often each p was told.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
left.plot([0, 1], [0, 1], color="black", lw=0.8, ls=":")
colours = ["#999999", "#0072b2", "#d55e00", "#009e73", "#cc79a7"]
for colour, (name, p) in zip(colours, said.items(), strict=True):
    share, told = calibration_curve(y[test], p, n_bins=12, strategy="quantile")
    left.plot(told, share, marker=".", color=colour, label=name)
    right.hist(p, bins=np.linspace(0, 1, 26), histtype="step", color=colour)
left.set(xlabel="probability told", ylabel="share of positives", title="Reliability, 7,000 new samples")
left.legend(frameon=False, fontsize="small")
right.set(xlabel="probability told", ylabel="samples", title="How decided the models are")
plt.show()
