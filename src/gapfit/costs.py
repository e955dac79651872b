"""What errors cost, example by example, as labels and weights: every loss and estimator takes those."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Vector
from gapfit.checks import as_column

__all__ = ["costs_to_weights"]


def costs_to_weights(cost_of_negative: Any, cost_of_positive: Any) -> tuple[NDArray[np.int64], Vector]:
    """Labels y and sample weights s whose weighted errors are the cost of predictions.

    With what it costs to predict the negative class for each sample, and the positive one, the cost of
    predictions p is ::

        sum_i cost_of_p_i = sum_i min(cost_of_negative_i, cost_of_positive_i) + sum_i s_i [p_i != y_i],

    y_i being the cheaper class and s_i the difference. So `fit(X, y, sample_weight=s)` minimises a convex
    bound of the cost, less what no prediction could save. Costs may be negative: gains.

    Parameters
    ----------
    cost_of_negative, cost_of_positive : arrays of shape (n,)

    Returns
    -------
    y : array of shape (n,), 1 where the positive class costs less, else 0
    sample_weight : array of shape (n,); 0 where both cost the same, which equals absence
    """
    negative = as_column("cost_of_negative", cost_of_negative, np.size(cost_of_negative))
    positive = as_column("cost_of_positive", cost_of_positive, len(negative))
    return (positive < negative).astype(np.int64), np.abs(positive - negative)
