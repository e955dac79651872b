"""Errors and their bounds: what scikit-learn says at every score between lo and hi is within them."""

import numpy as np
import pytest
from sklearn import metrics

from gapfit.selection import measure_of

RNG = np.random.default_rng(0)
CLASSES = RNG.integers(0, 2, 40)
NUMBERS = RNG.normal(size=40)


def labels(scores):
    return scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)


BY_SKLEARN = {
    "accuracy": lambda y, f: 1 - metrics.accuracy_score(y, labels(f)),
    "balanced_accuracy": lambda y, f: 1 - metrics.balanced_accuracy_score(y, labels(f)),
    "f1": lambda y, f: 1 - metrics.f1_score(y, labels(f), zero_division=0),
    "neg_log_loss": lambda y, f: metrics.log_loss(y, 1 / (1 + np.exp(-f))),
    "neg_mean_squared_error": metrics.mean_squared_error,
    "neg_mean_absolute_error": metrics.mean_absolute_error,
    "neg_mean_pinball_loss": lambda y, f: metrics.mean_pinball_loss(y, f, alpha=0.3),
}


@pytest.mark.parametrize("name", BY_SKLEARN)
def test_errors_are_those_of_scikit_learn_and_bounds_contain_them(name):
    y, k = (CLASSES, 2) if name in ("accuracy", "balanced_accuracy", "f1", "neg_log_loss") else (NUMBERS, 0)
    measure = measure_of(name, y, k, 0.3)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        f = rng.normal(size=40)
        assert measure.error(f) == pytest.approx(BY_SKLEARN[name](y, f))
        width = rng.random(40) * 10.0 ** rng.uniform(-2, 0.5)
        least, most = measure.bounds(f - width, f + width)
        for _ in range(20):
            error = measure.error(f + width * rng.uniform(-1, 1, 40))
            assert least - 1e-12 <= error <= most + 1e-12
        assert measure.bounds(f, f) == pytest.approx((measure.error(f),) * 2)


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy"])
def test_several_classes(name):
    y = RNG.integers(0, 3, 60)
    measure = measure_of(name, y, 3)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        f, width = rng.normal(size=(60, 3)), rng.random((60, 3)) * 0.5
        assert measure.error(f) == pytest.approx(BY_SKLEARN[name](y, f))
        least, most = measure.bounds(f - width, f + width)
        for _ in range(20):
            assert least - 1e-12 <= measure.error(f + width * rng.uniform(-1, 1, (60, 3))) <= most + 1e-12
    nothing = np.full((60, 3), np.inf)
    assert measure.bounds(-nothing, nothing) == (0.0, 1.0)


def test_bounds_that_know_nothing():
    nothing = np.full(40, np.inf)
    for name in ("accuracy", "balanced_accuracy", "f1"):
        assert measure_of(name, CLASSES, 2).bounds(-nothing, nothing) == (0.0, 1.0)
    assert measure_of("mse", NUMBERS, 0).bounds(-nothing, nothing) == (0.0, np.inf)
    assert measure_of("log_loss", CLASSES, 2).bounds(-nothing, nothing) == (0.0, np.inf)


def test_a_score_that_may_be_zero_leaves_its_label_open():
    measure = measure_of("accuracy", np.array([0, 1]), 2)
    assert measure.bounds(np.array([0.0, 0.0]), np.array([1.0, 0.0])) == (0.0, 1.0)


@pytest.mark.parametrize(("name", "k"), [("accuracy", 0), ("mse", 2), ("f1", 3), ("log_loss", 3), ("r2", 0)])
def test_what_is_not_there_is_refused_by_name(name, k):
    with pytest.raises(ValueError, match=name):
        measure_of(name, np.zeros(4, dtype=int), k)
