"""The estimators: scikit-learn's contract with nothing excused, and the laws that the design promises."""

import doctest
import json
import logging
import os
import pickle
import subprocess
import sys
import warnings
from importlib import import_module

import numpy as np
import pytest
import sklearn.linear_model as skl
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapfit import (
    KernelNoveltyDetector,
    LinearClassifier,
    LinearRegressor,
    NoveltyDetector,
    Problem,
    Status,
    UnboundedProblem,
    solve,
)
from gapfit.losses import EpsilonInsensitive, Huber, Logistic, Novelty, PointwiseLoss, Poisson, Quantile
from gapfit.penalties import L1, ElasticNet
from gapfit.solvers.bundle import bundle

MARGIN = ["hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential"]
RESIDUAL = ["squared", "absolute", "quantile", "epsilon_insensitive", "squared_epsilon_insensitive", "huber"]

RNG = np.random.default_rng(7)
X = RNG.normal(size=(60, 5))
LABELS = np.where(X @ [1.0, -1.0, 0.5, 0.0, 0.0] + 0.7 * RNG.normal(size=60) > 0.3, 1, -1)
TARGET = X @ [2.0, 0.0, -1.0, 0.5, 0.0] + 3 + 0.5 * RNG.standard_t(3, size=60)
COUNTS = RNG.poisson(np.exp(0.5 * X[:, 0] + 0.3)).astype(float)
CLASSES = np.array(["low", "mid", "top"])[np.digitize(X[:, 0] + 0.4 * X[:, 1], [-0.5, 0.5])]
WEIGHT = RNG.integers(0, 4, size=60)

# every loss of every estimator, with data it can take (a novelty detector sees the data from the origin)
FITS = {
    **{loss: (LinearClassifier(loss=loss), X, LABELS) for loss in MARGIN},
    **{loss: (LinearRegressor(loss=loss), X, TARGET) for loss in RESIDUAL},
    "poisson": (LinearRegressor(loss="poisson"), X, COUNTS),
    "one-vs-rest": (LinearClassifier(), X, CLASSES),
    "novelty": (NoveltyDetector(nu=0.3), X + 2, None),
}
every_fit = pytest.mark.parametrize("name", FITS)


def model(name, **parameters):
    estimator, data, y = FITS[name]
    return clone(estimator).set_params(**parameters), data, y


def close(actual, desired, rtol=1e-6):
    """Close in relation to the largest entry."""
    assert_allclose(actual, desired, rtol=rtol, atol=rtol * np.abs(desired).max())


# -- scikit-learn's contract ------------------------------------------------------------------------------

CHECKED = [
    LinearClassifier(),
    LinearClassifier(loss="logistic"),
    LinearClassifier(penalty="elastic_net"),
    LinearClassifier(positive=True),
    LinearClassifier(fit_intercept=False),
    LinearClassifier(loss="squared_hinge", class_weight="balanced"),
    LinearClassifier(multi_class="joint"),
    LinearClassifier(multi_class="joint", loss="logistic"),
    LinearRegressor(),
    LinearRegressor(loss="huber"),
    LinearRegressor(loss="absolute", positive=True),
    LinearRegressor(loss="epsilon_insensitive", fit_intercept=False),
    LinearRegressor(loss="poisson"),
    NoveltyDetector(),
    NoveltyDetector(nu=0.2, penalty="elastic_net", alpha=0.01),
    NoveltyDetector(positive=True),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_how_many_checks_run():
    """Not one is skipped once SciPy's array API is on, which has to happen before scikit-learn is loaded."""
    script = """
import json, warnings
from sklearn.utils.estimator_checks import check_estimator
import gapfit
warnings.simplefilter("ignore")
kinds = (gapfit.LinearClassifier, gapfit.LinearRegressor, gapfit.NoveltyDetector)
with_probabilities = {"loss": "logistic"}  # which one of the checks for indicator matrices is about
options = {gapfit.LinearClassifier: with_probabilities}
models = [kind(**options.get(kind, {})) for kind in kinds]
runs = {type(model).__name__: check_estimator(model, on_fail=None, on_skip=None) for model in models}
print(json.dumps({name: [check["status"] for check in run] for name, run in runs.items()}))
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    for name, least in {"LinearClassifier": 60, "LinearRegressor": 56, "NoveltyDetector": 50}.items():
        statuses = json.loads(run.stdout)[name]
        assert set(statuses) == {"passed"} and len(statuses) >= least, (name, statuses)


@pytest.mark.parametrize("module", ["classification", "regression", "novelty"])
def test_examples(module):
    results = doctest.testmod(import_module(f"gapfit.estimators.{module}"))
    assert results.attempted >= 4 and results.failed == 0


def test_parameters_are_keywords_and_are_kept_as_they_are():
    for estimator in (LinearClassifier, LinearRegressor, NoveltyDetector):
        with pytest.raises(TypeError):
            estimator("hinge")
        parameters = {name: object() for name in estimator().get_params()}
        made = estimator(**parameters)
        assert all(getattr(made, name) is value for name, value in parameters.items())


# -- attributes -------------------------------------------------------------------------------------------


@every_fit
def test_attributes(name):
    estimator, X, y = model(name, alpha=0.01)
    fitted = estimator.fit(X, y, sample_weight=WEIGHT)
    parts = len(fitted.certificates_)
    assert parts == (3 if name == "one-vs-rest" else 1)
    classifier = isinstance(fitted, LinearClassifier)
    assert fitted.coef_.shape == ((parts, 5) if classifier else (5,))
    assert np.shape(fitted.intercept_) == ((parts,) if classifier else ())
    assert fitted.support_status_.shape == ((3, 60) if parts == 3 else (60,))
    assert (fitted.support_status_[..., WEIGHT == 0] == "zero").all()
    assert fitted.converged_ and fitted.status_ is Status.CERTIFIED
    assert fitted.dual_objective_ <= fitted.objective_
    assert fitted.objective_ - fitted.dual_objective_ <= fitted.dual_gap_
    assert fitted.dual_gap_ == max(c.gap for c in fitted.certificates_)
    assert all(c.relative_gap <= 1e-4 for c in fitted.certificates_)
    assert fitted.alpha_ == 0.01
    assert_allclose(fitted.C_, 1 / (0.01 * WEIGHT.sum()))
    last = fitted.history_[0][-1] if parts == 3 else fitted.history_[-1]
    assert last.gap >= 0 and fitted.n_iter_ >= 1 and fitted.n_features_in_ == 5
    assert fitted.fit(X, y).get_params() == estimator.get_params()


def test_binary_classifier_takes_the_second_class_as_positive():
    y = np.where(LABELS > 0, "b", "a")
    fitted = LinearClassifier(alpha=0.01).fit(X, y)
    assert_array_equal(fitted.classes_, ["a", "b"])
    scores = fitted.decision_function(X)
    assert_array_equal(fitted.predict(X), np.where(scores > 0, "b", "a"))
    problem = Problem(X, LABELS, "hinge", alpha=0.01)
    assert_allclose(fitted.objective_, problem.evaluate(fitted.coef_[0], fitted.intercept_), rtol=1e-12)


def test_a_score_of_zero_is_the_first_class():
    fitted = LinearClassifier(alpha=0.01).fit(X, LABELS)
    fitted.coef_, fitted.intercept_ = np.zeros((1, 5)), np.zeros(1)
    assert_array_equal(fitted.predict(X), np.full(60, -1))


def test_one_against_the_rest_is_one_binary_fit_for_each_class():
    fitted = LinearClassifier(alpha=0.01).fit(X, CLASSES)
    assert fitted.decision_function(X).shape == (60, 3)
    for k, name in enumerate(fitted.classes_):
        binary = LinearClassifier(alpha=0.01).fit(X, name == CLASSES)
        assert_allclose(fitted.coef_[k], binary.coef_[0], rtol=1e-10)
        assert_array_equal(fitted.support_status_[k], binary.support_status_)
    assert_array_equal(fitted.predict(X), fitted.classes_[fitted.decision_function(X).argmax(axis=1)])


@pytest.mark.parametrize("y", [LABELS, CLASSES], ids=["binary", "one-vs-rest"])
def test_probabilities(y):
    fitted = LinearClassifier(loss=Logistic(), alpha=0.01).fit(X, y)
    p = fitted.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1)
    assert_array_equal(fitted.classes_[p.argmax(axis=1)], fitted.predict(X))
    assert np.isfinite(fitted.predict_proba(-1e6 * X)).all()
    reference = skl.LogisticRegression(C=fitted.C_, tol=1e-10, max_iter=10_000)
    if len(fitted.classes_) == 2:
        assert_allclose(p, reference.fit(X, y).predict_proba(X), atol=0.02)
    assert not hasattr(LinearClassifier(), "predict_proba")


def test_a_loss_of_ones_own_says_whether_it_has_probabilities():
    class Likely(PointwiseLoss):
        likelihood = smooth = True

        def value_and_slope(self, f, y):
            return Logistic().value_and_slope(f, y)

    class Silent(Likely):
        likelihood = False

    X, y = load_breast_cancer(return_X_y=True)
    own, known = (
        LinearClassifier(loss=loss, solver="lbfgs", tol=1e-3).fit(X / X.std(0), y)
        for loss in (Likely(), "logistic")
    )
    assert_allclose(own.predict_proba(X / X.std(0)), known.predict_proba(X / X.std(0)), atol=0.02)
    assert not hasattr(LinearClassifier(loss=Silent()), "predict_proba")


def test_poisson_predicts_means_and_bounds_them():
    fitted = LinearRegressor(loss="poisson", alpha=0.01, tol=1e-8).fit(X, COUNTS)
    mean = fitted.predict(X)
    assert_allclose(mean, np.exp(X @ fitted.coef_ + fitted.intercept_))
    lo, hi = fitted.score_bounds(X)
    exact = LinearRegressor(loss="poisson", alpha=0.01, tol=1e-12).fit(X, COUNTS).predict(X)
    assert (lo <= exact).all() and (exact <= hi).all() and (lo > 0).all()
    assert fitted.set_params(loss="squared").predict(X) is not None
    assert_array_equal(fitted.predict(X), mean)  # a parameter set after the fit does not change the model


def test_offsets_are_known_parts_of_the_scores():
    rng = np.random.default_rng(0)
    exposure = rng.uniform(0.5, 2, size=60)
    y = rng.poisson(exposure * np.exp(0.5 * X[:, 0]))
    fitted = LinearRegressor(loss="poisson", alpha=0.01, tol=1e-8).fit(X, y, offset=np.log(exposure))
    solution = solve(Problem(X, y, "poisson", alpha=0.01, offset=np.log(exposure)), tol=1e-8)
    assert_allclose(fitted.coef_, solution.w, rtol=1e-6)
    shifted = LinearClassifier(alpha=0.01, tol=1e-10).fit(X, LABELS, offset=np.full(60, 2.0))
    plain = LinearClassifier(alpha=0.01, tol=1e-10).fit(X, LABELS)
    close(shifted.coef_, plain.coef_)
    assert_allclose(shifted.intercept_ + 2, plain.intercept_, atol=1e-6)


def test_novelty_detector():
    data = X + 3
    fitted = NoveltyDetector(nu=0.3, tol=1e-8).fit(data)
    assert fitted.offset_ == -fitted.intercept_
    assert_allclose(fitted.score_samples(data) - fitted.offset_, fitted.decision_function(data), atol=1e-12)
    assert_array_equal(fitted.predict(data) == -1, fitted.decision_function(data) < 0)
    assert (fitted.decision_function(data) < 0).mean() <= 0.3 <= (fitted.decision_function(data) <= 0).mean()
    louder = NoveltyDetector(nu=0.3, tol=1e-8, alpha=0.01).fit(data)  # alpha sets the scale and nothing else
    close(louder.decision_function(data), 100 * fitted.decision_function(data), 1e-4)


# -- laws -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [name for name in FITS if name != "novelty"]
)  # to that one the origin matters
@pytest.mark.parametrize("c", [10.0, 1000.0])
def test_shifting_X_does_not_change_coef(name, c):
    estimator, X, y = model(name, alpha=0.01, tol=1e-9)
    still = estimator.fit(X, y).coef_.copy()
    close(estimator.fit(X + c * np.linspace(-1, 1, 5), y).coef_, still)


@pytest.mark.parametrize("name", RESIDUAL)
def test_shifting_y_moves_the_intercept_alone(name):
    estimator, X, y = model(name, alpha=0.01, tol=1e-10)
    still = clone(estimator).fit(X, y)
    moved = estimator.fit(X, y + 100)
    close(moved.coef_, still.coef_)
    assert_allclose(moved.intercept_, still.intercept_ + 100, rtol=1e-6)


@every_fit
def test_weights_are_copies_and_zero_is_absence(name):
    rng = np.random.default_rng(0)
    estimator, X, y = model(name, alpha=0.01)
    labels = np.zeros(60) if y is None else y
    weighted = clone(estimator).fit(X, y, sample_weight=WEIGHT)
    repeated = clone(estimator).fit(X.repeat(WEIGHT, axis=0), labels.repeat(WEIGHT))
    removed = clone(estimator).fit(X[WEIGHT > 0], labels[WEIGHT > 0], sample_weight=WEIGHT[WEIGHT > 0])
    scaled = clone(estimator).fit(X, y, sample_weight=1e-3 * WEIGHT)
    for other in (repeated, removed):
        assert_array_equal(other.coef_, weighted.coef_)  # to the last bit
        assert other.C_ == weighted.C_ and other.objective_ == weighted.objective_
    assert abs(scaled.objective_ - weighted.objective_) <= scaled.dual_gap_ + weighted.dual_gap_
    order = rng.permutation(60)
    shuffled = clone(estimator).fit(X[order], labels[order], sample_weight=WEIGHT[order])
    assert_array_equal(shuffled.coef_, weighted.coef_)
    assert_array_equal(shuffled.support_status_, weighted.support_status_[..., order])


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, np.float32, sparse.csr_array])
def test_the_score_of_a_row_does_not_depend_on_the_others(form):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(500, 37))
    fitted = LinearClassifier(alpha=0.1).fit(data, np.digitize(data[:, 0], [-0.5, 0.5]))
    together = fitted.decision_function(form(data))
    alone = np.concatenate([fitted.decision_function(form(data[k : k + 1])) for k in range(500)])
    assert_array_equal(together, alone)


@pytest.mark.parametrize("y", [LABELS, CLASSES], ids=["binary", "one-vs-rest"])
def test_class_weights_are_weights(y):
    classes, counts = np.unique(y, return_inverse=True)[0], np.unique(y, return_counts=True)[1]
    balanced = LinearClassifier(alpha=0.01, class_weight="balanced").fit(X, y)
    by_hand = dict(zip(classes.tolist(), 60 / (len(classes) * counts), strict=True))
    weights = np.array([by_hand[label] for label in y.tolist()])
    for other in (
        LinearClassifier(alpha=0.01, class_weight=by_hand).fit(X, y),
        LinearClassifier(alpha=0.01).fit(X, y, sample_weight=weights),
    ):
        close(other.coef_, balanced.coef_)
        assert_allclose(other.C_, balanced.C_)
    # repetition: the mass of a class counts, not the number of its samples
    mass = LinearClassifier(alpha=0.01, class_weight="balanced").fit(X, y, sample_weight=WEIGHT)
    copies = LinearClassifier(alpha=0.01, class_weight="balanced").fit(
        X.repeat(WEIGHT, axis=0), y.repeat(WEIGHT)
    )
    close(copies.coef_, mass.coef_)


def test_a_class_without_weight_is_absent():
    fitted = LinearClassifier(alpha=0.01).fit(X, CLASSES, sample_weight=(CLASSES != "mid").astype(int))
    assert_array_equal(fitted.classes_, ["low", "top"])
    assert fitted.coef_.shape == (1, 5)
    by_class = LinearClassifier(alpha=0.01, class_weight={"low": 1, "mid": 0, "top": 1}).fit(X, CLASSES)
    assert_array_equal(by_class.classes_, ["low", "top"])
    assert_allclose(by_class.coef_, fitted.coef_, rtol=1e-9)
    assert_array_equal(by_class.support_status_ == "zero", fitted.support_status_ == "zero")


def test_one_weight_for_all_changes_nothing():
    plain = LinearClassifier(alpha=0.01).fit(X, LABELS)
    assert_array_equal(LinearClassifier(alpha=0.01).fit(X, LABELS, sample_weight=1.0).coef_, plain.coef_)


def test_a_warm_start_may_be_asked_for_after_the_fit():
    model = LinearClassifier(loss="logistic", alpha=1e-3, solver="lbfgs", tol=1e-8).fit(X, LABELS)
    first = model.n_iter_
    assert model.set_params(warm_start=True).fit(X, LABELS).n_iter_ < first and model.converged_


def test_a_label_that_tells_nothing_apart_is_named():
    Y = np.column_stack([LABELS[0] == LABELS, np.zeros(len(X)), CLASSES == "low"]).astype(int)
    with pytest.raises(UnboundedProblem, match=r"^label 1: .*leave its column of y out"):
        LinearClassifier(loss="logistic").fit(X, Y)


def test_numbers_that_look_like_classes_are_not_passed_over_in_silence():
    with pytest.warns(UserWarning, match="22 classes in 60 samples.*LinearRegressor"):
        LinearClassifier(alpha=1.0, tol=0.1).fit(X, np.arange(60) % 22)


@pytest.mark.parametrize("detector", [NoveltyDetector(), KernelNoveltyDetector(kernel="linear")])
def test_a_detector_to_which_nothing_is_novel_says_so(detector):
    with pytest.warns(UserWarning, match="no row is novel"):
        clone(detector).fit(X - X.mean(axis=0))
    clone(detector).fit(X + 10.0)


def test_names_of_other_libraries_are_understood_in_the_error():
    for parameters, meant in (
        ({"loss": "log_loss"}, "logistic"),
        ({"loss": "hinges"}, "hinge"),
        ({"penalty": "elasticnet"}, "elastic_net"),
        ({"solver": "liblinear"}, "dual_cd"),
        ({"multi_class": "ovr"}, None),
    ):
        with pytest.raises(ValueError) as caught:
            LinearClassifier(**parameters).fit(X, LABELS)
        assert meant is None or f"did you mean '{meant}'?" in str(caught.value)


@every_fit
def test_float32_is_kept_and_certified(name):
    estimator, X, y = model(name, alpha=0.01, tol=1e-8)  # the two may come from different solvers
    single = clone(estimator).fit(X.astype(np.float32), y)
    double = clone(estimator).fit(X.astype(np.float32).astype(float), y)
    assert single.coef_.dtype == np.float32 and single.converged_
    assert single.objective_ <= double.objective_ + single.dual_gap_
    close(single.coef_, double.coef_, 1e-4)
    sparse_single = clone(estimator).fit(sparse.csr_array(X.astype(np.float32)), y)
    assert sparse_single.coef_.dtype == np.float32
    close(sparse_single.coef_, single.coef_, 1e-4)


@every_fit
def test_sparse_equals_dense(name):
    estimator, X, y = model(name, alpha=0.01)
    thin = X * (np.abs(X) > 0.7)
    dense = clone(estimator).fit(thin, y)
    fitted = clone(estimator).fit(sparse.csr_matrix(thin), y)
    assert abs(fitted.objective_ - dense.objective_) <= fitted.dual_gap_ + dense.dual_gap_
    close(fitted.coef_, dense.coef_, 1e-3)
    if isinstance(fitted, LinearClassifier):
        assert_array_equal(fitted.predict(sparse.csc_array(thin)), fitted.predict(thin))
    assert_allclose(
        fitted.score_bounds(sparse.csr_array(thin)), fitted.score_bounds(thin), rtol=1e-9, atol=1e-9
    )


def test_positive_and_elastic_net():
    fitted = LinearRegressor(positive=True, alpha=0.01).fit(X, TARGET)
    assert (fitted.coef_ >= 0).all() and (fitted.coef_ == 0).any() and fitted.converged_
    reference = skl.ElasticNet(alpha=0.3, l1_ratio=0.5, tol=1e-10).fit(X, TARGET)
    ours = LinearRegressor(penalty=ElasticNet(0.5), alpha=0.3, tol=1e-10).fit(X, TARGET)
    close(ours.coef_, reference.coef_, 1e-4)
    lasso = LinearRegressor(penalty="elastic_net", alpha=0.3, positive=True, tol=1e-10).fit(X, TARGET)
    reference = skl.ElasticNet(alpha=0.3, l1_ratio=0.5, tol=1e-10, positive=True).fit(X, TARGET)
    close(lasso.coef_, reference.coef_, 1e-4)


# -- against scikit-learn, by our own objective -----------------------------------------------------------

ALPHA = 0.01
OTHERS = {
    "LinearSVC": (
        LinearClassifier(loss="hinge"),
        LinearSVC(loss="hinge", C=1 / (ALPHA * 60), intercept_scaling=100, max_iter=10**6),
        LABELS,
    ),
    "LinearSVC-squared": (
        LinearClassifier(loss="squared_hinge", fit_intercept=False),
        LinearSVC(C=0.5 * 2 / (ALPHA * 60), fit_intercept=False, tol=1e-8, max_iter=10**6),
        LABELS,
    ),
    "LogisticRegression": (
        LinearClassifier(loss="logistic"),
        skl.LogisticRegression(C=1 / (ALPHA * 60), tol=1e-8),
        LABELS,
    ),
    "Ridge": (LinearRegressor(), skl.Ridge(alpha=ALPHA * 60), TARGET),
    "Lasso": (LinearRegressor(penalty=L1()), skl.Lasso(alpha=ALPHA, tol=1e-8), TARGET),
    "QuantileRegressor": (
        LinearRegressor(loss=Quantile(0.8), penalty="l1"),
        skl.QuantileRegressor(quantile=0.8, alpha=ALPHA),
        TARGET,
    ),
    "PoissonRegressor": (
        LinearRegressor(loss=Poisson()),
        skl.PoissonRegressor(alpha=ALPHA, tol=1e-8, solver="newton-cholesky"),
        COUNTS,
    ),
    "HuberRegressor": (LinearRegressor(loss=Huber(0.5)), skl.HuberRegressor(), TARGET),
    "LinearSVR": (
        LinearRegressor(loss=EpsilonInsensitive(0.2)),
        skl.SGDRegressor(loss="epsilon_insensitive", epsilon=0.2, alpha=ALPHA, random_state=0),
        TARGET,
    ),
}
SAME_OBJECTIVE = {
    "LinearSVC-squared": 1e-6,
    "LogisticRegression": 1e-6,
    "Ridge": 1e-9,
    "Lasso": 1e-6,
    "QuantileRegressor": 1e-6,
    "PoissonRegressor": 1e-6,
}


@pytest.mark.parametrize("name", OTHERS)
def test_no_other_library_has_a_lower_objective(name):
    ours, theirs, y = OTHERS[name]
    ours = clone(ours).set_params(alpha=ALPHA, tol=1e-6).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # theirs
        theirs = clone(theirs).fit(X, y)
    problem = Problem(X, y, ours.loss, ours.penalty, ALPHA, intercept=ours.fit_intercept)
    J = [
        problem.evaluate(np.ravel(m.coef_), np.ravel(m.intercept_) if ours.fit_intercept else np.zeros(0))
        for m in (ours, theirs)
    ]
    assert_allclose(ours.objective_, J[0], rtol=1e-12)
    assert J[0] <= J[1] + ours.dual_gap_
    assert ours.dual_objective_ <= J[1] * (1 + 1e-12)
    if name in SAME_OBJECTIVE:
        assert J[1] <= J[0] * (1 + SAME_OBJECTIVE[name]) + ours.dual_gap_


# -- what the gap proves ----------------------------------------------------------------------------------


def exact(name, alpha):
    estimator, X, y = model(name, alpha=alpha, tol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the last digit need not be proved
        return estimator.fit(X, y)


@every_fit
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_certified_predictions_and_bounds_are_those_of_the_optimum(name, tol):
    rng = np.random.default_rng(0)
    estimator, X, y = model(name, alpha=0.1, tol=tol)
    fitted, optimum = estimator.fit(X, y), exact(name, 0.1)
    new = np.concatenate([X, 3 * rng.normal(size=(200, 5))])
    lo, hi = fitted.score_bounds(new)
    at = optimum.predict(new) if isinstance(fitted, LinearRegressor) else optimum.decision_function(new)
    slack = 1e-5 * (1 + np.abs(at))  # the optimum itself is known up to the root of 1e-12
    assert (lo <= at + slack).all() and (at <= hi + slack).all()
    if isinstance(fitted, LinearRegressor):
        return
    sure = fitted.certified(new)
    assert sure.dtype == bool and sure.shape == (260,)
    assert_array_equal(fitted.predict(new)[sure], optimum.predict(new)[sure])
    if tol == 1e-6:
        assert sure.mean() > 0.9


@pytest.mark.parametrize("name", [*MARGIN, *RESIDUAL, "poisson", "novelty"])
@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_support_status_is_that_of_the_optimum(name, tol):
    estimator, X, y = model(name, alpha=0.1, tol=tol)
    fitted, optimum = estimator.fit(X, y), exact(name, 0.1)
    loss = Novelty(0.3) if name == "novelty" else fitted.loss
    risk = Problem(X, np.ones(60) if y is None else y, loss).risk
    scores = X @ np.ravel(optimum.coef_) + optimum.intercept_
    # the dual coefficients lie between the derivatives on either side of the optimum's scores
    left, right = (risk.value_and_subgradient(scores + shift, np.zeros(1))[1] for shift in (-1e-5, 1e-5))
    far = np.stack([risk.value_and_subgradient(np.full(60, f), np.zeros(1))[1] for f in (-1e3, 1e3)])
    status = fitted.support_status_
    zero, bound, support = (status == word for word in ("zero", "bound", "support"))
    assert (zero | bound | support | (status == "undecided")).all()
    assert ((left <= 0) & (right >= 0))[zero].all()
    assert ((left != 0) | (right != 0))[bound | support].all()
    assert ((left == far) | (right == far)).any(axis=0)[bound].all()
    if tol == 1e-6 and name in ("hinge", "absolute", "quantile", "epsilon_insensitive", "novelty"):
        assert (zero | bound).mean() > 0.5 and bound.any()


@pytest.mark.parametrize("penalty", ["l1", "entropy"])
def test_without_strong_convexity_nothing_is_certified_and_that_is_said(penalty):
    fitted = LinearClassifier(penalty=penalty, alpha=0.01).fit(X, LABELS)
    assert fitted.converged_ and set(fitted.support_status_) == {"undecided"}
    for method in (fitted.certified, fitted.score_bounds):
        with pytest.raises(ValueError, match=r"penalty.*ElasticNet"):
            method(X)


# -- how a fit ends ---------------------------------------------------------------------------------------


def test_the_warning_says_what_how_much_and_what_next():
    with pytest.warns(
        ConvergenceWarning, match=r"max_iter.*gap is \d.*tol asks for 1e-10.*raise max_iter"
    ) as log:
        fitted = LinearClassifier(max_iter=2, tol=1e-10).fit(X, LABELS)
    assert log[0].filename == __file__
    assert fitted.status_ is Status.MAX_ITER and not fitted.converged_
    assert fitted.dual_objective_ <= LinearClassifier(tol=1e-8).fit(X, LABELS).objective_ <= fitted.objective_
    with pytest.warns(ConvergenceWarning, match="raise max_time"):
        LinearRegressor(max_time=0, tol=1e-10).fit(X, TARGET)
    with pytest.warns(ConvergenceWarning, match="raise tol above the relative gap"):
        LinearClassifier(tol=0.0, alpha=0.1).fit(X, LABELS)


@pytest.mark.parametrize("y", [LABELS, CLASSES], ids=["binary", "one-vs-rest"])
def test_an_interrupt_keeps_the_best_point(y):
    calls = []

    def interrupted(problem, state=None):
        steps = bundle(problem, state=state)
        certificate = yield next(steps)
        while True:
            calls.append(None)
            if len(calls) == 5:
                raise KeyboardInterrupt
            certificate = yield steps.send(certificate)

    with pytest.warns(ConvergenceWarning, match="interrupted.*warm_start"):
        fitted = LinearClassifier(solver=interrupted, alpha=0.01, tol=1e-8).fit(X, y)
    assert fitted.status_ is Status.INTERRUPTED
    assert fitted.decision_function(X).shape == ((60,) if len(set(y)) == 2 else (60, 3))
    best = LinearClassifier(alpha=0.01, tol=1e-8).fit(X, y)
    assert fitted.objective_ - fitted.dual_gap_ <= best.objective_ <= fitted.objective_ + best.dual_gap_


def test_verbose_shows_the_log_on_stderr_and_leaves_logging_as_it_was(capfd):
    LinearClassifier(verbose=1).fit(X, LABELS)
    out, err = capfd.readouterr()
    assert out == "" and "CERTIFIED" in err and "step" not in err.replace("steps", "")
    LinearClassifier(verbose=2).fit(X, LABELS)
    assert "step " in capfd.readouterr().err
    LinearClassifier().fit(X, LABELS)
    assert capfd.readouterr() == ("", "")
    assert not logging.getLogger("gapfit").handlers


# -- starting again ---------------------------------------------------------------------------------------


@every_fit
@pytest.mark.parametrize("solver", ["auto", "bundle"])
def test_warm_start_goes_on_where_the_last_fit_ended(name, solver):
    estimator, X, y = model(name, alpha=0.01, tol=1e-2, warm_start=True, solver=solver)
    cold = clone(estimator).set_params(tol=1e-8).fit(X, y)
    warm = estimator.fit(X, y).set_params(tol=1e-8).fit(X, y)
    assert warm.converged_ and warm.n_iter_ <= cold.n_iter_
    assert abs(warm.objective_ - cold.objective_) <= warm.dual_gap_ + cold.dual_gap_
    again = warm.fit(X, y)
    assert again.n_iter_ <= 1


@pytest.mark.parametrize(
    ("name", "solver"),
    [
        *((name, solver) for name in FITS for solver in ("auto", "bundle", "pegasos")),
        *((name, "dual_cd") for name in FITS if name not in ("logistic", "exponential", "poisson")),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_warm_start_on_other_data_carries_no_bound_over(name, solver):
    """A lower bound of the first problem may lie above the minimum of the second."""
    estimator, X, y = model(name, alpha=0.1, tol=1e-3, max_iter=300, warm_start=True, solver=solver)
    other = None if y is None else y[::-1]
    warm, cold = estimator.fit(X, y), clone(estimator).set_params(tol=1e-6, solver="auto")
    for data, weight in ((X, None), (X, WEIGHT), (X[:, :3], WEIGHT), (X[:50, :3], None)):
        target = None if other is None else other[: len(data)]
        warm.fit(data, target, sample_weight=weight)
        cold.fit(data, target, sample_weight=weight)
        assert warm.dual_objective_ <= cold.objective_ + 1e-12
        assert warm.objective_ >= cold.dual_objective_ - 1e-12


def test_random_state_seeds_and_none_repeats():
    def fit(random_state):
        return LinearClassifier(solver="dual_cd", tol=1e-2, random_state=random_state).fit(X, LABELS).coef_

    assert_array_equal(fit(None), fit(None))
    assert_array_equal(fit(3), fit(3))
    assert_array_equal(fit(np.random.RandomState(3)), fit(3))
    assert not np.array_equal(fit(3), fit(4))


# -- in company -------------------------------------------------------------------------------------------


@every_fit
def test_clone_and_pickle(name):
    estimator, X, y = model(name, alpha=0.01)
    fitted = estimator.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict(X), fitted.predict(X))
    assert_array_equal(again.score_bounds(X), fitted.score_bounds(X))
    assert again.status_ is fitted.status_ and again.history_ == fitted.history_
    assert not hasattr(clone(fitted), "coef_")
    assert len(fitted._repr_html_()) < 100_000


def test_pipeline_and_grid_search():
    data, y = load_breast_cancer(return_X_y=True)
    grid = {"linearclassifier__alpha": [1e-1, 1e-3], "linearclassifier__loss": ["hinge", Logistic()]}
    search = GridSearchCV(make_pipeline(StandardScaler(), LinearClassifier()), grid, cv=3)
    assert search.fit(data, y).best_score_ > 0.96
    data, y = load_iris(return_X_y=True)
    assert LinearClassifier(loss="squared_hinge").fit(scale(data), y).score(scale(data), y) > 0.9


def test_weights_and_offsets_are_routed():
    import sklearn

    data, y = make_classification(random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LinearClassifier(alpha=0.1).set_fit_request(sample_weight=True, offset=True)
        inner.set_score_request(sample_weight=False)
        search = GridSearchCV(inner, {"alpha": [0.1, 0.01]}, cv=3)
        search.fit(data, y, sample_weight=np.ones(100), offset=np.zeros(100))
        assert search.best_estimator_.converged_


def test_a_loss_of_ones_own():
    class Cubic(PointwiseLoss):
        """max(0, 1 - y f)^3, which nothing else offers."""

        smooth = True

        def value_and_slope(self, f, y):
            short = np.maximum(0.0, 1.0 - y * f)
            return short**3, -3.0 * y * short**2

    fitted = LinearClassifier(loss=Cubic(), alpha=0.1, warm_start=True).fit(X, LABELS)
    assert fitted.converged_ and fitted.certified(X).mean() > 0.5
    assert fitted.fit(X, LABELS[::-1]).converged_


@pytest.mark.parametrize("loss", ["softmax", "crammer_singer"])
def test_intercepts_of_classes_that_compete_sum_to_zero(loss):
    """Only differences of their scores count: no common shift is added to them."""
    fitted = LinearClassifier(loss=loss, C=1.0, tol=1e-10).fit(X, CLASSES)
    assert abs(fitted.intercept_.sum()) <= 1e-12 and np.abs(fitted.coef_.sum(axis=0)).max() <= 1e-4
    if loss == "softmax":
        theirs = skl.LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, CLASSES)
        assert_allclose(fitted.intercept_, theirs.intercept_, atol=1e-4)
