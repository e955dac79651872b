"""What a file holds: samples, targets, queries; and the checks that every format shares."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from gapfit.errors import DataError


class Data(NamedTuple):
    """Samples and what belongs to them.

    Attributes
    ----------
    X : csr_array or ndarray of shape (n_samples, n_features)
        float64 or float32; sparse from svmlight files, dense from tables.
    y : ndarray of shape (n_samples,), csr_array or None
        Targets: numbers, or the words of a table's target column. With several labels a sample, a
        sparse matrix of int8 with a one in row i and column k if sample i has the label k.
    qid : ndarray of int64 of shape (n_samples,) or None
        The query that each sample belongs to.
    names : tuple of str or None
        The columns' names, where the file has them.
    """

    X: Any
    y: Any = None
    qid: NDArray[np.int64] | None = None
    names: tuple[str, ...] | None = None


def as_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """float64 or float32."""
    chosen = np.dtype(dtype)
    if chosen not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32, got {dtype!r}")
    return chosen


def check_features(n_features: int | None, found: int, source: str) -> None:
    """Dense files have as many columns as they have."""
    if n_features is not None and n_features != found:
        raise DataError(f"{found} features, where n_features={n_features} were expected", source)


def check_writable(data: Data) -> Data:
    """The data with X as CSR or array of floats, or an error before a file is touched."""
    X: Any = data.X.tocsr() if sparse.issparse(data.X) else np.asarray(data.X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"X must be a matrix of numbers, got {X.ndim}-d {X.dtype}")
    X = X.astype(X.dtype if X.dtype in (np.float64, np.float32) else np.float64, copy=False)
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if not np.isfinite(X.data if sparse.issparse(X) else X).all():
        raise ValueError("X must be finite")
    y, qid = data.y, data.qid
    if sparse.issparse(y):
        y = y.tocsr()
    elif y is not None:
        y = np.asarray(y)
        if y.ndim != 1 or y.dtype.kind not in "biufU":
            raise ValueError(f"y must be a vector of numbers or words, got {y.ndim}-d {y.dtype}")
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("y must be finite")
    if qid is not None:
        qid = np.asarray(qid)
        if qid.ndim != 1 or qid.dtype.kind not in "iu" or (qid < 0).any() or (qid > 2**63 - 1).any():
            raise ValueError("qid must be a vector of integers from 0 to 2^63 - 1")
        qid = qid.astype(np.int64, copy=False)
    for name, part in (("y", y), ("qid", qid)):
        if part is not None and part.shape[0] != X.shape[0]:
            raise ValueError(f"{name} has {part.shape[0]} samples, X has {X.shape[0]}")
    return Data(X, y, qid, data.names)
