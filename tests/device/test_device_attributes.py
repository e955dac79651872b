"""Fitted arrays in the namespace and on the device of X, where scikit-learn's `array_api_dispatch` is on.

scipy must have been told before it is loaded: these tests run in a process of their own."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch", reason="devices need torch: pip install 'gapfit[gpu]'")

import sklearn
import torch
from sklearn.base import clone

from gapfit import (
    ConformalClassifier,
    KernelSVC,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    MetricClassifier,
    NoveltyDetector,
    OrdinalClassifier,
    Ranker,
    load,
    save,
)

TOLD = os.environ.get("SCIPY_ARRAY_API") == "1"
told = pytest.mark.skipif(not TOLD, reason="scipy was not told: test_where_scipy_was_told runs it")
rng = np.random.default_rng(0)
N, D = 200, 4
X = rng.normal(size=(N, D)).astype(np.float32)
MARGIN = X @ [1.0, 2.0, -1.0, 0.0] + 0.3 * rng.normal(size=N)
LABELS, CLASSES = np.where(MARGIN > 0, 1, 0), np.digitize(MARGIN, [-1.0, 1.0])
FITS = {
    "classes of two": (LinearClassifier(alpha=1e-2), LABELS),
    "classes of three": (LinearClassifier(alpha=1e-2), CLASSES),
    "joint": (LinearClassifier(loss="softmax", alpha=1e-2), CLASSES),
    "numbers": (LinearRegressor(alpha=1e-2), MARGIN),
    "several numbers": (LinearRegressor(alpha=1e-2), np.stack([MARGIN, -MARGIN], axis=1)),
    "levels": (OrdinalClassifier(alpha=1e-2), CLASSES),
    "ranks": (Ranker(alpha=1e-2), CLASSES),
    "novelty": (NoveltyDetector(), LABELS),
    "a measure": (MetricClassifier(strategy="surrogate"), LABELS),
}


@pytest.mark.skipif(TOLD, reason="this is the process that was told")
def test_where_scipy_was_told():
    told = {"SCIPY_ARRAY_API": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # others may stop a run in a run
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__],
        env={**os.environ, **told}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-5000:]
    assert " passed" in ran.stdout and "was not told" not in ran.stdout


@pytest.fixture
def switched():
    with sklearn.config_context(array_api_dispatch=True):
        yield


def arrays(model):
    there = {name: vars(model).get(name) for name in ("coef_", "intercept_", "thresholds_", "cuts_")}
    return {name: value for name, value in there.items() if value is not None and np.ndim(value) > 0}


def as_found(value):
    return value.cpu().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)


def fitted(name, where):
    model, y = FITS[name]
    there = torch.tensor(X, device=where)
    return clone(model).fit(there, torch.tensor(y, device=where)), there, y


@told
@pytest.mark.parametrize("name", FITS)
def test_arrays_are_where_X_is(name, where, switched):
    model, there, y = fitted(name, where)
    assert "coef_" in arrays(model) and ("thresholds_" in arrays(model)) == (name == "levels")
    for value in arrays(model).values():
        assert isinstance(value, torch.Tensor) and value.device == there.device
    with sklearn.config_context(array_api_dispatch=False):
        known = clone(model).fit(there, y)
    for name, value in arrays(known).items():
        assert isinstance(value, np.ndarray)
        found = arrays(model)[name]
        assert as_found(found).dtype == value.dtype and as_found(found).shape == value.shape
        np.testing.assert_array_equal(as_found(found), value)


@told
@pytest.mark.parametrize("name", FITS)
def test_models_do_what_they_do_in_memory(name, where, switched, tmp_path):
    model, there, y = fitted(name, where)
    save(model, tmp_path / "model")
    stored = load(tmp_path / "model")
    assert all(isinstance(value, np.ndarray) for value in arrays(stored).values())
    assert arrays(stored).keys() == arrays(model).keys()
    for one in (stored, pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        np.testing.assert_array_equal(one.predict(X), model.predict(X))
        np.testing.assert_array_equal(as_found(one.predict(there)), as_found(model.predict(there)))
    asked = ["predict", "decision_function", "predict_proba", "score_samples", "latent", "relevance"]
    for method in asked[:1] if name == "ranks" else asked:
        if hasattr(model, method):
            found, wanted = getattr(model, method)(there), getattr(stored, method)(X)
            np.testing.assert_allclose(as_found(found), wanted, rtol=1e-5, atol=1e-5)
    if hasattr(model, "score_bounds"):
        for found, wanted in zip(model.score_bounds(there), stored.score_bounds(X), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    if hasattr(model, "certified"):
        np.testing.assert_array_equal(model.certified(there), stored.certified(X))
    assert "coef_" in model._repr_html_()
    before = model.predict(X)
    np.testing.assert_array_equal(model.sparsify().predict(X), before)
    np.testing.assert_array_equal(model.densify().predict(X), before)
    assert isinstance(model.coef_, np.ndarray)
    again = clone(model).fit(there, y)
    assert isinstance(again.coef_, torch.Tensor)
    assert isinstance(again.fit(X, y).coef_, np.ndarray)


@told
@pytest.mark.parametrize("name", FITS)
def test_predictions_are_where_X_is(name, where, switched):
    model, there, y = fitted(name, where)
    found = model.predict(there)
    assert isinstance(found, torch.Tensor) and found.device == there.device
    assert isinstance(model.predict(X), np.ndarray)
    if hasattr(model, "score"):
        score = model.score(there, torch.as_tensor(y, device=there.device))
        assert score == pytest.approx(model.score(X, y), abs=1e-6)


@told
def test_fits_go_on_from_tensors(where, switched):
    model, there, y = fitted("classes of two", where)
    first = model.set_params(warm_start=True, tol=1e-2).fit(there, y)
    assert first.set_params(tol=1e-6).fit(there, y).converged_
    assert isinstance(first.coef_, torch.Tensor)
    cold = LinearClassifier(alpha=1e-2, tol=1e-6).fit(X, y)
    assert abs(first.objective_ - cold.objective_) <= first.dual_gap_ + cold.dual_gap_
    low, high = first.coef_range(0.01, X=there, y=y)
    assert low.shape == high.shape == (1, D) and (low <= as_found(first.coef_)).all()


@told
def test_dual_coefficients_know_the_rows_of_weights(switched):
    model = LinearClassifier(loss="softmax", alpha=1e-2).fit(torch.tensor(X), torch.tensor(LABELS))
    assert isinstance(model.coef_, torch.Tensor)
    assert model.dual_coef_.shape == (1, len(model.support_))


@told
def test_onnx_graphs_are_those_of_memory(where, switched):
    pytest.importorskip("onnx", reason="graphs need onnx: pip install 'gapfit[onnx]'")
    from gapfit import to_onnx

    for name in ("classes of three", "numbers", "levels"):
        model, *_ = fitted(name, where)
        found = to_onnx(model).SerializeToString(deterministic=True)
        wanted = to_onnx(pickle.loads(pickle.dumps(model))).SerializeToString(deterministic=True)
        assert found == wanted


@told
def test_blocks_and_choices_of_tensors(switched):
    there, y = torch.tensor(X), torch.tensor(LABELS)
    model = LinearClassifier(alpha=1e-2).partial_fit(there[:100], y[:100], classes=[0, 1])
    assert isinstance(model.partial_fit(there[100:], y[100:]).coef_, torch.Tensor)
    assert isinstance(LinearClassifierCV(alphas=[1.0, 0.01], cv=3).fit(there, y).coef_, torch.Tensor)
    calibrated = LinearClassifier(alpha=1e-2, calibrate="sigmoid").fit(there, y)
    assert isinstance(calibrated.predict_proba(there), torch.Tensor)
    sets = ConformalClassifier(LinearClassifier(loss="logistic", alpha=1e-2)).fit(there, LABELS)
    assert (sets.predict_sets(there[:2]).outer == sets.predict_sets(X[:2]).outer).all()


@told
def test_kernel_machines_take_tensors_and_stay_in_memory(where, switched):
    there = torch.tensor(X, device=where)
    model = KernelSVC(C=1.0).fit(there, torch.tensor(LABELS, device=where))
    assert isinstance(model.dual_coef_, np.ndarray)
    found, known = model.predict(there), KernelSVC(C=1.0).fit(X, LABELS)
    assert isinstance(found, torch.Tensor) and found.device == there.device
    np.testing.assert_array_equal(as_found(found), known.predict(X))


@told
def test_arrays_of_numpy_stay_such(switched):
    for model, y in FITS.values():
        assert all(isinstance(value, np.ndarray) for value in arrays(clone(model).fit(X, y)).values())
