"""Scores of predictions: what is compared is in memory, wherever X is."""

from typing import Any

from sklearn.base import BaseEstimator

from gapfit._types import Maybe
from gapfit.design.elsewhere import as_device, is_on_a_card
from gapfit.elsewhere import fetched

__all__ = ["Judged"]


class Judged(BaseEstimator):
    """A model whose predictions scikit-learn's mixins compare with targets; either may be on a card."""

    def score(self, X: Any, y: Any, sample_weight: Maybe = None) -> float:
        """How good predictions for X are: the share of right labels, or R^2."""
        rows = as_device(X) if is_on_a_card(X) else fetched(X)  # of which predictions are NumPy's
        return float(super().score(rows, fetched(y), sample_weight=fetched(sample_weight)))
