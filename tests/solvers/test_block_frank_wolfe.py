"""Block-coordinate Frank-Wolfe: structures of plain labels are Crammer-Singer, whose optimum others know."""

from functools import partial

import numpy as np
import pytest

from gapfit import IncompatibleSolver, Problem, solve
from gapfit.solvers.block_frank_wolfe import block_frank_wolfe
from gapfit.structures import Labels, StructuredMargin, WeightDesign
from problems import labels_problem

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.argmax(X + 0.5 * RNG.normal(size=X.shape), axis=1)


def structured(alpha):
    loss = StructuredMargin(Labels(3), X, Y)
    design = WeightDesign(len(X), len(Labels(3).joint_features(X[0], Y[0])))
    return Problem(design, np.arange(len(X)), loss, alpha=alpha, intercept=False)


@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_the_optimum_is_that_of_crammer_singer(alpha):
    found = solve(structured(alpha), "block_frank_wolfe", tol=1e-4)
    plain = solve(Problem(X, Y.astype(float), "crammer_singer", alpha=alpha, intercept=False), tol=1e-8)
    assert found.converged and found.certificate.evidence == "accumulated"
    apart = abs(found.certificate.primal - plain.certificate.primal)
    assert apart <= found.certificate.gap + plain.certificate.gap
    assert found.certificate.dual <= plain.certificate.primal


def test_the_oracle_is_asked_once_a_sample_and_step():
    calls = []

    class Counted(Labels):
        def loss_augmented_argmax(self, x, y, w):
            calls.append(1)
            return super().loss_augmented_argmax(x, y, w)

    loss = StructuredMargin(Counted(3), X, Y)
    problem = Problem(WeightDesign(len(X), 9), np.arange(len(X)), loss, alpha=0.1, intercept=False)
    steps = block_frank_wolfe(problem)
    next(steps)
    before = len(calls)
    next(steps)
    assert len(calls) - before == len(X)


def test_seeds_repeat_and_differ():
    first, again, other = (
        solve(structured(0.1), partial(block_frank_wolfe, seed=seed), tol=0.0, max_iter=3).w
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_it_is_for_structures_alone():
    with pytest.raises(IncompatibleSolver, match="Hinge"):
        solve(labels_problem(), "block_frank_wolfe")
