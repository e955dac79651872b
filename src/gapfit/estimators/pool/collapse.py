"""When the convex bound of a measure says nothing: the largest score_weight at which w = 0 is optimal.

For F measures and the Jaccard index, w = 0 is optimal for every alpha exactly if score_weight times the sum
of the positives is a sum of negatives, each taken with a share a_j between 0 and 1, these shares adding up to
score_weight * P. So the largest score_weight for which that is so is a linear program.
"""

import numpy as np
from scipy.optimize import linprog

from gapfit.estimators.pool.members import Samples

_ENTRIES = 200_000  # of the linear program, beyond which it takes too long


def critical_score_weight(samples: Samples) -> float | None:
    """The largest score_weight with w = 0 as optimum; None if the program is too large, or fails."""
    positive, weight = samples.positive, samples.weight
    N, d = int((~positive).sum()), samples.design.shape[1]
    if N * (d + 1) > _ENTRIES:
        return None
    X = samples.design.X
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
    size = np.abs(X).max(axis=0)
    X = X / np.where(size > 0, size, 1.0)
    shares = np.vstack([X[~positive].T, np.ones(N)])  # a_j is in units of weight here
    asked = np.r_[X[positive].T @ weight[positive], weight[positive].sum()]
    found = linprog(
        np.r_[np.zeros(N), -1.0],
        A_eq=np.column_stack([shares, -asked]),
        b_eq=np.zeros(d + 1),
        bounds=[*((0.0, float(v)) for v in weight[~positive]), (0.0, None)],
        method="highs",
    )
    return float(found.x[-1]) if found.status == 0 else None
