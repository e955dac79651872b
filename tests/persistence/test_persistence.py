"""Model files: what comes back is what was stored, and the files of older versions load.

Hostile files are in tests/persistence/test_persistence_hostile.py.
"""

import hashlib
import json
import os
import pickle
import stat
import struct
import subprocess
import sys
import threading
from copy import copy
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gapfit
import tables
from corpus.write import data, facts, probe
from gapfit import (
    LinearClassifier,
    LinearRegressor,
    ModelFileError,
    ModelVersionWarning,
    NoveltyDetector,
    load,
    save,
)
from gapfit.declaration import attributes
from gapfit.losses import Hinge, Loss
from gapfit.penalties import Penalty
from gapfit.persistence import container
from gapfit.persistence.schema import known_classes
from gapfit.registry import LOSSES, PENALTIES
from gapfit.solvers.bundle import bundle
from model_bytes import MODELS
from problems import make_penalty

CORPUS = Path(__file__).parent / "corpus"
NOT_STORED = {
    "_kept",
    "_dual",
    "_queries",
    "_warm",
}  # the names of private attributes that a file does not hold, as its page says
X, T = data()


def same(a, b):
    """Equal to the last bit."""
    if isinstance(a, np.ndarray):
        if not isinstance(b, np.ndarray) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        return a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return isinstance(b, float) and struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Loss | Penalty):
        return type(a) is type(b) and same(list(vars(a).items()), list(vars(b).items()))
    return a == b


def assert_same(model, other):
    assert type(model) is type(other)
    assert vars(model).keys() - NOT_STORED == vars(other).keys() - NOT_STORED
    for name in vars(other).keys() - NOT_STORED:
        assert same(getattr(model, name), getattr(other, name)), name


def assert_works_the_same(model, other, X):
    """Every method gives the same bits; returns the names of those that there are."""
    methods = ["predict", "decision_function", "predict_proba", "score_samples"]
    methods += ["score_bounds", "certified"] if model._balls[0] else []
    for method in methods:
        if hasattr(model, method):
            assert same(getattr(model, method)(X), getattr(other, method)(X)), method


def through_a_file(model, folder):
    save(model, folder / "model.gapfit")
    return load(folder / "model.gapfit")


# -- what comes back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_models_come_back(name, tmp_path):
    model = MODELS[name]
    loaded = through_a_file(model, tmp_path)
    assert_same(model, loaded)
    if name == "unfitted":
        with pytest.raises(NotFittedError):
            loaded.predict(X)
    else:
        assert_works_the_same(model, loaded, probe(model))
    save(loaded, tmp_path / "again.gapfit")
    assert (tmp_path / "again.gapfit").read_bytes() == (tmp_path / "model.gapfit").read_bytes()


@pytest.mark.parametrize("name", tables.PENALTIES)
@pytest.mark.parametrize("positive", [False, True])
def test_every_penalty_comes_back_with_its_bounds(name, positive, tmp_path):
    penalty = make_penalty(name, tables.PENALTIES[name](3))
    separable = isinstance(penalty, PENALTIES["elastic_net"] | PENALTIES["entropy"])
    model = LinearRegressor(penalty=penalty, alpha=0.1, positive=positive and separable).fit(X, T)
    loaded = through_a_file(model, tmp_path)
    assert_same(model, loaded)
    assert_works_the_same(model, loaded, probe(model))


@pytest.mark.parametrize("name", sorted(set(tables.LOSSES) - {"novelty"}))
def test_every_loss_comes_back(name, tmp_path):
    labels = tables.TARGETS[name] == "labels"
    make, y = (LinearClassifier, np.sign(T)) if labels else (LinearRegressor, np.abs(T))
    model = make(loss=LOSSES[name](**tables.LOSSES[name]), alpha=0.1).fit(X, y)
    loaded = through_a_file(model, tmp_path)
    assert_same(model, loaded)
    assert_works_the_same(model, loaded, probe(model))


LABELS = {
    **{dtype: np.arange(3).astype(dtype) for dtype in ("i1", "u1", "i2", "u4", "i8", "u8", "f2", "f4", "f8")},
    "bool": np.array([False, True]),
    "unicode": np.array(["", "b", "a longer text\0 and \ud800 more"]),
    "object": np.array(["", "b\0", "ü\ud800\udc00"], dtype=object),
    "wide": np.array(["a", "b", "c"], dtype="<U30"),
    "negative": np.array([-3, 5]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_dtype_come_back(kind, tmp_path):
    labels = LABELS[kind]
    y = labels[np.digitize(T, [-0.7, 0.7][: len(labels) - 1])]
    model = LinearClassifier(alpha=0.1).fit(X, y)
    loaded = through_a_file(model, tmp_path)
    assert_same(model, loaded)
    assert_works_the_same(model, loaded, X)


def test_big_endian_labels_come_back_in_the_order_of_the_machine(tmp_path):
    model = LinearClassifier(alpha=0.1).fit(X, (T > 0).astype(">i4"))
    assert (through_a_file(model, tmp_path).predict(X) == model.predict(X)).all()


@pytest.mark.parametrize("make", [LinearClassifier, LinearRegressor, NoveltyDetector])
@pytest.mark.parametrize("given", [X, X.astype(np.float32), pd.DataFrame(X, columns=["x", "y" * 5000, "ü"])])
def test_data_of_every_kind(make, given, tmp_path):
    model = make(alpha=0.1).fit(given, T > 0)
    loaded = through_a_file(model, tmp_path)
    assert_same(model, loaded)
    assert_works_the_same(model, loaded, given)


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_that_did_not_get_far(parts, tmp_path):
    model = LinearClassifier(max_iter=0, fit_intercept=False).fit(X, np.digitize(T, [-0.7, 0.7]) % parts)
    assert not model.converged_
    loaded = through_a_file(model, tmp_path)
    assert_same(model, loaded)
    assert_works_the_same(model, loaded, X)


def test_parameters_come_back_with_their_types(tmp_path):
    given = dict(alpha=np.float64(0.1), tol=np.float32(1e-3), max_iter=np.int64(50), max_time=float("inf"))
    weight = {"a": 1, 2: 0.5, 3.5: 2.0, True: 1}
    model = LinearClassifier(**given, positive=np.bool_(False), random_state=2**32 - 1, class_weight=weight)
    loaded = through_a_file(model, tmp_path)
    assert loaded.get_params() == model.get_params()
    found = {name: type(getattr(loaded, name)) for name in given}
    assert found == {"alpha": float, "tol": float, "max_iter": int, "max_time": float}
    assert list(map(type, loaded.class_weight)) == [str, int, float, bool]


def test_a_loaded_model_can_be_fitted(tmp_path):
    model = LinearClassifier(alpha=0.1, warm_start=True).fit(X, T > 0)
    loaded = through_a_file(model, tmp_path)
    loaded.fit(X, T > 0)
    assert loaded.converged_ and loaded.dual_gap_ <= 1e-4 * loaded.objective_
    loaded.coef_ += 1.0  # the arrays are the model's own
    loaded.support_status_[:] = "zero"


def test_parameters_changed_after_the_fit_do_not_change_it(tmp_path):
    model = LinearRegressor(loss="poisson", penalty=PENALTIES["quadratic_form"](np.eye(3))).fit(X, np.exp(T))
    loaded = through_a_file(copy(model).set_params(loss="squared", penalty="l1"), tmp_path)
    assert loaded.loss == "squared"
    assert_works_the_same(model, loaded, X)


def test_every_attribute_of_a_fit_has_its_place():
    """Declare it in its class, and as optional if it is new, so that older files still load."""
    for model in MODELS.values():
        kinds = attributes(type(model))
        assert known_classes()[type(model).__name__] is type(model)
        assert vars(model).keys() - model.get_params().keys() - kinds.keys() <= NOT_STORED
    public = {name for name in dir(gapfit) if isinstance(getattr(gapfit, name), type)}
    # files hold the estimator within, or a pipeline
    around = {"AlphaSearchCV", "ConformalClassifier", "ConformalRegressor", "TableEncoder"}
    assert {
        name for name in public if hasattr(getattr(gapfit, name), "fit")
    } - around == known_classes().keys()


def test_pickle_works_too():
    model = MODELS["multiclass"]
    assert_works_the_same(model, pickle.loads(pickle.dumps(model)), X)


# -- what cannot be stored ----------------------------------------------------------------------------


class OwnLoss(Hinge):
    pass


class OwnPenalty(PENALTIES["l2"]):
    pass


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("loss", OwnLoss()),
        ("penalty", OwnPenalty()),
        ("solver", bundle),
        ("solver", partial(bundle, proximity=1.0)),
        ("random_state", np.random.RandomState(0)),
        ("class_weight", {0: np.ones(2), 1: 1}),
        ("class_weight", {(0, 1): 1}),
        ("alpha", np.ones(1)),
        ("alpha", float("nan")),
        ("max_iter", 2**64),
    ],
)
def test_code_is_refused_by_the_name_of_its_parameter(parameter, value, tmp_path):
    message = rf"parameter {parameter}=.*data and no code.*set_params\({parameter}=...\)"
    with pytest.raises(TypeError, match=message):
        save(LinearClassifier(**{parameter: value}), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_the_way_out_for_a_loss_of_ones_own(tmp_path):
    model = LinearClassifier(loss=OwnLoss(), alpha=0.1).fit(X, T > 0)
    loaded = through_a_file(copy(model).set_params(loss="hinge"), tmp_path)
    assert_works_the_same(model, loaded, X)


def test_bounds_that_rest_on_a_penalty_of_ones_own(tmp_path):
    model = LinearClassifier(penalty=OwnPenalty(), alpha=0.1).fit(X, T > 0).set_params(penalty="l2")
    with pytest.raises(TypeError, match=r"_balls cannot .* score_bounds rests on OwnPenalty\(\).*joblib"):
        save(model, tmp_path / "model")


def with_attribute(name, value):
    model = copy(MODELS["binary"])
    setattr(model, name, value)
    return model


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (LogisticRegression(), TypeError, "not LogisticRegression; use joblib"),
        (make_pipeline(StandardScaler(), LinearClassifier()), TypeError, "not StandardScaler; use joblib"),
        (None, TypeError, "not NoneType"),
        (with_attribute("note", "mine"), TypeError, "note is not an attribute of LinearClassifier"),
        (with_attribute("coef_", np.full((1, 3), np.nan)), ModelFileError, "stored: array 0 holds NaN"),
        (with_attribute("intercept_", np.zeros(2)), ModelFileError, "intercept_ does not fit"),
        (LinearClassifier(loss="hing"), ModelFileError, "parameter loss: 'hing' is none of hinge,"),
        (LinearClassifier(solver="best"), ModelFileError, "parameter solver: 'best' is none of auto,"),
        (LinearClassifier(class_weight=dict.fromkeys(range(10**5), 1)), ValueError, "room for 1048576"),
        (LinearClassifier().fit(X, (T > 0).astype("M8[D]")), TypeError, "datetime64.*encode them"),
    ],
)
def test_what_else_cannot_be_stored(model, error, message, tmp_path):
    (tmp_path / "model").write_text("what was there")
    with pytest.raises(error, match=message):
        save(model, tmp_path / "model")
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model").read_text() == "what was there"


# -- the file on the disk -----------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["os.replace", "os.fsync", "gapfit.persistence.container.write"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(where, error, tmp_path, monkeypatch):
    path = tmp_path / "model"
    save(MODELS["binary"], path)

    def fail(*args):
        raise error

    monkeypatch.setattr(where, fail)
    with pytest.raises(type(error)):
        save(MODELS["novelty"], path)
    assert os.listdir(tmp_path) == ["model"]
    assert_same(load(path), MODELS["binary"])


def test_the_paths_of_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        save(MODELS["binary"], tmp_path / "missing" / "model")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")
    with pytest.raises(OSError):
        save(MODELS["binary"], tmp_path)
    with pytest.raises(ModelFileError, match="not a regular file"):
        load(tmp_path)
    assert not list(tmp_path.iterdir()) and not list(tmp_path.parent.glob(".gapfit*"))


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX")
def test_the_mode_of_a_file(tmp_path):
    path, old = tmp_path / "model", os.umask(0o027)
    try:
        save(MODELS["binary"], path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640  # as any new file
        path.chmod(0o600)
        save(MODELS["binary"], path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600  # as it was
    finally:
        os.umask(old)


def test_many_may_save_to_one_path_at_once(tmp_path):
    path = str(tmp_path / "model")
    names = ["binary", "novelty", "box", "counts"]
    threads = [threading.Thread(target=save, args=(MODELS[name], path)) for name in names * 5]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert os.listdir(tmp_path) == ["model"]
    assert type(load(path)) in (type(MODELS[name]) for name in names)


AUDIT = """
import sys, gapfit
model, path = gapfit.load(sys.argv[1]), sys.argv[2]
gapfit.save(model, path)  # whatever is imported late, is now
seen = []
sys.addaudithook(lambda event, args: seen.append((event, str(args[0]) if args else "")))
gapfit.save(model, path)
gapfit.load(path)
seen, events = None, seen
print(*(f"{event} {what}" for event, what in events), sep="\\n")
"""


def test_saving_and_loading_run_nothing_and_touch_one_folder(tmp_path):
    """By the audit events of Python: no code is compiled, imported or unpickled, no other file is opened."""
    arguments = [sys.executable, "-c", AUDIT, CORPUS / "0.1.0" / "metric.gapfit", tmp_path / "model"]
    run = subprocess.run(arguments, capture_output=True, text=True, check=True)
    events = [line.split(" ", 1) for line in run.stdout.splitlines()]
    assert {"open", "os.rename"} <= {event for event, _ in events}
    for event, what in events:
        assert event.split(".")[0] not in {"import", "exec", "compile", "pickle", "marshal", "ctypes", "code"}
        assert event.split(".")[0] not in {"socket", "subprocess", "shutil", "urllib", "http", "tempfile"}
        if event == "open" or event.startswith("os."):
            assert event in {"open", "os.rename", "os.chmod"}
            assert tmp_path in (Path(what), Path(what).parent)  # the folder itself is flushed to the disk


# -- versions -----------------------------------------------------------------------------------------


def written_by(version, path):
    """A file that this version of gapfit wrote."""
    header, arrays = container.read(CORPUS / "0.1.0" / "binary.gapfit")
    del header["gapfit"]
    with open(path, "wb") as file:
        container.write(file, {"gapfit": version, **header}, arrays)
    return path


@pytest.mark.parametrize("version", ["0.0.1", "0.1.0", "0.1.99", "0.1.0.dev3+local", gapfit.__version__])
def test_files_of_older_versions_load_silently(version, tmp_path):
    load(written_by(version, tmp_path / "model"))  # warnings are errors here


@pytest.mark.parametrize("version", ["0.999.0", "1000.0", "0.999.0rc1"])
def test_files_of_newer_versions_load_with_a_warning(version, tmp_path):
    with pytest.warns(
        ModelVersionWarning, match=f"LinearClassifier was stored by gapfit {version}"
    ) as caught:
        model = load(written_by(version, tmp_path / "model"))
    assert caught[0].filename == __file__
    assert same(model.coef_, load(CORPUS / "0.1.0" / "binary.gapfit").coef_)


OLD = sorted(CORPUS.glob("*/*.gapfit"))


def test_there_is_a_corpus():
    assert {path.stem for path in OLD if path.parent.name == "0.1.0"} == MODELS.keys()


@pytest.mark.parametrize("path", OLD, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_file_that_was_ever_written_loads(path):
    known = json.loads((path.parent / "facts.json").read_text())[path.stem]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == known["sha256"], (
        "a file of the corpus never changes"
    )
    found = facts(load(path), path)
    for name in ("predictions", "score_bounds", "dual_gap_"):
        expected, got = known.pop(name, None), found.pop(name, None)
        if name == "predictions" and expected and not isinstance(expected[0], float):
            assert got == expected
        elif expected is not None:
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)  # machines round differently
    parameters = found.pop("parameters")
    asked = known.pop("parameters")
    # penalties were shown on several lines once
    assert {name: parameters[name] for name in asked} == {k: " ".join(v.split()) for k, v in asked.items()}
    assert found == known
