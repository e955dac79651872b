"""Non-negative least squares, where numbers may be so large or so small that there is no answer."""

import numpy as np
from scipy.optimize import nnls

from gapfit._types import Matrix, Vector

_ROUNDS = 30  # for each column


def non_negative(columns: Matrix, wanted: Vector) -> Vector | None:
    """The shares, none of them negative, of columns that come nearest to what is wanted.

    None where a column has overflowed, or rounding leaves no way to the answer.
    """
    if not (np.isfinite(columns).all() and np.isfinite(wanted).all()):
        return None
    try:
        return np.asarray(nnls(columns, wanted, maxiter=_ROUNDS * columns.shape[1])[0])
    except RuntimeError:
        return None
