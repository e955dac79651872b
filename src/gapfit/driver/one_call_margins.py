"""What a margin loss over classes has of its own for a fit in one call: see `compiled.small_margins_fit`."""

from typing import Any

import numpy as np
from scipy import sparse

from gapfit._types import Data, Matrix
from gapfit.design.memory import MemoryDesign
from gapfit.driver.in_one_call import certificate_of
from gapfit.driver.one_call_given import Plain
from gapfit.driver.one_call_targets import Targets

ANSWERS = 60_000  # of all samples
SWEPT = 2.5e6  # entries are passed in a sweep, at most, where there is no kernel matrix
KEPT = 1000  # samples, up to which there may be one
CHANGED = 2  # classes of a sample change in a visit, which takes a row of the matrix each
SIDE_BY_SIDE = 4  # entries of such a row are passed in the time of one of X
LOOKED_UP = 2  # times as long takes an entry whose column has to be looked up
THIN = 0.05  # stored entries of all, down to which it is made, and of dense rows


def are_worth_sweeps(design: MemoryDesign, m: int) -> bool:
    """With m classes: others are as fast where some sweeps take long."""
    few = design.shape[0] * m <= ANSWERS
    return few and (_is_kept(design, m) or design.size * m <= SWEPT)


def fit_margins(given: Plain, task: Any, tol: float, targets: Targets, work: Any, *room: Any) -> Any:
    """What is proved of the point that is written to the room."""
    from gapfit.compiled import small_margins_fit  # compiled code is loaded only when it is to run
    from gapfit.compiled.small_margins import Margins

    (n, m), row = work.F.shape, targets.y.astype(np.int64)
    margins = Margins(targets.costs, row, np.zeros((n, m)), np.zeros(1), np.empty(n, np.int64))
    rest = given.weight, tol, work, *room
    if _is_kept(given.design, m):
        proved = small_margins_fit.by_kept_sweeps(task, margins, _kernel(given.design.X), *rest)
    else:
        proved = small_margins_fit.by_sweeps(task, margins, *rest)
    if len(work.matrix) and not certificate_of(proved, given.loss).relative_gap <= tol:
        proved = small_margins_fit.by_newton(task, margins, *rest[1:])
    return proved


def _kernel(X: Data) -> Matrix:
    """X X'."""
    dense = X.toarray() if sparse.issparse(X) else X
    return np.asarray(dense @ dense.T)


def _is_kept(design: MemoryDesign, m: int) -> bool:
    """Are all scores? Where they are not, a visit passes an entry of X for each score and for each change."""
    (n, d), entries = design.shape, design.size
    if n > KEPT or entries < THIN * n * d:
        return False
    passed = entries / n * (m + CHANGED) * (LOOKED_UP if sparse.issparse(design.X) else 1)
    return n * CHANGED <= SIDE_BY_SIDE * passed
