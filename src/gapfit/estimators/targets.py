"""What `fit` is given as y, and which losses are for it. Errors name the argument."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from gapfit._types import Matrix, Target, Vector
from gapfit.checks import as_column, check_finite
from gapfit.elsewhere import fetched
from gapfit.losses.base import Loss
from gapfit.names import meant
from gapfit.registry import LOSSES, as_loss


class naming:  # noqa: N801
    """Errors from scikit-learn's validation that do not say which argument they are about, now do."""

    def __init__(self, argument: str) -> None:
        self.argument = argument

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, (TypeError, ValueError)) and self.argument not in str(error).split():
            named = TypeError if isinstance(error, TypeError) else ValueError
            raise named(f"{self.argument}: {error}") from error


def as_labels(y: Any, n: int) -> NDArray[Any]:
    """Labels of any kind, one for each of n samples."""
    with naming("y"):
        y = _column(y)
        kind = y.dtype.kind
        if kind == "c":
            raise ValueError("Complex data not supported")
        if kind == "f":
            check_finite("y", y)
        elif kind not in "iub":
            assert_all_finite(y, input_name="y")
        if len(y) != n:
            raise ValueError(f"y has {len(y)} values but X has {n} rows")
        whole = kind in "iubU" or (kind == "f" and bool((np.floor(y) == y).all()))
        if not whole:  # it takes as long as a small fit
            check_classification_targets(y)
    return np.asarray(y)


class Levels(NamedTuple):
    """Labels as they are, or numbers in their place where y says itself how its labels are ordered."""

    y: Any
    names: NDArray[Any] | None  # by number

    @classmethod
    def of(cls, y: Any) -> "Levels":
        """An ordered Categorical of pandas, or a Series of one, has an order of its own."""
        dtype: Any = getattr(y, "dtype", None)
        if not getattr(dtype, "ordered", False) or not hasattr(dtype, "categories"):
            return cls(y, None)
        codes = np.asarray(getattr(y, "cat", y).codes)
        if (codes < 0).any():
            raise ValueError("y holds missing values: leave those samples out")
        return cls(codes.astype(np.int64), np.asarray(dtype.categories))

    def named(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The labels that numbers stand for."""
        return numbers if self.names is None else self.names[numbers]

    def numbered(self, weights: Any) -> Any:
        """Weights by label as weights by number."""
        if self.names is None or not isinstance(weights, Mapping):
            return weights
        return {number: weights[name] for number, name in enumerate(self.names) if name in weights}


def as_real(y: Any, n: int) -> Vector:
    """Numbers, one for each of n samples."""
    with naming("y"):
        y = _column(y)
    return as_column("y", y, n)


def _column(y: Any) -> NDArray[Any]:
    """y with one dimension; what has it is not looked at any further."""
    if _is_vector(y):
        return y
    y = fetched(y)
    return np.asarray(column_or_1d(y, warn=True))


def _is_vector(y: Any) -> bool:
    """Is it an array of one dimension?"""
    return isinstance(y, np.ndarray) and y.ndim == 1


def as_none(y: Any, n: int) -> Vector:
    """Whatever y is, it is not looked at."""
    del y
    return np.ones(n)


class Patterns(NamedTuple):
    """A matrix of targets, as the different rows that it has and which of them each sample's is."""

    patterns: Matrix
    code: NDArray[np.intp]

    @classmethod
    def of(cls, y: NDArray[Any]) -> "Patterns":
        patterns, code = np.unique(y.astype(np.float64), axis=0, return_inverse=True)
        return cls(patterns, code.ravel())


def as_codes(labels: Patterns, n: int) -> NDArray[np.intp]:
    """The row of each of n samples, as a number: samples with the same can be merged."""
    if len(labels.code) != n:
        raise ValueError(f"y has {len(labels.code)} rows but X has {n}")
    return labels.code


def as_several(y: Any) -> Patterns | None:
    """y if it is a matrix of numbers with two columns or more; None if it has one dimension."""
    if _is_vector(y) or sparse.issparse(y) or y is None:
        return None
    with naming("y"):
        y = _table(fetched(y))
    if y.ndim != 2 or y.shape[1] < 2:
        return None
    if y.dtype.kind not in "biuf":
        with naming("y"):
            y = y.astype(np.float64)
    check_finite("y", y)
    return Patterns.of(y)


def _table(y: Any) -> NDArray[Any]:
    return np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)


def as_indicators(y: Any) -> Patterns | None:
    """y if it is a matrix of zeros and ones with two columns or more; None if it has one dimension."""
    if _is_vector(y):
        return None
    if sparse.issparse(y):
        y = y.toarray()
    with naming("y"):
        y = _table(fetched(y))
    if y.ndim != 2 or y.shape[1] < 2:
        return None
    if y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
        raise ValueError(
            f"y has shape {y.shape}: an indicator matrix holds zeros and ones, a column for each label; "
            "labels of which one is true go into a single column"
        )
    labels = Patterns.of(y)
    if len(labels.patterns) < 2:
        raise ValueError("y holds the same labels in all rows; there is nothing to tell apart")
    return labels


# -- losses -------------------------------------------------------------------------------------------


_NO_TARGET = Target(0)


def names_of(takes: Target) -> list[str]:
    """The losses of gapfit for such targets, by name."""
    return [name for name, loss in LOSSES.items() if target_of(loss).meets(takes)]


def declares(loss: Any, name: str) -> Any:
    """What a loss, or the class that its name stands for, says of itself; None for what is neither."""
    return getattr(LOSSES.get(loss) if isinstance(loss, str) else loss, name, None)


def target_of(loss: Any) -> Target:
    """What a loss or its name says about targets; nothing, for what is neither."""
    declared: Target | None = declares(loss, "target")
    return _NO_TARGET if declared is None else declared


def check_loss(loss: Any, takes: Target, own_names: Mapping[str, Any] = MappingProxyType({})) -> Loss:
    """A loss for such targets, by its name or one that the estimator has for it, or of one's own making."""
    named = not isinstance(loss, str) or loss in own_names or target_of(loss).meets(takes)
    made = as_loss(own_names.get(loss, loss) if isinstance(loss, str) else loss) if named else None
    if made is None or (made.target is not None and not made.target.meets(takes)):
        known = [*own_names, *names_of(takes)]
        guess = meant(loss, known) if isinstance(loss, str) else ""
        raise ValueError(f"loss must be one of {', '.join(known)} or of your own making, got {loss!r}{guess}")
    return made


def check_classes(loss: Loss, k: int) -> None:
    """A loss may be made for a number of classes: all of them must be there, and no other."""
    costs = getattr(loss, "costs", None)
    asked = getattr(loss, "n_classes", None) if costs is None else len(costs)
    if asked not in (None, k):
        raise ValueError(f"{loss!r} is for {asked} classes, but y holds {k}")
