"""Probabilities: of losses that are likelihoods as they are, of all others by calibration within the fit."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metaestimators import available_if

from gapfit._types import Vector
from gapfit.calibration import METHODS, Curve, calibrated
from gapfit.checks import as_weights
from gapfit.declaration import attribute, declared, parameter
from gapfit.design.base import Design
from gapfit.design.elsewhere import is_collection
from gapfit.design.given import Given
from gapfit.errors import as_choice
from gapfit.estimators.blocks import by_blocks
from gapfit.estimators.samples import rows_of
from gapfit.estimators.targets import as_labels
from gapfit.persistence.fits import CURVES

_FOLDS = 5


def has_probabilities(model: Any) -> bool:
    """Does the loss give them, or a calibration? The error says what would."""
    if model.calibrate is not None or model._own_probabilities:
        return True
    raise AttributeError(
        f"probabilities need calibrate='sigmoid' or 'isotonic'{model._or_else}: {type(model).__name__} with "
        f"these parameters has scores only"
    )


@declared
class Probabilities(BaseEstimator):
    """A classifier that may have probabilities."""

    calibrate: str | None = parameter(
        """Fit probabilities to the scores: "sigmoid" (Platt: two numbers, whose fit is certified) or
        "isotonic" (a rising step function, for a thousand samples or more). The scores are those of models
        fitted to four fifths of the samples, for the fifth that was left out; classes are calibrated one by
        one and then normalised. `predict` stays as it is. None: only losses that are likelihoods have
        probabilities.""",
        '"sigmoid", "isotonic" or None', default=None,
    )  # fmt: skip

    calibration_: list[Curve] = attribute(
        CURVES, "list of Curve",
        """One for each column of `decision_function`, if calibrate is not None: a function from scores to
        probabilities, `certificate` that of its fit.""",
        optional=True,
    )  # fmt: skip

    _or_else = ""  # what else would help

    @property
    def _own_probabilities(self) -> bool:
        """Has the loss probabilities of its own?"""
        return False

    def _own_log_proba(self, X: Any) -> Vector:
        raise NotImplementedError  # for who has such losses

    def _own_proba(self, X: Any) -> Vector:
        return np.exp(self._own_log_proba(X))

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    @by_blocks
    def predict_proba(self, X: Any) -> Vector:
        """Probabilities of shape (n, k): of the loss itself, or as `calibrate` says.

        One against the rest, k > 2 of them are normalised to sum to one.
        """
        if self.calibrate is None:
            return self._own_proba(X)
        scores = self.decision_function(X)
        return self._from_scores(scores)

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    @by_blocks
    def predict_log_proba(self, X: Any) -> Vector:
        """Logarithms of the probabilities."""
        if self.calibrate is None:
            return self._own_log_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _from_scores(self, scores: Vector) -> Vector:
        if scores.ndim == 1:
            up = self.calibration_[0](scores)
            return np.stack([1 - up, up], axis=1)
        found = np.stack(
            [curve(column) for curve, column in zip(self.calibration_, scores.T, strict=True)], axis=1
        )
        total = found.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, found / np.where(total > 0, total, 1.0), 1 / found.shape[1]))

    def _calibrate(self, given: Mapping[str, Any]) -> None:
        """Fit the curves to scores of samples left out."""
        self.__dict__.pop("calibration_", None)
        if self.calibrate is None:
            return
        as_choice("calibrate", self.calibrate, METHODS)
        if isinstance(given["X"], Design | Given) or is_collection(given["X"]):
            raise TypeError("calibrate fits models to parts of the samples, which must be in memory")
        scores, places, rows = left_out_scores(self, given)
        weight = as_weights(given.get("sample_weight"), len(places))[rows]
        columns = scores[:, None] if scores.ndim == 1 else scores
        positive = [places[rows] == (k if scores.ndim == 2 else 1) for k in range(columns.shape[1])]
        self.calibration_ = [
            calibrated(self.calibrate, column, up, weight)
            for column, up in zip(columns.T, positive, strict=True)
        ]


def left_out_scores(
    model: Any, given: Mapping[str, Any]
) -> tuple[Vector, NDArray[np.intp], NDArray[np.intp]]:
    """Scores of samples by models that have not seen them; the class of every sample, by its number; and
    which samples these are: all, but for those of weight zero."""
    y = as_labels(given["y"], len(given["y"]))
    known = {name: one for name, one in given.items() if one is not None}
    places = np.searchsorted(model.classes_, y)
    there = np.flatnonzero(np.isin(y, model.classes_) & (as_weights(given.get("sample_weight"), len(y)) > 0))
    folds = min(_FOLDS, int(np.bincount(places[there]).min()))
    if folds < 2:
        raise ValueError("calibrate leaves samples of each class out, and y holds a class of one sample")
    found, rows = [], []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(there, places[there]):
        seen = rows_of(known, there[train])
        # the same model on other samples, of which nothing but scores is asked
        found.append(model._again(seen).decision_function(rows_of(known, there[test])["X"]))
        rows.append(there[test])
    order = np.concatenate(rows)
    return np.concatenate(found), places, order
