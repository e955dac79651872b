"""Probabilities: of losses that are likelihoods as they are, of all others by calibration within the fit."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gapfit._types import Vector
from gapfit.calibration import METHODS, Curve, calibrated
from gapfit.checks import as_column, as_weights
from gapfit.declaration import attribute, declared, parameter
from gapfit.design.base import Design
from gapfit.design.elsewhere import is_collection
from gapfit.design.given import Given
from gapfit.design.rows import take_rows
from gapfit.errors import as_choice
from gapfit.estimators.blocks import by_blocks
from gapfit.estimators.fitting import warn_caller
from gapfit.estimators.samples import indexable, rows_of
from gapfit.estimators.targets import as_labels
from gapfit.persistence.container import need
from gapfit.persistence.fits import CURVES
from gapfit.reductions import Multiset
from gapfit.solution import Status

_FOLDS = 5
ALONE: dict[str, Any] = {"calibrate": None, "checkpoint": None}  # parameters of one of several models


def uninterrupted(model: Any) -> Any:
    """The model, if nothing has cut its fit short: one of several is of no use then, and the others
    neither."""
    if model.status_ is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return model


def has_probabilities(model: Any) -> bool:
    """Does the loss give them, or a calibration? The error says what would."""
    if model.calibrate is None and model._own_probabilities:
        return True
    if model.calibrate is not None and (hasattr(model, "calibration_") or not hasattr(model, "classes_")):
        return True
    if model.calibrate is not None:
        raise AttributeError(
            "this model was fitted without calibrate. (Within a choice of parameters nothing is calibrated: "
            "take a scoring that needs no probabilities.)"
        )
    raise AttributeError(
        f"probabilities need calibrate='sigmoid' or 'isotonic'{model._or_else}: {type(model).__name__} with "
        f"these parameters has scores only"
    )


class HeldOut(NamedTuple):
    """Samples to be scored by models that have not seen them."""

    samples: dict[str, Any]  # what `fit` is given
    places: NDArray[np.intp]  # of their labels among the classes
    weight: Vector
    splits: list[tuple[NDArray[np.intp], NDArray[np.intp]]]  # none if they cannot be left out


@declared
class Calibrated(BaseEstimator):
    """A model whose scores may be turned into probabilities."""

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

    @classmethod
    def _check_stored(cls, fit: dict[str, Any]) -> None:
        super()._check_stored(fit)  # what it is mixed into has it
        curves = fit.get("calibration_")
        need(curves is None or len(curves) == cls._n_curves(fit), "calibration_ does not fit classes_")

    @classmethod
    def _n_curves(cls, fit: dict[str, Any]) -> int:
        """How many there are, in a file of a fit."""
        classes = len(fit["classes_"])
        return 1 if classes == 2 else classes

    def _to_calibrate(self, X: Any) -> Vector:
        """The scores that curves are of: (n,) or a column for each of them."""
        return np.asarray(self.decision_function(X))

    def _events(self, places: NDArray[np.intp], count: int) -> list[NDArray[np.bool_]]:
        """What each column of scores speaks for, by the places of labels among the classes."""
        return [places == (k if count > 1 else 1) for k in range(count)]

    def _curves_at(self, scores: Vector) -> Vector:
        columns = scores[:, None] if scores.ndim == 1 else scores
        return np.stack([curve(f) for curve, f in zip(self.calibration_, columns.T, strict=True)], axis=1)

    def _calibrate(self, given: Mapping[str, Any]) -> None:
        """Fit the curves to scores of samples left out."""
        self.__dict__.pop("calibration_", None)
        if self.calibrate is None:
            return
        as_choice("calibrate", self.calibrate, METHODS)
        if isinstance(given["X"], Design | Given) or is_collection(given["X"]):
            raise TypeError("calibrate fits models to parts of the samples, which must be in memory")
        scores, places, weight = _left_out(self, self._held_out(given))
        columns = scores[:, None] if scores.ndim == 1 else scores
        events = self._events(places, columns.shape[1])
        pairs = zip(columns.T, events, strict=True)
        self.calibration_ = [calibrated(self.calibrate, column, event, weight) for column, event in pairs]

    def _held_out(self, given: Mapping[str, Any]) -> HeldOut:
        """Equal samples are one, so that no copy of it is seen; those of no weight are absent."""
        from sklearn.model_selection import StratifiedKFold  # most models are not calibrated

        X = self._checked(given["X"])
        n, target = X.shape[0], indexable(given["y"])
        y, weight = as_labels(target, n), as_weights(given.get("sample_weight"), n)
        offset = None if given.get("offset") is None else as_column("offset", given["offset"], n)
        order, there = np.argsort(self.classes_), np.isin(y, self.classes_)
        places = order[np.searchsorted(self.classes_[order], np.where(there, y, self.classes_[0]))]
        origin = Multiset.of(X, places, np.where(there, weight, 0.0), offset)
        places, weight = places[origin.rows], origin.weight
        samples = rows_of({"X": X, "y": target, "offset": offset}, origin.rows) | {"sample_weight": weight}
        known = {name: one for name, one in samples.items() if one is not None}
        folds = min(_FOLDS, int(np.bincount(places).min()))
        cut = StratifiedKFold(max(folds, 2), shuffle=True, random_state=0)
        return HeldOut(known, places, weight, list(cut.split(places, places)) if folds > 1 else [])


@declared
class Probabilities(Calibrated):
    """A classifier that may have probabilities."""

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
        check_is_fitted(self)
        return self._from_scores(self._to_calibrate(X))

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    @by_blocks
    def predict_log_proba(self, X: Any) -> Vector:
        """Logarithms of the probabilities."""
        if self.calibrate is None:
            return self._own_log_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _from_scores(self, scores: Vector) -> Vector:
        found = self._curves_at(scores)
        if found.shape[1] == 1:
            return np.hstack([1 - found, found])
        total = found.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, found / np.where(total > 0, total, 1.0), 1 / found.shape[1]))


def _left_out(model: Any, held: HeldOut) -> tuple[Vector, NDArray[np.intp], Vector]:
    """Scores of samples by models that have not seen them, the places of their labels, and their weights."""
    samples, places, weight, splits = held
    if not splits:
        warn_caller(
            "y holds a class of one sample, which cannot be left out: probabilities are calibrated on scores "
            "of samples that the model has seen, and will be too sure",
            UserWarning,
        )
        return model._to_calibrate(samples["X"]), places, weight
    found = []
    for train, test in splits:
        # the same model on other samples, of which nothing but scores is asked
        found.append(model._again(rows_of(samples, train))._to_calibrate(take_rows(samples["X"], test)))
    at = np.concatenate([test for _, test in splits])
    return np.concatenate(found), places[at], weight[at]
