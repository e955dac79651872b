"""Dual ascent on chains: a chain of one token is softmax, and longer ones are what the bundle finds."""

import numpy as np
import pytest

from gapfit import IncompatibleSolver, Problem, solve
from gapfit.design.chain import ChainDesign
from gapfit.losses import ChainCRF, ChainMargin
from problems import labels_problem

RNG = np.random.default_rng(0)


def chains(loss, lengths, alpha):
    n = int(np.sum(lengths))
    X = RNG.normal(size=(n, 3))
    labels = np.argmax(X + 0.7 * RNG.normal(size=(n, 3)), axis=1)
    return of_chains(X, labels, lengths, loss, alpha)


def of_chains(X, labels, lengths, loss, alpha):
    groups = np.repeat(np.arange(len(lengths)), lengths)
    design = ChainDesign(X, lengths, 3)
    return Problem(design, labels, loss, alpha=alpha, intercept=False, groups=groups)


@pytest.mark.parametrize("loss", [ChainCRF(), ChainMargin()])
@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_the_optimum_is_that_of_the_bundle(loss, alpha):
    problem = chains(loss, [3, 1, 4, 2, 5, 3, 2, 4], alpha)
    found, exact = solve(problem, "chain_dual", tol=1e-3), solve(problem, "bundle", tol=1e-5)
    assert found.converged
    assert (
        abs(found.certificate.primal - exact.certificate.primal)
        <= found.certificate.gap + exact.certificate.gap
    )
    assert found.certificate.evidence == "accumulated"


def test_chains_of_one_token_are_softmax_with_labels_that_begin_and_end():
    """Its biases are penalised here, as weights of the first and of the last label: two for each label."""
    X = RNG.normal(size=(30, 2))
    y = np.argmax(np.c_[X, X.sum(axis=1)] + RNG.normal(size=(30, 3)), axis=1)
    chain = solve(of_chains(X, y, np.ones(30, int), ChainCRF(labels=3), 0.1), "chain_dual", tol=1e-6)
    with_ends = np.c_[X, np.full((30, 1), np.sqrt(2.0))]
    plain = solve(Problem(with_ends, y, "softmax", alpha=0.1, intercept=False), "newton_cg", tol=1e-8)
    assert chain.certificate.primal == pytest.approx(plain.certificate.primal, rel=3e-6)


def test_it_is_for_chains_alone():
    with pytest.raises(IncompatibleSolver, match="Hinge"):
        solve(labels_problem(), "chain_dual")
