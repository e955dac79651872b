"""Fitted arrays where X was: scikit-learn's convention for tensors, under its switch `array_api_dispatch`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn import get_config

from gapfit.design.elsewhere import beside, is_tensor
from gapfit.elsewhere import fetched

__all__ = ["counts", "hand_over", "taken_back"]


def counts(X: Any) -> bool:
    """Does the namespace of X count? It does for tensors, if scikit-learn was told so."""
    return is_tensor(X) and bool(get_config()["array_api_dispatch"])


def hand_over(model: Any, X: Any) -> None:
    """Move what the model names in `AS_X` to where X is. Plain numbers stay such."""
    if counts(X):
        for name in model.AS_X:
            if isinstance(value := vars(model).get(name), np.ndarray):
                setattr(model, name, beside(value, X))


def taken_back(state: Mapping[str, Any]) -> dict[str, Any]:
    """What a model holds, in memory: it is read where there may be neither a card nor torch."""
    return {name: fetched(value) if is_tensor(value) else value for name, value in state.items()}
