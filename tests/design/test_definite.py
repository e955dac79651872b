"""Kernel matrices that are none: not symmetric, or not positive semidefinite beyond rounding."""

import numpy as np
import pytest

from gapfit import KernelNoveltyDetector, KernelSVC, KernelSVR, Problem, Status, solve
from gapfit.design.definite import WHOLE, negative_direction, symmetric
from gapfit.design.kept_matrix import MatrixTiles
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Sigmoid
from gapfit.rounding import EPS

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def gaussian(X, Z, gamma=0.5):
    return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(-1))


def samples(seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0), rng


def indefinite_matrices(seed):
    X, _, rng = samples(seed)
    n, K = len(X), gaussian(X, X)
    v = rng.normal(size=n)
    yield -np.eye(n)
    yield K - 0.2 * np.eye(n)
    twice = np.tile(X[: n // 2], (2, 1))
    yield gaussian(twice, twice) - 1e-6 * np.eye(n)
    yield np.tanh(X @ X.T - 1.0)
    yield X @ X.T - np.outer(v, v)
    yield 1e-9 * (K - np.ones((n, n)))  # a diagonal of zeros
    yield 1e12 * (K - 0.5 * np.outer(v, v))


def semidefinite_matrices(seed):
    X, _, rng = samples(seed)
    n = len(X)
    X[n // 2 :] = X[: n // 2]  # eigenvalues of zero, up to rounding
    K = gaussian(X, X)
    yield K
    yield K.astype(np.float32)
    yield X @ X.T
    yield 1e-9 * K
    yield 1e9 * (X @ X.T + 1.0) ** 3
    yield K + np.triu(1e-13 * rng.normal(size=(n, n)), 1)  # symmetric up to rounding
    yield np.zeros((n, n))
    yield np.ones((n, n))


@pytest.mark.parametrize("seed", range(3))
def test_an_indefinite_matrix_is_never_certified(seed):
    _, y, _ = samples(seed)
    for K in indefinite_matrices(seed):
        for model in (KernelSVC(kernel="precomputed"), KernelSVR(kernel="precomputed")):
            model.fit(K, y)
            assert model.status_ is not Status.CERTIFIED and not model.converged_
            assert model.dual_gap_ == np.inf and set(model.support_status_) == {"undecided"}
        with pytest.raises(ValueError, match=r"must be positive semidefinite.*add a multiple"):
            solve(Problem(KernelDesign(K), y, "logistic", alpha=0.1))


@pytest.mark.parametrize("seed", range(3))
def test_a_matrix_that_is_semidefinite_up_to_rounding_is_certified(seed):
    _, y, _ = samples(seed)
    for K in semidefinite_matrices(seed):
        assert KernelSVC(kernel="precomputed", C=0.1).fit(K, y).converged_
        alpha = max(float(np.abs(K).max()), 1e-12)
        assert solve(Problem(KernelDesign(K), y, "hinge", alpha=alpha)).status is Status.CERTIFIED


def test_functions_of_ones_own_are_looked_at_too():
    X, y, _ = samples(0)
    assert KernelSVC(kernel=gaussian).fit(X, y).converged_
    assert KernelSVC(kernel=lambda A, B: np.tanh(A @ B.T - 1.0), C=1e-3).fit(X, y).status_ is Status.LOCAL
    with pytest.raises(ValueError, match=r"symmetric: K\[\d+, \d+\] is .*take \(K \+ K.T\) / 2"):
        KernelSVC(kernel=lambda A, B: A @ B.T + A[:, :1]).fit(X, y)
    with pytest.raises(ValueError, match="positive semidefinite"):
        solve(Problem(KernelDesign(X, Sigmoid(1.0, -1.0)), y))


def test_an_asymmetric_matrix_is_refused_by_name():
    X, y, rng = samples(1)
    for size in (1e-6, 0.1):
        K = gaussian(X, X)
        i, j = sorted(rng.permutation(len(K))[:2])
        K[i, j] += size
        for model in (KernelSVC, KernelSVR, KernelNoveltyDetector):
            with pytest.raises(ValueError, match=rf"K\[{i}, {j}\]"):
                model(kernel="precomputed").fit(K, y)
        with pytest.raises(ValueError, match=rf"K\[{i}, {j}\]"):
            KernelDesign(K)
    with pytest.raises(ValueError, match="finite numbers"):
        KernelDesign(np.full((3, 3), np.nan))


def test_symmetric_keeps_what_is_and_averages_what_rounding_left():
    rng = np.random.default_rng(0)
    for n in (1, 5, 300, 700):
        K = rng.normal(size=(n, n))
        K = K + K.T
        assert symmetric(K) is K
        off = K + 1e-12 * rng.normal(size=(n, n))
        found = symmetric(off)
        np.testing.assert_array_equal(found, found.T)
        np.testing.assert_allclose(found, K, atol=1e-11)


def test_of_many_samples_a_part_is_looked_at():
    rng = np.random.default_rng(0)
    n = WHOLE + 200
    X = rng.normal(size=(n, 2))
    K = X @ X.T + 1.0
    assert negative_direction(MatrixTiles(K), EPS) is None
    K[np.diag_indices(n)] -= 1e-3
    assert "samples that was looked at" in negative_direction(MatrixTiles(K), EPS)
    K[7, 7] = -1.0
    assert "[7, 7]" in negative_direction(MatrixTiles(K), EPS)


def test_a_negative_square_that_a_fit_comes_across_is_refused():
    """Where only a part was looked at, the functions in use are looked at as well."""
    X, y, rng = samples(2)
    v = rng.normal(size=len(X))
    design = KernelDesign(X @ X.T - 5 * np.outer(v, v))
    design.indefinite = None  # as if nothing had been seen
    with pytest.raises(ValueError, match="a function has the square -"):
        solve(Problem(design, y, "hinge", alpha=1e-3))
