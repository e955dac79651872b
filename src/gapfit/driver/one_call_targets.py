"""What losses of several scores or thresholds make of targets for a fit in one call.
See `curved_in_one_call`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gapfit._types import Vector
from gapfit.losses.base import Loss
from gapfit.losses.crammer_singer import CrammerSinger
from gapfit.losses.multiclass import count_classes
from gapfit.losses.ordinal import MANY, OrdinalThresholds
from gapfit.losses.ranking import levels_of
from gapfit.losses.softmax import Softmax


class Targets(NamedTuple):
    """A number for each sample, and what compiled code calls their loss."""

    kind: int
    y: Vector
    scores: int
    offsets: int
    attained: bool = True  # have offsets best values?
    costs: Any = None  # of classes, a line for each true one: those of a margin loss


def takes(loss: Loss, *, intercept: bool) -> bool:
    """Is it one of these, and none of one's own making that does more?"""
    if type(loss) not in KNOWN:
        return False
    if isinstance(loss, OrdinalThresholds):
        return intercept and loss.base == "logistic"
    # the best offsets of a margin loss are no matter of Newton's method
    return not (isinstance(loss, CrammerSinger) and (intercept or loss.rescaling != "margin"))


def targets_of(loss: Loss, y: Vector) -> Targets:
    """Of a loss that is taken."""
    return KNOWN[type(loss)](loss, y)


def _softmax(loss: Any, y: Vector) -> Targets:
    from gapfit.compiled.small_curved import CLASSES  # compiled code is loaded only when it is to run

    K = count_classes(y, loss.n_classes)
    return Targets(CLASSES, y, K, K, attained=len(np.unique(y)) == K)


def _margins(loss: Any, y: Vector) -> Targets:
    from gapfit.compiled.small_curved import CLASSES

    K = count_classes(y, loss.n_classes if loss.costs is None else len(loss.costs))
    return Targets(CLASSES, y, K, K, costs=1.0 - np.eye(K) if loss.costs is None else np.array(loss.costs))


def _levels(loss: Any, y: Vector) -> Targets:
    from gapfit.compiled.small_curved import LEVELS, NEIGHBOURS

    levels, level = levels_of(loss, y, MANY)
    kind = LEVELS if loss.kind == "all" else NEIGHBOURS
    return Targets(kind, level.astype(np.float64), 1, len(levels) - 1)


KNOWN: dict[type[Loss], Callable[[Any, Vector], Targets]] = {
    Softmax: _softmax, CrammerSinger: _margins, OrdinalThresholds: _levels,
}  # fmt: skip
