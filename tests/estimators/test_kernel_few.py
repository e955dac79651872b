"""Machines of few samples, drawn: what is put together in one go is what is said sample by sample."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from gapfit import KernelNoveltyDetector, KernelSVC, KernelSVR
from gapfit.estimators.kernel_classification import _parts
from gapfit.estimators.kernel_names import _variance

SEEDS = range(8)


def machine(seed):
    """One of all kinds, with its data: weights may be zero, and samples equal."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(40, 90)), int(rng.integers(2, 5))
    X = rng.normal(size=(n, 3)).round(1)
    X[: n // 4] = X[n // 4 : 2 * (n // 4)]
    score = X[:, 0] + 0.3 * rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, k) / k))
    weight = np.where(rng.random(n) < 0.1, 0.0, 1.0)
    model, target = [
        (KernelSVC(), y),
        (KernelSVC(nu=0.2), y),
        (KernelSVR(), score),
        (KernelNoveltyDetector(nu=0.3), None),
    ][seed % 4]
    return model, X, target, weight


@pytest.mark.parametrize("seed", SEEDS)
def test_when_samples_came_to_rest_is_told_when_asked(seed):
    model, X, target, weight = machine(seed)
    model.fit(X, target, sample_weight=weight)
    assert "identified_at_" not in vars(model)
    stored, other = pickle.loads(pickle.dumps(model)), copy.copy(model)
    told = model.identified_at_
    for since in (stored.identified_at_, other.identified_at_):
        np.testing.assert_array_equal(since, told)
    pairs = np.atleast_2d(told)
    assert pairs.shape == (len(model.certificates_), len(X))
    assert (pairs[:, weight == 0] == -1).all() and (pairs[:, weight > 0] >= 0).any(axis=0).all()
    assert (pairs[:, model.support_] > 0).any()
    again = model.fit(X, target, sample_weight=weight).identified_at_
    np.testing.assert_array_equal(again, told)


@pytest.mark.parametrize("seed", SEEDS)
def test_histories_are_told_when_asked(seed):
    model, X, target, weight = machine(seed)
    model.fit(X, target, sample_weight=weight)
    assert "history_" not in vars(model)
    count = len(model.certificates_)
    histories = model.history_ if count > 1 else [model.history_]
    assert max(history[-1].n_iter for history in histories) == model.n_iter_
    for history, certificate in zip(histories, model.certificates_, strict=True):
        assert history[-1].proved and history[-1][2:5] == certificate[:3]
        times = [record.time for record in history]
        assert times == sorted(times)


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_are_the_pairs_of_classes(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 7))
    code = np.sort(np.concatenate([np.arange(k), rng.integers(0, k, int(rng.integers(0, 40)))]))
    weight, C = rng.random(len(code)) + 0.1, float(rng.uniform(0.1, 10))
    pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
    for (first, second), part in zip(pairs, _parts(code, weight, C), strict=True):
        rows = np.flatnonzero((code == first) | (code == second))
        np.testing.assert_array_equal(part.rows, rows)
        np.testing.assert_array_equal(part.target, np.where(code[rows] == first, 1.0, -1.0))
        assert part.alpha == pytest.approx(1 / (C * weight[rows].sum()), rel=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_have_the_variance_of_dense_ones(seed, dtype):
    """Also those that store an entry in several pieces; and nothing is done to them."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 30, 2)
    pieces = sparse.random_array((n, 2 * d), density=0.3, rng=rng, dtype=dtype).tocsr()
    X = sparse.csr_array((pieces.data, pieces.indices % d, pieces.indptr), shape=(n, d))
    before, weight = X.copy(), rng.random(n) + 0.1
    dense, share = X.toarray().astype(float), weight / weight.sum()
    wanted = share @ np.square(dense - share @ dense.mean(axis=1)).mean(axis=1)
    assert _variance(X, weight) == pytest.approx(
        wanted, rel=1e-5 if dtype == np.float32 else 1e-12, abs=1e-15
    )
    np.testing.assert_array_equal(X.data, before.data)
