"""What a fit in one call tells of the slope of its dual point: as good as a pass over X, and counted."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from gapfit import Problem
from gapfit.design.memory import MemoryDesign
from gapfit.driver.in_one_call import Small
from gapfit.driver.one_call_given import Plain
from gapfit.registry import as_loss, as_penalty
from gapfit.statements import optimal_ball

LOSSES = ("hinge", "logistic", "squared_hinge", "huber", "quantile", "squared_epsilon_insensitive")


def drawn(seed):
    """Any loss and penalty, shape and storage."""
    rng = np.random.default_rng([91, seed])
    n, d = int(rng.integers(20, 60)), int(rng.integers(1, 80))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.1, 1.0])) + rng.choice([0.0, 0.0, 3.0])
    loss = str(rng.choice(LOSSES))
    penalty = "l2" if loss in ("hinge", "quantile") else str(rng.choice(["l2", "l1", "elastic_net"]))
    f = X[:, 0] + rng.normal(size=n)
    y = np.where(f > np.median(f), 1.0, -1.0) if loss in LOSSES[:3] else f
    weight = np.ones(n) if rng.random() < 0.5 else rng.random(n) + 0.01
    X = sparse.csr_matrix(X) if rng.random() < 0.5 else X
    return X, y, weight, loss, penalty, 10 ** rng.uniform(-3, 0), bool(rng.random() < 0.6)


def fitted(seed):
    """What a call has found, and the arguments of its problem."""
    X, y, weight, loss, penalty, alpha, free = drawn(seed)
    small = Small.of(Plain.of(MemoryDesign(X), weight, as_loss(loss), as_penalty(penalty), alpha, free))
    return small.fit(y, 1e-6), (X, y, loss, penalty, alpha, weight, free)


def test_few_are_not_fitted_in_one_call():
    assert np.mean([fitted(seed)[0] is not None for seed in range(60)]) >= 0.9


@pytest.mark.parametrize("seed", range(60))
def test_the_slope_is_within_its_error(seed):
    found, arguments = fitted(seed)
    if found is None:
        return
    X, problem = arguments[0], Problem(*arguments)
    told, made = found._told(problem), found._replace(slope=None).solution(problem)
    assert told is not None and told.made
    dense = X.toarray() if sparse.issparse(X) else X
    u = [Fraction(x) for x in found.dual_point.tolist()]
    exact = [
        sum((Fraction(x) * v for x, v in zip(column, u, strict=True)), Fraction(0))
        for column in dense.T.tolist()
    ]
    off = sum((Fraction(float(a)) - b) ** 2 for a, b in zip(told.a, exact, strict=True))
    assert off <= Fraction(told.spread) ** 2 <= 1e-18
    assert told.c - told.noise <= made.minorant.c + made.minorant.noise
    assert made.minorant.c - made.minorant.noise <= told.c + told.noise
    if problem.penalty.modulus > 0:  # the balls of both contain the optimum: they meet
        one, other = optimal_ball(problem, found.solution(problem)), optimal_ball(problem, made)
        assert np.linalg.norm(one.centre - other.centre) <= one.radius + other.radius
    mine, theirs = found.certificate, made.certificate  # which counts rounding more finely
    assert mine.gap <= 1.01 * theirs.gap + 1e-11 * theirs.primal
