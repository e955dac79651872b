"""partial_fit: certified fits of what is kept, and honest about the rest."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import gapfit
from gapfit import LinearClassifier, LinearRegressor
from gapfit.estimators.reservoir import Block, Reservoir

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1200, 4))
REAL = X @ [1.0, -2.0, 0.5, 0.0] + RNG.normal(size=1200)
Y = np.digitize(REAL, [-1.5, 1.5])
BLOCKS = np.array_split(np.arange(1200), 6)


def streamed(model, y, blocks=BLOCKS, rows=X, weight=None, **first):
    for k, some in enumerate(blocks):
        more = first if k == 0 else {}
        model.partial_fit(rows[some], y[some], sample_weight=None if weight is None else weight[some], **more)
    return model


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_while_all_rows_are_kept_it_is_the_fit_of_all(loss, kind):
    rows = kind(X)
    model = streamed(LinearClassifier(loss=loss, alpha=1e-2, tol=1e-7), Y, rows=rows, classes=[0, 1, 2])
    whole = LinearClassifier(loss=loss, alpha=1e-2, tol=1e-7).fit(rows, Y)
    assert model.n_samples_seen_ == model.n_samples_kept_ == 1200 and model.converged_
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    for ours, theirs in zip(model.certificates_, whole.certificates_, strict=True):
        assert ours.dual <= theirs.primal and theirs.dual <= ours.primal
    assert (model.predict(X) == whole.predict(X)).mean() > 0.995


def test_weights_are_those_of_fit():
    weight = RNG.integers(0, 4, 1200).astype(float)
    model = streamed(LinearRegressor(alpha=1e-2, tol=1e-9), REAL, weight=weight)
    whole = LinearRegressor(alpha=1e-2, tol=1e-9).fit(X, REAL, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-4)
    assert model.n_samples_seen_ == np.count_nonzero(weight)  # weight zero equals absence


def test_what_is_kept_is_certified_and_near_all_that_came():
    model = streamed(LinearClassifier(loss="logistic", alpha=1e-2, keep=600), Y, classes=[0, 1, 2])
    assert model.n_samples_seen_ == 1200 and 200 < model.n_samples_kept_ <= 600
    kept = model._stream.kept
    direct = LinearClassifier(loss="logistic", alpha=1e-2, tol=1e-7)
    direct.fit(kept.X, kept.y, sample_weight=model._stream.weights)
    assert model.converged_ and model.dual_objective_ <= direct.objective_ + 1e-9
    peer = LogisticRegression(C=100 / 1200).fit(X, Y)
    assert (model.predict(X) == peer.predict(X)).mean() > 0.85


def test_a_sample_is_uniform_and_weighs_what_all_did():
    """Every row has the same chance; an exact test would fail once in a thousand seeds."""
    counts = np.zeros(60)
    for seed in range(400):
        found = None
        for some in np.array_split(np.arange(60), 7):
            zeros = np.zeros(len(some), np.intp)
            block = Block(some[:, None].astype(float), some, np.ones(len(some)), zeros)
            found = Reservoir.of(block, np.zeros(1), 12, seed) if found is None else found.after(block)
        assert len(found.kept.y) == 12 and len(np.unique(found.kept.y)) == 12
        assert found.weights.sum() == pytest.approx(60)
        counts[found.kept.y] += 1
    expected, spread = 400 * 12 / 60, np.sqrt(400 * 0.2 * 0.8)
    assert np.abs(counts - expected).max() < 4.2 * spread
    assert ((counts - expected) ** 2).sum() / spread**2 < 100  # chi squared of 59


def test_rare_classes_are_kept():
    y = np.where(np.arange(1200) % 100 == 3, "rare", "usual")
    model = streamed(LinearClassifier(alpha=1e-2, keep=100), y, classes=["rare", "usual"])
    kept = model._stream
    assert (kept.kept.y == "rare").sum() == 12 and (kept.kept.y == "usual").sum() == 50
    assert kept.weights[kept.kept.y == "usual"].sum() == pytest.approx(1188)


def test_nothing_is_fitted_before_each_class_has_come():
    model = LinearClassifier(loss="logistic", alpha=1e-2)
    with pytest.warns(UserWarning, match=r"no sample of \[1, 2\] has come yet"):
        model.partial_fit(X[Y == 0], Y[Y == 0], classes=[0, 1, 2])
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.partial_fit(X[Y > 0], Y[Y > 0])
    assert model.converged_ and model.n_samples_kept_ == 1200


def test_what_is_refused_changes_nothing():
    model = LinearClassifier(alpha=1e-2)
    with pytest.raises(ValueError, match="classes must be given on the first call"):
        model.partial_fit(X, Y)
    model.partial_fit(X[:400], Y[:400], classes=[0, 1, 2])
    before = model.coef_.copy()
    for rows, labels, more, words in (
        (X[:, :3], Y, {}, "features"),
        (X, Y + 1, {}, r"y holds \[3\]"),
        (X, Y, {"classes": [0, 1]}, "differs from that of the first call"),
    ):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(rows, labels, **more)
    assert model.n_samples_seen_ == 400
    np.testing.assert_array_equal(model.coef_, before)
    for keep in (0, 1.5, True):
        with pytest.raises(ValueError, match="keep must be a positive integer"):
            LinearClassifier(keep=keep).partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="two labels or more"):
        LinearClassifier().partial_fit(X, Y, classes=[0])


def test_fit_begins_anew_and_files_keep_no_rows(tmp_path):
    model = streamed(LinearClassifier(alpha=1e-2), Y, classes=[0, 1, 2])
    gapfit.save(model, tmp_path / "model")
    loaded = gapfit.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    for other in (loaded, clone(model), model.fit(X, Y)):
        with pytest.raises(AttributeError, match="only `partial_fit` keeps rows"):
            _ = other.n_samples_seen_
    assert not model.warm_start


def test_the_same_seed_keeps_the_same_rows():
    def kept(seed):
        model = LinearRegressor(alpha=1e-2, keep=100, random_state=seed)
        return streamed(model, REAL)._stream.kept.y

    np.testing.assert_array_equal(kept(None), kept(None))
    np.testing.assert_array_equal(kept(7), kept(7))
    assert set(kept(7)) != set(kept(8))
