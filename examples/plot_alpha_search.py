"""
The best alpha of all, with a proof
===================================

A grid search looks at some alphas, and what lies between them is anyone's guess. ``AlphaSearchCV`` bounds the
cross-validated error over whole ranges of alphas: the *proven floor* below. Where floor and error meet, no
alpha does better.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapfit import AlphaSearchCV, LinearClassifier, plot_alpha_search

X, y = load_breast_cancer(return_X_y=True)
model = make_pipeline(StandardScaler(), LinearClassifier(loss="logistic"))

# %%
# With ``eps=0`` the search goes on until the best alpha of the range is found and proved to be best. A budget
# of fits ends it earlier; what could not be ruled out by then is shaded.

searches = {
    "eps = 0: nothing is left open": AlphaSearchCV(model, alpha_range=(1e-3, 1.0), eps=0.0),
    "eps = 0, at most 120 fits": AlphaSearchCV(model, alpha_range=(1e-3, 1.0), eps=0.0, max_fits=120),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
for ax, (title, search) in zip(axes, searches.items(), strict=True):
    search.fit(X, y)
    plot_alpha_search(search, ax=ax)
    ax.set_title(f"{title} ({search.n_fits_} fits)")
figure.suptitle("The error of five-fold cross-validation, and what it cannot be below")
plt.show()

# %%
# The floor is that of exact optima, which nobody has computed; all rounding is counted. Anywhere in the range
# the error can be bounded from both sides:

complete = searches["eps = 0: nothing is left open"]
lo, hi = complete.error_bounds([1e-3, 1e-2, 1e-1])
print("errors at 0.001, 0.01 and 0.1:", ", ".join(f"{a:.4f} to {b:.4f}" for a, b in zip(lo, hi, strict=True)))
