"""Kernel machines with nu: the same optimum as scikit-learn's, cvxpy's, and the bundle method's."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from sklearn.svm import NuSVC, NuSVR

from gapfit import KernelSVC, KernelSVR, Problem, load, save, solve
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Gaussian
from gapfit.errors import UnboundedProblem
from gapfit.losses.nu import NuHinge, NuTube


def data(n=40):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0.2, 1.0, -1.0)
    return X, y, X[:, 0] ** 2 + 0.3 * rng.normal(size=n), rng.uniform(0.2, 2.0, n)


def nu_objective(f, b, width, y, p, nu, square, alpha, tube):
    """J by its definition, with b and the width as variables."""
    losses = np.maximum(0, np.abs(f + b - y) - width) if tube else np.maximum(0, width - y * (f + b))
    return alpha / 2 * square + (nu if tube else -nu) * width + p @ losses


def by_cvxpy(K, y, p, nu, alpha, tube, solver):
    """The minimum of J over coefficients, b and the width."""
    root = np.linalg.cholesky(K + 1e-10 * np.eye(len(K)))
    z, b, width = cp.Variable(len(y)), cp.Variable(), cp.Variable()
    f = root @ z + b
    losses = cp.pos(cp.abs(f - y) - width) if tube else cp.pos(width - cp.multiply(y, f))
    objective = alpha / 2 * cp.sum_squares(z) + (nu if tube else -nu) * width + p @ losses
    task = cp.Problem(cp.Minimize(objective), [width >= 0] if tube else [])
    return task.solve(solver=solver)


@pytest.mark.parametrize("tube", [False, True])
@pytest.mark.parametrize("nu", [0.1, 0.4, 0.8])
def test_the_optimum_is_that_of_cvxpy(tube, nu):
    X, labels, numbers, weight = data()
    y, p, alpha = numbers if tube else labels, weight / weight.sum(), 0.02
    problem = Problem(
        KernelDesign(X, Gaussian(0.4)), y, (NuTube if tube else NuHinge)(nu), "l2", alpha, weight
    )
    solution = solve(problem, "smo", tol=1e-9)
    assert solution.converged
    K = rbf_kernel(X, gamma=0.4)
    f = K @ solution.w
    b, width = problem.risk.offset_and_width(f)
    J = nu_objective(f, b, width, y, p, nu, solution.w @ f, alpha, tube)
    assert pytest.approx(solution.certificate.primal, rel=1e-9, abs=1e-12) == J
    for solver in ("CLARABEL", "SCS"):
        options = 1e-6 if solver == "CLARABEL" else 1e-3
        assert by_cvxpy(K, y, p, nu, alpha, tube, solver) == pytest.approx(J, rel=options, abs=options)
    assert solve(problem, "bundle", tol=1e-5).certificate.primal == pytest.approx(J, rel=2e-5)
    rng = np.random.default_rng(0)  # b and the width are the best: no others are better
    for _ in range(100):
        other = b + 0.1 * rng.normal(), max(width + 0.1 * rng.normal(), 0.0)
        assert nu_objective(f, *other, y, p, nu, solution.w @ f, alpha, tube) >= J - 1e-12


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.7])
def test_it_is_nu_svc(nu):
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    ours, theirs = KernelSVC(nu=nu, tol=1e-9).fit(X, y), NuSVC(nu=nu, tol=1e-9).fit(X, y)
    assert ours.converged_
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-3, atol=1e-4 * ours.C_)
    margins = np.where(y > 0, 1, -1) * ours.decision_function(X)
    assert np.mean(margins < 1 - 1e-6) <= nu <= len(ours.support_) / len(y) + 1e-9
    as_C = KernelSVC(C=ours.C_, tol=1e-9).fit(X, y)  # the machine with C that it amounts to
    np.testing.assert_allclose(as_C.decision_function(X), ours.decision_function(X), atol=1e-4)
    # what libsvm found is worth no more: the same objective, recomputed
    w = np.zeros(len(y))
    w[theirs.support_] = theirs.dual_coef_[0] / ours.C_
    K, sign = rbf_kernel(X, gamma=ours.gamma_), np.where(y > 0, 1.0, -1.0)
    rho, p = 1 / ours.C_, np.full(len(y), 1 / len(y))
    J = nu_objective(K @ w, theirs.intercept_[0] * rho, rho, sign, p, nu, w @ K @ w, ours.alpha_, False)
    assert ours.dual_objective_ <= J + 1e-12 and ours.objective_ - ours.dual_gap_ <= J


def test_pairs_of_classes_and_weights():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    ours, theirs = KernelSVC(nu=0.2, gamma=0.3, tol=1e-9), NuSVC(nu=0.2, gamma=0.3, tol=1e-9)
    ours.fit(X, y, sample_weight=weight)
    theirs.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert ours.C_.shape == (3,) and len(ours.certificates_) == 3


@pytest.mark.parametrize(("nu", "C"), [(0.05, 1.0), (0.5, 10.0), (1.0, 1.0)])
def test_it_is_nu_svr(nu, C):
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), scale(y)
    ours, theirs = KernelSVR(nu=nu, C=C, tol=1e-9).fit(X, y), NuSVR(nu=nu, C=C, tol=1e-9).fit(X, y)
    assert ours.converged_
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    assert np.mean(np.abs(ours.predict(X) - y) > ours.epsilon_ + 1e-6) <= nu


def test_a_nu_that_is_too_large_is_told_how_large_it_may_be():
    X, y, *_ = data()
    share = 2 * min(np.mean(y > 0), np.mean(y < 0))
    with pytest.raises(UnboundedProblem, match=f"at most {share:.6g}"):
        KernelSVC(nu=share + 0.01).fit(X, y)
    assert KernelSVC(nu=share).fit(X, y).converged_
    for nu in (0.0, 1.5, "much"):
        with pytest.raises((TypeError, ValueError), match="nu"):
            KernelSVC(nu=nu).fit(X, y)


def test_a_margin_of_no_width_is_told():
    X = np.array([[-1.0], [1.0], [-1.0], [1.0]])  # both classes at the same places
    with pytest.raises(UnboundedProblem, match="no width"):
        KernelSVC(nu=0.9, kernel="linear", max_iter=100).fit(X, [0, 0, 1, 1])


def test_files_and_bounds(tmp_path):
    X, y, numbers, _ = data()
    for model, target in ((KernelSVC(nu=0.3), y), (KernelSVR(nu=0.3), numbers)):
        model.fit(X, target)
        save(model, tmp_path / "model")
        assert (load(tmp_path / "model").predict(X) == model.predict(X)).all()
        with pytest.raises(ValueError, match="without nu"):
            model.score_bounds(X)
    assert np.ptp(KernelSVR(nu=0.5).fit(X, np.ones(len(y))).predict(X)) == 0  # constant targets
