"""What a fit of some samples asks of the interpreter: its arithmetic takes less time than that."""

import gc
import sys
import weakref

import numpy as np
import pytest

from gapfit import LinearClassifier, LinearRegressor

LABELS = ("hinge", "squared_hinge", "smoothed_hinge", "logistic")
NUMBERS = ("squared", "absolute", "quantile", "huber", "epsilon_insensitive", "poisson")
# calls, of Python's functions and of others: about 400 to 470, and 50 more where BLAS has threads
MOST = 600

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 5))
F = X[:, 0] + 0.5 * rng.normal(size=100)


def fitted(loss, penalty, intercept):
    """A model that has been fitted, and its targets."""
    kind = LinearClassifier if loss in LABELS else LinearRegressor
    model = kind(loss=loss, penalty=penalty, alpha=0.01, fit_intercept=intercept)
    y = F > 0 if loss in LABELS else np.floor(np.exp(F)) if loss == "poisson" else F
    return model.fit(X, y), y


def calls_of(function):
    """How many calls it makes."""
    count = 0

    def look(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    known = sys.getprofile()
    sys.setprofile(look)
    try:
        function()
    finally:
        sys.setprofile(known)
    return count


@pytest.mark.parametrize("loss", LABELS + NUMBERS)
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net"])
def test_a_small_fit_makes_few_calls(loss, penalty):
    model, y = fitted(loss, penalty, len(loss + penalty) % 2 == 0)
    assert calls_of(lambda: model.fit(X, y)) <= MOST
    assert model.converged_ and model.n_iter_ == 1


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared", "poisson"])
def test_what_a_fit_replaces_is_forgotten_at_once(loss):
    """Nothing refers to itself, and waits for the collector with all samples in hand."""
    model, y = fitted(loss, "l2", True)
    samples = weakref.ref(model._kept.samples.X)
    assert samples() is not None
    gc.disable()
    try:
        model.fit(X, y)
        assert samples() is None
    finally:
        gc.enable()
