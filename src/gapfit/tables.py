"""From tables with words and gaps to numbers, by scikit-learn's own encoders, and into model files."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from gapfit.datasets.tables import is_gap
from gapfit.declaration import attribute, check_parameters, declared, parameter
from gapfit.names import meant
from gapfit.persistence.container import need
from gapfit.persistence.fits import WORDS
from gapfit.persistence.values import COUNT, NAMES, ONE_OR_SEVERAL, floats

__all__ = ["TableEncoder"]

STRATEGIES = ("refuse", "mean", "median", "most_frequent")
_WIDE = 200  # columns: more than that are stored as a sparse matrix
NOTHING = "missing"  # how the category of a gap is called


@declared
class TableEncoder(TransformerMixin, BaseEstimator):
    """Makes numbers of a table: words become categories, gaps are filled in, numbers may be scaled.

    scikit-learn's `OneHotEncoder`, `SimpleImputer` and `StandardScaler`, for tables by the names of their
    columns, and for model files: `save` stores a `Pipeline` of it and an estimator, without pickle. A gap in
    a column of words is a category of its own; a word that was not there in `fit` has none, all its
    columns are 0.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[30.0, "smith"], [np.nan, "baker"], [50.0, "smith"]], dtype=object)
    >>> encoder = TableEncoder(names=["age", "job"], categorical=["job"], missing="mean").fit(X)
    >>> encoder.transform(X).tolist()
    [[30.0, 0.0, 1.0], [40.0, 1.0, 0.0], [50.0, 0.0, 1.0]]
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'job=baker', 'job=smith']
    """

    names: Any = parameter(
        "Of the columns, where X is an array; a data frame has its own.",
        "sequence of str or None", default=None, form=ONE_OR_SEVERAL,
    )  # fmt: skip
    categorical: Any = parameter(
        "Columns whose values are words, or numbers that stand for something.",
        "sequence of str", default=(), form=ONE_OR_SEVERAL,
    )  # fmt: skip
    missing: str = parameter(
        """What is done about gaps among numbers: "refuse", or fill in the "mean", the "median" or the
        "most_frequent" value of the column.""",
        default="refuse", choices=STRATEGIES,
    )  # fmt: skip
    scale: bool = parameter("Numbers less their mean, over their standard deviation.", default=False)

    columns_: NDArray[Any] = attribute(NAMES, "array of str", "The columns that are asked for, in order.")
    categories_: list[list[str]] = attribute(WORDS, "list of lists", "Of each categorical column.")
    fill_: NDArray[Any] = attribute(floats(1), "array", "What stands in for gaps, for each other column.")
    mean_: NDArray[Any] = attribute(floats(1), "array", "What is subtracted from numbers.")
    scale_: NDArray[Any] = attribute(floats(1), "array", "What numbers are divided by.")
    n_features_in_: int = attribute(COUNT, "", "How many columns there are.")

    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """X : data frame, or array of objects of shape (n, d)"""
        check_parameters(self)
        self.columns_ = np.array(self._columns_of(X), dtype=object)
        self.n_features_in_ = len(self.columns_)
        for name in self._words:
            if name not in self.columns_:
                known = ", ".join(map(str, self.columns_[:10]))
                raise ValueError(
                    f"categorical names {name!r}, which is no column{meant(name, map(str, self.columns_))} "
                    f"(there are {known})"
                )
        numbers, words = self._apart(X)
        empty = [name for name, gaps in zip(self._numbers, np.isnan(numbers).T, strict=True) if gaps.all()]
        if empty:
            raise ValueError(f"column {empty[0]!r} holds no value: leave it out")
        self.fill_, self.mean_, self.scale_ = np.zeros((3, numbers.shape[1]))
        self.scale_ += 1.0
        if numbers.shape[1]:
            how = "median" if self.missing == "refuse" else self.missing
            self.fill_ = np.asarray(SimpleImputer(strategy=how).fit(numbers).statistics_, dtype=np.float64)
            filled = self._filled(numbers)
            if self.scale:
                scaler = StandardScaler().fit(filled)
                self.mean_, self.scale_ = scaler.mean_, scaler.scale_
        found = OneHotEncoder().fit(words).categories_ if words.shape[1] else []
        self.categories_ = [[str(word) for word in column] for column in found]
        return self

    def transform(self, X: Any) -> Any:
        """Numbers: an array, or a sparse matrix where there are very many columns."""
        check_is_fitted(self, "columns_")
        numbers, words = self._apart(X)
        numbers = (self._filled(numbers) - self.mean_) / self.scale_
        if not words.shape[1]:
            return numbers
        known = [np.array(column, dtype=object) for column in self.categories_]
        encoder = OneHotEncoder(categories=known, handle_unknown="ignore")
        marks = encoder.fit(np.array([[column[0] for column in known]], dtype=object)).transform(words)
        wide = sparse.hstack([sparse.csr_array(numbers), sparse.csr_array(marks)], format="csr")
        return wide.toarray() if wide.shape[1] <= _WIDE else wide

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns that come out: of a category, column=word."""
        check_is_fitted(self, "columns_")
        words = zip(self._words, self.categories_, strict=True)
        told = [f"{name}={word or NOTHING}" for name, column in words for word in column]
        return np.array([*self._numbers, *told], dtype=object)

    def unknown(self, X: Any) -> dict[str, list[str]]:
        """The words of each column that `fit` has not seen."""
        _, words = self._apart(X)
        new = {
            name: sorted(set(column.tolist()) - set(known))
            for name, column, known in zip(self._words, words.T, self.categories_, strict=True)
        }
        return {name: column for name, column in new.items() if column}

    @property
    def _words(self) -> list[str]:
        """The categorical columns."""
        return [self.categorical] if isinstance(self.categorical, str) else list(self.categorical)

    @property
    def _numbers(self) -> list[str]:
        return [str(name) for name in self.columns_ if name not in self._words]

    def _columns_of(self, X: Any) -> list[str]:
        if hasattr(X, "columns"):
            return [str(name) for name in X.columns]
        if self.names is None:
            raise ValueError("names must tell the columns of an array; a data frame has its own")
        if len(self.names) != np.shape(X)[1]:
            raise ValueError(f"names are {len(self.names)}, and X has {np.shape(X)[1]} columns")
        return list(self.names)

    def _apart(self, X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Numbers, NaN for gaps, and words."""
        place = {name: k for k, name in enumerate(self._columns_of(X))}
        if missing := [str(name) for name in self.columns_ if name not in place]:
            raise ValueError(f"X lacks the column {missing[0]!r}{meant(missing[0], place)}")
        table = np.asarray(X, dtype=object)
        n = len(table)
        numbers, words = np.empty((n, len(self._numbers))), np.empty((n, len(self._words)), dtype=object)
        for k, name in enumerate(self._numbers):
            numbers[:, k] = [_number(value, name) for value in table[:, place[name]]]
        for k, name in enumerate(self._words):
            words[:, k] = ["" if _is_gap(value) else str(value) for value in table[:, place[name]]]
        return numbers, words

    def _filled(self, numbers: NDArray[Any]) -> NDArray[Any]:
        gaps = np.isnan(numbers)
        if self.missing == "refuse" and gaps.any():
            row, column = np.argwhere(gaps)[0].tolist()
            raise ValueError(
                f"column {self._numbers[column]!r} has no value in row {row}; missing='median' fills it in"
            )
        if not gaps.any():
            return numbers
        imputer = SimpleImputer(strategy="most_frequent").fit(self.fill_[None, :])
        return np.asarray(imputer.transform(numbers), dtype=np.float64)

    @classmethod
    def _check_stored(cls, fit: dict[str, Any]) -> None:
        """Raise ModelFileError if attributes that were read from a file do not fit together."""
        numbers, words = len(fit["fill_"]), len(fit["categories_"])
        need(len(fit["columns_"]) == fit["n_features_in_"] == numbers + words, "its columns do not fit")
        need(len(set(fit["columns_"].tolist())) == numbers + words, "two columns have the same name")
        need(len(fit["mean_"]) == len(fit["scale_"]) == numbers, "its scales do not fit")
        need(bool(np.isfinite(fit["fill_"]).all() and (fit["scale_"] > 0).all()), "its scales are no scales")
        known = [column == sorted(set(column)) and len(column) > 0 for column in fit["categories_"]]
        need(all(known), "categories are not in order")


def _is_gap(value: Any) -> bool:
    """Also that of pandas."""
    return is_gap(value) or type(value).__name__ in ("NAType", "NaTType")


def _number(value: Any, name: str) -> float:
    try:
        return np.nan if _is_gap(value) else float(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"column {name!r} holds {str(value)[:40]!r}, which is no number; categorical=[{name!r}] takes "
            f"words"
        ) from None
