"""What one sample can change: left-out predictions and influence, proved; refitted only where needed."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier

from gapfit import threads
from gapfit._types import Maybe, Vector
from gapfit.checks import as_weights
from gapfit.design.memory import as_design
from gapfit.elsewhere import fetched
from gapfit.errors import as_number, as_numbers
from gapfit.estimators.altered import Altered
from gapfit.estimators.assertions import Assertions
from gapfit.estimators.linear_parts import Posed


class LeaveOneOut(NamedTuple):
    """What the models say that were fitted to all samples but one, of that one."""

    lo: Vector  # bounds of the left-out scores; (n, k) for several classes
    hi: Vector
    decided: NDArray[np.bool_]  # is the label certain? (Regression: is the interval narrow?)
    n_refits: int  # samples for which a model had to be fitted
    predictions: NDArray[Any]  # labels, or numbers
    error: float  # the share of labels that are wrong; the mean squared error of a regression
    error_bounds: tuple[float, float]  # of that, if some are not decided

    @property
    def labels(self) -> NDArray[Any]:
        """The left-out predictions."""
        return self.predictions


class Influence(NamedTuple):
    """What becomes of predictions if one training sample changes: a row for each prediction, a column for
    each change."""

    lo: Vector  # bounds of the scores afterwards; (m, n, k) for several classes
    hi: Vector
    stable: NDArray[np.bool_]  # the label certainly stays as it is
    changes: NDArray[np.bool_]  # it certainly becomes another
    n_refits: int

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Neither is certain."""
        return ~(self.stable | self.changes)

    @property
    def robust(self) -> NDArray[np.bool_]:
        """Which predictions no single change can alter."""
        return np.asarray(self.stable.all(axis=1))


class WhatIf(Assertions):
    """A linear model that can be asked what it would be without a sample, or with another label for it."""

    def leave_one_out(
        self, X: Any, y: ArrayLike, sample_weight: Maybe = None, offset: Maybe = None, *, refit: bool = True
    ) -> LeaveOneOut:
        """What models fitted to all samples but one predict for that one; refitted only where undecided.

        The bounds hold for the exact optima of the n problems, at the same alpha. Equal samples are told
        apart: one of them is left out.

        Parameters
        ----------
        X, y, sample_weight, offset : what the model was fitted to
        refit : whether to fit models for samples whose label is not certain without

        Returns
        -------
        LeaveOneOut
        """
        y = fetched(y)
        rows = as_design(self._checked(X))
        with threads.using(self.n_jobs):
            asked = Altered.of(self, self._posed_here(X, y, sample_weight, offset))
            there = asked.there
            change = asked.change(np.zeros(len(there)), flipped=False)
            lo, hi = asked.optimum(rows)
            lo[there], hi[there] = asked.own(change, rows.take(there))
            decided = asked.decided_by(y)
            again = np.flatnonzero(~decided(lo[there], hi[there])) if refit else there[:0]
            for k in again.tolist():
                i = there[k : k + 1]
                lo[i], hi[i] = asked.refitted(change, k, rows.take(i), decided)
        return _left_out(asked, lo, hi, len(again), y)

    def influence(
        self,
        X_test: Any,
        *,
        change: Any = "delete",
        X: Any = None,
        y: Maybe = None,
        sample_weight: Maybe = None,
        refit: bool = True,
    ) -> Influence:
        """Which single training samples could change which predictions, proved.

        Parameters
        ----------
        X_test : rows to predict
        change : "delete", "flip" (the label, of two classes), or the weight that each sample has instead of 1
        X, y, sample_weight : what the model was fitted to; not needed for up to four million entries, of
            which a model keeps a copy
        refit : whether to fit models for changes whose outcome is not certain without

        Returns
        -------
        Influence
        """
        rows = as_design(self._checked(X_test))
        with threads.using(self.n_jobs):
            asked = Altered.of(self, self._fitted_to(X, y, sample_weight))
            weight, flipped = _as_change(change, len(asked.place), self)
            made = asked.change(weight[asked.there], flipped=flipped)
            own = np.asarray(fetched(self.predict(X_test)))
            lo, hi = asked.others(made, rows)
            base = asked.optimum(rows)
            if len(asked.there) < len(asked.place):  # samples of weight zero: nothing changes
                lo, hi = (_spread(ends, asked, end) for ends, end in zip((lo, hi), base, strict=True))
            decided = asked.decided_by(asked.problems[0].y)
            refits = 0
            for k, i in enumerate(asked.there.tolist() if refit else ()):
                if not decided(lo[:, i], hi[:, i]).all():
                    lo[:, i], hi[:, i] = asked.refitted(made, k, rows, decided)
                    refits += 1
        certain = decided(lo, hi)
        same = asked.predicted(lo, hi) == own[:, None] if is_classifier(self) else certain
        return Influence(lo, hi, certain & same, certain & ~same, refits)

    def _posed_here(self, *given: Any) -> Posed:
        """The problem of data that are in memory now: that is where single samples are altered."""
        return clone(self).set_params(device=None)._posed(*map(fetched, given))

    def _fitted_to(self, X: Any, y: Any, sample_weight: Any) -> Posed:
        """The problem that the model has solved, by the data that are given, or were kept."""
        if X is not None or y is not None:
            return self._posed_here(X, y, sample_weight, None)
        if (kept := self.__dict__.get("_kept")) is None:
            raise ValueError("X and y are needed, what the model was fitted to: it has not kept them")
        return kept


def _left_out(asked: Altered, lo: Vector, hi: Vector, refits: int, y: Any) -> LeaveOneOut:
    """The record."""
    y, decided = np.asarray(y), asked.decided_by(y)(lo, hi)
    predictions = asked.predicted(lo, hi)
    if is_classifier(asked.model):
        wrong = predictions != y
        bounds = float(np.mean(wrong & decided)), float(np.mean(wrong | ~decided))
        return LeaveOneOut(lo, hi, decided, refits, predictions, float(np.mean(wrong)), bounds)
    lo, hi = asked.model._mean(lo), asked.model._mean(hi)
    nearest = np.maximum(np.maximum(lo - y, y - hi), 0.0)
    farthest = np.maximum(np.abs(lo - y), np.abs(hi - y))
    bounds = float(np.mean(nearest**2)), float(np.mean(farthest**2))
    return LeaveOneOut(lo, hi, decided, refits, predictions, float(np.mean((predictions - y) ** 2)), bounds)


def _spread(ends: Vector, asked: Altered, base: Vector) -> Vector:
    """A column for every sample: the base where it has no weight."""
    shape = (ends.shape[0], len(asked.place), *ends.shape[2:])
    full = np.broadcast_to(base[:, None], shape).copy()
    full[:, asked.there] = ends
    return full


def _as_change(change: Any, n: int, model: Any) -> tuple[Vector, bool]:
    """New weights in terms of the old ones, and whether what goes comes back with another label."""
    if isinstance(change, str):
        if change not in ("delete", "flip"):
            raise ValueError(f'change must be "delete", "flip" or weights, got {change!r}')
        if change == "flip" and (not is_classifier(model) or len(model.classes_) != 2):
            raise ValueError('change="flip" is for classifiers of two classes')
        return np.zeros(n), change == "flip"
    weights = as_numbers("change", change)
    if weights.ndim == 0:
        weights = np.full(n, as_number("change", change))
    return as_weights(weights, n) if weights.any() else np.zeros(n), False
