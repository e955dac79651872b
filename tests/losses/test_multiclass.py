"""Losses over classes and over labels against their definitions, other solvers and other libraries."""

import math
import warnings

import cvxpy as cp
import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from gapfit import IncompatibleSolver, LinearClassifier, LinearRegressor, Problem, UnboundedProblem, solve
from gapfit.losses import CrammerSinger, Loss, Softmax, Target
from gapfit.losses.multiclass import transport
from gapfit.registry import LOSSES, SOLVERS
from gapfit.rounding import EPS
from gapfit.testing import check_loss, check_solver
from metrics import registry_name
from references import CLARABEL, SCS
from vectors import CLASSES, VECTORS, risk, targets

K = 3


def make(name):
    return LOSSES[registry_name(name)](**VECTORS[name])


def class_problem(name="crammer_singer", n=60, d=4, seed=0, alpha=1e-2, intercept=True, **kwargs):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    y = (X @ rng.normal(size=(d, K)) + 0.7 * rng.normal(size=(n, K))).argmax(axis=1).astype(float)
    y = targets(name, n, rng) if "rows" in name else y
    return Problem(X, y, make(name), alpha=alpha, intercept=intercept, **kwargs)


# -- the losses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VECTORS)
def test_the_contract(name):
    check_loss(make(name), targets(name, 10, np.random.default_rng(0)))


@pytest.mark.parametrize("name", VECTORS)
def test_values_are_those_of_the_definition(name):
    """Scores in half of the trials are whole numbers, so that there are ties; labellings are all tried."""
    rng = np.random.default_rng(1)
    n = 4 if name.startswith("micro") else 6
    for trial in range(12):
        y, weight = targets(name, n, rng), rng.integers(1, 3, n).astype(float)
        F = rng.normal(size=(n, K)) * 2
        F = np.rint(F) if trial % 2 else F
        b = rng.normal(size=K) if trial % 3 else np.zeros(0)
        value, u, e = make(name).bind(y, weight).value_and_subgradient(F.ravel(), b)
        copies = np.repeat(np.arange(n), weight.astype(int)) if name.startswith("macro") else np.arange(n)
        multiplicity = np.ones(len(copies)) if name.startswith("macro") else weight
        shifted = F + (b if len(b) else 0.0)
        if name == "micro_f":  # copies may be labelled differently: 2^(n K) labellings is what we can afford
            weight = np.ones(n)
            value = make(name).bind(y, weight).value_and_subgradient(F.ravel(), b)[0]
            multiplicity = weight
        assert_allclose(value, risk(name, y[copies], multiplicity, shifted[copies]), atol=1e-12)
        assert u.shape == (n * K,) and e.shape == b.shape
        if len(b):
            assert_allclose(e, u.reshape(n, K).sum(axis=0), atol=1e-14)


def test_known_values():
    scores = np.array([1.0, 0.5, -1.0, 0.0, 2.0, 0.0])
    y = np.array([0.0, 2.0])
    hinge = CrammerSinger().bind(y, np.ones(2)).value_and_subgradient(scores, np.zeros(0))
    assert hinge[0] == 0.5 * (0.5 + 3.0)
    assert_array_equal(hinge[1], [-0.5, 0.5, 0, 0, 0.5, -0.5])
    value = Softmax().bind(y, np.array([3.0, 1.0])).value_and_subgradient(scores, np.zeros(0))[0]
    parts = [np.log(np.exp(f).sum()) - f[t] for f, t in zip(scores.reshape(2, 3), (0, 2), strict=True)]
    assert_allclose(value, 0.75 * parts[0] + 0.25 * parts[1])


def test_hinge_and_logistic_are_the_case_of_two_classes():
    rng = np.random.default_rng(0)
    y, f = rng.integers(0, 2, 8).astype(float), rng.normal(size=8)
    F = np.column_stack([np.zeros(8), f]).ravel()
    for joint, binary in ((CrammerSinger(), "hinge"), (Softmax(), "logistic")):
        value = joint.bind(y, np.ones(8)).value_and_subgradient(F, np.zeros(0))[0]
        other = LOSSES[binary]().bind(2 * y - 1, np.ones(8)).value_and_subgradient(f, np.zeros(1))[0]
        assert_allclose(value, other, rtol=1e-14)


def test_the_blocks_of_the_hessian_are_the_derivative_of_the_gradient():
    rng = np.random.default_rng(0)
    risk_, f = Softmax().bind(np.array([0.0, 2.0]), np.array([1.0, 3.0])), rng.normal(size=6)
    pi = risk_.hessian(risk_.value_and_subgradient(f, np.zeros(0))[1]).pi
    for i in range(2):
        block = risk_.p[i] * (np.diag(pi[i]) - np.outer(pi[i], pi[i]))
        for k in range(K):
            step = np.zeros(6)
            step[3 * i + k] = 1e-6
            slope = [risk_.value_and_subgradient(f + s * step, np.zeros(0))[1] for s in (-1, 1)]
            assert_allclose((slope[1] - slope[0])[3 * i : 3 * i + 3] / 2e-6, block[k], atol=1e-8)


def test_transport_keeps_shares_and_reaches_what_is_wanted():
    rng = np.random.default_rng(0)
    for _ in range(50):
        has, wanted = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
        has[0] *= rng.random() < 0.7
        has /= has.sum()
        M = transport(has - wanted, has)
        assert (M >= 0).all()
        assert_allclose(M.sum(axis=1), 1.0)
        assert_allclose(has @ M, wanted, atol=1e-15)


def test_targets_are_checked():
    X = np.ones((4, 1))
    for y in ([0, 1, 2.5, 1], [-1, 0, 1, 1], [0, 1, 2, np.nan]):
        with pytest.raises(ValueError, match=r"y|NaN"):
            Problem(X, y, Softmax())
    with pytest.raises(ValueError, match="y needs 3 classes"):
        Problem(X, [0, 1, 2, 0], Softmax(n_classes=2))
    with pytest.raises(UnboundedProblem, match="label 1"):
        Problem(X, [0, 0, 2, 0], Softmax())
    assert Problem(X, [0, 0, 2, 0], Softmax(), intercept=False).design.shape == (12, 3)
    for costs in ([[0, 1]], [[0, -1], [1, 0]], [[1, 1], [1, 0]], [[0]], [[0, np.inf], [1, 0]]):
        with pytest.raises(ValueError, match="costs"):
            CrammerSinger(costs)
    with pytest.raises(ValueError, match="costs"):
        Problem(X, np.ones((4, 2)), CrammerSinger([[0, 1], [1, 0]]))
    with pytest.raises(ValueError, match="rescaling"):
        CrammerSinger(rescaling="both")
    with pytest.raises(ValueError, match="n_classes"):
        CrammerSinger([[0, 1], [1, 0]], n_classes=3)


def test_costs_are_what_is_minimised():
    """With rows of costs instead of a table the risk is the same; cheap errors are preferred to dear ones."""
    rng = np.random.default_rng(0)
    y, F = rng.integers(0, 3, 9).astype(float), rng.normal(size=27)
    table = np.array([[0, 1, 9], [1, 0, 9], [9, 9, 0.0]])
    for rescaling in ("margin", "slack"):
        one, other = (
            CrammerSinger(costs, rescaling).bind(target, np.ones(9)).value_and_subgradient(F, np.zeros(0))
            for costs, target in ((table, y), (None, table[y.astype(int)] + 5.0))
        )
        assert one[0] == other[0]
        assert_array_equal(one[1], other[1])
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]  # in which the second and third class overlap
    dear = LinearClassifier(loss=CrammerSinger([[0, 1, 1], [1, 0, 1], [1, 20, 0]]), alpha=1e-3).fit(X, y)
    cheap = LinearClassifier(loss="crammer_singer", alpha=1e-3).fit(X, y)

    def missed(model):
        return np.sum((y == 2) & (model.predict(X) == 1))

    assert missed(dear) < missed(cheap)


# -- optima -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", VECTORS)
def test_optima_are_those_of_two_other_solvers(name, intercept):
    rng = np.random.default_rng(5)
    n, d, alpha = (4 if name.startswith("micro") else 7), 2, 0.05
    X, y, weight = rng.normal(size=(n, d)), targets(name, n, rng), rng.integers(1, 3, n).astype(float)
    if name in ("macro_f", "macro_f(2)", "micro_f"):
        weight = np.ones(n)  # the definition knows no copies
    W, b = cp.Variable((d, K)), cp.Variable(K) if intercept else np.zeros(K)
    F = X @ W + np.ones((n, 1)) @ (cp.reshape(b, (1, K), order="C") if intercept else b[None, :])
    model = cp.Problem(cp.Minimize(0.5 * alpha * cp.sum_squares(W) + risk(name, y, weight, F)))
    found = solve(Problem(X, y, make(name), alpha=alpha, sample_weight=weight, intercept=intercept), tol=1e-9)
    assert found.converged
    for options, accuracy in ((CLARABEL, 1e-8), (SCS, 1e-5)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of inaccurate solutions
            model.solve(**options)
        assert_allclose(found.certificate.primal, model.value, rtol=accuracy, atol=accuracy)
        assert found.certificate.dual <= model.value + accuracy


@pytest.mark.parametrize("name", [name for name in CLASSES if "slack" not in name])
def test_solvers_agree_and_keep_their_promises(name):
    problems = [class_problem(name, seed=seed, intercept=bool(seed % 2)) for seed in range(4)]
    check_solver("simplex_cd", problems, tol=1e-6)
    for problem in problems:
        optimum = solve(problem, tol=1e-9).certificate
        for solver in ("bundle", "simplex_cd", *(["lbfgs", "newton_cg"] if name == "softmax" else [])):
            found = solve(problem, solver, tol=1e-6).certificate
            assert abs(found.primal - optimum.primal) <= found.gap + optimum.gap


def test_simplex_cd_goes_on_with_the_same_bytes():
    problem = class_problem("crammer_singer", n=200, alpha=1e-3)
    whole = solve(problem, "simplex_cd", tol=0.0, max_iter=9)
    half = solve(problem, "simplex_cd", tol=0.0, max_iter=4)
    rest = solve(problem, "simplex_cd", tol=0.0, max_iter=5, start=half)
    assert_array_equal(rest.state["A"], whole.state["A"])
    assert_array_equal(rest.state["W"], whole.state["W"])


def test_newton_cg_keeps_its_promises_and_goes_on_with_the_same_bytes():
    problems = [
        class_problem("softmax", seed=seed, alpha=1e-4, intercept=bool(seed % 2)) for seed in range(4)
    ]
    check_solver("newton_cg", problems, tol=1e-8)
    for problem in problems:
        whole = solve(problem, "newton_cg", tol=0.0, max_iter=9)
        half = solve(problem, "newton_cg", tol=0.0, max_iter=5)
        rest = solve(problem, "newton_cg", tol=0.0, max_iter=4, start=half)
        assert_array_equal(rest.state["point"].w, whole.state["point"].w)


def test_newton_cg_with_more_features_than_it_diagonalises(monkeypatch):
    problem = class_problem("softmax", n=60, alpha=1e-2)
    dense = solve(problem, "newton_cg", tol=1e-10)
    monkeypatch.setattr("gapfit.solvers.second_order.kronecker.MOST", 2)
    plain = solve(problem, "newton_cg", tol=1e-10)
    assert dense.converged and plain.converged
    assert_allclose(plain.w, dense.w, atol=1e-4)


def test_second_derivatives_of_softmax():
    rng = np.random.default_rng(3)
    problem = class_problem("softmax", n=12)
    scores, b = rng.normal(size=12 * K), rng.normal(size=K)
    way, turn, step = rng.normal(size=12 * K), rng.normal(size=K), 1e-6
    _, up, up_b = problem.risk.value_and_subgradient(scores + step * way, b + step * turn)
    _, down, down_b = problem.risk.value_and_subgradient(scores - step * way, b - step * turn)
    hessian = problem.risk.hessian(problem.risk.value_and_subgradient(scores, b)[1])
    du, de = hessian.product(way, turn)
    assert_allclose(du, (up - down) / (2 * step), atol=1e-9)
    assert_allclose(de, (up_b - down_b) / (2 * step), atol=1e-9)
    assert_allclose(hessian.mean @ turn, hessian.product(np.zeros(12 * K), turn)[1], atol=1e-15)
    far = 1e3 * scores  # exponentials overflow there
    value, u, _ = problem.risk.value_and_subgradient(far, b)
    assert np.isfinite(value) and np.isfinite(u).all()


def test_simplex_cd_refuses_what_it_cannot_take():
    with pytest.raises(IncompatibleSolver, match="bundle"):
        solve(class_problem("crammer_singer(slack)"), "simplex_cd")
    with pytest.raises(IncompatibleSolver, match="L2"):
        solve(class_problem(penalty="l1"), "simplex_cd")
    assert "simplex_cd" in SOLVERS


@pytest.mark.parametrize("name", ["crammer_singer", "softmax"])
def test_sparse_single_and_known_offsets(name):
    problem = class_problem(name, n=50, intercept=False)
    X, y = problem.design.narrow.X.copy(), problem.y
    X[np.abs(X) < 0.5] = 0.0
    offset = np.random.default_rng(0).normal(size=(50, K))
    dense = solve(Problem(X, y, make(name), alpha=0.01, offset=offset), "simplex_cd", tol=1e-8)
    as_csr = solve(Problem(sparse.csr_array(X), y, make(name), alpha=0.01, offset=offset), tol=1e-8)
    assert_allclose(as_csr.w, dense.w, atol=1e-3)
    assert_allclose(as_csr.certificate.primal, dense.certificate.primal, rtol=2e-8)
    single = solve(Problem(X.astype(np.float32), y, make(name), alpha=0.01, offset=offset), tol=1e-5)
    assert single.converged and single.w.dtype == np.float32
    assert_allclose(single.certificate.primal, dense.certificate.primal, rtol=2e-5)


@pytest.mark.parametrize("name", ["crammer_singer", "softmax"])
def test_rows_of_zeros_and_one_sample(name):
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    found = solve(Problem(X, [0, 1, 2], make(name), alpha=0.1, intercept=False), "simplex_cd", tol=1e-8)
    assert found.converged
    one = solve(Problem([[2.0]], [1], make(name), alpha=0.1, intercept=False), "simplex_cd", tol=1e-8)
    assert one.converged


@pytest.mark.parametrize("name", ["crammer_singer", "softmax"])
@pytest.mark.parametrize("penalty", ["l1", "elastic_net"])
def test_other_penalties(name, penalty):
    problem = class_problem(name, penalty=penalty)
    assert solve(problem, tol=1e-5).converged


# -- other libraries --------------------------------------------------------------------------------------


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500] / 16, y[:500]


def objective(loss, X, y, alpha, coef, intercept):
    problem = Problem(X, y, loss, alpha=alpha)
    return problem.evaluate(np.ascontiguousarray(coef.T).ravel(), intercept)


def test_logistic_regression_of_scikit_learn_finds_the_same():
    X, y = digits()
    C = 0.5
    theirs = LogisticRegression(C=C, tol=1e-8, max_iter=5000).fit(X, y)
    ours = LinearClassifier(loss="logistic", multi_class="joint", alpha=1 / (C * len(y)), tol=1e-8).fit(X, y)
    value = objective(Softmax(), X, y, ours.alpha, theirs.coef_, theirs.intercept_)
    assert_allclose(ours.objective_, value, rtol=1e-7)
    assert ours.dual_objective_ <= value
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)
    assert_array_equal(ours.predict(X), theirs.predict(X))


def test_linear_svc_of_scikit_learn_finds_the_same():
    X, y = digits()
    C = 0.5
    theirs = LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-7, max_iter=100_000)
    theirs.fit(X, y)
    ours = LinearClassifier(multi_class="joint", fit_intercept=False, alpha=1 / (C * len(y)), tol=1e-7)
    ours.fit(X, y)
    problem = Problem(X, y, CrammerSinger(), alpha=ours.alpha, intercept=False)
    value = problem.evaluate(np.ascontiguousarray(theirs.coef_.T).ravel(), np.zeros(0))
    assert_allclose(ours.objective_, value, rtol=1e-5)
    assert ours.dual_objective_ <= value
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-2)


# -- the estimator ----------------------------------------------------------------------------------------

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]


@pytest.mark.parametrize("loss", ["hinge", "logistic", "crammer_singer", "softmax"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_joint_attributes(loss, fit_intercept):
    model = LinearClassifier(loss=loss, multi_class="joint", alpha=0.01, fit_intercept=fit_intercept)
    model.fit(IRIS, NAMES)
    assert model.converged_ and len(model.certificates_) == 1
    assert model.coef_.shape == (3, 4) and model.intercept_.shape == (3,)
    assert model.decision_function(IRIS).shape == (150, 3)
    assert model.support_status_.shape == (150,)
    assert model.score(IRIS, NAMES) > 0.9
    if "logistic" in loss or "softmax" in loss:
        assert_allclose(model.predict_proba(IRIS).sum(axis=1), 1.0)
    else:
        assert not hasattr(model, "predict_proba")


def test_bounds_hold_at_the_optimum():
    rough = LinearClassifier(loss="softmax", alpha=0.01, fit_intercept=False, tol=1e-3).fit(IRIS, NAMES)
    exact = LinearClassifier(loss="softmax", alpha=0.01, fit_intercept=False, tol=1e-11).fit(IRIS, NAMES)
    lo, hi = rough.score_bounds(IRIS)
    scores = exact.decision_function(IRIS)
    assert ((lo <= scores) & (scores <= hi)).all() and np.isfinite(lo).all()
    sure = rough.certified(IRIS)
    assert sure.any()
    assert_array_equal(rough.predict(IRIS)[sure], exact.predict(IRIS)[sure])
    with_intercepts = LinearClassifier(loss="softmax", alpha=0.01).fit(IRIS, NAMES)
    assert not with_intercepts.certified(IRIS).any()  # nothing is claimed


def test_two_classes_have_one_vector_of_coefficients():
    X, y = IRIS[:100], NAMES[:100]
    joint = LinearClassifier(loss="softmax", alpha=0.02, tol=1e-10).fit(X, y)
    binary = LinearClassifier(loss="logistic", alpha=0.01, tol=1e-10).fit(X, y)  # |W|^2 = |w|^2 / 2
    assert joint.coef_.shape == (1, 4) and joint.decision_function(X).shape == (100,)
    assert_allclose(joint.coef_, binary.coef_, atol=1e-4)
    assert_allclose(joint.predict_proba(X), binary.predict_proba(X), atol=1e-4)
    lo, hi = LinearClassifier(loss="softmax", alpha=0.02, fit_intercept=False).fit(X, y).score_bounds(X)
    assert lo.shape == (100,) and (lo <= hi).all()


def test_weights_are_copies_and_classes_have_weights():
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, 150)
    copies = np.repeat(np.arange(150), weight)
    for loss in ("hinge", "logistic"):
        model = LinearClassifier(loss=loss, multi_class="joint", alpha=0.01)
        one, other = model.fit(IRIS, NAMES, sample_weight=weight).coef_, None
        other = LinearClassifier(loss=loss, multi_class="joint", alpha=0.01).fit(IRIS[copies], NAMES[copies])
        assert_array_equal(one, other.coef_)
    balanced = LinearClassifier(multi_class="joint", class_weight="balanced", alpha=0.01)
    assert balanced.fit(IRIS[:120], NAMES[:120]).converged_


def test_warm_start_goes_on_with_the_bounds():
    model = LinearClassifier(multi_class="joint", alpha=0.01, warm_start=True).fit(IRIS, NAMES)
    steps = model.n_iter_
    assert model.fit(IRIS, NAMES).n_iter_ <= min(2, steps)
    assert model.set_params(multi_class="one_vs_rest").fit(IRIS, NAMES).converged_
    assert model.set_params(multi_class="joint").fit(IRIS[:100], NAMES[:100]).converged_


def test_what_does_not_go_together_is_named():
    with pytest.raises(ValueError, match="multi_class"):
        LinearClassifier(multi_class="ovr").fit(IRIS, NAMES)
    with pytest.raises(ValueError, match=r"joint.*SquaredHinge"):
        LinearClassifier(multi_class="joint", loss="squared_hinge").fit(IRIS, NAMES)
    with pytest.raises(ValueError, match="2 classes, but y holds 3"):
        LinearClassifier(loss=CrammerSinger([[0, 1], [1, 0]])).fit(IRIS, NAMES)
    with pytest.raises(ValueError, match="offset"):
        LinearClassifier(loss="softmax").fit(IRIS, NAMES, offset=np.zeros(150))


def test_joint_models_come_back_from_files(tmp_path):
    from gapfit import load, save

    costs = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    for number, model in enumerate(
        [
            LinearClassifier(loss="softmax", alpha=0.01),
            LinearClassifier(loss=CrammerSinger(costs), alpha=0.01, fit_intercept=False),
        ]
    ):
        for rows in (slice(None), slice(None, 100)) if number == 0 else (slice(None),):
            model.fit(IRIS[rows], NAMES[rows])
            save(model, tmp_path / "model")
            loaded = load(tmp_path / "model")
            assert loaded.loss == model.loss and loaded.multi_class == model.multi_class
            assert_array_equal(loaded.decision_function(IRIS), model.decision_function(IRIS))
            for one, other in zip(loaded.score_bounds(IRIS), model.score_bounds(IRIS), strict=True):
                assert_array_equal(one, other)


def test_simplex_cd_reaches_the_last_digits():
    X, y = load_digits(return_X_y=True)
    problem = Problem(X[:500] / 16, y[:500], "crammer_singer", alpha=1e-3)
    assert solve(problem, "simplex_cd", tol=1e-11, max_iter=500).converged


class OwnClassLoss(Loss):
    """The softmax under another name: a loss over classes that gapfit has not heard of."""

    target = Target.CLASSES

    def bind(self, y, weight, groups=None):
        return Softmax().bind(y, weight, groups)


def test_a_loss_over_classes_of_ones_own_works_in_the_classifier():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    own = LinearClassifier(loss=OwnClassLoss(), alpha=0.01, tol=1e-8).fit(X, y)
    known = LinearClassifier(loss="softmax", alpha=0.01, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(own.coef_, known.coef_, atol=1e-3)
    assert own.objective_ == pytest.approx(known.objective_, rel=2e-8)
    assert own.converged_ and own.coef_.shape == (3, 4)
    with pytest.raises(ValueError, match="indicator matrix"):
        own.fit(X, np.eye(3)[np.digitize(X[:, 0], [-0.5, 0.5])])
    with pytest.raises(ValueError, match=r"loss must be one of squared, .* got OwnClassLoss"):
        LinearRegressor(loss=OwnClassLoss()).fit(X, X[:, 0])


def test_every_loss_of_the_registry_says_what_its_targets_are():
    assert all(loss.target for loss in LOSSES.values())


@pytest.mark.parametrize("name", ["softmax", "crammer_singer"])
@pytest.mark.parametrize("seed", range(20))
def test_dual_points_keep_their_small_shares(name, seed):
    """Samples that are right have slopes far below one, which are not to be rounded as if they were ones."""
    rng = np.random.default_rng(seed)
    n, K = 12, int(rng.integers(2, 5))
    y = np.append(np.arange(K), rng.integers(0, K, n - K))
    p = 10.0 ** rng.uniform(-12, 3, n)
    risk_ = make(name).bind(y.astype(float), p)
    a = rng.dirichlet(np.full(K, 0.3), n) * 10.0 ** rng.uniform(-14, 0, (n, 1))
    U = risk_.p[:, None] * a
    U[np.arange(n), y] = 0.0
    U[np.arange(n), y] = -U.sum(axis=1)
    free = risk_.project_dual(U.ravel(), balanced=False)
    assert_allclose(free, U.ravel(), rtol=1e-14)
    balanced = risk_.project_dual(U.ravel(), balanced=True)
    left = np.array([abs(math.fsum(column)) for column in balanced.reshape(n, K).T])
    moved = np.abs(U.sum(axis=0)).sum()
    assert (left <= 8 * EPS * (np.abs(balanced).reshape(n, K).sum(axis=0) + moved)).all()
    for u in (free, balanced):
        made = risk_.conjugate_above(u, exact=False)
        with mpmath.workdps(60):
            assert abs(made.value - _exact_conjugate(risk_, u.reshape(n, K), name)) <= made.error


def _exact_conjugate(risk_, U, name):
    """At the very numbers of other classes than the truth, which has what they leave."""
    total = mpmath.mpf(0)
    for u, p, y in zip(U, risk_.p, risk_.truth, strict=True):
        others = [mpmath.mpf(float(x)) / mpmath.mpf(float(p)) for k, x in enumerate(u) if k != y]
        rest = max(1 - mpmath.fsum(others), mpmath.mpf(0))
        if name == "softmax":
            total += mpmath.mpf(float(p)) * sum(a * mpmath.log(a) for a in [*others, rest] if a > 0)
        else:
            total -= mpmath.mpf(float(p)) * mpmath.fsum(others)
    return total


@pytest.mark.parametrize("seed", range(12))
def test_classes_of_very_different_weights_are_certified(seed):
    """One class has nearly all the weight, so that nearly all slopes are tiny, and balanced by large ones."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 5))
    y = rng.permutation(np.arange(60) % K)
    X = 10.0 ** rng.uniform(1, 2) * (rng.normal(size=(60, 2)) + rng.normal(size=(K, 2))[y])
    weight = np.where(y == 0, 10.0 ** rng.uniform(2, 3), 10.0 ** rng.uniform(-4, -3))
    problem = Problem(X, y, Softmax(), alpha=10.0 ** rng.uniform(-5, -3), sample_weight=weight)
    assert solve(problem, tol=1e-4, solver="newton_cg").converged
