"""A graph says what the model says, to the last digits and in every label."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_regression
from sklearn.preprocessing import scale

pytest.importorskip("onnx", reason="graphs need onnx: pip install 'gapfit[onnx]'")
pytest.importorskip("onnxruntime", reason="it runs the graphs: pip install 'gapfit[onnx]'")

from gapfit import (
    AlphaSearchCV,
    KernelNoveltyDetector,
    KernelSVC,
    KernelSVR,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    MetricClassifier,
    NoveltyDetector,
    OrdinalClassifier,
    Ranker,
    SequenceLabeler,
    to_onnx,
)
from gapfit.losses import OrdinalThresholds


def run(model, X, dtype="float64"):
    from onnxruntime import InferenceSession

    session = InferenceSession(to_onnx(model, dtype=dtype).SerializeToString())
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X.astype(dtype)}), strict=True))


def two():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[::3], np.array(["benign", "malignant"])[y][::3]


def three(kind=int):
    X, y = load_iris(return_X_y=True)
    return scale(X), y.astype(kind)


CLASSIFIERS = {
    "hinge": (LinearClassifier(), two), "logistic": (LinearClassifier(loss="logistic"), two),
    "sigmoid": (LinearClassifier(calibrate="sigmoid"), two),
    "isotonic": (LinearClassifier(calibrate="isotonic"), two),
    "one against the rest": (LinearClassifier(loss="logistic"), three),
    "softmax": (LinearClassifier(loss="softmax"), lambda: three(float)),
    "joint hinge": (LinearClassifier(loss="crammer_singer"), three),
    "rest, sigmoid": (LinearClassifier(calibrate="sigmoid"), three),
    "rest, isotonic": (LinearClassifier(calibrate="isotonic"), three),
    "metric": (MetricClassifier(metric="f1"), two), "chosen": (LinearClassifierCV(alphas=[1e-3, 1e-1]), two),
    "levels": (OrdinalClassifier(), three),
    "levels, sigmoid": (OrdinalClassifier(calibrate="sigmoid"), three),
    "levels, isotonic": (OrdinalClassifier(calibrate="isotonic"), three),
    "levels, own": (OrdinalClassifier(loss=OrdinalThresholds("immediate", "logistic")), three),
    "rbf": (KernelSVC(), two), "rbf, three": (KernelSVC(), three),
    "rbf, sigmoid": (KernelSVC(calibrate="sigmoid"), three),
    "pairs": (KernelSVC(decision_function_shape="ovo"), three),
    "poly": (KernelSVC(kernel="poly", coef0=1.0), two),
    "linear": (KernelSVC(kernel="linear"), two),
}  # fmt: skip


@pytest.mark.parametrize("case", CLASSIFIERS)
def test_a_classifier_and_its_graph_agree(case):
    model, data = CLASSIFIERS[case]
    X, y = data()
    model.fit(X, y)
    found = run(model, X)
    assert (found["label"] == model.predict(X)).all() and len(np.unique(found["label"])) > 1
    scores = model._to_calibrate(X) if isinstance(model, OrdinalClassifier) else model.decision_function(X)
    np.testing.assert_allclose(found["scores"], scores, rtol=1e-9, atol=1e-9)
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_several_labels_at_once():
    X, y = three()
    Y = np.stack([y > 0, y > 1], axis=1).astype(int)
    model = LinearClassifier(loss="logistic").fit(X, Y)
    found = run(model, X)
    np.testing.assert_array_equal(found["label"], model.predict(X))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=1e-9)


REGRESSORS = {
    "squared": LinearRegressor(), "counts": LinearRegressor(loss="poisson"),
    "rbf": KernelSVR(gamma=0.1), "sigmoid": KernelSVR(kernel="sigmoid", gamma=0.01),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", REGRESSORS)
def test_a_regressor_and_its_graph_agree(case):
    X, y = make_regression(120, 5, noise=3.0, random_state=0)
    model = REGRESSORS[case].fit(X, np.rint(np.abs(y) / 40) if case == "counts" else y)
    np.testing.assert_allclose(run(model, X)["prediction"], model.predict(X), rtol=1e-9, atol=1e-9)


def test_rankers_and_detectors():
    X, y = three()
    ranker = Ranker(calibrate="sigmoid").fit(X, y, qid=np.arange(150) % 10)
    found = run(ranker, X)
    np.testing.assert_allclose(found["scores"], ranker.predict(X), rtol=1e-9)
    np.testing.assert_allclose(found["relevance"], ranker.relevance(X), rtol=1e-9)
    for detector in (NoveltyDetector(), KernelNoveltyDetector(nu=0.2)):
        detector.fit(X + 5)
        found = run(detector, X + 5)
        np.testing.assert_array_equal(found["label"], detector.predict(X + 5))
        np.testing.assert_allclose(found["scores"], detector.decision_function(X + 5), rtol=1e-9, atol=1e-9)


def test_single_precision_goes_in_and_double_is_computed():
    X, y = two()
    X = X.astype(np.float32)
    model = LinearClassifier(loss="logistic").fit(X.astype(np.float64), y)
    np.testing.assert_allclose(run(model, X, "float32")["scores"], model.decision_function(X), rtol=1e-12)


def test_the_certificate_travels_along():
    X, y = two()
    model = LinearClassifier().fit(X, y)
    told = {one.key: one.value for one in to_onnx(model).metadata_props}
    assert told["model"] == "LinearClassifier" and float(told["dual_gap_"]) == model.dual_gap_


def test_a_search_is_its_best_model():
    X, y = two()
    search = AlphaSearchCV(LinearClassifier(loss="logistic"), cv=3).fit(X, y)
    assert (run(search, X)["label"] == search.predict(X)).all()


def test_what_has_no_graph_is_refused_by_name():
    X, y = two()
    with pytest.raises(TypeError, match="SequenceLabeler has no ONNX form"):
        chains = SequenceLabeler().fit([X[:5], X[5:9]], [list(y[:5]), list(y[5:9])])
        to_onnx(chains)
    with pytest.raises(ValueError, match="dtype"):
        to_onnx(LinearClassifier().fit(X, y), dtype="float16")
    with pytest.raises(TypeError, match=r"kernel .* has no ONNX form"):
        to_onnx(KernelSVC(kernel=lambda A, B: A @ B.T).fit(X, y))
