"""Models with several scores a sample that one problem determines together: its answer as attributes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Data, Matrix, Slope
from gapfit.design.memory import MemoryDesign
from gapfit.design.wide import WideDesign
from gapfit.statements import Ball


def outputs_of(w: Slope, d: int) -> int:
    """How many scores a sample has, from all weights and the number of features."""
    return len(w) // d


def weights_and_intercepts(w: Slope, b: Any, outputs: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """A row of weights and an intercept for each output."""
    return np.ascontiguousarray(w.reshape(-1, outputs).T), np.array(np.broadcast_to(b, (outputs,)), float)


def joint_bounds(ball: Ball, X: Data, outputs: int) -> tuple[Matrix, Matrix]:
    """Bounds on the scores of the optimum, a column for each output; infinite where there are intercepts."""
    lo, hi = ball.score_bounds(WideDesign(MemoryDesign(X), outputs))
    return lo.reshape(-1, outputs), hi.reshape(-1, outputs)
