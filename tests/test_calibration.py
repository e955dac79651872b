"""Curves from scores to probabilities: against scikit-learn, brute force, and their own certificate."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from gapfit.calibration import calibrated

RNG = np.random.default_rng(0)
SCORES = 3.0 * RNG.normal(size=200) - 1.0
POSITIVE = RNG.random(200) < 1 / (1 + np.exp(-0.8 * SCORES - 0.3))


def cross_entropy(point, scores, target, weight):
    f = point[0] * scores + point[1]
    return weight @ (target * np.logaddexp(0, -f) + (1 - target) * np.logaddexp(0, f)) / weight.sum()


def soft(positive, weight):
    up, down = weight[positive].sum(), weight[~positive].sum()
    return np.where(positive, (up + 1) / (up + 2), 1 / (down + 2))


@pytest.mark.parametrize(
    "weight", [np.ones(200), RNG.integers(1, 4, 200).astype(float)], ids=["once", "weights"]
)
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_the_sigmoid_is_the_best_of_all(weight, shift):
    curve = calibrated("sigmoid", SCORES + shift, POSITIVE, weight)
    target = soft(POSITIVE, weight)
    best = minimize(
        cross_entropy, [1.0, 0.0], (SCORES, target, weight), method="BFGS", options={"gtol": 1e-10}
    )
    own = curve.x[0], curve.y[0] + curve.x[0] * shift
    assert own == pytest.approx(best.x, abs=1e-3 * (1 + shift * 1e-3))
    assert cross_entropy(own, SCORES, target, weight) <= best.fun + 1e-7
    assert curve.certificate.relative_gap <= 1e-8
    assert curve.certificate.dual <= best.fun + 1e-7  # the ridge of 1e-9 adds next to nothing


def test_classes_that_scores_separate_have_probabilities_short_of_one():
    scores = np.concatenate([np.linspace(-2, -1, 20), np.linspace(1, 2, 30)])
    curve = calibrated("sigmoid", scores, scores > 0, np.ones(50))
    p = curve(scores)
    assert 0 < p.min() < 0.1 and 0.9 < p.max() < 1 and curve.certificate.relative_gap <= 1e-8
    assert p.mean() == pytest.approx(soft(scores > 0, np.ones(50)).mean(), abs=1e-6)  # the best intercept


def test_the_step_function_is_the_isotonic_regression():
    weight = RNG.integers(1, 4, 200).astype(float)
    curve = calibrated("isotonic", SCORES, POSITIVE, weight)
    other = IsotonicRegression(out_of_bounds="clip").fit(SCORES, POSITIVE, sample_weight=weight)
    at = np.linspace(-20, 20, 101)
    np.testing.assert_allclose(curve(at), other.predict(at))
    assert curve.certificate is None and (np.diff(curve(at)) >= 0).all()


def test_constant_scores_have_the_share_of_positives():
    curve = calibrated("sigmoid", np.zeros(200), POSITIVE, np.ones(200))
    assert curve(np.zeros(1))[0] == pytest.approx(soft(POSITIVE, np.ones(200)).mean(), abs=1e-6)
