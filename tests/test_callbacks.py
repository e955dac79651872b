"""Early stopping on samples that the fit does not see."""

import doctest

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from gapfit import LinearClassifier, Status, callbacks
from gapfit.callbacks import EarlyStopping

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)


def test_it_ends_when_the_score_has_not_risen_for_a_while():
    stop = EarlyStopping(X[300:], Y[300:], patience=4)
    model = LinearClassifier(solver="bundle", alpha=1e-5, tol=1e-12).set_callbacks(stop).fit(X[:300], Y[:300])
    assert model.status_ is Status.STOPPED and np.isfinite(model.dual_gap_)
    best = int(np.argmax(stop.scores_))
    assert len(stop.scores_) == best + 5
    assert model.score(X[300:], Y[300:]) == pytest.approx(stop.scores_[-1])


def test_a_fit_that_is_done_earlier_is_certified():
    stop = EarlyStopping(X[300:], Y[300:], scoring="neg_brier_score", patience=10_000)
    model = LinearClassifier(loss="logistic", alpha=0.1).set_callbacks(stop).fit(X[:300], Y[:300])
    assert model.converged_ and all(-1 <= score <= 0 for score in stop.scores_)


def test_examples():
    results = doctest.testmod(callbacks)
    assert results.attempted and not results.failed


def test_patience_is_a_count():
    with pytest.raises(ValueError, match="patience"):
        EarlyStopping(X, Y, patience=0)
