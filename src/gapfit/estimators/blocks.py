"""Predictions for data that are not all in memory: a block at a time, or where the data are."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np

from gapfit.design.elsewhere import answered, beside, is_collection, is_on_a_card, mapped
from gapfit.design.given import Given
from gapfit.elsewhere import fetched
from gapfit.estimators.handed_over import counts

Method = TypeVar("Method", bound=Callable[..., Any])

__all__ = ["by_blocks"]


def by_blocks(method: Method) -> Method:
    """A method of X whose answer for a row depends on that row alone: it takes shards, which are read one
    after the other, collections of Dask, whose answer is a collection as well, and tensors on a card; its
    answer for a tensor in memory is one as well if scikit-learn was told to heed what X is."""

    @wraps(method)
    def wrapper(self: Any, X: Any) -> Any:
        if isinstance(X, Given):
            return np.concatenate([method(self, block) for block in X.blocks()])
        if is_collection(X):
            return mapped(partial(method, self), X)
        if is_on_a_card(X):
            return answered(partial(method, self), X)
        if counts(X):
            return beside(np.asarray(method(self, fetched(X))), X)
        return method(self, X)

    return wrapper  # type: ignore[return-value]
