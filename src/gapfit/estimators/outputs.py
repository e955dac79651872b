"""Fits that determine several scores a sample together: weights of all of them, feature by feature."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Data, Matrix, Slope
from gapfit.design.memory import design_of
from gapfit.design.wide import WideDesign
from gapfit.statements import Ball


def rows_of_outputs(
    w: Slope, b: Any, outputs: int, *, centred: bool = False
) -> tuple[NDArray[Any], NDArray[Any]]:
    """A row of weights and an intercept for each output; `centred`, those sum to zero."""
    each = np.array(np.broadcast_to(b, (outputs,)), float)
    return np.ascontiguousarray(w.reshape(-1, outputs).T), each - each.mean() if centred else each


def joint_bounds(ball: Ball, X: Data, outputs: int) -> tuple[Matrix, Matrix]:
    """Bounds on the scores of the optimum, a column for each output; infinite where there are intercepts."""
    lo, hi = ball.score_bounds(WideDesign(design_of(X), outputs))
    return lo.reshape(-1, outputs), hi.reshape(-1, outputs)
