"""KernelSVC, KernelSVR and KernelNoveltyDetector: drop-ins for scikit-learn's, and what they prove."""

import pickle
import warnings
from copy import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel, sigmoid_kernel
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapfit import KernelNoveltyDetector, KernelSVC, KernelSVR, Status, load, save
from gapfit.estimators.kernel_statements import Statement


@parametrize_with_checks([KernelSVC(), KernelSVR(), KernelNoveltyDetector()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("load", "options"),
    [
        (load_breast_cancer, {}),
        (load_breast_cancer, {"C": 10, "class_weight": {0: 2.0, 1: 0.5}}),
        (load_iris, {"C": 10}),
        (load_iris, {"kernel": "linear", "class_weight": "balanced"}),
        (load_digits, {"C": 5, "kernel": "poly", "coef0": 1.0}),
    ],
)
def test_attributes_are_those_of_svc(load, options):
    X, y = load(return_X_y=True)
    X = scale(X)
    ours, theirs = KernelSVC(tol=1e-9, **options).fit(X, y), SVC(tol=1e-8, **options).fit(X, y)
    assert ours.converged_ and ours.fit_status_ == 0
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.support_vectors_, theirs.support_vectors_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_one_against_one_scores_are_those_of_svc():
    X, y = load_iris(return_X_y=True)
    ours, theirs = (model(decision_function_shape="ovo", tol=1e-8).fit(X, y) for model in (KernelSVC, SVC))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert len(ours.certificates_) == 3 and ours.support_status_.shape == (3, len(y))


@pytest.mark.parametrize("options", [{}, {"C": 100, "epsilon": 0.3}, {"kernel": "linear"}])
def test_regression_is_that_of_svr(options):
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), scale(y)
    ours, theirs = KernelSVR(tol=1e-9, **options).fit(X, y), SVR(tol=1e-8, **options).fit(X, y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    if options.get("kernel") == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.parametrize("nu", [0.1, 0.5, 0.9])
def test_novelty_detection_is_that_of_one_class_svm(nu):
    X = scale(load_diabetes(return_X_y=True)[0])
    ours, theirs = KernelNoveltyDetector(nu=nu, tol=1e-12).fit(X), OneClassSVM(nu=nu, tol=1e-8).fit(X)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert ours.offset_ == pytest.approx(theirs.offset_[0], abs=1e-5)
    assert np.mean(ours.predict(X) < 0) <= nu


def test_sample_weights_are_those_of_svc_and_equal_samples_share():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)[:200]
    y, weight = y[:200], np.random.default_rng(0).integers(0, 4, 200).astype(float)
    ours, theirs = KernelSVC(tol=1e-9, gamma=0.05), SVC(tol=1e-8, gamma=0.05)
    ours.fit(X, y, sample_weight=weight)
    theirs.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    again = KernelSVC(tol=1e-9, gamma=0.05).fit(
        np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int))
    )
    np.testing.assert_allclose(again.decision_function(X), ours.decision_function(X), atol=1e-9)
    assert again.dual_coef_.sum() == pytest.approx(0.0, abs=1e-9)
    assert (np.abs(again.dual_coef_) <= 1 + 1e-12).all()


def test_sparse_precomputed_and_callable_agree_with_dense():
    X, y = load_iris(return_X_y=True)
    X, gamma = X[:100], 0.4
    dense = KernelSVC(gamma=gamma, tol=1e-10).fit(X, y[:100])
    scores = dense.decision_function(X)
    rows = KernelSVC(gamma=gamma, tol=1e-10).fit(sparse.csr_array(X), y[:100])
    np.testing.assert_allclose(rows.decision_function(sparse.csr_array(X)), scores, atol=1e-7)
    assert sparse.issparse(rows.support_vectors_)
    K = rbf_kernel(X, gamma=gamma)
    matrix = KernelSVC(kernel="precomputed", tol=1e-10).fit(K, y[:100])
    np.testing.assert_allclose(matrix.decision_function(K), scores, atol=1e-7)
    function = KernelSVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=gamma), tol=1e-10).fit(X, y[:100])
    np.testing.assert_allclose(function.decision_function(X), scores, atol=1e-7)


def test_bounds_hold_for_the_exact_optimum():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    train, other = slice(None, 400), slice(400, None)
    exact = KernelSVC(tol=1e-12).fit(X[train], y[train])
    rough = KernelSVC(tol=1e-3).fit(X[train], y[train])
    lo, hi = rough.score_bounds(X[other])
    scores = exact.decision_function(X[other])
    assert (lo <= scores).all() and (scores <= hi).all()
    proved = rough.certified(X[other])
    np.testing.assert_array_equal(rough.predict(X[other])[proved], exact.predict(X[other])[proved])
    assert exact.certified(X[other]).all()
    status = rough.support_status_
    coefficients = np.zeros(400)
    coefficients[exact.support_] = exact.dual_coef_[0]
    assert (coefficients[status == "zero"] == 0).all()
    np.testing.assert_allclose(np.abs(coefficients[status == "bound"]), 1.0)
    on_the_margin = (coefficients != 0) & (
        np.abs(coefficients) < 1 - 1e-9
    )  # where no bound on scores decides
    np.testing.assert_array_equal(exact.support_status_ == "undecided", on_the_margin)
    assert (exact.identified_at_[exact.support_] > 0).all()


def test_the_bundle_method_fits_the_same_machine():
    X, y = load_iris(return_X_y=True)
    smo, bundle = (KernelSVC(solver=solver, tol=1e-6).fit(X[50:], y[50:]) for solver in ("smo", "bundle"))
    assert bundle.converged_
    np.testing.assert_allclose(bundle.decision_function(X[50:]), smo.decision_function(X[50:]), atol=1e-2)


def test_warm_start_limits_and_refusals():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    model = KernelSVC(warm_start=True, tol=1e-8).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        stopped = KernelSVC(max_iter=1, tol=1e-12).fit(X, y)
    assert not stopped.converged_ and stopped.fit_status_ == 1 and np.isfinite(stopped.dual_gap_)
    for options, message in [
        ({"C": -1.0}, "C must be"),
        ({"kernel": "cubic"}, "kernel must be"),
        ({"kernel": "sigmoid", "cache_size": 0.1}, "raise cache_size"),
        ({"kernel": "sigmoid", "nu": 0.3}, "positive semidefinite"),
        ({"gamma": "large"}, "gamma must be"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"kernel": "poly", "degree": 1.5}, "degree must be"),
        ({"cache_size": 0}, "cache_size must be"),
        ({"decision_function_shape": "both"}, "decision_function_shape must be"),
        ({"kernel": "precomputed"}, "square"),
    ]:
        with pytest.raises(ValueError, match=message):
            KernelSVC(**options).fit(X, y)
    with pytest.raises(AttributeError, match="linear"):
        _ = model.coef_


def test_all_coefficients_zero():
    X = np.arange(10.0)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelSVR(epsilon=10.0).fit(X, X[:, 0])
    assert len(model.support_) == 0
    assert np.ptp(model.predict(X)) == 0


def test_the_sigmoid_kernel_is_a_local_fit(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)[:200]
    y = y[:200]
    for make, theirs, options in (
        (KernelSVC, SVC, {}),
        (KernelSVR, SVR, {}),
        (KernelNoveltyDetector, OneClassSVM, {"nu": 0.3}),
    ):
        given = {"kernel": "sigmoid", "gamma": 0.01, "coef0": -0.5, **options}  # indefinite
        model, other = make(**given, tol=1e-8).fit(X, y), theirs(**given, tol=1e-8).fit(X, y)
        assert model.status_ is Status.LOCAL and not model.converged_ and model.dual_gap_ == np.inf
        assert (model.support_status_ == "undecided").all()
        if make is not KernelSVR:  # other stationary points than libsvm's, and much the same answers
            assert np.mean(model.predict(X) == other.predict(X)) > 0.9
        with pytest.raises(ValueError, match="semidefinite"):
            model.score_bounds(X)
        save(model, tmp_path / "model")
        assert (load(tmp_path / "model").predict(X) == model.predict(X)).all()


def test_a_local_fit_is_a_stationary_point():
    """No pair of coefficients can be changed for the better, by the definition of that."""
    X, y = load_breast_cancer(return_X_y=True)
    X, C = scale(X)[:200], 2.0
    sign = np.where(y[:200] > 0, 1.0, -1.0)
    model = KernelSVC(C=C, kernel="sigmoid", gamma=0.01, coef0=-0.5, tol=1e-8).fit(X, sign)
    K = sigmoid_kernel(X, gamma=0.01, coef0=-0.5)
    assert np.linalg.eigvalsh(K)[0] < -1e-3
    w = np.zeros(200)
    w[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(model.decision_function(X), K @ w + model.intercept_, atol=1e-10)
    assert w.sum() == pytest.approx(0.0, abs=1e-9) and (sign * w >= 0).all() and (sign * w <= C).all()
    slopes = K @ w - sign
    rise, fall = np.where(sign > 0, w < C, w < 0), np.where(sign > 0, w > 0, w > -C)
    assert slopes[fall].max() - slopes[rise].min() <= 1e-7


def test_a_sigmoid_matrix_that_is_positive_semidefinite_is_certified():
    X = load_iris().data
    X, y = scale(X)[[0, 37, 74, 111]], [0, 1, 0, 1]
    assert np.linalg.eigvalsh(sigmoid_kernel(X, gamma=1e-3, coef0=1.0))[0] > 0
    model = KernelSVC(kernel="sigmoid", gamma=1e-3, coef0=1.0).fit(X, y)
    assert model.status_ is Status.CERTIFIED and model.converged_ and np.isfinite(model.dual_gap_)


def test_pairs_of_classes_start_from_the_last_fit():
    X, y = load_iris(return_X_y=True)
    model = KernelSVC(warm_start=True, tol=1e-8).fit(X, y)
    coefficients = model.dual_coef_.copy()
    assert model.n_iter_ > 1
    model.fit(X, y)
    assert model.n_iter_ == 1 and model.converged_
    np.testing.assert_allclose(model.dual_coef_, coefficients, atol=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_what_is_proved_of_samples_is_said_when_it_is_asked_for(classes, monkeypatch):
    said = []
    of = Statement.of
    monkeypatch.setattr(Statement, "of", lambda *args, **more: said.append(1) or of(*args, **more))
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes].copy(), y[y < classes]
    model = KernelSVC().fit(X, y)
    again, stored = copy(model), pickle.loads(pickle.dumps(copy(model)))
    parts = len(model.certificates_)
    assert len(said) == parts  # for the file
    assert "support_status_" in vars(stored) and "support_status_" not in vars(model)
    X *= 100.0  # nobody's business any more
    np.testing.assert_array_equal(model.support_status_, stored.support_status_)
    assert model._balls == stored._balls and len(said) == 2 * parts
    assert model.support_status_ is model.support_status_ and len(said) == 2 * parts
    again.fit(X, y)
    assert "support_status_" in vars(again)["_later"] and len(said) == 2 * parts
    with pytest.raises(AttributeError, match="support_status_"):
        _ = KernelSVC().support_status_


def test_statements_do_not_wait_for_a_matrix_that_is_the_users():
    X, y = load_breast_cancer(return_X_y=True)
    K = rbf_kernel(scale(X), gamma=0.03)
    model = KernelSVC(kernel="precomputed", tol=1e-6).fit(K, y)
    assert set(vars(model)["_later"]) == {"history_", "identified_at_"}  # which know of no matrix
    other = KernelSVC(gamma=0.03, tol=1e-6).fit(scale(X), y)
    assert (model.support_status_ == other.support_status_).mean() > 0.99


def test_pairs_of_classes_are_the_machines_of_two_classes():
    """Whatever the order of the samples is, and how often they are there."""
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = KernelSVC(gamma=0.5, tol=1e-9, decision_function_shape="ovo").fit(X, y, weight)
    for column, (first, second) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = np.flatnonzero((y == first) | (y == second))
        two = KernelSVC(gamma=0.5, tol=1e-9).fit(X[rows], y[rows], weight[rows])
        np.testing.assert_allclose(
            model.decision_function(X)[:, column], -two.decision_function(X), atol=1e-5
        )
        assert model.certificates_[column].primal == pytest.approx(two.objective_, rel=1e-8)
        np.testing.assert_array_equal(model.support_status_[column][rows], two.support_status_)


def test_weights_of_a_linear_kernel_are_those_of_each_pair():
    X, y = load_iris(return_X_y=True)
    ours, peer = KernelSVC(kernel="linear", tol=1e-9).fit(X, y), SVC(kernel="linear", tol=1e-8).fit(X, y)
    assert ours.coef_.shape == peer.coef_.shape == (3, 4)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-3)
