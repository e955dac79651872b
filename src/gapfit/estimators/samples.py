"""What estimators of rows are given, validated into one record."""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from gapfit._types import Data, Vector
from gapfit.checks import as_column, as_weights
from gapfit.declaration import attribute, declared
from gapfit.design.base import Design
from gapfit.design.elsewhere import is_collection, is_on_a_card
from gapfit.design.given import Given, unpacked
from gapfit.design.memory import MemoryDesign, as_design
from gapfit.design.rows import take_rows
from gapfit.design.sparse_indices import check_sparse_indices
from gapfit.elsewhere import fetched
from gapfit.estimators.columns import naming_columns
from gapfit.persistence.values import COUNT, NAMES
from gapfit.reductions import Labels, Multiset, weigh_classes
from gapfit.rowwise import once

_COPIED = 2**22  # entries of X up to which a copy costs less than to say all about the optimum at once
PLAIN = (np.ndarray, sparse.csr_matrix, sparse.csr_array)  # what X is most often


class Samples(NamedTuple):
    """The different samples that have a weight, where they were, and what was given with all of them."""

    X: Data
    y: Any
    weight: Vector
    offset: Vector | None
    origin: Multiset
    given_y: Any  # of every sample,
    given_weight: Vector
    groups: Any = None
    card: Any = None  # where X was, if it was a tensor on a card and is in memory now

    @property
    def given(self) -> int:
        """How many there were."""
        return len(self.origin.place)

    @property
    def copied(self) -> bool:
        """Are the arrays no longer the user's, who may write to them?"""
        return self.origin.reduces or (not isinstance(self.X, Design) and _size(self.X) <= _COPIED)

    def ordered(self, order: NDArray[np.intp]) -> "Samples":
        """In another order, or some of them."""
        return self._replace(
            X=take_rows(self.X, order),
            y=self.y[order],
            weight=self.weight[order],
            offset=None if self.offset is None else self.offset[order],
            origin=self.origin.ordered(order),
        )

    def weighed(self, class_weight: Any) -> tuple["Samples", Labels]:
        """With the weights of their classes, and these; classes of weight zero are absent."""
        labels = Labels.of(self.y)
        if class_weight is None and (type(self.X) in PLAIN or self.weight.all()):  # as is most often so
            return self, Labels(labels.classes, np.ones(len(labels.classes)))
        weight, factors = weigh_classes(class_weight, labels, self.y, self.weight)
        samples, there = self._replace(weight=weight), factors > 0
        if not weight.all():
            samples = samples.ordered(np.flatnonzero(weight))
        return samples, Labels(labels.classes[there], factors[there])


@declared
class Rows(BaseEstimator):
    """An estimator whose X is a matrix with a row for each sample."""

    n_features_in_: int = attribute(COUNT)
    feature_names_in_: NDArray[Any] = attribute(NAMES, "array of str, if X had names", optional=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _samples(
        self, X: Any, y: Any, as_target: Callable[[Any, int], Any], sample_weight: Any, offset: Any = None
    ) -> Samples:
        """Everything `fit` is given, validated. `as_target` checks y, and is told the number of rows."""
        names = None
        if type(X) not in PLAIN:
            names = X.names if isinstance(X, Given) else None
            X, y, sample_weight, _ = unpacked(X, y, sample_weight, None)
            X = X.X if isinstance(X, MemoryDesign) else X
        away = type(X) not in PLAIN and (isinstance(X, Design) or is_collection(X) or is_on_a_card(X))
        X = self._elsewhere(X) if away else self._placed(self._rows(X, reset=True))
        y, sample_weight = fetched(y), fetched(sample_weight)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        n = X.shape[0]
        y, weight = as_target(y, n), as_weights(sample_weight, n)
        offset = None if offset is None else as_column("offset", fetched(offset), n)
        if type(X) not in PLAIN and isinstance(X, Design):
            weight = once(weight)
            origin = Multiset.unlike(weight)
            return Samples(X, y, weight, offset, origin, y, weight)
        origin, copied = Multiset.with_rows(X, y, weight, offset)
        apply = origin.apply if origin.reduces or _size(X) > _COPIED else _copy
        X = apply(X) if copied is None else copied
        return Samples(X, apply(y), origin.weight, apply(offset), origin, y, weight)

    def _placed(self, X: Data) -> Data | Design:
        """The rows where the fit is to run: here in memory."""
        return X

    def _elsewhere(self, X: Any) -> Design:
        """Rows that are not in memory, where they are."""
        design = as_design(X)
        self.n_features_in_ = design.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        return design

    def _checked(self, X: Any) -> Data:
        """X for a fitted model."""
        check_is_fitted(self)
        return X if isinstance(X, Design) else self._rows(X, reset=False)

    def _rows(self, X: Any, *, reset: bool) -> Data:
        if type(X) is not np.ndarray:
            X = fetched(X)  # which scikit-learn does only as long as it is not told to heed what X is
            if sparse.issparse(X):
                check_sparse_indices(X)  # before any conversion follows them
        if self._is_sound(X, reset=reset):
            return X
        with naming_columns(X, None if reset else getattr(self, "feature_names_in_", None)):
            return validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                accept_large_sparse=True,
                dtype=[np.float64, np.float32],
                order="C" if reset else None,
            )

    def _is_sound(self, X: Any, *, reset: bool) -> bool:
        """Is there nothing about X that scikit-learn would change, or refuse? To find that out it takes as
        long as a small fit takes in all."""
        kind, known = type(X), self.__dict__
        if kind not in PLAIN or X.dtype != np.float64 or X.ndim != 2 or 0 in X.shape:
            return False
        if kind is np.ndarray and not X.flags.c_contiguous:
            return False
        if reset:
            known.pop("feature_names_in_", None)
            known["n_features_in_"] = X.shape[1]
        elif "feature_names_in_" in known or X.shape[1] != known.get("n_features_in_"):
            return False
        numbers = X if kind is np.ndarray else X.data[: X.indptr[-1]]
        return isfinite(np.vdot(numbers, numbers))  # which no number that is none survives


def _size(X: Data) -> int:
    """Stored entries."""
    return int(X.nnz if type(X) is not np.ndarray and sparse.issparse(X) else X.size)


def _copy(values: Any) -> Any:
    return None if values is None else values.copy()


def indexable(X: Any) -> Any:
    """X, such that rows can be taken of it."""
    if sparse.issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") or isinstance(X, list | tuple) else np.asarray(X)


def rows_of(given: Mapping[str, Any], rows: NDArray[np.intp]) -> dict[str, Any]:
    """What `fit` was given, for some of the samples; numbers are for all of them."""
    known = {name: one if one is None else indexable(one) for name, one in given.items()}
    return {name: _safe_indexing(one, rows) if _has_rows(one) else one for name, one in known.items()}


def _has_rows(one: Any) -> bool:
    return sparse.issparse(one) or (one is not None and np.ndim(one) > 0)
