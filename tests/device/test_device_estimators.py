"""Every estimator of rows takes tensors on a card, and says of them what it says of arrays."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="devices need torch: pip install 'gapfit[gpu]'")

import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from gapfit import (
    AlphaSearchCV,
    ConformalClassifier,
    ConformalRegressor,
    KernelNoveltyDetector,
    KernelSVC,
    KernelSVR,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    LinearRegressorCV,
    MetricClassifier,
    NoveltyDetector,
    OrdinalClassifier,
    Ranker,
)
from gapfit.device import DeviceDesign
from gapfit.errors import TooLarge
from gapfit.estimators import samples

pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
rng = np.random.default_rng(0)
N, D = 200, 4
X = rng.normal(size=(N, D)).astype(np.float32)
MARGIN = X @ [1.0, 2.0, -1.0, 0.0] + 0.5 * rng.normal(size=N)
LABELS, CLASSES = np.where(MARGIN > 0, 1, 0), np.digitize(MARGIN, [-1.0, 1.0])
TOL = 1e-7
MODELS = {
    "classes": (LinearClassifier(loss="logistic", alpha=1e-2, tol=TOL), LABELS),
    "calibrated": (LinearClassifier(alpha=1e-2, tol=TOL, calibrate="sigmoid"), LABELS),
    "labels": (LinearClassifier(alpha=1e-2, tol=TOL), np.stack([LABELS, CLASSES > 0], axis=1)),
    "numbers": (LinearRegressor(alpha=1e-2, tol=TOL), MARGIN),
    "quantiles": (LinearRegressor(loss="quantile", alpha=1e-2, tol=TOL), MARGIN),
    "levels": (OrdinalClassifier(alpha=1e-2, tol=TOL), CLASSES),
    "ranks": (Ranker(alpha=1e-2, tol=TOL), CLASSES),
    "novelty": (NoveltyDetector(tol=TOL), None),
    "chosen": (LinearClassifierCV(loss="logistic", alphas=[1.0, 1e-2], cv=3, tol=TOL), LABELS),
    "chosen for numbers": (LinearRegressorCV(alphas=[1.0, 1e-2], cv=3, tol=TOL), MARGIN),
    "intervals": (ConformalRegressor(LinearRegressor(alpha=1e-2, tol=TOL)), MARGIN),
    "sets": (ConformalClassifier(LinearClassifier(loss="logistic", alpha=1e-2, tol=TOL)), LABELS),
    "a kernel": (KernelSVC(tol=TOL), LABELS),
    "a calibrated kernel": (KernelSVC(tol=TOL, calibrate="sigmoid"), LABELS),
    "a kernel for numbers": (KernelSVR(tol=TOL), MARGIN),
    "a kernel for novelty": (KernelNoveltyDetector(tol=TOL), None),
}  # fmt: skip
ANSWERS = ("predict", "decision_function", "predict_proba", "score_samples", "latent", "certified")


def there(values, where):
    return None if values is None else torch.tensor(values, device=where)


def at_hand(answer):
    return answer.cpu().numpy() if isinstance(answer, torch.Tensor) else np.asarray(answer)


@pytest.mark.parametrize("name", MODELS)
def test_what_is_said_of_tensors_is_what_is_said_of_arrays(name, card):
    model, y = MODELS[name]
    rows = there(X, card)
    found, known = clone(model).fit(rows, there(y, card)), clone(model).fit(X, y)
    for answer in ANSWERS:
        if not hasattr(known, answer):
            continue
        said, wanted = getattr(found, answer)(rows), getattr(known, answer)(X)
        if answer != "certified":  # what is said of optima is NumPy's
            assert isinstance(said, torch.Tensor) and said.device == rows.device
        same = np.isclose(at_hand(said), wanted, rtol=1e-2, atol=1e-2)
        assert same.mean() > 0.98
    if hasattr(known, "score") and y is not None:
        assert found.score(rows, there(y, card)) == pytest.approx(known.score(X, y), abs=0.02)
        assert found.score(rows, y) == found.score(rows, there(y, card))


def test_a_search_proves_as_much(card):
    search = AlphaSearchCV(LinearClassifier(loss="logistic"), alpha_range=(0.1, 1.0), eps=0.05)
    found, known = clone(search).fit(there(X, card), there(LABELS, card)), clone(search).fit(X, LABELS)
    assert found.proven_regret_ <= 0.05
    assert found.best_error_ <= known.best_error_ + 0.05
    assert isinstance(found.predict(there(X, card)), torch.Tensor)


FOLDS = list(StratifiedKFold(3).split(X, LABELS))  # of the rows as they are given
MEASURES = {
    "auto": MetricClassifier(cv=FOLDS),
    "several classes": MetricClassifier(metric="f1_macro", cv=list(StratifiedKFold(3).split(X, CLASSES))),
    "surrogate": MetricClassifier(strategy="surrogate", metric="roc_area", alpha=1e-2),
    "costs": MetricClassifier(strategy="cost_path", cv=FOLDS, alpha=[1e-1, 1e-3]),
    "pool": MetricClassifier(strategy="pool", cv=FOLDS, alpha=[1e-1, 1e-2]),
}


@pytest.mark.parametrize("given", ["tensor", "moved", "sparse"])
@pytest.mark.parametrize("name", MEASURES)
def test_measures_are_those_of_memory(name, given, card):
    """The same folds, the same members, and much the same scores."""
    y = CLASSES if name == "several classes" else LABELS
    model, known = clone(MEASURES[name]), clone(MEASURES[name]).fit(X, y)
    if given == "tensor":
        model.fit(there(X, card), there(y, card))
    else:
        model.set_params(device=card).fit(sparse.csr_array(X) if given == "sparse" else X, y)
    assert model.strategy_ == known.strategy_ and model.status_ is known.status_
    assert model.score_ == pytest.approx(known.score_, abs=0.01)
    assert model.score(there(X, card), there(y, card)) == pytest.approx(known.score(X, y), abs=0.02)
    if name in ("surrogate", "costs"):  # others depend on earlier fits, each within its own gap
        assert abs(model.objective_ - known.objective_) <= model.dual_gap_ + known.dual_gap_ + 1e-6
    answer = model.predict(there(X, card))
    assert isinstance(answer, torch.Tensor) and (at_hand(answer) == known.predict(X)).mean() > 0.95


def test_copies_of_rows_are_asked_for_by_name(monkeypatch):
    design = DeviceDesign(torch.tensor(X))
    monkeypatch.setattr("gapfit.device.room.free", lambda device: 1000.0)
    with pytest.raises(TooLarge, match=r"copies of 150 rows of 4 features need .* GB of .* are free"):
        design.keeping(np.arange(150))
    assert design.keeping(np.arange(20)).shape == (20, D)


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float64", "sparse", "parts"])
def test_columns_can_be_multiplied(kind, card):
    from gapfit.design.forms import Columns

    rows = there(X, card)
    made = {
        "sparse": torch.Tensor.to_sparse_csr, "parts": lambda rows: [rows[:50], rows[50:].cpu()],
        "bfloat16": torch.Tensor.bfloat16, "float64": torch.Tensor.double, "float32": torch.Tensor.float,
    }  # fmt: skip
    rows = made[kind](rows)
    sizes, w = rng.uniform(0.5, 2.0, D), rng.normal(size=D)
    design = DeviceDesign(rows)
    scaled = design.form(Columns).scaled(sizes)
    np.testing.assert_allclose(
        scaled.scores(w).to_host(), design.scores(sizes * w).to_host(), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("kind", ["bfloat16", "sparse", "columns", "coordinates", "slopes"])
def test_tensors_of_other_kinds(kind, where):
    """In memory, too, where scikit-learn knows only NumPy's arrays."""
    given = there(X, where)
    rows = {
        "bfloat16": given.bfloat16(), "sparse": given.to_sparse_csr(), "columns": given.to_sparse_csc(),
        "coordinates": given.to_sparse(), "slopes": given.requires_grad_(),
    }[kind]  # fmt: skip
    model = LinearClassifier(loss="logistic", alpha=1e-2, tol=TOL)
    if kind in ("columns", "coordinates") and samples.is_on_a_card(rows):
        with pytest.raises(TypeError, match="to_sparse_csr"):
            model.fit(rows, LABELS)
        return
    known, found = clone(model).fit(X, LABELS), model.fit(rows, LABELS)
    np.testing.assert_allclose(found.coef_, known.coef_, rtol=0.1, atol=0.1)
    assert (at_hand(found.predict(rows)) == known.predict(X)).mean() > 0.97


@pytest.mark.parametrize("given", [[], [X], X, [torch.ones(3)]], ids=["none", "arrays", "array", "vector"])
def test_what_are_no_rows(given):
    with pytest.raises(TypeError, match="tensor"):
        DeviceDesign(given)


def test_kernel_machines_of_bfloat16_rows(card):
    found, known = KernelSVC().fit(there(X, card).bfloat16(), LABELS), KernelSVC().fit(X, LABELS)
    assert (at_hand(found.predict(there(X, card).bfloat16())) == known.predict(X)).mean() > 0.97


@pytest.mark.parametrize("kernel", ["precomputed", "mine"])
def test_kernels_that_no_card_knows_are_computed_in_memory(kernel, card):
    given = X @ X.T if kernel == "precomputed" else X
    model = KernelSVC(kernel=kernel if kernel == "precomputed" else lambda a, b: a @ b.T)
    found, known = clone(model).fit(there(given, card), there(LABELS, card)), model.fit(given, LABELS)
    assert (at_hand(found.predict(there(given, card))) == known.predict(given)).mean() > 0.98


def test_single_samples_are_altered_in_memory(card):
    rows, y = there(X, card), there(LABELS, card)
    model = LinearClassifier(loss="logistic", alpha=1e-1, tol=TOL)
    found, known = clone(model).fit(rows, y), model.fit(X, LABELS)
    left_out = found.leave_one_out(rows, y)
    assert left_out.error == known.leave_one_out(X, LABELS).error
    audit = found.influence(rows[:5], change="flip", X=rows, y=y)
    assert (audit.robust == known.influence(X[:5], change="flip", X=X, y=LABELS).robust).all()
    moved = clone(model).set_params(device=card).fit(X, LABELS)
    assert moved.leave_one_out(X, LABELS).error == left_out.error
    path = found.path(rows, y, [1.0, 0.1])
    np.testing.assert_allclose(path.coefs, known.path(X, LABELS, [1.0, 0.1]).coefs, rtol=0.05, atol=0.02)
