"""Kernels that are functions, of sparse rows and of samples that are no rows."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import SVC, SVR

from gapfit import KernelNoveltyDetector, KernelSVC, KernelSVR

RNG = np.random.default_rng(5)
WORDS = ["".join(RNG.choice(list("abc"), size=RNG.integers(1, 6))) for _ in range(40)]
LABELS = np.array([word.count("a") >= word.count("b") for word in WORDS])
LENGTHS = np.array([len(word) for word in WORDS], dtype=float)
ROWS = sparse.random(50, 12, density=0.3, random_state=3, format="csr")
SIDES = np.asarray(ROWS.sum(axis=1)).ravel() > 1.7


def alike(first, second):
    """How often letters occur in both."""
    count = [
        np.array([[word.count(one) for one in "abc"] for word in words], float) for words in (first, second)
    ]
    return count[0] @ count[1].T


def inner(first, second):
    return first @ second.T  # a sparse matrix


def test_a_function_takes_sparse_rows():
    model = KernelSVC(kernel=inner, C=3.0, tol=1e-9).fit(ROWS, SIDES)
    theirs = SVC(kernel="linear", C=3.0, tol=1e-9).fit(ROWS, SIDES)
    assert_allclose(model.decision_function(ROWS), theirs.decision_function(ROWS), atol=1e-5)
    lo, hi = model.score_bounds(ROWS)
    assert sparse.issparse(model.support_vectors_) and (lo <= hi).all() and model.converged_
    with pytest.raises(TypeError, match="sparse X"):
        KernelSVC(kernel="precomputed").fit(ROWS @ ROWS.T, SIDES)


@pytest.mark.parametrize("collect", [list, tuple, np.array, lambda words: np.array(words, dtype=object)])
def test_samples_may_be_objects(collect):
    words = collect(WORDS)
    model = KernelSVC(kernel=alike, tol=1e-9).fit(words, LABELS)
    K = alike(WORDS, WORDS)
    given = KernelSVC(kernel="precomputed", tol=1e-9).fit(K, LABELS)
    assert_allclose(model.decision_function(words), given.decision_function(K), atol=1e-6)
    assert_array_equal(model.predict(["aaab", "bb"]), [True, False])
    assert [WORDS[k] for k in model.support_] == model.support_vectors_.tolist()
    assert model.converged_ and model.support_status_.shape == (40,)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(words), model.decision_function(words))
    with pytest.raises(ValueError, match="score_bounds"):
        model.score_bounds(words)


def test_peers_agree_on_objects():
    ours = KernelSVR(kernel=alike, C=0.1, tol=1e-9).fit(WORDS, LENGTHS)
    theirs = SVR(kernel=alike, C=0.1, tol=1e-9).fit(WORDS, LENGTHS)
    assert_allclose(ours.predict(WORDS), theirs.predict(WORDS), atol=1e-4)
    several = np.minimum(LENGTHS, 3)
    ours = KernelSVC(kernel=alike, tol=1e-9).fit(WORDS, several)
    theirs = SVC(kernel=alike, tol=1e-9, decision_function_shape="ovo").fit(WORDS, several)
    assert_allclose(
        clone(ours).set_params(decision_function_shape="ovo").fit(WORDS, several).decision_function(WORDS),
        theirs.decision_function(WORDS), atol=1e-4,
    )  # fmt: skip
    assert KernelNoveltyDetector(kernel=alike, nu=0.2).fit(WORDS).predict(WORDS).shape == (40,)


def test_objects_of_different_sizes_and_weights():
    sequences = [[1.0] * k for k in range(1, 9)]

    def kernel(first, second):
        return np.array([[min(len(a), len(b)) for b in second] for a in first], float)

    weight = [1, 1, 1, 1, 1, 1, 1, 0]
    model = KernelSVC(kernel=kernel).fit(sequences, [0, 0, 0, 0, 1, 1, 1, 0], sample_weight=weight)
    assert model.predict(sequences)[:7].tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_a_kernel_of_the_wrong_shape_is_named():
    with pytest.raises(ValueError, match="kernel returned an array of shape"):
        KernelSVC(kernel=lambda a, b: np.eye(len(a), len(b) + 1)).fit(WORDS, LABELS)
