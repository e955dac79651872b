"""Kernel random fields: a linear kernel is the linear model, and what the optimum must satisfy."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from gapfit import Problem, SequenceLabeler, save, solve
from gapfit.design.chain import ChainDesign
from gapfit.design.kernel_chain import KernelChainDesign
from gapfit.design.kernel_functions import Gaussian, Linear
from gapfit.losses import ChainCRF, ChainMargin
from gapfit.losses.chain import marginals


def chains(count=25, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, count)
    n = int(lengths.sum())
    X = rng.normal(size=(n, 4))
    y = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=n)) + 1, 0, 2).astype(int)
    return X, y, lengths


def problem_of(design, y, lengths, loss, alpha, **kwargs):
    groups = np.repeat(np.arange(len(lengths)), lengths)
    return Problem(design, y, loss, alpha=alpha, intercept=False, groups=groups, **kwargs)


@pytest.mark.parametrize("loss", [ChainCRF(3), ChainMargin(labels=3)], ids=repr)
def test_a_linear_kernel_is_the_linear_model(loss):
    for seed in range(3):
        X, y, lengths = chains(seed=seed)
        explicit = ChainDesign(X, lengths, 3)
        plain = solve(problem_of(explicit, y, lengths, loss, 0.05), "bundle", tol=1e-8)
        for given in (X, sparse.csr_array(X)):
            design = KernelChainDesign(given, lengths, 3, Linear())
            dual = solve(problem_of(design, y, lengths, loss, 0.05), tol=1e-8)
            assert dual.converged
            assert dual.certificate.primal == pytest.approx(plain.certificate.primal, rel=1e-7)
        np.testing.assert_allclose(design.scores(dual.w), explicit.scores(plain.w), atol=2e-3)


def test_the_optimum_is_half_of_what_the_labels_have_beyond_the_marginals():
    """Of |h|^2 + sum of -log p(labels): where the derivative is zero, in terms of coefficients."""
    X, y, lengths = chains()
    design = KernelChainDesign(X, lengths, 3, Gaussian(0.3))
    solution = solve(problem_of(design, y, lengths, ChainCRF(3), 2 / len(lengths)), tol=1e-10)
    found, _ = marginals(design.scores(solution.w), design.tokens, 3)
    coefficients = solution.w[: found.size].reshape(found.shape)
    np.testing.assert_allclose(coefficients, 0.5 * (np.eye(3)[y] - found), atol=1e-4)


def test_the_design_is_symmetric_and_its_norm_is_that_of_the_functions():
    X, y, lengths = chains()
    design = KernelChainDesign(X, lengths, 3, Gaussian(0.3))
    rng = np.random.default_rng(0)
    a, w = rng.normal(size=(2, design.shape[1]))
    assert a @ design.scores(w) == pytest.approx(w @ design.scores(a))
    assert design.inner(design.adjoint(a), w) == pytest.approx(a @ design.scores(w))
    nodes, tail = w[: 3 * len(y)].reshape(-1, 3), w[3 * len(y) :]
    squared = np.trace(nodes.T @ rbf_kernel(X, gamma=0.3) @ nodes) + tail @ tail
    assert problem_of(design, y, lengths, ChainCRF(3), 1.0).penalty.value(w) == pytest.approx(0.5 * squared)
    # a score is the inner product of w with something no longer than its distance
    reach = design.distances(None, np.zeros_like(w)) * np.sqrt(squared)
    assert (np.abs(design.scores(w)) <= reach * (1 + 1e-12)).all()
    with pytest.raises(ValueError, match="L2"):
        problem_of(design, y, lengths, ChainCRF(3), 1.0, penalty="l1")


def test_chains_of_weight_zero_are_absent():
    X, y, lengths = chains()
    weight = np.ones(len(lengths))
    weight[::3] = 0
    keep = np.repeat(weight > 0, lengths)
    one = SequenceLabeler(node_kernel=Gaussian(0.3), alpha=0.1, tol=1e-7)
    one.fit((X, lengths), y, sample_weight=weight)
    two = SequenceLabeler(node_kernel=Gaussian(0.3), alpha=0.1, tol=1e-7)
    two.fit((X[keep], lengths[weight > 0]), y[keep])
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-6)
    np.testing.assert_allclose(
        one.predict_marginals((X, lengths)), two.predict_marginals((X, lengths)), atol=1e-3
    )


def test_the_estimator_takes_kernels_and_keeps_what_they_need(tmp_path):
    X, y, lengths = chains(60)
    model = SequenceLabeler(node_kernel=Gaussian(0.3), alpha=0.02).fit((X, lengths), y)
    assert model.converged_
    own = SequenceLabeler(node_kernel=lambda A, B: rbf_kernel(A, B, 0.3), alpha=0.02).fit((X, lengths), y)
    Z, _, others = chains(20, seed=1)
    np.testing.assert_allclose(
        model.predict_marginals((Z, others)), own.predict_marginals((Z, others)), atol=1e-2
    )
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict((Z, others)) == model.predict((Z, others))).all()
    with pytest.raises(AttributeError, match="without a kernel"):
        _ = model.coef_
    assert model.transitions_.shape == (3, 3)
    with pytest.raises(TypeError, match="cannot be stored"):
        save(model, tmp_path / "model")
    with pytest.raises(TypeError, match="kernel_design_"):  # nor a model that would have lost its tokens
        save(model.set_params(node_kernel=None), tmp_path / "model")


def test_many_tokens_are_refused():
    with pytest.raises(ValueError, match="at most"):
        KernelChainDesign(np.ones((20_001, 1)), [20_001], 2, Linear())
