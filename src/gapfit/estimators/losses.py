"""Which losses an estimator takes."""

from collections.abc import Sequence
from typing import Any

from gapfit.losses.base import Loss
from gapfit.registry import LOSSES, as_loss


def check_loss(loss: Any, names: Sequence[str]) -> Loss:
    """One of the named losses, or one that the user wrote."""
    made = as_loss(loss)
    name = next((name for name, known in LOSSES.items() if type(made) is known), None)
    if name is not None and name not in names:
        raise ValueError(f"loss must be one of {', '.join(names)} or of your own making, got {loss!r}")
    return made
