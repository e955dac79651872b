"""When the convex bound of a measure says nothing: the largest score_weight at which w = 0 is optimal.

For F measures and the Jaccard index, w = 0 is optimal for every alpha exactly if score_weight times the sum
of the positives is a sum of negatives, each taken with a share a_j between 0 and 1, these shares adding up to
score_weight * P. So the largest score_weight for which that is so is a linear program.
"""

import numpy as np
from scipy.optimize import linprog

from gapfit.design.forms import Rows
from gapfit.estimators.fitting import warn_caller
from gapfit.estimators.pool.members import Fitted, Settings, Surrogate, TwoClasses
from gapfit.losses import FBeta, Jaccard

_ENTRIES = 200_000  # of the linear program, beyond which it takes too long


def critical_score_weight(samples: TwoClasses) -> float | None:
    """The largest score_weight with w = 0 as optimum; None if the program is too large, or fails."""
    positive, weight = samples.positive, samples.weight
    N, d = int((~positive).sum()), samples.design.shape[1]
    rows = samples.design.form(Rows)
    if rows is None or N * (d + 1) > _ENTRIES:
        return None
    X = rows.matrix.X
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


def warn_of_collapse(member: Surrogate, fitted: Fitted, samples: TwoClasses, settings: Settings) -> None:
    """Warn if w = 0 is as good as anything: the convex bound does not tell the classes apart."""
    at_zero = member.problem(samples, settings).oracle(np.zeros(samples.design.shape[1])).risk
    gain, least = at_zero - fitted.certificate.dual, 2 * max(settings.tol, 1e-9)
    if gain > least * max(abs(at_zero), abs(fitted.certificate.dual)):
        return
    known = isinstance(settings.metric.loss, FBeta | Jaccard)
    critical = critical_score_weight(samples) if known else None
    P, N = samples.masses
    if critical is not None and critical >= member.score_weight:
        found = f"w = 0 is optimal for every alpha, up to score_weight = {critical:.3g}"
        cure = f"a score_weight above that (N / P is {N / P:.3g})"
    else:
        found = f"w = 0 is optimal at alpha = {member.alpha:.3g}, within tol"
        cure = f"a smaller alpha, or a larger score_weight (N / P is {N / P:.3g})"
    warn_caller(
        f"the convex bound of this measure says nothing here: {found}. Next: strategy='auto' or 'cost_path'; "
        f"or {cure}.",
        UserWarning,
    )
