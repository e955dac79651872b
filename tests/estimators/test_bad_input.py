"""Bad input: an error that names the argument, at once, and a fitted estimator that stays as it was.

`CASES` is one table for the three estimators; each case says which argument its message must name. Input that
is merely unusual (layouts, label types, integer targets) is at the end, and must fit.
"""

import time
from copy import deepcopy
from functools import cache, partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import NotFittedError

from gapfit import LinearClassifier, LinearRegressor, NoveltyDetector
from gapfit.losses import EpsilonInsensitive, Hinge, Huber, Novelty, Quantile, SmoothedHinge, Squared
from gapfit.penalties import L1, L2, Box, Constrained, ElasticNet, GroupLasso, QuadraticForm, SquaredLp

N, D = 20, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
LABELS = np.where(X[:, 0] + 0.3 * RNG.normal(size=N) > 0, "yes", "no")
TARGET = X @ np.array([1.0, -2.0, 0.5]) + 0.1 * RNG.normal(size=N)

ESTIMATORS = {
    LinearClassifier: LABELS,
    LinearRegressor: TARGET,
    NoveltyDetector: None,
}


def changed(array, index, value):
    """A copy with one entry replaced."""
    array = np.array(array)
    array[index] = value
    return array


def broken(attribute, index, value, kind=sparse.csr_array):
    """A CSR or CSC matrix whose structure lies."""
    matrix = kind(X)
    getattr(matrix, attribute)[index] = value
    return matrix


NUMBERS = {"negative": -1, "nan": np.nan, "text": "x", "list": [1.0], "flag": True, "complex": 1j}


def numbers(name, *extra):
    """Values that the numeric parameter `name` does not take."""
    values = {**NUMBERS, **dict(extra)}
    return {f"{name}-{key}": (name, {"params": {name: value}}) for key, value in values.items()}


# id: (argument that the message must name, what to change)
EVERYWHERE = {
    "X-nan": ("X", {"X": changed(X, (3, 1), np.nan)}),
    "X-inf": ("X", {"X": changed(X, (3, 1), np.inf)}),
    "X-minus-inf": ("X", {"X": changed(X, (3, 1), -np.inf)}),
    "X-nan-float32": ("X", {"X": changed(X.astype(np.float32), (3, 1), np.nan)}),
    "X-nan-csr": ("X", {"X": sparse.csr_array(changed(X, (3, 1), np.nan))}),
    "X-inf-csc": ("X", {"X": sparse.csc_array(changed(X, (3, 1), np.inf))}),
    "X-nan-coo": ("X", {"X": sparse.coo_array(changed(X, (3, 1), np.nan))}),
    "X-none": ("X", {"X": None}),
    "X-number": ("X", {"X": 3.0}),
    "X-text": ("X", {"X": "abc"}),
    "X-1d": ("X", {"X": X[:, 0]}),
    "X-1d-sparse": ("X", {"X": sparse.coo_array(X[:, 0])}),
    "X-3d": ("X", {"X": X.reshape(N, D, 1)}),
    "X-ragged": ("X", {"X": [[1.0], [1.0, 2.0]] * (N // 2)}),
    "X-strings": ("X", {"X": np.full((N, D), "a")}),
    "X-objects": ("X", {"X": changed(X.astype(object), (0, 0), {})}),
    "X-object-nan": ("X", {"X": changed(X.astype(object), (0, 0), np.nan)}),
    "X-complex": ("X", {"X": X.astype(complex)}),
    "X-complex-csr": ("X", {"X": sparse.csr_array(X.astype(complex))}),
    "X-no-rows": ("X", {"X": X[:0], "y": slice(0, 0)}),
    "X-no-columns": ("X", {"X": X[:, :0]}),
    "X-csr-index-too-large": ("X", {"X": broken("indices", 4, D)}),
    "X-csr-index-huge": ("X", {"X": broken("indices", 4, 2**31 - 1)}),
    "X-csr-index-negative": ("X", {"X": broken("indices", 4, -1)}),
    "X-csr-indptr-falls": ("X", {"X": broken("indptr", 5, 3)}),
    "X-csr-indptr-beyond": ("X", {"X": broken("indptr", -1, 10**6)}),
    "X-csr-indptr-start": ("X", {"X": broken("indptr", 0, 1)}),
    "X-csc-index-too-large": ("X", {"X": broken("indices", 4, N, sparse.csc_array)}),
    "X-csc-indptr-beyond": ("X", {"X": broken("indptr", -1, 10**6, sparse.csc_array)}),
    "X-coo-row-too-large": ("X", {"X": broken("row", 4, N, sparse.coo_array)}),
    "X-coo-column-negative": ("X", {"X": broken("col", 4, -1, sparse.coo_array)}),
    "weight-nan": ("sample_weight", {"sample_weight": changed(np.ones(N), 2, np.nan)}),
    "weight-inf": ("sample_weight", {"sample_weight": changed(np.ones(N), 2, np.inf)}),
    "weight-negative": ("sample_weight", {"sample_weight": changed(np.ones(N), 2, -1e-9)}),
    "weight-zero": ("sample_weight", {"sample_weight": np.zeros(N)}),
    "weight-overflow": ("sample_weight", {"sample_weight": np.full(N, 1e308)}),
    "weight-short": ("sample_weight", {"sample_weight": np.ones(N - 1)}),
    "weight-long": ("sample_weight", {"sample_weight": np.ones(N + 1)}),
    "weight-2d": ("sample_weight", {"sample_weight": np.ones((N, 1))}),
    "weight-text": ("sample_weight", {"sample_weight": ["a"] * N}),
    "weight-complex": ("sample_weight", {"sample_weight": np.ones(N, complex)}),
    "weight-objects": ("sample_weight", {"sample_weight": np.array([{}] * N)}),
    **numbers("alpha", ("zero", 0), ("inf", np.inf), ("none", None)),
    **numbers("tol", ("inf", np.inf), ("none", None)),
    **numbers("max_iter", ("inf", np.inf), ("none", None), ("half", 0.5)),
    **numbers("max_time"),
    "penalty-unknown": ("penalty", {"params": {"penalty": "l3"}}),
    "penalty-class": ("penalty", {"params": {"penalty": L2}}),
    "penalty-none": ("penalty", {"params": {"penalty": None}}),
    "penalty-needs-parameters": ("penalty", {"params": {"penalty": "quadratic_form"}}),
    "penalty-Q-of-other-size": ("Q", {"params": {"penalty": QuadraticForm(np.eye(D + 1))}}),
    "penalty-groups-of-other-size": ("groups", {"params": {"penalty": GroupLasso(range(D + 1))}}),
    "penalty-constraints-of-other-size": (
        "A",
        {"params": {"penalty": Constrained(L2(), np.ones((1, D + 1)), [1.0])}},
    ),
    "penalty-box-of-other-size": ("lo", {"params": {"penalty": Box(L2(), np.zeros(D + 1))}}),
    "positive-text": ("positive", {"params": {"positive": "yes"}}),
    "positive-none": ("positive", {"params": {"positive": None}}),
    "positive-not-separable": ("positive", {"params": {"positive": True, "penalty": "squared_lp"}}),
    "positive-box-already": ("positive", {"params": {"positive": True, "penalty": Box(L1(), -1, 1)}}),
    "solver-unknown": ("solver", {"params": {"solver": "newton-raphson"}}),
    "solver-number": ("solver", {"params": {"solver": 7}}),
    "solver-none": ("solver", {"params": {"solver": None}}),
    "solver-needs-L2": ("L2", {"params": {"solver": "dual_cd", "penalty": "l1"}}),
    "warm_start-text": ("warm_start", {"params": {"warm_start": "no"}}),
    "warm_start-none": ("warm_start", {"params": {"warm_start": None}}),
    "random_state-text": ("random_state", {"params": {"random_state": "x"}}),
    "random_state-negative": ("random_state", {"params": {"random_state": -1}}),
    "verbose-text": ("verbose", {"params": {"verbose": "x"}}),
    "verbose-negative": ("verbose", {"params": {"verbose": -1}}),
    "verbose-none": ("verbose", {"params": {"verbose": None}}),
}

SUPERVISED = {
    "y-none": ("y", {"y": None}),
    "y-number": ("y", {"y": 1.0}),
    "y-short": ("y", {"y": slice(0, N - 1)}),
    "y-empty": ("y", {"y": slice(0, 0)}),
    "y-3d": ("y", {"y": np.zeros((N, 2, 2))}),
    "y-nan": ("y", {"y": changed(TARGET, 3, np.nan)}),
    "y-inf": ("y", {"y": changed(TARGET, 3, np.inf)}),
    "y-object-nan": ("y", {"y": changed(TARGET.astype(object), 3, np.nan)}),
    "y-complex": ("y", {"y": np.where(TARGET > 0, 1j, 1)}),
    "y-ragged": ("y", {"y": [[1.0], 2.0] * (N // 2)}),
    "y-dictionary": ("y", {"y": {"a": 1}}),
    "offset-nan": ("offset", {"offset": changed(np.zeros(N), 3, np.nan)}),
    "offset-inf": ("offset", {"offset": changed(np.zeros(N), 3, np.inf)}),
    "offset-short": ("offset", {"offset": np.zeros(N - 1)}),
    "offset-2d": ("offset", {"offset": np.zeros((N, 1))}),
    "offset-text": ("offset", {"offset": ["a"] * N}),
    "offset-complex": ("offset", {"offset": np.zeros(N, complex)}),
    "loss-unknown": ("loss", {"params": {"loss": "hinges"}}),
    "loss-class": ("loss", {"params": {"loss": Hinge}}),
    "loss-none": ("loss", {"params": {"loss": None}}),
    "loss-novelty": ("loss", {"params": {"loss": "novelty"}}),
    "fit_intercept-text": ("fit_intercept", {"params": {"fit_intercept": "no"}}),
    "fit_intercept-none": ("fit_intercept", {"params": {"fit_intercept": None}}),
}

CASES = {
    LinearClassifier: EVERYWHERE
    | SUPERVISED
    | {
        "y-2d": ("y", {"y": np.zeros((N, 2))}),
        "y-one-class": ("y", {"y": np.zeros(N)}),
        "y-one-class-with-weight": ("y", {"sample_weight": (LABELS == "yes").astype(float)}),
        "y-bytes": ("y", {"y": LABELS.astype(bytes)}),
        "y-continuous": ("y", {"y": TARGET}),
        "y-mixed-types": ("y", {"y": np.array([1, "a", None, 2.0] * (N // 4), dtype=object)}),
        "loss-squared": ("loss", {"params": {"loss": "squared"}}),
        "loss-object-squared": ("loss", {"params": {"loss": Squared()}}),
        "class_weight-text": ("class_weight", {"params": {"class_weight": "auto"}}),
        "class_weight-number": ("class_weight", {"params": {"class_weight": 2.0}}),
        "class_weight-list": ("class_weight", {"params": {"class_weight": [1.0, 2.0]}}),
        "class_weight-negative": ("class_weight", {"params": {"class_weight": {"no": -1.0}}}),
        "class_weight-zero": ("class_weight", {"params": {"class_weight": {"no": 0.0}}}),
        "class_weight-underflow": (
            "class_weight",
            {"params": {"class_weight": {"no": 1e-300}}, "sample_weight": np.full(N, 1e-280)},
        ),
        "class_weight-nan": ("class_weight", {"params": {"class_weight": {"no": np.nan}}}),
        "class_weight-inf": ("class_weight", {"params": {"class_weight": {"no": np.inf}}}),
        "class_weight-words": ("class_weight", {"params": {"class_weight": {"no": "a"}}}),
        "class_weight-unknown": ("class_weight", {"params": {"class_weight": {"maybe": 2.0}}}),
    },
    LinearRegressor: EVERYWHERE
    | SUPERVISED
    | {
        "y-strings": ("y", {"y": LABELS}),
        "y-objects": ("y", {"y": np.array([{}] * N)}),
        "y-poisson-negative": ("y", {"params": {"loss": "poisson"}, "y": changed(np.ones(N), 3, -1.0)}),
        "y-poisson-zero": ("y", {"params": {"loss": "poisson"}, "y": np.zeros(N)}),
        "loss-hinge": ("loss", {"params": {"loss": "hinge"}}),
        "loss-object-hinge": ("loss", {"params": {"loss": SmoothedHinge()}}),
    },
    NoveltyDetector: EVERYWHERE
    | numbers("nu", ("zero", 0), ("above-one", 1.001), ("inf", np.inf), ("none", None)),
}
ALL = [pytest.param(kind, case, id=f"{kind.__name__}-{case}") for kind in CASES for case in CASES[kind]]
every_estimator = pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)


@cache
def fitted(kind):
    model = kind(alpha=0.1).fit(X, ESTIMATORS[kind])
    model._say_all()  # what is left for later is not compared
    return model


def same(a, b):
    """Equality to the last bit, through containers and arrays."""
    if isinstance(a, np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return repr(a) == repr(b)


def test_there_are_enough_cases():
    assert all(len(cases) >= 60 for cases in CASES.values())


@pytest.mark.parametrize(("kind", "case"), ALL)
def test_bad_input_is_named_at_once_and_changes_nothing(kind, case):
    argument, change = CASES[kind][case]
    model = deepcopy(fitted(kind)).set_params(**change.get("params", {}))
    before = deepcopy(vars(model))
    y = change.get("y", ESTIMATORS[kind])
    if isinstance(y, slice):
        y = None if ESTIMATORS[kind] is None else ESTIMATORS[kind][y]
    keywords = {name: change[name] for name in ("sample_weight", "offset") if name in change}
    began = time.perf_counter()
    with pytest.raises((ValueError, TypeError), match=rf"\b{argument}\b"):
        model.fit(change.get("X", X), y, **keywords)
    assert time.perf_counter() - began < 1
    assert same(vars(model), before)


@every_estimator
@pytest.mark.parametrize("method", ["predict", "decision_function", "score_bounds", "certified"])
def test_bad_X_when_predicting(kind, method):
    model = fitted(kind)
    if not hasattr(model, method):
        assert kind is LinearRegressor
        return
    before = deepcopy(vars(model))
    bad = {key: change["X"] for key, (_, change) in EVERYWHERE.items() if "X" in change}
    for case, value in {**bad, "X-too-wide": np.ones((N, D + 1)), "X-too-narrow": X[:, 1:]}.items():
        with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
            getattr(model, method)(value)
            pytest.fail(case)
    assert same(vars(model), before)


@every_estimator
@pytest.mark.parametrize("method", ["predict", "decision_function", "score_bounds", "certified"])
def test_not_fitted(kind, method):
    if hasattr(kind, method):
        with pytest.raises(NotFittedError):
            getattr(kind(), method)(X)


@every_estimator
def test_a_failed_first_fit_leaves_no_trace(kind):
    model = kind()
    before = dict(vars(model))
    with pytest.raises(ValueError):
        model.fit(changed(X, (0, 0), np.nan), ESTIMATORS[kind])
    assert vars(model) == before


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        *[(partial(Quantile, q), "q") for q in (0, 1, -1, 2, np.nan, np.inf, "x", None, True)],
        *[(partial(Huber, x), "delta") for x in (0, -1, np.nan, np.inf, "x", None, True)],
        *[(partial(SmoothedHinge, x), "gamma") for x in (0, -1, np.nan, np.inf, "x", None, True)],
        *[(partial(EpsilonInsensitive, x), "epsilon") for x in (-1, np.nan, np.inf, "x", None, True)],
        *[(partial(Novelty, x), "nu") for x in (0, -1, 2, np.nan, np.inf, "x", None, True)],
        *[(partial(ElasticNet, x), "l1_ratio") for x in (-1, 2, np.nan, np.inf, "x", None, True)],
        *[(partial(SquaredLp, x), "p") for x in (1, 0, -1, 3, np.nan, np.inf, "x", None, True)],
        *[(partial(QuadraticForm, x), "Q") for x in (1, [1.0], -np.eye(2), [[0, 1], [0, 0]], "x", None)],
        *[(partial(GroupLasso, x), "groups") for x in (1, [[0]], [np.nan], None)],
        *[(partial(GroupLasso, [0, 1], ratio=x), "ratio") for x in (0, -1, 2, np.nan, "x", None, True)],
        *[(partial(GroupLasso, [0, 1], x), "weights") for x in (1, [1.0], [0, 1], [1, np.inf], "x")],
        *[
            (partial(Constrained, x, [[1.0]], [1.0]), "Constrained")
            for x in ("l2", L1(), ElasticNet(0.5), None)
        ],
        *[(partial(Constrained, L2(), x, [1.0]), "A") for x in (1, [1.0], [[np.nan]], "x", None)],
        *[(partial(Constrained, L2(), [[1.0]], x), "b") for x in (1, [1.0, 2.0], [np.nan], "x", None)],
        (partial(Constrained, L2(), [[1, 0], [-1, 0]], [-1, -1]), "no w satisfies"),
        (partial(Constrained, L2(), [[1, 0], [-1, 0]], [1, -1]), "no room"),
        (partial(Constrained, L2(), [[1, 0], [0, 0]], [1, -1]), "row 1 of A is zero"),
        *[(partial(Box, L2(), x, y), "lo") for x, y in ((1, 0), (np.nan, 1), (np.inf, np.inf), ("x", 1))],
    ],
)
def test_parameters_of_losses_and_penalties(make, argument):
    with pytest.raises((ValueError, TypeError), match=rf"\b{argument}\b"):
        make()


# -- unusual, and fine ------------------------------------------------------------------------------------


def _memmap(array):
    array = array.copy()
    array.setflags(write=False)
    return array


def _strided(array):
    wide = np.zeros((2 * N, 2 * D))
    wide[::2, ::2] = array
    return wide[::2, ::2]


def _unsorted(array):
    matrix = sparse.csr_array(array)
    for k in range(N):
        row = slice(*matrix.indptr[k : k + 2])
        matrix.indices[row], matrix.data[row] = (
            matrix.indices[row][::-1].copy(),
            matrix.data[row][::-1].copy(),
        )
    matrix.has_sorted_indices = False
    return matrix


def _duplicated(array):
    rows, columns = np.nonzero(array)
    twice = [np.concatenate([k, k]) for k in (array[rows, columns] / 2, rows, columns)]
    order = np.argsort(twice[1], kind="stable")
    indptr = np.concatenate([[0], np.bincount(twice[1], minlength=N).cumsum()])
    return sparse.csr_array((twice[0][order], twice[2][order], indptr), shape=array.shape)


def _wide_indices(array):
    matrix = sparse.csr_array(array)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


LAYOUTS = {
    "list": np.ndarray.tolist,
    "fortran": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "big-endian": lambda a: a.astype(">f8"),
    "read-only": _memmap,
    "objects": lambda a: a.astype(object),
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
    "coo_array": sparse.coo_array,
    "lil_matrix": sparse.lil_matrix,
    "unsorted": _unsorted,
    "duplicated": _duplicated,
    "64-bit": _wide_indices,
}


@every_estimator
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("solver", ["auto", "dual_cd"])
def test_layout_does_not_matter(kind, layout, solver):
    sparse_X = X * (np.abs(X) > 0.4)
    model = kind(alpha=0.1, tol=1e-10, solver=solver).fit(sparse_X, ESTIMATORS[kind])
    other = LAYOUTS[layout](sparse_X)
    again = kind(alpha=0.1, tol=1e-10, solver=solver).fit(other, ESTIMATORS[kind])
    assert_allclose(again.coef_, model.coef_, rtol=1e-4, atol=1e-5)
    assert_allclose(again.score_bounds(other)[0], model.score_bounds(sparse_X)[0], rtol=1e-3, atol=1e-3)


@every_estimator
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float16, bool])
def test_small_types_of_X(kind, dtype):
    small = np.abs(np.round(3 * X)).astype(dtype)
    model, reference = (kind(alpha=0.1).fit(Z, ESTIMATORS[kind]) for Z in (small, small.astype(float)))
    assert_allclose(model.coef_, reference.coef_, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float16, np.float32, bool, object])
def test_types_of_targets(dtype):
    y = np.array([200, 0, 100, 255] * (N // 4)).astype(np.uint8).astype(dtype)
    model, reference = (LinearRegressor(alpha=0.1).fit(X, z) for z in (y, y.astype(float)))
    assert_allclose(model.coef_, reference.coef_, rtol=1e-9)


def test_the_smallest_integer_as_a_target():
    y = np.full(N, np.iinfo(np.int64).min)
    y[::2] = 0
    model = LinearRegressor(alpha=0.1).fit(X, y)
    assert model.converged_ and np.isfinite(model.coef_).all()


@pytest.mark.parametrize(
    "labels", [(False, True), ("a", "b"), (-3, 7), (0.0, 2.0), (np.uint8(0), np.uint8(255))]
)
def test_types_of_labels(labels):
    y = np.array(labels)[(LABELS == "yes").astype(int)]
    model = LinearClassifier(alpha=0.1).fit(X, y)
    assert model.classes_.dtype == y.dtype
    assert (model.predict(X) == y).mean() > 0.8


@every_estimator
@pytest.mark.parametrize("data", ["constant column", "zeros", "equal rows", "one column", "two rows"])
def test_poor_data_fit(kind, data):
    y, Z = ESTIMATORS[kind], X.copy()
    if data == "constant column":
        Z[:, 1] = 7.0
    elif data == "zeros":
        Z[:] = 0.0
    elif data == "equal rows":
        Z[:] = Z[0]
    elif data == "one column":
        Z = Z[:, :1]
    else:
        rows = [int(np.argmax(LABELS == "no")), int(np.argmax(LABELS == "yes"))]
        Z, y = Z[rows], None if y is None else y[rows]
    model = kind().fit(Z, y)
    assert model.converged_ and np.isfinite(model.coef_).all()


@every_estimator
def test_what_was_passed_is_neither_kept_nor_changed(kind):
    Z, y = X.copy(), ESTIMATORS[kind]
    weight = np.arange(N, dtype=float)
    model = kind(alpha=0.1).fit(Z, y, sample_weight=weight)
    assert np.array_equal(Z, X) and np.array_equal(weight, np.arange(N))
    before = model.predict(X)
    Z[:], weight[:] = 0.0, 0.0
    assert np.array_equal(model.predict(X), before)
