"""Kernel machines in a file: support vectors, the kernel by its name, and the ball behind `score_bounds`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gapfit.estimators.kernel_bounds import SupportBall
from gapfit.estimators.kernel_names import FUNCTIONS
from gapfit.persistence.container import need
from gapfit.persistence.values import Kind, Shelf, fields, floats, one_of, read_plain, write_plain

_ROWS = floats(2)


def _write_samples(X: Any, shelf: Shelf) -> Any:
    """An array, or a matrix in CSR format by its three arrays."""
    if not sparse.issparse(X):
        return shelf.put(X)
    X = X.tocsr()
    parts = {"data": X.data, "indices": X.indices.astype(np.int64), "indptr": X.indptr.astype(np.int64)}
    kind = "array" if isinstance(X, sparse.sparray) else "matrix"
    return {
        "csr": kind,
        "columns": int(X.shape[1]),
        **{name: shelf.put(part) for name, part in parts.items()},
    }


def _read_samples(value: Any, shelf: Shelf) -> Any:
    if isinstance(value, dict) and "array" in value:
        return _ROWS.read(value, shelf)
    kind, columns, *arrays = fields(value, "csr", "columns", "data", "indices", "indptr")
    make = {"array": sparse.csr_array, "matrix": sparse.csr_matrix}
    need(type(columns) is int and 0 <= columns < 2**31, "the number of columns is no count")
    data = floats(1).read(arrays[0], shelf)
    indices, indptr = (shelf.take(array, "<i8", 1) for array in arrays[1:])
    rising = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(data) and (np.diff(indptr) >= 0).all()
    need(rising and len(indices) == len(data), "its parts do not fit")
    need(((indices >= 0) & (indices < columns)).all(), "an index is outside of the matrix")
    small = [part.astype(np.int32) if len(data) < 2**31 else part for part in (indices, indptr)]
    return make[one_of(kind, make)]((data, *small), shape=(len(indptr) - 1, columns))


def _write_kernel(kernel: Any, shelf: Shelf) -> Any:
    if isinstance(kernel, str):
        return str(kernel)
    name = next((name for name, known in FUNCTIONS.items() if type(kernel) is known), None)
    if name is None:
        raise TypeError("the kernel is a function of your own, which is code, and predictions need it")
    return {"kernel": name, "parameters": {key: write_plain(value) for key, value in vars(kernel).items()}}


def _read_kernel(value: Any, shelf: Shelf) -> Any:
    if isinstance(value, str):
        return one_of(value, {"precomputed": None})
    name, parameters = fields(value, "kernel", "parameters")
    make = FUNCTIONS[one_of(name, FUNCTIONS)]
    need(isinstance(parameters, dict), f"the parameters of {name} are not an object")
    return make(**{key: read_plain(part) for key, part in parameters.items()})


def _write_kernel_name(kernel: Any, shelf: Shelf) -> str:
    if not isinstance(kernel, str):
        raise TypeError("a function, not the name of a kernel that comes with gapfit")
    return str(kernel)


def _read_kernel_name(name: Any, shelf: Shelf) -> str:
    return one_of(name, {**FUNCTIONS, "precomputed": None})


def _write_balls(balls: list[SupportBall | None], shelf: Shelf) -> Any:
    """A single problem has one; the pairs of many classes have none."""
    return None if balls[0] is None else [write_plain(number) for number in balls[0]]


def _read_balls(value: Any, shelf: Shelf) -> list[SupportBall] | None:
    if value is None:
        return None
    need(isinstance(value, list) and len(value) == len(SupportBall._fields), "not a ball")
    numbers = [read_plain(part) for part in value]
    need(all(type(number) is float for number in numbers), "not a ball")
    radius, lo, hi, level, square = numbers
    need(radius >= 0 and lo <= hi and np.isfinite(level) and 0 <= square < np.inf, "not a ball")
    return [SupportBall(radius, lo, hi, level, square)]


def _write_number_or_numbers(value: Any, shelf: Shelf) -> Any:
    return shelf.put(value) if isinstance(value, np.ndarray) else write_plain(float(value))


def _read_number_or_numbers(value: Any, shelf: Shelf) -> Any:
    if isinstance(value, dict) and "array" in value:
        return floats(1).read(value, shelf)
    number = read_plain(value)
    need(type(number) is float, "not a number")
    return number


def _shape(value: Any, shelf: Shelf) -> tuple[int, int]:
    counts = isinstance(value, list) and len(value) == 2 and all(type(n) is int and n >= 0 for n in value)
    need(counts, "not two counts")
    return value[0], value[1]


def _integers(dtype: str, *ndim: int) -> Kind:
    return Kind(lambda array, shelf: shelf.put(array), lambda value, shelf: shelf.take(value, dtype, *ndim))


SAMPLES = Kind(_write_samples, _read_samples)
KERNEL = Kind(_write_kernel, _read_kernel)
KERNEL_NAME = Kind(_write_kernel_name, _read_kernel_name)
BALLS = Kind(_write_balls, _read_balls)
NUMBERS = Kind(_write_number_or_numbers, _read_number_or_numbers)
SHAPE = Kind(lambda shape, shelf: [int(n) for n in shape], _shape)
SUPPORT = _integers("<i4", 1)
STEPS = _integers("<i8", 1, 2)


def check_kernel_machine(fit: dict[str, Any]) -> None:
    """The attributes agree on the samples, features, classes and support vectors."""
    (n, d), support, table = fit["shape_fit_"], fit["support_"], fit["dual_coef_"]
    classes = fit.get("classes_")
    k = 2 if classes is None else len(classes)
    pairs, m, vectors = k * (k - 1) // 2, len(support), fit["support_vectors_"]
    need(len(fit["intercept_"]) == pairs, "attribute intercept_ does not fit the classes")  # bounds `pairs`
    balls = fit["balls"] = fit["balls"] or [None] * pairs
    matrix, counts = isinstance(fit["fitted_kernel"], str), fit["n_support_"]
    names, steps, status = (
        fit.get(key) for key in ("feature_names_in_", "identified_at_", "support_status_")
    )
    each: tuple[int, ...] = (n,) if pairs == 1 else (pairs, n)
    nested = [isinstance(part, list) for part in fit["history_"]]
    gamma = getattr(fit["fitted_kernel"], "gamma", None)
    agree = {
        "shape_fit_": n > 0 and d > 0 and d == fit["n_features_in_"] and (not matrix or n == d),
        "support_": _distinct(support, n),
        "support_vectors_": vectors.shape == ((0, 0) if matrix else (m, d)),
        "n_support_": len(counts) == (1 if classes is None else k)
        and bool((counts >= 0).all())
        and int(counts.sum(dtype=np.int64)) == m,
        "dual_coef_": table.shape == (k - 1, m),
        "alpha_": np.shape(fit["alpha_"]) == (() if pairs == 1 else (pairs,)),
        "gamma_": fit["gamma_"] == gamma,
        "certificates_": len(fit["certificates_"]) == pairs,
        "history_": not any(nested) if pairs == 1 else nested == [True] * pairs,
        "support_status_": status is not None and status.shape == each,
        "identified_at_": steps is not None and steps.shape == each,
        "balls": len(balls) == pairs,
        "feature_names_in_": names is None or len(names) == len(set(names)) == d,
    }
    for name, fits_in in agree.items():
        need(fits_in, f"attribute {name} does not fit the samples, features and classes")


def _distinct(support: NDArray[Any], n: int) -> bool:
    return bool(((support >= 0) & (support < n)).all()) and len(np.unique(support)) == len(support)
