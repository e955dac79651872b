"""Where scores are cut into levels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from gapfit import OrdinalClassifier, load, save
from gapfit.errors import ModelFileError
from gapfit.estimators.level_cuts import cuts_of
from gapfit.losses import OrdinalThresholds


def spreading(n, seed=0):
    """Levels of a number whose spread grows, and which is skewed, as counts are."""
    chance = np.random.default_rng(seed)
    X = chance.normal(size=(n, 3))
    f = X @ [1.0, -0.5, 0.25]
    return X, np.searchsorted(
        [-1.6, -1, 0.3, 1.6, 2.5, 3.4, 4.7], f + 0.6 * np.exp(f / 2) * chance.gumbel(size=n)
    )


@pytest.fixture(scope="module")
def model():
    return OrdinalClassifier(alpha=1e-4).fit(*spreading(2_000))


def test_where_levels_differ_in_spread_cuts_by_slopes_of_their_own_are_better(model):
    X, y = spreading(20_000, seed=1)
    assert not np.array_equal(model.cuts_, model.thresholds_)
    at_thresholds = (model.latent(X)[:, None] > model.thresholds_).sum(axis=1)
    assert np.abs(model.predict(X) - y).mean() < 0.99 * np.abs(at_thresholds - y).mean()


def test_they_are_those_of_logistic_regressions_on_the_score(model):
    X, y = spreading(2_000)
    f = model.latent(X)
    for k, cut in enumerate(model.cuts_):
        line = LogisticRegression(C=1e8, tol=1e-8).fit(f[:, None], y > k)
        assert_allclose(cut, -line.intercept_[0] / line.coef_[0, 0], atol=0.02 * f.std())


def test_where_the_model_is_right_the_thresholds_are_kept():
    chance = np.random.default_rng(2)
    X = chance.normal(size=(3_000, 3))
    latent = X @ [2.0, -1.0, 0.5] + chance.logistic(size=len(X))
    right = OrdinalClassifier(alpha=1e-6).fit(X, np.searchsorted([-2, 0, 1, 3], latent))
    assert right.cuts_ is right.thresholds_


@pytest.mark.parametrize("loss", ["thresholds", "pairs", OrdinalThresholds("immediate", "logistic")])
def test_other_losses_are_cut_at_their_thresholds(loss):
    X, y = spreading(300)
    model = OrdinalClassifier(loss=loss, alpha=1e-3).fit(X, y)
    assert_array_equal(model.cuts_, model.thresholds_)


def test_cuts_ascend_and_are_finite_whatever_the_scores_are():
    chance = np.random.default_rng(3)
    for trial in range(300):
        n, m = int(chance.integers(2, 30)), int(chance.integers(2, 8))
        scores = chance.normal(size=n) * 10.0 ** chance.integers(-12, 12)
        level = chance.integers(0, m, size=n) if trial % 2 else np.argsort(np.argsort(scores)) * m // n
        cuts = cuts_of(scores, level, chance.uniform(0.1, 9, size=n), np.sort(chance.normal(size=m - 1)))
        assert np.isfinite(cuts).all() and (np.diff(cuts) >= 0).all()


def test_weights_are_copies_and_their_scale_does_not_matter():
    X, y = spreading(400)
    weight = np.random.default_rng(4).integers(1, 4, size=len(y))
    copies = OrdinalClassifier(tol=1e-10).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    for scale in (1.0, 1e-3, 1e3):
        weighted = OrdinalClassifier(tol=1e-10).fit(X, y, sample_weight=scale * weight)
        assert_allclose(weighted.cuts_, copies.cuts_, rtol=1e-4, atol=1e-4)


def test_certified_levels_are_those_of_a_better_model_cut_as_far_from_its_thresholds():
    X, y = spreading(2_000)
    rough = OrdinalClassifier(alpha=1e-2, tol=1e-3).fit(X, y)
    exact = OrdinalClassifier(alpha=1e-2, tol=1e-10).fit(X, y)
    Z = spreading(5_000, seed=5)[0]
    moved = rough.cuts_ - rough.thresholds_
    assert moved.any()
    there = (exact.latent(Z)[:, None] - exact.thresholds_ > moved).sum(axis=1)
    certified = rough.certified(Z)
    assert certified.mean() > 0.1
    assert_array_equal(rough.predict(Z)[certified], there[certified])


def test_the_decision_is_positive_for_the_predicted_level(model):
    X, _ = spreading(500, seed=6)
    assert_array_equal(model.classes_[model.decision_function(X).argmax(axis=1)], model.predict(X))


def test_files_keep_cuts_refuse_bad_ones_and_older_files_have_none(model, tmp_path):
    X, _ = spreading(500, seed=7)
    save(model, tmp_path / "a.gapfit")
    assert_array_equal(load(tmp_path / "a.gapfit").predict(X), model.predict(X))
    other = OrdinalClassifier().fit(*spreading(200))
    for bad in (other.thresholds_[:-1], other.thresholds_[::-1]):
        other.cuts_ = bad
        with pytest.raises(ModelFileError, match="cuts_"):
            save(other, tmp_path / "b.gapfit")
    del other.cuts_
    save(other, tmp_path / "c.gapfit")
    old = load(tmp_path / "c.gapfit")
    assert_array_equal(old.predict(X), (old.latent(X)[:, None] > old.thresholds_).sum(axis=1))
