"""Every estimator, and `gapfit train`, go on from a checkpoint with the bytes of an uninterrupted fit."""

import inspect
import sys
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import gapfit
from gapfit import CheckpointError, Status, load, save
from gapfit.checkpoint import store
from gapfit.cli.main import run
from gapfit.persistence.schema import known_classes

RNG = np.random.default_rng(0)
N = 90
X = RNG.normal(size=(N, 6))
LABELS = np.argmax(X[:, :4] + 0.5 * RNG.normal(size=(N, 4)), axis=1)
SIGNS = np.sign(X[:, 0] + 0.5 * RNG.normal(size=N))
T = 2 * X[:, 0] + RNG.normal(size=N)
QUERIES = np.repeat(np.arange(9), 10)
SENTENCES = [[{f"w{RNG.integers(5)}": 1.0, "bias": float(RNG.normal())} for _ in range(5)] for _ in range(12)]
TAGS = [["x" if "w0" in token or "w1" in token else "y" for token in sentence] for sentence in SENTENCES]


class Signs:
    """A structure of two labels."""

    def joint_features(self, x, y):
        return y * np.asarray(x)

    def loss(self, truth, other):
        return float(truth != other)

    def argmax(self, x, w):
        return 1.0 if x @ w >= 0 else -1.0

    def loss_augmented_argmax(self, x, y, w):
        return max((-1.0, 1.0), key=lambda other: self.loss(y, other) + other * float(x @ w))


EXACT = dict(tol=1e-7)
CASES = {
    "LinearClassifier": (partial(gapfit.LinearClassifier, solver="bundle", alpha=1e-2, **EXACT), (X, LABELS)),
    "LinearRegressor": (partial(gapfit.LinearRegressor, solver="bundle", alpha=1e-2, **EXACT), (X, T)),
    "NoveltyDetector": (partial(gapfit.NoveltyDetector, solver="bundle", tol=1e-5), (X,)),
    "Ranker": (partial(gapfit.Ranker, solver="bundle", tol=1e-5), (X, np.abs(T).astype(int), QUERIES)),
    "OrdinalClassifier": (partial(gapfit.OrdinalClassifier, solver="bundle", tol=1e-5), (X, LABELS)),
    "KernelSVC": (partial(gapfit.KernelSVC, gamma=0.1, **EXACT), (X, LABELS)),
    "KernelSVR": (partial(gapfit.KernelSVR, gamma=0.1, **EXACT), (X, T)),
    "KernelNoveltyDetector": (partial(gapfit.KernelNoveltyDetector, gamma=0.1, **EXACT), (X,)),
    "MetricClassifier": (partial(gapfit.MetricClassifier, alpha=[1e-2, 1e-3], cv=3), (X, SIGNS)),
    "LinearClassifierCV": (
        partial(gapfit.LinearClassifierCV, solver="bundle", alphas=[1e-1, 1.0], cv=2, tol=1e-3),
        (X, LABELS),
    ),
    "LinearRegressorCV": (
        partial(gapfit.LinearRegressorCV, solver="bundle", alphas=6, cv=3, tol=1e-3),
        (X, T),
    ),
    "OrdinalClassifierCV": (
        partial(gapfit.OrdinalClassifierCV, solver="bundle", alphas=[1e-2, 1e-1], cv=2, tol=1e-4),
        (X, LABELS),
    ),
    "RankerCV": (
        partial(gapfit.RankerCV, solver="bundle", alphas=[1e-2, 1e-1], cv=3, tol=1e-4),
        (X, np.abs(T).astype(int), QUERIES),
    ),
    "KernelSVCCV": (partial(gapfit.KernelSVCCV, Cs=[0.1, 1.0], gammas=[0.1], cv=2, tol=1e-7), (X, LABELS)),
    "SequenceLabeler": (partial(gapfit.SequenceLabeler, alpha=1e-2, tol=1e-5), (SENTENCES, TAGS)),
    "StructuredClassifier": (
        partial(gapfit.StructuredClassifier, Signs(), alpha=1e-2, tol=1e-5),
        (list(X), list(SIGNS)),
    ),
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fitted(model):
    """All that a fit has left behind, but for times."""
    parts = getattr(model, "history_", [])  # made now, if nobody has asked before
    found = {name: value for name, value in vars(model).items() if name.endswith("_")}
    found.pop("history_", None)
    records = [r for part in parts for r in (part if isinstance(part, list) else [part])]
    return {**found, "steps": [(r.n_iter, *r[2:]) for r in records]}


def assert_same(one, two):
    one, two = fitted(one), fitted(two)
    assert one.keys() == two.keys()
    for name, value in one.items():
        np.testing.assert_equal(two[name], value, err_msg=name)


@pytest.fixture
def interrupt(monkeypatch):
    """Interrupt the fits of all problems together at their k-th look."""
    monkeypatch.setattr(store, "INTERVAL", 0.0)
    monkeypatch.setattr(store, "SHARE", np.inf)
    best = sys.modules["gapfit.driver.best"].Best
    take, left = best.take, [0]

    def counted(self, iterate):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return take(self, iterate)

    monkeypatch.setattr(best, "take", counted)

    def at(k):
        left[0] = k

    return at


def test_every_estimator_is_tried():
    assert set(CASES) == set(known_classes())
    for kind in known_classes().values():
        assert inspect.signature(kind).parameters["checkpoint"].default is None


@pytest.mark.parametrize("name", CASES)
def test_an_estimator_goes_on_with_the_same_bytes(name, tmp_path, interrupt):
    make, data = CASES[name]
    file = tmp_path / "fit"
    # small kernel machines that nobody keeps are proved together, by sums in another order
    kept = {"checkpoint": tmp_path / "other"} if name.startswith("Kernel") else {}
    whole = make(**kept).fit(*data)
    interrupted = 0
    for k in (1, 4, 15):
        interrupt(k)
        try:
            first = make(checkpoint=file).fit(*data)
            interrupted += first.status_ is Status.INTERRUPTED
        except KeyboardInterrupt:
            interrupted += 1
        interrupt(0)
        assert_same(whole, make(checkpoint=str(file)).fit(*data))
        assert list(tmp_path.iterdir()) == []
    assert interrupted


def test_parts_that_have_ended_are_not_fitted_again(tmp_path, interrupt, monkeypatch):
    make, data = CASES["LinearClassifier"]
    file, solved = tmp_path / "fit", []
    whole = make().fit(*data)
    looks = [len(part) - 1 for part in whole.history_]  # the first line is before any look
    interrupt(sum(looks[:2]) + 3)  # in the third of four parts
    make(checkpoint=file).fit(*data)
    interrupt(0)
    fit = sys.modules["gapfit.driver.loop"].Loop
    begun = fit.run
    monkeypatch.setattr(fit, "run", lambda self, *limits: solved.append(1) or begun(self, *limits))
    assert_same(whole, make(checkpoint=file).fit(*data))
    assert len(solved) == 2


def test_folds_that_are_done_are_not_fitted_again(tmp_path, interrupt, monkeypatch):
    """A choice goes on where it was: with the scores of folds that are done, and what a fold had reached."""
    make, data = CASES["LinearRegressorCV"]
    file, scored = tmp_path / "fit", []
    whole = make().fit(*data)
    score = gapfit.LinearRegressorCV.score
    monkeypatch.setattr(
        gapfit.LinearRegressorCV, "score", lambda self, *given: scored.append(1) or score(self, *given)
    )
    first = make().fit(*data)
    assert len(scored) == 18  # six alphas, three folds
    looks = []
    take = sys.modules["gapfit.driver.best"].Best.take
    monkeypatch.setattr(
        sys.modules["gapfit.driver.best"].Best, "take", lambda *given: looks.append(1) or take(*given)
    )
    make().fit(*data)
    all_looks = len(looks)
    scored.clear()
    interrupt(all_looks // 2)  # in the second fold of three
    model = make(checkpoint=file)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data)
    assert not hasattr(model, "alpha_") and len(scored) == 6 and file.exists()
    interrupt(0)
    scored.clear()
    looks.clear()
    model.fit(*data)
    assert len(scored) == 12 and len(looks) < 0.7 * all_looks and not file.exists()
    assert_same(whole, model)
    assert_same(first, model)
    assert "_kept_in" not in vars(model)


def test_an_interrupt_while_probabilities_are_fitted_leaves_no_file_of_another_fit(tmp_path, interrupt):
    file, alone = tmp_path / "fit", partial(gapfit.LinearClassifier, solver="bundle", tol=1e-5)
    looks = alone().fit(X, SIGNS).n_iter_
    interrupt(looks + 5)
    model = alone(checkpoint=file, calibrate="sigmoid")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, SIGNS)
    assert not hasattr(model, "coef_") and not file.exists()
    kernel = gapfit.KernelSVC(checkpoint=file, calibrate="sigmoid").fit(X, SIGNS)
    assert kernel.checkpoint == file and not file.exists()


def test_limits_may_change_and_nothing_else(tmp_path):
    file = tmp_path / "fit"
    make = partial(gapfit.LinearClassifier, solver="bundle", tol=1e-7, checkpoint=file)
    whole = gapfit.LinearClassifier(solver="bundle", tol=1e-7).fit(X, SIGNS)
    with pytest.warns(ConvergenceWarning):
        make(max_iter=3).fit(X, SIGNS)
    for changed in (
        dict(alpha=1e-3),
        dict(loss="logistic"),
        dict(solver="dual_cd"),
        dict(fit_intercept=False),
    ):
        (name,) = changed
        with pytest.raises(CheckpointError, match=f"another fit: {name} was"):
            make(**changed).fit(X, SIGNS)
    with pytest.raises(CheckpointError, match="another fit: data differs"):
        make().fit(X, -SIGNS)
    with pytest.raises(CheckpointError, match="another fit: estimator was 'LinearClassifier'"):
        gapfit.LinearRegressor(solver="bundle", checkpoint=file).fit(X, SIGNS)
    assert_same(whole, make(max_iter=5000, max_time=100.0, n_jobs=1, verbose=0).fit(X, SIGNS))


@pytest.mark.parametrize("path", [3, True, b"bytes", ["list"]])
def test_a_checkpoint_is_a_path(path):
    with pytest.raises(TypeError, match="checkpoint must be None or the path"):
        gapfit.LinearClassifier(checkpoint=path).fit(X, SIGNS)


def test_a_model_file_names_no_checkpoint(tmp_path):
    model = gapfit.LinearClassifier(checkpoint=tmp_path / "fit").fit(X, SIGNS)
    save(model, tmp_path / "model")
    assert b"checkpoint" not in (tmp_path / "model").read_bytes()
    assert load(tmp_path / "model").checkpoint is None


def test_train_goes_on_from_its_checkpoint(tmp_path, capsys):
    data = tmp_path / "data.csv"
    rows = [",".join(map(repr, [*row.tolist(), int(sign)])) for row, sign in zip(X, SIGNS, strict=True)]
    data.write_text("\n".join([",".join([*"abcdef", "y"]), *rows]))
    options = ["--target", "y", "--solver", "bundle", "--tol", "1e-7", "-q"]
    assert run(["train", str(data), str(tmp_path / "whole"), *options]) == 0
    options += ["--checkpoint", str(tmp_path / "fit")]
    assert run(["train", str(data), str(tmp_path / "part"), *options, "--max-iter", "4"]) == 2
    assert (tmp_path / "fit").exists()
    assert run(["train", str(data), str(tmp_path / "part"), *options, "--alpha", "1e-3"]) == 1
    assert "alpha was 0.0001 and is 0.001" in capsys.readouterr().err
    assert run(["train", str(data), str(tmp_path / "part"), *options]) == 0
    assert not (tmp_path / "fit").exists()
    assert_same(load(tmp_path / "whole"), load(tmp_path / "part"))
    assert run(["train", str(data), "-v", "3", *options]) == 1
    assert "-v makes several" in capsys.readouterr().err
