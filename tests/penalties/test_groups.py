"""The group lasso: whole groups come and go, by every solver that takes it; names, bounds, errors."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Lasso, MultiTaskLasso

from gapfit import LinearClassifier, LinearRegressor, Problem, solve
from gapfit.penalties import L1, ElasticNet, GroupLasso


def drawn(seed, n=120, d=24, G=6):
    """Two groups of six matter."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.arange(d) % G)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-0.5, 0.5, d)
    w = np.where(groups < 2, rng.normal(size=d), 0.0)
    return X, X @ w + 0.5 * rng.normal(size=n), groups


def in_use(w, groups):
    return {int(g) for g in groups[w != 0]}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge", "absolute", "poisson"])
def test_whole_groups_are_zero_and_the_bundle_agrees(loss, seed):
    X, t, groups = drawn(seed)
    y = {"logistic": np.sign(t), "hinge": np.sign(t), "poisson": np.abs(np.round(t))}.get(loss, t)
    X = X if seed % 2 else sparse.csr_array(X)
    start = Problem(X, y, loss, GroupLasso(groups), 1.0)
    slopes = start.oracle(np.zeros(24)).minorant.a
    largest = float((start.penalty.part.norms(slopes) / start.penalty.weights).max())
    for ratio, share in ((1.0, 0.3), (1.0, 0.05), (0.7, 0.1)):
        problem = Problem(X, y, loss, GroupLasso(groups, ratio=ratio), share * largest)
        found, other = solve(problem, tol=1e-7), solve(problem, "bundle", tol=1e-5)
        assert found.converged and other.converged
        slack = found.certificate.gap + other.certificate.gap
        assert abs(found.certificate.primal - other.certificate.primal) <= slack
        for g in range(6):
            part = found.w[groups == g]
            assert part.all() or not part.any()
    if loss in ("squared", "logistic", "poisson"):  # with one slope at zero
        assert not solve(start.at(1.001 * largest), tol=1e-9).w.any()
        assert solve(start.at(0.98 * largest), tol=1e-9).w.any()


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_one_are_the_lasso(seed):
    X, t, _ = drawn(seed)
    for ratio, plain in ((1.0, L1()), (0.4, ElasticNet(0.4))):
        problems = (Problem(X, t, "squared", p, 0.1) for p in (GroupLasso(np.arange(24), ratio=ratio), plain))
        one, other = (solve(problem, tol=1e-10).certificate.primal for problem in problems)
        assert abs(one - other) <= 1e-8
    model = LinearRegressor(penalty=GroupLasso(range(24)), alpha=0.1, tol=1e-10).fit(X, t)
    theirs = Lasso(alpha=0.1, tol=1e-12, max_iter=100_000).fit(X, t)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-4)


def test_outputs_that_share_their_features_are_scikit_learns_multi_task_lasso():
    """Its objective is ours on stacked rows, a group for each feature over the outputs."""
    rng = np.random.default_rng(0)
    X, k = rng.normal(size=(40, 8)), 3
    Y = X[:, :3] @ rng.normal(size=(3, k)) + 0.1 * rng.normal(size=(40, k))
    theirs = MultiTaskLasso(alpha=0.2, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, Y)
    penalty = GroupLasso(np.repeat(np.arange(8), k), np.ones(8))
    problem = Problem(np.kron(X, np.eye(k)), Y.ravel(), "squared", penalty, 0.2 / k, intercept=False)
    found = solve(problem, tol=1e-12)
    np.testing.assert_allclose(found.w.reshape(8, k).T, theirs.coef_, atol=1e-5)


def test_estimators_take_it_and_names_of_groups_may_be_words():
    X, t, groups = drawn(1)
    words = np.array(list("abcdef"))[groups]
    model = LinearClassifier(loss="logistic", penalty=GroupLasso(words), alpha=0.05, tol=1e-8).fit(X, t > 0)
    same = LinearClassifier(loss="logistic", penalty=GroupLasso(groups), alpha=0.05, tol=1e-8).fit(X, t > 0)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert 0 < len(in_use(model.coef_.ravel(), groups)) < 6
    with pytest.raises(ValueError, match="groups names the groups of 24 weights but there are 23"):
        model.fit(X[:, 1:], t > 0)
