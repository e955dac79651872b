"""Ordered levels: the loss against its definition and other solvers, and OrdinalClassifier."""

import doctest
import itertools
import json
import os
import pickle
import subprocess
import sys
from importlib import import_module

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapfit import (
    LinearClassifier,
    ModelFileError,
    OrdinalClassifier,
    Problem,
    Status,
    load,
    save,
    solve,
)
from gapfit.losses import OrdinalPairs, OrdinalThresholds
from gapfit.losses.forms import Smooth
from gapfit.losses.ordinal import BASES, least_error_thresholds
from gapfit.testing import check_loss, check_solver
from metrics import THRESHOLDS, targets

PHI = {
    "hinge": lambda m: np.maximum(0, 1 - m),
    "squared_hinge": lambda m: np.maximum(0, 1 - m) ** 2,
    "smoothed_hinge": lambda m: np.where(m > 1, 0, np.where(m < 0, 0.5 - m, (1 - m) ** 2 / 2)),
    "logistic": lambda m: np.logaddexp(0, -m),
    "exponential": lambda m: np.exp(-m),
}
every_loss = pytest.mark.parametrize("name", THRESHOLDS)
kinds = pytest.mark.parametrize("kind", ["all", "immediate"])


def graded(n=60, d=4, levels=4, seed=0, noise=0.7):
    """Levels along a direction, with noise, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    hidden = X @ np.linspace(1.0, -1.0, d) + noise * rng.standard_t(3, size=n)
    y = np.digitize(hidden, np.quantile(hidden, np.arange(1, levels) / levels)).astype(float)
    return X, y, rng.integers(1, 4, n).astype(float)


def shuffled(n=40, levels=4, seed=0):
    """Levels in the wrong order along the only feature, so that thresholds want to be as well."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, levels, n).astype(float)
    y[:levels] = np.arange(levels)
    places = np.array([0.0, 3.0, 1.0, 2.0])[:levels]
    return (places[y.astype(int)] + 0.3 * rng.normal(size=n))[:, None], y, np.ones(n)


def terms(y, kind):
    """The pairs (i, k, sign) of the definition, with levels as they are in y."""
    levels = np.unique(y)
    for i, k in itertools.product(range(len(y)), range(len(levels) - 1)):
        if kind == "all" or y[i] in (levels[k], levels[k + 1]):
            yield i, k, (1.0 if y[i] > levels[k] else -1.0)


# -- the loss -------------------------------------------------------------------------------------------


@every_loss
def test_the_definition(name):
    loss = OrdinalThresholds(**THRESHOLDS[name])
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(3, 12))
        y = rng.choice([-3.0, 0.5, 0.7, 10.0], n)
        y[:2] = 0.5, 10.0
        weight, f = rng.integers(1, 4, n).astype(float), 2 * rng.normal(size=n)
        risk = loss.bind(y, weight)
        b = np.sort(rng.normal(size=risk.offsets.size))
        value = sum(weight[i] * PHI[loss.base](s * (f[i] - b[k])) for i, k, s in terms(y, loss.kind))
        assert risk.offsets == (len(np.unique(y)) - 1, True)
        assert risk.value_and_subgradient(f, b)[0] == pytest.approx(value / weight.sum(), rel=1e-13)


@every_loss
def test_contract(name):
    check_loss(OrdinalThresholds(**THRESHOLDS[name]), targets("ordinal", 12, np.random.default_rng(0)))


@kinds
@pytest.mark.parametrize("base", ["hinge", "logistic"])
@pytest.mark.parametrize("data", [graded, shuffled])
def test_the_optimum_is_that_of_two_other_solvers(kind, base, data):
    X, y, weight = data()
    alpha = 0.02
    solution = solve(
        Problem(X, y, OrdinalThresholds(kind, base), alpha=alpha, sample_weight=weight), tol=1e-10
    )
    assert solution.status is Status.CERTIFIED
    assert (np.diff(solution.intercept) >= 0).all()
    w, b = cp.Variable(X.shape[1]), cp.Variable(len(np.unique(y)) - 1)
    rows, thresholds, signs = (np.array(column) for column in zip(*terms(y, kind), strict=True))
    margin = cp.multiply(signs, X[rows] @ w - b[thresholds])
    losses = cp.pos(1 - margin) if base == "hinge" else cp.logistic(-margin)
    objective = 0.5 * alpha * cp.sum_squares(w) + (weight / weight.sum())[rows] @ losses
    model = cp.Problem(cp.Minimize(objective), [cp.diff(b) >= 0])
    tight = {"CLARABEL": dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)}
    tight["SCS"] = {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iters": 200_000}
    for solver, options in tight.items():
        optimum = model.solve(solver=solver, **options)
        assert abs(solution.certificate.primal - optimum) <= 1e-8 * (1 + abs(optimum))
    without_order = cp.Problem(cp.Minimize(objective)).solve(solver="CLARABEL", **tight["CLARABEL"])
    if data is shuffled and kind == "immediate":  # the constraint acts
        assert np.diff(b.value).min() < -0.1
        assert without_order < solution.certificate.dual - 1e-3
        assert np.diff(solution.intercept).min() == 0
    if kind == "all":  # and here it never does
        assert abs(without_order - solution.certificate.primal) <= 1e-8


@every_loss
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net"])
@pytest.mark.parametrize("data", [graded, shuffled])
def test_certificates_at_one_in_a_billion(name, penalty, data):
    X, y, weight = data()
    problem = Problem(X, y, OrdinalThresholds(**THRESHOLDS[name]), penalty, 0.01, weight)
    solution = solve(problem, "bundle", tol=1e-9)
    assert solution.status is Status.CERTIFIED
    assert (np.diff(solution.intercept) >= 0).all()
    assert problem.evaluate(solution.w, solution.intercept) == pytest.approx(
        solution.certificate.primal, rel=1e-12
    )
    if problem.has(Smooth) and penalty == "l2":
        other = solve(problem, "lbfgs", tol=1e-9).certificate
        ours = solution.certificate
        assert other.dual <= ours.primal + 1e-14 and ours.dual <= other.primal + 1e-14


@kinds
@pytest.mark.parametrize("base", ["hinge", "logistic"])
def test_solvers_repeat_themselves_and_resume(kind, base):
    X, y, weight = graded()
    problems = [Problem(X, y, OrdinalThresholds(kind, base), alpha=0.01, sample_weight=weight)]
    check_solver("lbfgs" if base == "logistic" else "bundle", problems)


@every_loss
def test_a_constant_added_to_x_moves_the_thresholds_only(name):
    X, y, _ = graded()
    shift = np.array([100.0, -1000.0, 10.0, 1.0])
    loss = OrdinalThresholds(**THRESHOLDS[name])
    here, there = (solve(Problem(Z, y, loss, alpha=0.01), tol=1e-10) for Z in (X, X + shift))
    assert there.converged
    assert_allclose(there.w, here.w, rtol=1e-4, atol=1e-6)
    assert_allclose(there.intercept - shift @ there.w, here.intercept, rtol=1e-4, atol=1e-4)


def test_without_an_intercept_the_thresholds_are_zero():
    X, y, _ = graded()
    problem = Problem(X, y, OrdinalThresholds("all", "logistic"), alpha=0.01, intercept=False)
    solution = solve(problem, tol=1e-9)
    assert solution.converged and solution.intercept == 0.0
    p = np.array([[y_i > k for k in range(3)] for y_i in y])
    margin = np.where(p, 1, -1) * (X @ solution.w)[:, None]
    value = 0.005 * solution.w @ solution.w + np.logaddexp(0, -margin).sum(axis=1).mean()
    assert solution.certificate.primal == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("make_one", "message"),
    [
        (lambda: OrdinalThresholds("some"), "kind must be 'all' or 'immediate', got 'some'"),
        (lambda: OrdinalThresholds(base="squared"), "base must be one of hinge, .*, got 'squared'"),
        (lambda: OrdinalThresholds(base=None), "base must be one of"),
        (lambda: OrdinalThresholds().bind([2.0, 2.0], np.ones(2)), "y holds one level only, 2"),
        (lambda: OrdinalThresholds().bind(np.arange(101.0), np.ones(101)), "cut y into fewer"),
    ],
)
def test_mistakes_are_named(make_one, message):
    with pytest.raises(ValueError, match=message):
        make_one()


def test_thresholds_of_least_absolute_error_equal_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(3, 9))
        level = rng.integers(0, 3, n)
        level[:3] = 0, 1, 2
        scores, weight = np.round(rng.normal(size=n), 1), rng.integers(1, 4, n).astype(float)
        found = least_error_thresholds(scores, level, weight)
        places = np.unique(scores)
        cuts = np.r_[places[0] - 1, (places[:-1] + places[1:]) / 2, places[-1] + 1]

        def error(b, scores=scores, level=level, weight=weight):
            return weight @ np.abs((scores[:, None] > np.array(b)).sum(axis=1) - level)

        assert (np.diff(found) >= 0).all()
        least = min(error(b) for b in itertools.combinations_with_replacement(cuts, 2))
        assert error(found) == pytest.approx(least, abs=1e-12)


# -- the estimator --------------------------------------------------------------------------------------

X, LEVEL, WEIGHT = graded(80, 5, 4)
Y = np.array([3, 5, 7, 11])[LEVEL.astype(int)]
LOSSES = ["thresholds", "immediate_thresholds", "logistic_thresholds", "pairs"]
LOSSES.append(OrdinalThresholds("immediate", "logistic"))
NAMES = {
    "thresholds": OrdinalThresholds("all", "hinge"),
    "immediate_thresholds": OrdinalThresholds("immediate", "hinge"),
    "logistic_thresholds": OrdinalThresholds("all", "logistic"),
    "pairs": OrdinalPairs("difference"),
}
each = pytest.mark.parametrize("loss", LOSSES, ids=str)


@parametrize_with_checks(
    [
        OrdinalClassifier(),
        OrdinalClassifier(loss="immediate_thresholds", positive=True, class_weight="balanced"),
        OrdinalClassifier(loss="logistic_thresholds", penalty="elastic_net", alpha=0.01),
        OrdinalClassifier(loss=OrdinalThresholds("immediate", "logistic")),
        OrdinalClassifier(loss="pairs"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_how_many_checks_run():
    """Not one is skipped once SciPy's array API is on, which has to happen before scikit-learn is loaded."""
    script = (
        "import json, warnings\n"
        "from sklearn.utils.estimator_checks import check_estimator\n"
        "import gapfit\n"
        "warnings.simplefilter('ignore')\n"
        "run = check_estimator(gapfit.OrdinalClassifier(), on_fail=None, on_skip=None)\n"
        "print(json.dumps([check['status'] for check in run]))\n"
    )
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    statuses = json.loads(run.stdout)
    assert set(statuses) == {"passed"} and len(statuses) >= 60


def test_examples():
    results = doctest.testmod(import_module("gapfit.estimators.ordinal"))
    assert results.attempted >= 4 and results.failed == 0


def test_parameters_are_keywords_and_are_kept_as_they_are():
    with pytest.raises(TypeError):
        OrdinalClassifier("thresholds")
    parameters = {name: object() for name in OrdinalClassifier().get_params()}
    made = OrdinalClassifier(**parameters)
    assert all(getattr(made, name) is value for name, value in parameters.items())


@each
def test_the_objective_is_that_of_the_problem(loss):
    model = OrdinalClassifier(loss=loss, alpha=0.01, tol=1e-9).fit(X, Y, sample_weight=WEIGHT)
    assert model.converged_ and model.dual_gap_ <= 1e-9 * model.objective_
    problem = Problem(X, LEVEL, NAMES.get(str(loss), loss), alpha=0.01, sample_weight=WEIGHT)
    b = np.zeros(0) if loss == "pairs" else model.thresholds_
    assert problem.evaluate(model.coef_, b) == pytest.approx(model.objective_, rel=1e-12)
    assert model.thresholds_.shape == (3,) and (np.diff(model.thresholds_) >= 0).all()
    assert_array_equal(model.classes_, [3, 5, 7, 11])


@each
def test_predictions_follow_the_thresholds(loss):
    model = OrdinalClassifier(loss=loss, alpha=0.01).fit(X, Y)
    scores = X @ model.coef_
    assert_allclose(model.latent(X), scores, rtol=1e-12, atol=1e-14)
    predicted = model.predict(X)
    assert_array_equal(predicted, model.classes_[(scores[:, None] > model.cuts_).sum(axis=1)])
    decision = model.decision_function(X)
    assert decision.shape == (80, 4)
    assert_array_equal(model.classes_[decision.argmax(axis=1)], predicted)
    assert ((decision > 0).sum(axis=1) == 1).all()  # inside one interval only
    assert model.score(X, Y) == np.mean(predicted == Y) > 0.4


def test_probabilities():
    logistic = OrdinalClassifier(loss="logistic_thresholds", alpha=0.01).fit(X, Y)
    above = logistic.probability_above(X)
    assert above.shape == (80, 3) and (np.diff(above, axis=1) <= 0).all()
    median = (above > 0.5).sum(axis=1)
    at_thresholds = (logistic.latent(X)[:, None] > logistic.thresholds_).sum(axis=1)
    assert_array_equal(median, at_thresholds)
    adjacent = OrdinalClassifier(loss=OrdinalThresholds("immediate", "logistic"), alpha=0.01).fit(X, Y)
    share = adjacent.predict_proba(X)
    assert_allclose(share.sum(axis=1), 1)
    assert_array_equal(adjacent.classes_[share.argmax(axis=1)], adjacent.predict(X))
    odds = np.log(share[:, 1:] / share[:, :-1])
    assert_allclose(odds, adjacent.latent(X)[:, None] - adjacent.thresholds_, rtol=1e-9, atol=1e-9)
    for model in (logistic, OrdinalClassifier(), OrdinalClassifier(loss="pairs")):
        assert not hasattr(model, "predict_proba")
    assert not hasattr(adjacent, "probability_above")


def test_two_levels_are_a_linear_classifier():
    y = np.where(LEVEL > 1, "b", "a")
    ordinal = OrdinalClassifier(loss="thresholds", alpha=0.01, tol=1e-10).fit(X, y)
    binary = LinearClassifier(alpha=0.01, tol=1e-10).fit(X, y)
    assert ordinal.objective_ == pytest.approx(binary.objective_, rel=1e-9)
    assert_allclose(ordinal.coef_, binary.coef_[0], rtol=1e-4, atol=1e-6)
    assert_allclose(ordinal.thresholds_, -binary.intercept_, rtol=1e-4, atol=1e-5)
    assert ordinal.decision_function(X).shape == (80,)
    assert_array_equal(ordinal.decision_function(X) > 0, ordinal.predict(X) == "b")


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss != "pairs"], ids=str)
@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_bounds_hold_for_the_optimum(loss, tol):
    for data in (graded(80, 5, 4, seed=3), shuffled(seed=5)):
        Z, y, _ = data
        rough = OrdinalClassifier(loss=loss, alpha=0.1, tol=tol).fit(Z, y)
        exact = OrdinalClassifier(loss=loss, alpha=0.1, tol=1e-11).fit(Z, y)
        lo, hi = rough.score_bounds(Z)
        scores = exact.latent(Z)[:, None] - exact.thresholds_
        assert lo.shape == hi.shape == scores.shape
        slack = 1e-4  # the exact one is not that exact, and with the hinge its thresholds may not be unique
        assert (lo <= scores + slack).all() and (scores <= hi + slack).all()
        proved = rough.certified(Z)
        there = (scores > rough.cuts_ - rough.thresholds_).sum(axis=1)
        assert_array_equal(rough.predict(Z)[proved], exact.classes_[there][proved])
    if tol == 1e-4:
        assert rough.certified(Z).any()


def test_bounds_of_thresholds_hold_for_every_score_between():
    from gapfit.offset import minimise_offsets, threshold_bounds

    rng = np.random.default_rng(0)
    for name in THRESHOLDS:
        for trial in range(10):
            _, y, weight = (graded if trial % 2 else shuffled)(seed=trial)
            risk = OrdinalThresholds(**THRESHOLDS[name]).bind(y, weight)
            middle = rng.normal(size=len(y)) + (trial % 3 - 1) * y
            radius = rng.random(len(y))
            below, above = threshold_bounds(risk, middle - radius, middle + radius)
            for _ in range(5):
                scores = middle + radius * rng.uniform(-1, 1, len(y))
                b = minimise_offsets(risk, scores, np.zeros(risk.offsets.size)).b
                assert (below <= b).all() and (b <= above).all()


def test_pairs_prove_nothing_of_predictions():
    model = OrdinalClassifier(loss="pairs", alpha=0.01).fit(X, Y)
    lo, hi = model.score_bounds(X)
    assert lo.shape == (80,) and (lo <= model.latent(X)).all() and (model.latent(X) <= hi).all()
    assert not model.certified(X).any()


def test_pairs_have_the_thresholds_of_least_absolute_error():
    model = OrdinalClassifier(loss="pairs", alpha=0.01).fit(X, Y, sample_weight=WEIGHT)
    level = model.classes_.searchsorted(model.predict(X))
    expected = least_error_thresholds(model.latent(X), LEVEL.astype(int), WEIGHT)
    assert_allclose(model.thresholds_, expected, rtol=1e-12)
    assert mean_absolute_error(LEVEL, level, sample_weight=WEIGHT) < 0.5


@each
def test_weights_are_copies_and_zero_is_absence(loss):
    weight = np.arange(80) % 3
    model = OrdinalClassifier(loss=loss, alpha=0.01)
    weighted = clone(model).fit(X, Y, sample_weight=weight)
    copies = np.repeat(np.arange(80), weight)
    repeated = clone(model).fit(X[copies], Y[copies])
    assert_array_equal(weighted.coef_, repeated.coef_)
    assert_array_equal(weighted.thresholds_, repeated.thresholds_)


@each
def test_precision_sparsity_order_and_threads(loss):
    model = OrdinalClassifier(loss=loss, alpha=0.01)
    fitted = clone(model).fit(X, Y)
    order = np.random.default_rng(0).permutation(80)
    for other in (clone(model).fit(X[order], Y[order]), clone(model).set_params(n_jobs=2).fit(X, Y)):
        assert_array_equal(other.coef_, fitted.coef_)
        assert_array_equal(other.thresholds_, fitted.thresholds_)
    single = clone(model).fit(X.astype(np.float32), Y)
    assert single.coef_.dtype == np.float32 and single.converged_
    thin = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0))
    dense = clone(model).fit(thin.toarray(), Y)
    assert_allclose(clone(model).fit(thin, Y).coef_, dense.coef_, rtol=1e-2, atol=1e-3)


@each
def test_files_and_pickles(loss, tmp_path):
    for penalty in ("l2", "l1"):
        model = OrdinalClassifier(loss=loss, alpha=0.01, penalty=penalty).fit(X, Y)
        save(model, tmp_path / "model")
        for other in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
            assert other.loss == model.loss
            assert_array_equal(other.predict(X), model.predict(X))
            assert_array_equal(other.thresholds_, model.thresholds_)
            if penalty == "l2":
                assert_array_equal(other.score_bounds(X), model.score_bounds(X))
                assert_array_equal(other.certified(X), model.certified(X))


def test_thresholds_that_do_not_fit_are_refused_by_files(tmp_path):
    model = OrdinalClassifier(alpha=0.01).fit(X, Y)
    good = model.thresholds_
    for bad in (good[::-1].copy(), good[1:], np.full(3, np.nan)):
        model.thresholds_ = bad
        with pytest.raises(ModelFileError, match="thresholds_"):  # what is stored is read back at once
            save(model, tmp_path / "model")


def test_a_fit_that_fails_changes_nothing():
    model = OrdinalClassifier(loss="pairs", alpha=0.01).fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="X"):
        model.fit(np.where(X > 2, np.nan, X), Y)
    with pytest.raises(ValueError, match="alpha"):
        model.set_params(alpha=-1.0).fit(X, Y)
    assert {**vars(model), "alpha": 0.01} == before


def test_warm_starts_and_searches():
    model = OrdinalClassifier(alpha=0.1, tol=1e-3, warm_start=True).fit(X, Y)
    steps = model.set_params(tol=1e-8).fit(X, Y).n_iter_
    assert steps < OrdinalClassifier(alpha=0.1, tol=1e-8, warm_start=True).fit(X, Y).n_iter_
    grid = {"alpha": [1.0, 0.01], "loss": ["thresholds", "pairs"]}
    search = GridSearchCV(OrdinalClassifier(), grid, scoring="neg_mean_absolute_error", cv=3).fit(X, Y)
    assert search.best_params_["alpha"] == 0.01


def test_a_limit_is_said():
    with pytest.warns(ConvergenceWarning, match="max_iter was reached"):
        model = OrdinalClassifier(max_iter=2, tol=1e-10).fit(X, Y)
    assert model.status_ is Status.MAX_ITER and np.isfinite(model.dual_gap_)


def test_callbacks_see_models_that_predict():
    from sklearn.callback import ScoringMonitor

    for loss in ("thresholds", "pairs"):
        model = OrdinalClassifier(loss=loss, alpha=0.01).set_callbacks(ScoringMonitor(scoring="accuracy"))
        assert model.fit(X, Y).converged_ and "_cut" not in vars(model)


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({"loss": "hinge"}, Y, "loss must be one of thresholds, .*, got 'hinge'"),
        ({"loss": "ordinal"}, Y, "loss must be one of thresholds, .*, got 'ordinal'"),
        ({}, np.zeros(80), "y holds one class only, 0.0"),
        ({}, X[:, 0], "y: Unknown label type: continuous"),
        ({"class_weight": {3: -1}}, Y, "class_weight must be finite"),
    ],
)
def test_mistakes_in_parameters_are_named(parameters, y, message):
    with pytest.raises(ValueError, match=message):
        OrdinalClassifier(**parameters).fit(X, y)


def test_an_order_helps_where_there_is_one():
    """Fewer levels off than one class against the rest, on real data."""
    data, target = load_diabetes(return_X_y=True)
    data = data / data.std(axis=0)
    y = np.digitize(target, np.quantile(target, [0.2, 0.4, 0.6, 0.8]))
    train = np.arange(len(y)) % 2 == 0
    ordinal = OrdinalClassifier(alpha=1e-2).fit(data[train], y[train])
    rest = LinearClassifier(alpha=1e-2).fit(data[train], y[train])
    errors = [np.abs(model.predict(data[~train]) - y[~train]).mean() for model in (ordinal, rest)]
    assert errors[0] < errors[1]


def test_every_base_is_a_loss_of_the_margin():
    assert set(BASES) == set(PHI)


@pytest.mark.parametrize("form", [lambda labels: labels, pd.Series], ids=["Categorical", "Series"])
def test_an_ordered_categorical_has_an_order_of_its_own(form, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    codes = np.digitize(X[:, 0] + 0.3 * rng.normal(size=90), (-0.5, 0.5))
    words = form(pd.Categorical.from_codes(codes, ["low", "mid", "high"], ordered=True))
    by_word, by_number = (OrdinalClassifier(alpha=0.01).fit(X, y) for y in (words, codes))
    np.testing.assert_array_equal(by_word.coef_, by_number.coef_)
    np.testing.assert_array_equal(by_word.classes_, ["low", "mid", "high"])
    np.testing.assert_array_equal(by_word.predict(X), by_word.classes_[by_number.predict(X)])
    save(by_word, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), by_word.predict(X))
    weighted, same = (
        OrdinalClassifier(alpha=0.01, class_weight=dict(zip(names, (2.0, 1.0, 1.0), strict=True))).fit(X, y)
        for names, y in ((["low", "mid", "high"], words), (range(3), codes))
    )
    assert weighted.objective_ == same.objective_ != by_word.objective_
    gaps = np.where(codes == 1, -1, codes)
    missing = form(pd.Categorical.from_codes(gaps, ["low", "mid", "high"], ordered=True))
    with pytest.raises(ValueError, match="missing"):
        OrdinalClassifier().fit(X, missing)


# -- Newton's method --------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", ["logistic", "squared_hinge", "exponential"])
@pytest.mark.parametrize("kind", ["all", "immediate"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_newton_agrees_with_other_solvers(kind, base, form):
    """Also where the order keeps thresholds together, and where there are none."""
    for A, y, weight in (graded(80, 5, 4, seed=3), shuffled(seed=5)):
        for intercept in (True, False):
            problem = Problem(form(A), y, OrdinalThresholds(kind, base), "l2", 1e-2, weight, intercept)
            fast, slow = solve(problem, "newton", tol=1e-9), solve(problem, "lbfgs", tol=1e-6)
            assert fast.converged and fast.n_iter <= 30
            room = fast.certificate.gap + slow.certificate.gap
            assert abs(fast.certificate.primal - slow.certificate.primal) <= room
            assert (np.diff(np.atleast_1d(fast.intercept)) >= 0).all()


def test_known_tangents_lie_below_the_risk():
    A, y, _ = graded(40, 3, 4, seed=0)
    rng = np.random.default_rng(0)
    for kind in ("all", "immediate"):
        risk = OrdinalThresholds(kind, "logistic").bind(y, np.ones(len(y)))
        f, b = A @ rng.normal(size=3), np.sort(rng.normal(size=3))
        known = risk.leaning(f, b)
        for k in range(len(known.heights)):
            share = np.eye(len(known.heights))[k]
            u = known.mixture(share)
            assert (np.abs(u) <= known.most() + 1e-12).all()
            for _ in range(20):
                there, at = f + 5 * rng.normal(size=len(f)), b + 5 * rng.normal(size=3)
                plane = known.heights[k] + u @ (there - f) + known.e[k] @ (at - b)
                assert risk.value_and_subgradient(there, at)[0] >= plane - 1e-9
