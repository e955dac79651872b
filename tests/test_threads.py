"""Several threads: the same bytes from any number of them, and no surprises when something goes wrong."""

import os
import threading
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from gapfit import LinearClassifier, Problem, solve, threads
from gapfit.design.memory import MemoryDesign
from gapfit.design.rows import take_rows

rng = np.random.default_rng(0)
n, d = 6000, 60
X = rng.normal(size=(n, d))
LARGE = {
    "dense": X,
    "sparse": sparse.csr_array(np.where(rng.random((n, d)) < 0.7, X, 0.0)),
    "float32": X.astype(np.float32),
}
y = np.where(X[:, 0] + rng.normal(size=n) > 0.5, 1.0, -1.0)


def test_work_is_cut_by_its_size_alone():
    assert threads.parts(10, 10) == [slice(0, 10)]
    many = threads.parts(1000, 1e9)
    assert len(many) == threads.MOST_PARTS
    assert many[0].start == 0 and many[-1].stop == 1000
    assert all(a.stop == b.start for a, b in pairwise(many))
    assert threads.parts(3, 1e9) == [slice(0, 1), slice(1, 2), slice(2, 3)]
    assert threads.parts(0, 0.0) == [slice(0, 0)]
    assert len(threads.parts(1000, 8 * threads.PAYS)) == threads.FEW_PARTS
    assert len(threads.parts(1000, 20 * threads.GRAIN)) == 20
    assert len(threads.parts(1000, 1e9, summed=1e9)) == 1  # to add up would cost more than it saves
    assert len(threads.parts(1000, 1e9, summed=1e7)) == threads.FEW_PARTS


@pytest.mark.parametrize("solver", ["semismooth_newton", "dual_cd", "bundle"])
def test_sixty_four_threads_have_the_bytes_of_one(solver, monkeypatch):
    """Parts as those of very large data, on as many threads as large machines have."""
    monkeypatch.setattr(threads, "PAYS", 50)
    monkeypatch.setattr(threads, "GRAIN", 200)
    assert len(threads.parts(n, n * d)) == threads.MOST_PARTS == 64
    problem = Problem(LARGE["dense"].copy(), y, "hinge", alpha=1e-3)
    assert len(problem.design._parts) == 64 and len(problem.design._adjoint_parts) > threads.FEW_PARTS
    fits = [solve(problem, solver, tol=1e-3, n_jobs=jobs) for jobs in (1, 2, 8, 12, 33, 64)]
    assert fits[0].converged
    for other in fits[1:]:
        assert fits[0].w.tobytes() == other.w.tobytes() and fits[0].certificate == other.certificate


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_results_come_in_the_order_of_the_items(size):
    with threads.using(size):
        assert threads.each(lambda k: k * k, range(10)) == [k * k for k in range(10)]
        assert threads.each(lambda k: k, []) == []
        summed = threads.total(lambda k: np.full(2, 0.1 * k), range(5))
        assert summed.tolist() == [sum(0.1 * k for k in range(5))] * 2


def test_an_error_in_a_part_reaches_the_caller_and_the_threads_end():
    before = threading.active_count()

    def fails(k):
        if k == 3:
            raise RuntimeError("part 3")
        return k

    with pytest.raises(RuntimeError, match="part 3"), threads.using(4):
        threads.each(fails, range(8))
    assert threading.active_count() == before


def test_a_block_for_as_many_threads_starts_none_anew():
    def where(_):
        return threading.get_ident()

    with threads.using(2):
        first = threads.each(where, range(2))
        with threads.using(2):
            assert threads.each(where, range(2)) == first
        with threads.using(1):
            assert set(threads.each(where, range(2))) == {threading.get_ident()}
        assert threads.each(where, range(2)) == first


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
def test_rows_of_a_large_matrix_are_those_that_slicing_gives(form, dtype):
    whole = form(LARGE["sparse"].astype(dtype))
    assert whole.nnz > threads.PAYS
    rows = rng.permutation(n)[: n // 2]
    taken, expected = take_rows(whole, rows), whole[rows]
    assert type(taken) is type(expected) and taken.shape == expected.shape and taken.has_canonical_format
    for name in ("data", "indices", "indptr"):
        ours, theirs = getattr(taken, name), getattr(expected, name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", LARGE)
def test_products_do_not_depend_on_the_number_of_threads(kind):
    design = MemoryDesign(LARGE[kind])
    w, u = rng.normal(size=d), rng.normal(size=n) * (rng.random(n) < 0.5)
    exact = LARGE[kind].astype(np.float64)
    exact = exact.toarray() if sparse.issparse(exact) else exact
    results = []
    for jobs in (1, 2, 5):
        with threads.using(jobs):
            results.append((design.scores(w), design.adjoint(u), np.tril(design.weighted_gram(u))))
    for other in results[1:]:
        assert all(np.array_equal(one, two) for one, two in zip(results[0], other, strict=True))
    expected = (exact @ w, exact.T @ u, np.tril(exact.T @ (exact * u[:, None])))
    for found, wanted in zip(results[0], expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())


@pytest.mark.parametrize("solver", ["semismooth_newton", "dual_cd", "bundle"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_fits_have_the_same_bytes(kind, solver):
    problem = Problem(LARGE[kind], y, "hinge", alpha=1e-3)
    fits = [solve(problem, solver, tol=1e-3, n_jobs=jobs) for jobs in (1, 2, 3)]
    assert fits[0].converged
    for other in fits[1:]:
        assert fits[0].w.tobytes() == other.w.tobytes()
        assert fits[0].certificate == other.certificate
        assert fits[0].n_iter == other.n_iter


def test_estimators_pass_n_jobs_on():
    models = [LinearClassifier(n_jobs=jobs).fit(X, y) for jobs in (None, 1, -1)]
    assert all(model.coef_.tobytes() == models[0].coef_.tobytes() for model in models)


@pytest.mark.parametrize("jobs", [0, 1.5, "two", True])
def test_a_number_of_threads_that_is_none(jobs):
    with pytest.raises(ValueError, match="n_jobs must be None or an integer"):
        solve(Problem(X, y), n_jobs=jobs)


def test_what_n_jobs_means(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert [threads.effective(jobs) for jobs in (None, 3, -1, -2, -100)] == [8, 3, 8, 7, 1]
    monkeypatch.setitem(os.environ, "OMP_NUM_THREADS", "2")  # users say so, and joblib in its workers
    assert threads.effective(None) == 2
    monkeypatch.setitem(os.environ, "OMP_NUM_THREADS", "nonsense")
    assert threads.effective(None) == 8
