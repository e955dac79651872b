"""Fingerprints: equal data are equal, and no change of a bit, anywhere, gets lost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from gapfit import LinearClassifier, Problem, path, solve, threads
from gapfit.design.chain import ChainDesign
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Gaussian
from gapfit.fingerprint import fingerprint
from gapfit.losses import ChainCRF, EpsilonInsensitive, PairwiseRanking, Squared

DTYPES = (np.float64, np.float32, np.int32, np.int64, np.uint8, np.bool_)


def flipped(array, place, bit):
    """The array with one bit of one byte changed."""
    data = array.copy()
    data.reshape(-1).view(np.uint8)[place % data.nbytes] ^= np.uint8(1 << bit)
    return data


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 300_000), st.integers(0, 2**40), st.integers(0, 7))
def test_one_bit_of_an_array(seed, size, place, bit):
    array = np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)
    assert fingerprint(array) == fingerprint(array.copy())
    assert fingerprint(array) != fingerprint(flipped(array, place, bit))
    assert fingerprint(array) != fingerprint(array[:-1]) != fingerprint(np.append(array, np.uint8(0)))


@pytest.mark.parametrize("seed", range(20))
def test_words_that_change_places(seed):
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2**63, 50_000)
    other = words.copy()
    i, j = rng.choice(len(words), 2, replace=False)
    other[[i, j]] = other[[j, i]]
    assert fingerprint(words) != fingerprint(other)
    blocks = rng.integers(0, 2**63, (3, 2**17))
    assert fingerprint(blocks) != fingerprint(blocks[[1, 0, 2]])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0, 1, 7, 20_000])
def test_kinds_and_shapes_are_told_apart(dtype, size):
    array = np.zeros(4 * size, dtype)
    others = [np.zeros(4 * size, other) for other in DTYPES if other is not dtype]
    others += [array.reshape(2, -1), array.reshape(-1, 2), np.zeros(4 * size + 1, dtype), array.tolist()]
    marks = {fingerprint(one) for one in others}
    assert len(marks) == len({(str(np.asarray(o).dtype), np.shape(o), type(o)) for o in others})
    assert fingerprint(array) not in marks


def test_order_in_memory_and_threads_play_no_part():
    X = np.random.default_rng(0).normal(size=(700, 300))
    marks = {fingerprint(X), fingerprint(np.asfortranarray(X)), fingerprint(np.repeat(X, 2, axis=1)[:, ::2])}
    for n_jobs in (1, 2, 5):
        with threads.using(n_jobs):
            marks.add(fingerprint(X))
    assert len(marks) == 1


def test_zeros_and_numbers_by_their_bytes():
    assert fingerprint(np.array([0.0])) != fingerprint(np.array([-0.0]))
    assert fingerprint(0.0) != fingerprint(-0.0)
    assert fingerprint(1) == fingerprint(1.0) == fingerprint(np.float32(1)) == fingerprint(True)
    assert fingerprint(2**53 + 1) != fingerprint(2.0**53)
    assert fingerprint(["a", "b"]) != fingerprint(["ab"]) != fingerprint(["a"], ["b"])
    assert fingerprint(float("nan")) == fingerprint(float("nan")) != fingerprint(float("inf"))


def test_functions_and_objects_by_what_they_hold():
    def kernel(scale):
        return lambda x, z: scale * (x @ z.T)

    class Blind:
        __slots__ = ("x",)

    assert fingerprint(kernel(2.0)) == fingerprint(kernel(2.0)) != fingerprint(kernel(3.0))
    assert fingerprint(EpsilonInsensitive(0.1)) == fingerprint(EpsilonInsensitive(0.1))
    assert fingerprint(EpsilonInsensitive(0.1)) != fingerprint(EpsilonInsensitive(0.2))
    round_trip = {}
    round_trip["self"] = round_trip
    assert fingerprint(round_trip) == fingerprint(round_trip)
    blind = Blind()
    assert fingerprint(blind) != fingerprint(blind)  # what cannot be looked into is never the same


N = 24


def _inputs(seed):
    rng = np.random.default_rng(seed)
    return {
        "X": rng.normal(size=(N, 5)) * (rng.random((N, 5)) < 0.6),
        "y": rng.normal(size=N),
        "sample_weight": rng.random(N) + 0.5,
        "offset": rng.normal(size=N),
        "groups": np.sort(rng.integers(0, 4, N)),
    }


def _problem(inputs, kind="dense", alpha=1e-2):
    X, others = inputs["X"], {key: inputs[key] for key in ("sample_weight", "offset", "groups")}
    design = {
        "dense": lambda: X,
        "single": lambda: X.astype(np.float32),
        "sparse": lambda: sparse.csr_array(X),
        "kernel": lambda: KernelDesign(X, Gaussian(0.3)),
        "callable": lambda: KernelDesign(X, lambda a, b: a @ b.T),
        "precomputed": lambda: KernelDesign(X @ X.T),
    }[kind]()
    return Problem(design, inputs["y"], PairwiseRanking(), "l2", alpha, intercept=False, **others)


KINDS = ("dense", "single", "sparse", "kernel", "callable", "precomputed")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_every_input_of_a_problem_counts(kind, seed):
    inputs, rng = _inputs(seed), np.random.default_rng(seed)
    mark = _problem(inputs, kind).fingerprint()
    assert _problem(_inputs(seed), kind, alpha=3.0).fingerprint() == mark
    for name in inputs:
        changed = inputs[name].copy()
        place = tuple(rng.choice(np.argwhere(changed)))
        changed[place] = np.nextafter(np.float32(changed[place]), np.float32(9)) if name != "groups" else 77
        if kind == "precomputed" and name == "X":
            changed[place] += 1.0
        assert _problem({**inputs, name: changed}, kind).fingerprint() != mark, name
    assert len({_problem(inputs, other).fingerprint() for other in KINDS}) == len(KINDS)
    X, y = inputs["X"], inputs["y"]
    marks = {Problem(X, y, loss).fingerprint() for loss in ("squared", "absolute", EpsilonInsensitive(0.2))}
    assert len(marks | {Problem(X, y, "squared", intercept=False).fingerprint()}) == 4


def test_chains_count():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), rng.integers(0, 2, 12)

    def mark(X=X, y=y, lengths=(5, 7), edges=None):
        design = ChainDesign(X, np.array(lengths), 2, edge_features=edges)
        return Problem(design, y, ChainCRF(2), groups=np.repeat([0, 1], lengths)).fingerprint()

    other = X.copy()
    other[3, 1] = np.nextafter(other[3, 1], 9)
    marks = {mark(), mark(X=other), mark(y=1 - y), mark(lengths=(6, 6))}
    assert len(marks) == 4 and mark() in marks


def test_data_changed_in_place_are_noticed():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.tile([-1.0, 1.0], 15)
    problem = Problem(X, y, "squared_hinge")
    before = problem.fingerprint()
    problem.scores(np.ones(3))
    assert problem.fingerprint() == before  # what was computed on the way plays no part
    X[4, 2] += 1e-12
    assert problem.fingerprint() != before


def test_data_are_read_once_a_solve_and_once_a_path(monkeypatch):
    read = []
    monkeypatch.setattr(
        "gapfit.objective.fingerprint", lambda *things: read.append(1) or fingerprint(*things)
    )
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.tile([-1.0, 1.0], 15)
    problem = Problem(X, y, "squared_hinge")
    first = solve(problem)
    assert len(read) == 1
    solve(problem, start=first)
    assert len(read) == 2
    path(problem, [1e-1, 1e-2, 1e-3])
    assert len(read) == 3
    solve(problem, resumable=False)
    assert len(read) == 3


def _pairs_that_once_looked_alike():
    rng = np.random.default_rng(0)
    x, n = rng.normal(size=60), 60
    y, other = np.sign(x), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    heavy = np.full(n, 1e17)
    yield "dual_cd", [Problem(x[:, None], v, "hinge", alpha=1e-2, sample_weight=heavy) for v in (other, y)]
    tiny = 1e-17 * rng.normal(size=n)
    yield "newton", [Problem(x[:, None], v, "squared", alpha=1e-2) for v in (tiny, 0 * tiny)]
    e = np.where(rng.random(n) < 0.5, np.e, 0.0)
    weights = np.where(e > 0, 1.0, 2.0), np.full(n, 2.0)
    pair = [
        Problem(x[:, None], v, Squared(), alpha=1e-2, sample_weight=w)
        for v, w in zip((e, 0 * e), weights, strict=True)
    ]
    yield "newton", pair
    t = 1.6e9 + rng.integers(0, 10**7, n)
    columns = (rng.normal(size=n), x)
    yield "newton", [Problem(np.c_[t, 1e-8 * v], y, "squared_hinge", alpha=1e-20) for v in columns]


@pytest.mark.parametrize("solver, pair", list(_pairs_that_once_looked_alike()))
def test_bounds_of_other_data_are_not_reported(solver, pair):
    first, second = pair
    optimum = solve(second, solver, tol=1e-8, max_time=5).certificate.primal
    earlier = solve(first, solver, tol=1e-8, max_time=5)
    warm = solve(second, solver, tol=1e-8, start=earlier, max_iter=0)
    assert warm.certificate.dual <= optimum + 1e-9 * abs(optimum)


def test_a_warm_started_estimator_has_the_bounds_of_its_data():
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(60, 1)), np.full(60, 1e17)
    y, other = np.sign(x[:, 0]), np.where(rng.random(60) < 0.5, 1.0, -1.0)
    model = LinearClassifier(warm_start=True, alpha=1e-2, solver="dual_cd").fit(x, other, weight)
    with pytest.warns(ConvergenceWarning):
        model.set_params(max_iter=0).fit(x, y, weight)
    assert model.dual_objective_ <= LinearClassifier(alpha=1e-2).fit(x, y).objective_
