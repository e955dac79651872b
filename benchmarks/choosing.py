"""Estimators that choose along paths, beside a grid search over the same fits, and scikit-learn's own.

    python benchmarks/choosing.py

13 alphas from 10 to 1e-5, five folds, tolerance 1e-4; CPU seconds of one thread, the least of two runs.
"""

import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GAPFIT_COMPILE", "at_once")  # the first fit is not timed

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from what_if import data

from gapfit import LinearClassifier, LinearClassifierCV

ALPHAS = np.geomspace(10, 1e-5, 13)


def timed(model, X, y):
    seconds = []
    for _ in range(2):
        began = time.process_time()
        model.fit(X, y)
        seconds.append(time.process_time() - began)
    return min(seconds)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in ("heart", "german", "digits", "a9a"):
        X, y = data(name)
        for loss in ("hinge", "squared_hinge", "logistic"):
            own = timed(LinearClassifierCV(loss=loss, alphas=ALPHAS), X, y)
            grid = timed(GridSearchCV(LinearClassifier(loss=loss), {"alpha": ALPHAS}, cv=5), X, y)
            words = f"{name} {X.shape} {loss}: {own:.2f} s, grid search {grid:.2f} s"
            if loss == "logistic":
                peer = LogisticRegressionCV(Cs=1 / (0.8 * len(y) * ALPHAS), cv=5, max_iter=1000)
                words += f", LogisticRegressionCV {timed(peer, X, y):.2f} s"
            print(words, flush=True)
