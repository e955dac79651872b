"""Model files of kernel machines: what comes back, what cannot be stored, and hostile ones."""

import tempfile
from copy import copy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel

from gapfit import KernelNoveltyDetector, KernelSVC, KernelSVR, ModelFileError, load, save
from model_bytes import put_together, take_apart
from test_persistence import same

X, Y = load_iris(return_X_y=True)
TABLE = pd.DataFrame(X[:100], columns=["a", "b", "ü", "d"])
K = rbf_kernel(X[:100], gamma=0.3)
NOT_STORED = {"_warm", "_support"}  # the second follows from the support vectors

MODELS = {
    "two classes": (KernelSVC(C=5).fit(TABLE, Y[:100] > 0), TABLE),
    "three classes": (KernelSVC(kernel="poly", coef0=1.0, class_weight={0: 2.0, 1: 1, 2: 1}).fit(X, Y), X),
    "sparse": (KernelSVC().fit(sparse.csr_array(X), Y == 1), sparse.csr_array(X)),
    "sparse matrix": (KernelSVC().fit(sparse.csr_matrix(X), Y == 1), sparse.csr_matrix(X)),
    "single precision": (KernelSVR(epsilon=0.3).fit(X.astype(np.float32), X[:, 0]), X.astype(np.float32)),
    "linear": (KernelSVR(kernel="linear", epsilon=0.5).fit(X[:, :2], X[:, 2]), X[:, :2]),
    "no support vectors": (KernelSVR(epsilon=100.0).fit(X, X[:, 0]), X),
    "novelty": (KernelNoveltyDetector(nu=0.1, warm_start=True).fit(X), X),
    "precomputed": (KernelSVC(kernel="precomputed").fit(K, Y[:100]), K),
    "unfitted": (KernelSVC(gamma=0.5), None),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_come_back(name, tmp_path):
    model, samples = MODELS[name]
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is type(model) and again.get_params() == model.get_params()
    kept = vars(model).keys() - NOT_STORED
    assert kept == vars(again).keys() - NOT_STORED
    for attribute in kept:
        one, other = getattr(model, attribute), getattr(again, attribute)
        if sparse.issparse(one):
            assert type(one) is type(other) and one.shape == other.shape and (one != other).nnz == 0
        else:
            assert same(one, other), attribute
    save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    if samples is None:
        return
    methods = ["predict", "decision_function", "score_samples"]
    methods += ["score_bounds"] if name not in ("three classes", "precomputed") else []
    for method in methods:
        if hasattr(model, method):
            assert same(getattr(model, method)(samples), getattr(again, method)(samples)), method
    assert again.fit(samples, Y[: samples.shape[0]]).converged_


def test_a_kernel_of_ones_own_is_code(tmp_path):
    model = KernelSVC(kernel=rbf_kernel).fit(X[:100], Y[:100])
    with pytest.raises(TypeError, match=r"parameter kernel=<function.*predictions need the kernel.*joblib"):
        save(model, tmp_path / "model")
    with pytest.raises(TypeError, match="_fitted_kernel cannot be stored: not a kernel that comes with"):
        save(copy(model).set_params(kernel="rbf"), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_parameters_changed_after_the_fit_do_not_change_it(tmp_path):
    model = KernelSVC(gamma=0.2).fit(X, Y)
    save(copy(model).set_params(gamma=7.0, kernel="poly"), tmp_path / "model")
    assert same(load(tmp_path / "model").decision_function(X), model.decision_function(X))


def parts(name):
    with tempfile.TemporaryDirectory() as folder:
        save(MODELS[name][0], Path(folder) / "model")
        return take_apart((Path(folder) / "model").read_bytes())


def changed(name, path, value):
    """The file of a model with one value of its header replaced."""
    header, data = parts(name)
    place = header
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value(place[path[-1]]) if callable(value) else value
    return put_together(header, data)


def swapped(first, second):
    """The file of a model whose arrays of these two attributes have changed places."""
    header, data = parts("three classes")
    fitted = header["fitted"]
    fitted[first], fitted[second] = fitted[second], fitted[first]
    return put_together(header, data)


FITTED = ("fitted",)
HOSTILE = {
    "another class": (changed("two classes", ("class",), "KernelSVR"), "calibrate' is unknown"),
    "an unknown kernel": (changed("two classes", ("parameters", "kernel"), "os.system"), "none of linear"),
    "a kernel that is code": (
        changed("two classes", (*FITTED, "fitted_kernel", "kernel"), "eval"), "is none of linear, rbf"),
    "a kernel of a wrong type": (changed("two classes", (*FITTED, "fitted_kernel"), 3), "not an object with"),
    "a foreign text as kernel": (changed("two classes", (*FITTED, "fitted_kernel"), "rbf"), "precomputed"),
    "a negative gamma": (
        changed("two classes", (*FITTED, "fitted_kernel", "parameters", "gamma"), -1.0), "gamma must be"),
    "an unknown parameter": (
        changed("two classes", (*FITTED, "fitted_kernel", "parameters"), {"code": 1}), "fitted_kernel"),
    "another gamma": (changed("two classes", (*FITTED, "gamma_"), 2.0), "gamma_ does not fit"),
    "a matrix instead": (changed("two classes", (*FITTED, "fitted_kernel"), "precomputed"), "does not fit"),
    "no features": (changed("two classes", (*FITTED, "shape_fit_"), [100, 0]), "shape_fit_ does not fit"),
    "three counts": (changed("two classes", (*FITTED, "shape_fit_"), [100, 4, 1]), "not two counts"),
    "few samples": (changed("two classes", (*FITTED, "shape_fit_"), [2, 4]), "does not fit"),
    "a negative radius": (
        changed("two classes", (*FITTED, "balls"), lambda ball: [-1.0, *ball[1:]]), "not a ball"),
    "a turned interval": (
        changed("two classes", (*FITTED, "balls"), lambda b: [b[0], 1.0, -1.0, *b[3:]]), "not a ball"),
    "half a ball": (changed("two classes", (*FITTED, "balls"), [1.0]), "not a ball"),
    "a ball of texts": (changed("two classes", (*FITTED, "balls"), ["1"] * 5), "not a ball"),
    "a ball of pairs": (changed("three classes", (*FITTED, "balls"), [0.0] * 5), "balls does not fit"),
    "an endless ball": (changed("two classes", (*FITTED, "balls"), [0.0] * 100), "not a ball"),
    "wrong columns": (changed("sparse", (*FITTED, "support_vectors_", "columns"), 1), "outside"),
    "many columns": (changed("sparse", (*FITTED, "support_vectors_", "columns"), 2**40), "no count"),
    "more columns": (changed("sparse", (*FITTED, "support_vectors_", "columns"), 9), "support_vectors_ does"),
    "another format": (changed("sparse", (*FITTED, "support_vectors_", "csr"), "coo"), "'coo' is none of"),
    "swapped arrays": (swapped("support_", "n_support_"), "does not fit"),
    "swapped tables": (swapped("support_vectors_", "dual_coef_"), "does not fit"),
    "one alpha": (changed("two classes", (*FITTED, "alpha_"), "many"), "not a number"),
    "no vectors": (changed("two classes", FITTED, lambda f: {k: v for k, v in f.items() if k != "support_"}),
                   "support_ is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name, tmp_path):
    content, message = HOSTILE[name]
    (tmp_path / "hostile").write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "hostile")


def test_hostile_rows_of_a_sparse_matrix_are_refused(tmp_path):
    """Ends that fall, or point beyond the data, would be followed by compiled code."""
    header, data = parts("sparse")
    k = header["fitted"]["support_vectors_"]["indptr"]["array"]
    first = header["arrays"][k]["offset"]
    for place, value in ((1, 2**40), (1, -5), (0, 3)):
        bad = bytearray(data)
        bad[first + 8 * place : first + 8 * place + 8] = int(value).to_bytes(8, "little", signed=True)
        (tmp_path / "hostile").write_bytes(put_together(header, bad))
        with pytest.raises(ModelFileError, match="parts do not fit"):
            load(tmp_path / "hostile")
