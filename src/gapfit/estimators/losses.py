"""Which losses an estimator takes: those of targets that it can make, and those that do not say."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gapfit._types import Target
from gapfit.losses.base import Loss
from gapfit.registry import LOSSES, as_loss


def names_of(takes: Target) -> list[str]:
    """The losses of gapfit for such targets, by name."""
    return [name for name, loss in LOSSES.items() if target_of(loss) & takes]


def target_of(loss: Any) -> Target:
    """What a loss or its name says about targets; nothing, for what is neither."""
    known = LOSSES.get(loss) if isinstance(loss, str) else loss
    return getattr(known, "target", None) or Target(0)


def check_loss(loss: Any, takes: Target, own_names: Mapping[str, Any] = MappingProxyType({})) -> Loss:
    """A loss for such targets, by its name or one that the estimator has for it, or of one's own making."""
    known = [*own_names, *names_of(takes)]
    named = not isinstance(loss, str) or loss in known
    made = as_loss(own_names.get(loss, loss) if isinstance(loss, str) else loss) if named else None
    if made is None or (made.target is not None and not made.target & takes):
        raise ValueError(f"loss must be one of {', '.join(known)} or of your own making, got {loss!r}")
    return made
