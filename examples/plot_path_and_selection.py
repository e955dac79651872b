"""
Weights along alphas, and the one that is chosen
================================================

``path`` of an estimator has the weights at every alpha, each with a proof of how close to optimal it is.
Estimators whose names end in CV fit such paths on folds, and take the alpha of the best score.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

from gapfit import LinearRegressor, LinearRegressorCV, plot_path, plot_selection

data = load_diabetes(as_frame=True, scaled=False)
X, y = data.data[:110], scale(data.target[:110])
X = (X - X.mean()) / X.std()
alphas = np.geomspace(1e-3, 1, 25)
path = LinearRegressor(loss="huber", penalty="l1").path(X, y, alphas)
model = LinearRegressorCV(loss="huber", penalty="l1", alphas=alphas, scoring="neg_mean_absolute_error").fit(
    X, y
)
print(f"alpha {model.alpha_:.3g}, {np.count_nonzero(model.coef_)} weights, largest gap {path.gaps.max():.1e}")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
plot_path(path, ax=left)
left.axvline(model.alpha_, color="black", linewidth=0.8, linestyle=":")
plot_selection(model, ax=right)
plt.show()
