"""Several targets at once: a problem for each column of y, as scikit-learn's regressors have them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.multioutput import MultiOutputRegressor

from gapfit import LinearRegressor, LinearRegressorCV, UnboundedProblem, load, save, to_onnx
from gapfit.losses import Quantile
from gapfit.penalties import GroupLasso


def drawn(seed=0, n=60, d=4, k=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[n // 2 :] = X[: n - n // 2]  # rows that may be merged where their targets agree
    Y = np.round(X @ rng.normal(size=(d, k)) + 0.3 * rng.normal(size=(n, k)), 1)
    Y[n // 2 : n // 2 + 9] = Y[:9]
    return X, Y, rng.integers(0, 3, n).astype(float)


def test_ridge_agrees_with_weights_and_without():
    X, Y, weight = drawn()
    for s in (None, weight):
        ours = LinearRegressor(alpha=0.1, tol=1e-10).fit(X, Y, s)
        theirs = Ridge(alpha=0.1 * (len(X) if s is None else s.sum())).fit(X, Y, s)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-7)
        assert ours.score(X, Y) == pytest.approx(r2_score(Y, theirs.predict(X)))
        assert ours.coef_.shape == (3, 4) and ours.intercept_.shape == (3,)


@pytest.mark.parametrize(
    "loss", ["squared", "absolute", Quantile(0.8), "huber", "epsilon_insensitive", "poisson"]
)
@pytest.mark.parametrize("penalty", ["l2", "l1", GroupLasso([0, 0, 1, 1])], ids=str)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_each_column_is_a_fit_of_its_own(loss, penalty, make):
    X, Y, weight = drawn(1)
    Y = np.abs(Y) if loss == "poisson" else Y
    model = LinearRegressor(loss=loss, penalty=penalty, alpha=0.05, tol=1e-8)
    both = MultiOutputRegressor(model).fit(X, Y, weight)
    together = model.fit(make(X), Y, weight)
    assert together.converged_ and len(together.certificates_) == 3
    for k, alone in enumerate(both.estimators_):
        (one,) = alone.certificates_
        assert abs(together.certificates_[k].primal - one.primal) <= one.gap + together.certificates_[k].gap
    np.testing.assert_allclose(together.predict(X), both.predict(X), atol=2e-2)


def test_files_frames_bounds_and_what_follows_from_them(tmp_path):
    X, Y, _ = drawn(2)
    frame = pd.DataFrame(Y, columns=list("abc"))
    model = LinearRegressor(loss="huber", alpha=0.1, tol=1e-6).fit(X, frame)
    save(model, tmp_path / "several.gapfit")
    loaded = load(tmp_path / "several.gapfit")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    exact = LinearRegressor(loss="huber", alpha=0.1, tol=1e-12).fit(X, Y)
    for one in (model, loaded):
        lo, hi = one.score_bounds(X)
        assert ((lo <= exact.predict(X)) & (exact.predict(X) <= hi)).all()
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    (written,) = session.run(None, {session.get_inputs()[0].name: X})
    np.testing.assert_allclose(written, model.predict(X), atol=1e-12)
    save(model.sparsify(), tmp_path / "sparse.gapfit")
    np.testing.assert_array_equal(load(tmp_path / "sparse.gapfit").predict(X), loaded.predict(X))
    column = LinearRegressor(loss="huber", alpha=0.1, tol=1e-6).fit(X, Y[:, [0]].ravel())
    assert column.coef_.shape == (4,) and isinstance(column.intercept_, float)


def test_one_alpha_is_chosen_for_all_columns():
    X, Y, _ = drawn(3)
    model = LinearRegressorCV(alphas=5, cv=3).fit(X, Y)
    assert model.coef_.shape == (3, 4) and model.score(X, Y) > 0.8


def test_a_column_without_a_minimum_is_named():
    X, Y, _ = drawn(4)
    Y = np.abs(Y)
    Y[:, 1] = 0.0
    with pytest.raises(UnboundedProblem, match="column 1 of y"):
        LinearRegressor(loss="poisson").fit(X, Y)
    Y[3, 2] = np.nan
    with pytest.raises(ValueError, match="y contains NaN"):
        LinearRegressor().fit(X, Y)
    with pytest.raises(ValueError, match="59 rows"):
        LinearRegressor().fit(X, Y[:-1, :2])
