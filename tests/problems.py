"""From a reference case, which knows nothing of gapfit, to a gapfit Problem."""

import numpy as np

from gapfit import Problem
from gapfit.registry import LOSSES, PENALTIES
from references import Case
from tables import registry_name


def make_penalty(name, params):
    """The penalty object of a table entry."""
    params = dict(params)
    if "inner" not in params:
        return PENALTIES[registry_name(name)](**params)
    inner = PENALTIES[params.pop("inner")](**params.pop("inner_params"))
    return PENALTIES[registry_name(name)](inner, **params)


def make_problem(case: Case) -> Problem:
    """The same problem, as gapfit states it."""
    return Problem(
        case.X,
        case.y,
        loss=LOSSES[case.loss](**case.loss_params),
        penalty=make_penalty(case.penalty, case.penalty_params),
        alpha=case.alpha,
        sample_weight=case.sample_weight,
        intercept=case.intercept,
        offset=case.offset,
    )


def labels_problem(n=60, d=5, seed=0, loss="hinge", penalty="l2", alpha=1e-2, dtype=np.float64, **kwargs):
    """A small classification problem with overlapping classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(dtype)
    y = np.where(X @ rng.normal(size=d) + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    if loss in ("crammer_singer", "softmax"):  # whose labels count from zero
        y = np.maximum(y, 0.0)
    return Problem(X, y, loss, penalty, alpha, **kwargs)
