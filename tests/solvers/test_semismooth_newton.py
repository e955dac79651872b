"""Newton's method for losses with kinks, where it is easily lost."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from gapfit import Problem, solve
from gapfit.design.parted import PartedDesign
from parts import in_parts


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n, d", [(1000, 40), (300, 60)])
def test_targets_that_can_all_be_met(n, d, intercept):
    """Few samples are on the rounded part, and leave the Hessian without curvature in most directions. The
    optimum is the shortest w that misses no target by more than epsilon."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) / 10 + 0.001 * rng.normal(size=n)
    problem = Problem(X, y, "epsilon_insensitive", alpha=1e-6, intercept=intercept)
    solution = solve(problem, "semismooth_newton", tol=1e-6)
    assert solution.converged
    columns = np.column_stack([X, np.ones(n)]) if intercept else X
    matrix = np.vstack([columns, -columns])
    room = np.concatenate([y + 0.1, 0.1 - y])

    def length(w):
        return 0.5 * w[:d] @ w[:d], np.append(w[:d], np.zeros(len(w) - d))

    shortest = minimize(
        length, np.linalg.lstsq(columns, y)[0], jac=True, method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
        constraints={"type": "ineq", "fun": lambda w: room - matrix @ w, "jac": lambda w: -matrix},
    )  # fmt: skip
    assert shortest.success
    assert solution.certificate.primal == pytest.approx(1e-6 * shortest.fun, rel=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "absolute"])
@pytest.mark.parametrize("intercept", [True, False])
def test_dense_and_sparse_take_the_same_steps(loss, intercept):
    """In the end few samples move, and only these are read."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 12)) + 3.0
    y = X @ rng.normal(size=12) - 2.0 + rng.normal(size=3000)
    y = np.where(y > np.median(y), 1.0, -1.0) if loss == "hinge" else y
    dense, thin = (
        solve(Problem(data, y, loss, alpha=1e-4, intercept=intercept), "semismooth_newton", tol=1e-9)
        for data in (X, sparse.csr_array(X))
    )
    assert dense.converged and thin.converged
    assert abs(dense.n_iter - thin.n_iter) <= 2  # rounding may decide whether the gap is small enough
    np.testing.assert_allclose(dense.w, thin.w, rtol=1e-3, atol=1e-5)


def test_semismooth_newton_does_not_insist_on_learning_from_few():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(16000, 10)) * 10.0 ** rng.uniform(-3, 3, 10) + 5.0
    problem = Problem(X, np.ones(len(X)), alpha=1e-8, intercept=False)
    assert solve(problem, "semismooth_newton", tol=1e-3).converged


@pytest.mark.parametrize("intercept", [True, False])
def test_the_driver_looks_in_passing(intercept, monkeypatch):
    """Where rows are elsewhere, what it asks for is computed in a pass that is made anyway."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = np.where(X @ rng.normal(size=6) + rng.normal(size=300) > 0.3, 1.0, -1.0)

    def found():
        problem = Problem(in_parts(X, 4), y, "hinge", alpha=1e-3, intercept=intercept)
        return solve(problem, "semismooth_newton", tol=1e-8, callbacks=[lambda progress: False])

    fused = found()
    monkeypatch.setattr(PartedDesign, "foresee", lambda self, asked: None)
    apart = found()
    assert fused.converged and apart.converged and fused.n_iter == apart.n_iter
    looks = sum(record.proved for record in fused.history) - 1  # the first is of the start
    assert fused.cost.passes <= apart.cost.passes - 2 * looks + 4  # two products a look
    assert fused.certificate.dual <= apart.certificate.primal
    assert apart.certificate.dual <= fused.certificate.primal
