"""Samples, targets and weights that no estimator can take, or only with care."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

Rng = np.random.Generator
Made = tuple[Any, Any, dict[str, Any]]  # samples, targets, what else goes to fit


class Call(NamedTuple):
    """A call of fit, made from good data."""

    name: str
    make: Callable[[Any, Any, Rng], Made]


def _matrix(X: Any) -> np.ndarray:
    """Samples as one matrix, also those that come as a list."""
    if isinstance(X, list):
        return np.vstack([np.atleast_2d(part) for part in X])
    return np.array(X)


def _as_given(matrix: Any, X: Any) -> Any:
    """A changed matrix in the form that the samples came in."""
    if not isinstance(X, list):
        return matrix
    parts = np.cumsum([np.atleast_2d(part).shape[0] for part in X])[:-1]
    return [part if np.ndim(X[0]) == 2 else part[0] for part in np.split(matrix, parts)]


def _entry(value: Any) -> Callable[[Any, Any, Rng], Made]:
    def make(X: Any, y: Any, rng: Rng) -> Made:
        changed = _matrix(X)
        if isinstance(value, str | dict):
            changed = changed.astype(object)
        changed[rng.integers(len(changed)), rng.integers(changed.shape[1])] = value
        return _as_given(changed, X), y, {}

    return make


def _samples(change: Callable[[np.ndarray], Any]) -> Callable[[Any, Any, Rng], Made]:
    return lambda X, y, rng: (change(_matrix(X)), y, {})


def _target(change: Callable[[Any], Any]) -> Callable[[Any, Any, Rng], Made]:
    return lambda X, y, rng: (X, change(y), {})


def _weight(change: Callable[[np.ndarray], Any]) -> Callable[[Any, Any, Rng], Made]:
    return lambda X, y, rng: (X, y, {"sample_weight": change(np.ones(len(X)))})


def _put(values: np.ndarray, where: int, value: Any) -> np.ndarray:
    values = np.array(values, dtype=object if isinstance(value, str | dict) else float)
    values.flat[where] = value
    return values


def _lying(attribute: str, where: int, value: int, form: Any = sparse.csr_array) -> Callable[..., Any]:
    """A sparse matrix whose structure is not true."""

    def change(X: np.ndarray) -> Any:
        matrix = form(X)
        getattr(matrix, attribute)[where] = value
        return matrix

    return change


def _first(y: Any, value: Any) -> Any:
    """The first target replaced."""
    if y is None:
        return [value]
    if isinstance(y, list):
        return [_put(y[0], 0, value), *y[1:]]
    return _put(y, 0, value)


def _beginning(value: Any) -> Callable[[Any, Any, Rng], Made]:
    return lambda X, y, rng: (X, _first(y, value), {})


_ENTRIES = (np.nan, np.inf, -np.inf, 1e300, 1e200, -1e154, 5e-324, "a", {})
_WEIGHTS = (np.nan, np.inf, -1.0, -1e-300, 1e308, "a")

CALLS = (
    *(Call(f"X has {value!r}", _entry(value)) for value in _ENTRIES),
    Call("X is None", _samples(lambda X: None)),
    Call("X is a number", _samples(lambda X: 3.0)),
    Call("X is a text", _samples(lambda X: "abc")),
    Call("X is empty", lambda X, y, rng: (X[:0], None if y is None else y[:0], {})),
    Call("X is an empty list", _samples(lambda X: [])),
    Call("X has no columns", _samples(lambda X: X[:, :0])),
    Call("X is a row", _samples(lambda X: X[0])),
    Call("X has three dimensions", _samples(lambda X: X[:, :, None])),
    Call("X is ragged", _samples(lambda X: [list(range(1 + k % 2)) for k in range(len(X))])),
    Call("X is complex", _samples(lambda X: X.astype(complex))),
    Call("X is of texts", _samples(lambda X: X.astype(str))),
    Call("X is of words", _samples(lambda X: np.full(X.shape, "word"))),
    Call("X is of objects", _samples(lambda X: np.full(X.shape, object(), dtype=object))),
    Call("X is of dates", _samples(lambda X: np.full(X.shape, np.datetime64("2020-01-01")))),
    Call("X is a dictionary", _samples(lambda X: {"a": X})),
    Call("X is a set", _samples(lambda X: {1, 2, 3})),
    Call("X is boolean", _samples(lambda X: X > 0)),
    Call("X is integer", _samples(lambda X: (10 * X).astype(int))),
    Call("X is of halves", _samples(lambda X: X.astype(np.float16))),
    Call("X is of long doubles", _samples(lambda X: X.astype(np.longdouble))),
    Call("X is big-endian", _samples(lambda X: X.astype(">f8"))),
    Call("X is in columns", _samples(np.asfortranarray)),
    Call("X is strided", _samples(lambda X: np.repeat(X, 2, axis=0)[::2])),
    Call("X is zero", _samples(np.zeros_like)),
    Call("X is huge", _samples(lambda X: 1e120 * X)),
    Call("X is constant", _samples(np.ones_like)),
    Call("X is CSC", _samples(sparse.csc_array)),
    Call("X is COO", _samples(sparse.coo_array)),
    Call("X is sparse with a NaN", _samples(lambda X: sparse.csr_array(_put(X, 3, np.nan)))),
    Call("X is sparse and empty", _samples(lambda X: sparse.csr_array(X.shape))),
    Call("X: index too large", _samples(_lying("indices", 2, 10**6))),
    Call("X: index huge", _samples(_lying("indices", 2, 2**31 - 1))),
    Call("X: index negative", _samples(_lying("indices", 2, -1))),
    Call("X: indptr falls", _samples(_lying("indptr", 2, 0))),
    Call("X: indptr beyond", _samples(_lying("indptr", -1, 10**6))),
    Call("X: indptr negative", _samples(_lying("indptr", 0, -5))),
    Call("X: CSC row too large", _samples(_lying("indices", 2, 10**6, sparse.csc_array))),
    Call("X: COO column negative", _samples(_lying("col", 2, -1, sparse.coo_array))),
    *(Call(f"y begins with {value!r}", _beginning(value)) for value in (np.nan, np.inf, 1e308, "a", {})),
    Call("y is None", _target(lambda y: None)),
    Call("y is a number", _target(lambda y: 1.0)),
    Call("y is a text", _target(lambda y: "abc")),
    Call("y is short", lambda X, y, rng: (X, np.zeros(len(X) - 1) if y is None else y[:-1], {})),
    Call("y is empty", _target(lambda y: [])),
    Call("y has one class", lambda X, y, rng: (X, np.zeros(len(X)), {})),
    Call("y is random numbers", lambda X, y, rng: (X, rng.normal(size=len(X)), {})),
    Call("y has three dimensions", lambda X, y, rng: (X, np.zeros((len(X), 2, 2)), {})),
    Call("y is complex", lambda X, y, rng: (X, np.ones(len(X), complex), {})),
    Call("y is of objects", lambda X, y, rng: (X, np.array([object()] * len(X)), {})),
    Call("y is a dictionary", _target(lambda y: {"a": 1})),
    Call("y is a sparse column", lambda X, y, rng: (X, sparse.csr_array(np.ones((len(X), 1))), {})),
    *(Call(f"a weight is {value!r}", _weight(partial(_put, where=1, value=value))) for value in _WEIGHTS),
    Call("weights are zero", _weight(np.zeros_like)),
    Call("weights are tiny", _weight(lambda w: 5e-324 * w)),
    Call("weights overflow", _weight(lambda w: 1e308 * w)),
    Call("weights are short", _weight(lambda w: w[:-1])),
    Call("weights are a column", _weight(lambda w: w[:, None])),
    Call("weights are complex", _weight(lambda w: w.astype(complex))),
    Call("weights are texts", _weight(lambda w: w.astype(str))),
    Call("an argument that there is not", lambda X, y, rng: (X, y, {"no_such_argument": 1})),
)  # fmt: skip
