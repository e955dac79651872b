"""MetricClassifier: measures, thresholds, certified members, choices by cross-validation, and its laws."""

import doctest
import os
import pickle
import warnings
from copy import deepcopy
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapfit import LinearClassifier, MetricClassifier, Problem, Status, load, losses, save, solve
from gapfit.design.memory import MemoryDesign
from gapfit.estimators.pool.adaptive import Adaptive, Plain
from gapfit.estimators.pool.collapse import critical_score_weight
from gapfit.estimators.pool.cut import expected_threshold
from gapfit.estimators.pool.folds import _smoothed
from gapfit.estimators.pool.members import Cost, Settings, TwoClasses
from gapfit.estimators.pool.offsets import _best_offset, offsets_of, value_of
from gapfit.estimators.pool.tilt import Tilt, _Tilted
from gapfit.metrics import as_metric, best_threshold
from gapfit.penalties import L2
from gapfit.registry import as_solver

FOLDER = Path(os.environ.get("GAPFIT_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")

RNG = np.random.default_rng(3)
N = 240
Y = RNG.random(N) < 0.2
X = RNG.normal(size=(N, 4)) + 1.2 * Y[:, None] * [1.0, -1.0, 0.5, 0.0]
WEIGHT = RNG.integers(0, 3, size=N)
OVERLAPPING = RNG.normal(size=(N, 3)) + 0.2 * Y[:, None]
APART = X + 6.0 * Y[:, None]

QUICK = dict(alpha=1e-2, cv=3)


def youden(tp, fp, fn, tn):
    return tp / (tp + fn) - fp / (fp + tn)


METRICS = {
    "f1": "f1",
    "f2": losses.FBeta(2.0),
    "jaccard": "jaccard",
    "matthews": "matthews",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced_accuracy",
    "break_even": "break_even",
    "precision_at_k": losses.PrecisionAtK(20),
    "recall_at_k": losses.RecallAtK(60),
    "lift": losses.Lift(20),
    "precision_at_recall": losses.PrecisionAtRecall(0.7),
    "recall_at_precision": losses.RecallAtPrecision(0.7),
    "roc_area": "roc_area",
    "partial_roc_area": losses.PartialRocArea(0.2),
    "function": youden,
}
every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
every_strategy = pytest.mark.parametrize("strategy", ["surrogate", "cost_path", "auto", "pool"])


# -- scikit-learn's contract ------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        MetricClassifier(strategy="surrogate", alpha=1e-2),
        MetricClassifier(strategy="cost_path", alpha=1e-2, cv=2),
        MetricClassifier(alpha=1e-2, cv=2),
        MetricClassifier(metric="roc_area", strategy="surrogate", alpha=1e-2),
        MetricClassifier(metric="f1_macro", alpha=1e-2, cv=2),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_examples():
    results = doctest.testmod(import_module("gapfit.estimators.metric"))
    assert results.attempted >= 1 and results.failed == 0


def test_parameters_are_keywords_and_are_kept_as_they_are():
    with pytest.raises(TypeError):
        MetricClassifier("f1")
    parameters = {name: object() for name in MetricClassifier().get_params()}
    made = MetricClassifier(**parameters)
    assert all(getattr(made, name) is value for name, value in parameters.items())


# -- weights ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["f1", "matthews", losses.PrecisionAtRecall(0.8)], ids=str)
def test_weights_need_not_be_whole(metric):
    weight = (WEIGHT + 1) / 7.3
    model = MetricClassifier(metric=metric, **QUICK).fit(X, Y, sample_weight=weight)
    assert model.status_ is Status.CERTIFIED
    says_yes_to_all = np.average(Y, weights=weight)  # its precision
    assert 1.5 * says_yes_to_all < model.score_ <= 1


# -- surrogate --------------------------------------------------------------------------------------------


@every_metric
def test_the_surrogate_is_the_certified_optimum_of_its_problem(metric):
    model = MetricClassifier(metric=metric, strategy="surrogate", alpha=1e-2, score_weight=2.0, tol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, Y, sample_weight=WEIGHT)
    loss = deepcopy(as_metric(metric).loss)
    if isinstance(loss, losses.ContingencyLoss):
        loss.score_weight = 2.0
    problem = Problem(X, np.where(Y, 1.0, -1.0), loss, alpha=1e-2, sample_weight=WEIGHT)
    solution = solve(problem, tol=1e-5)
    assert model.converged_ and model.status_ is Status.CERTIFIED and model.strategy_ == "surrogate"
    assert abs(model.objective_ - solution.certificate.primal) <= model.dual_gap_ + solution.certificate.gap
    assert_allclose(problem.oracle(model.coef_[0]).risk + 5e-3 * (model.coef_**2).sum(), model.objective_)
    positive, weight = Y[WEIGHT > 0], WEIGHT[WEIGHT > 0].astype(float)
    scores = model.decision_function(X)[WEIGHT > 0]
    assert model.score_ == best_threshold(metric, scores, positive, weight)[1]
    assert_allclose(model.score(X, Y, WEIGHT), model.score_)
    if isinstance(loss, losses.PrecisionAtK):
        assert abs(WEIGHT @ (model.decision_function(X) > 0) - 20) <= 2


def test_the_warning_of_a_collapse():
    with pytest.warns(UserWarning, match="says nothing.*every alpha.*cost_path") as log:
        MetricClassifier(strategy="surrogate").fit(OVERLAPPING, Y)
    assert log[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MetricClassifier(strategy="surrogate").fit(APART, Y)
        share = (~Y).sum() / Y.sum()
        MetricClassifier(strategy="surrogate", score_weight=share).fit(OVERLAPPING, Y)


@pytest.mark.parametrize("loss", [losses.FBeta(), losses.FBeta(2.0), losses.Jaccard()], ids=str)
def test_the_linear_program_tells_where_the_bound_begins_to_say_something(loss):
    y = np.where(Y, 1.0, -1.0)
    for weight in (np.ones(N), WEIGHT + 1.0):
        critical = critical_score_weight(TwoClasses(MemoryDesign(OVERLAPPING), y, weight))
        assert 0 < critical < (~Y).sum() / Y.sum() * 3
        for factor, collapsed in ((0.98, True), (1.05, False)):
            varied = deepcopy(loss)
            varied.score_weight = factor * critical
            problem = Problem(OVERLAPPING, y, varied, alpha=1e-7, sample_weight=weight)
            solution = solve(problem, tol=1e-5, max_iter=3000)
            assert (solution.certificate.primal > 1 - 2e-5) == collapsed
    assert critical_score_weight(TwoClasses(MemoryDesign(APART), y, np.ones(N))) < 1e-6


# -- cost path and pool -----------------------------------------------------------------------------------


def test_the_cost_path_is_certified():
    model = MetricClassifier(strategy="cost_path", alpha=[1e-1, 1e-3], cv=3).fit(X, Y)
    assert model.strategy_ == "cost_path" and model.converged_ and model.alpha_ in (1e-1, 1e-3)
    results = model.cv_results_
    assert len(results["member"]) == 2 * 5 * 2 and set(results["strategy"]) == {"cost_path"}
    assert max(results["gap"]) <= 1e-3 and model.score_ == max(results["score"])
    (certificate,) = model.certificates_
    assert certificate.relative_gap <= 1e-4 and certificate.gap == model.dual_gap_
    chosen = eval(results["member"][int(np.argmax(results["score"]))], {"Cost": Cost})
    y = np.where(Y, 1.0, -1.0)
    weight = np.where(Y, 2 - chosen.t, chosen.t)
    solution = solve(Problem(X, y, chosen.loss, alpha=chosen.alpha, sample_weight=weight))
    assert abs(model.objective_ - solution.certificate.primal) <= model.dual_gap_ + solution.certificate.gap


def test_costs_go_from_plain_to_balanced():
    model = MetricClassifier(strategy="cost_path", **QUICK).fit(X, Y)
    ts = sorted({eval(text, {"Cost": Cost}).t for text in model.cv_results_["member"]})
    assert_allclose([ts[0], ts[-1]], [2 * Y.mean(), 1.0])


def test_prices_at_k():
    """For the first few, one at which about k would be labelled; for more than P the usual ones."""
    P = Y.sum()
    for k, expected in ((12.5, {12.5 / P, 1.0}), (P, {1.0}), (2 * P, np.geomspace(1.0, N / P - 1.0, 5))):
        model = MetricClassifier(metric=losses.RecallAtK(k), strategy="cost_path", **QUICK).fit(X, Y)
        prices = {2 / eval(text, {"Cost": Cost}).t - 1 for text in model.cv_results_["member"]}
        assert_allclose(sorted(prices), sorted(expected))


def test_the_threshold_is_that_of_the_mean_over_folds():
    """By hand, for the member that was chosen."""
    folds = list(StratifiedKFold(3).split(X, Y))
    model = MetricClassifier(strategy="cost_path", alpha=1e-2, cv=folds).fit(X, Y)
    k = int(np.argmax(model.cv_results_["score"]))
    chosen = eval(model.cv_results_["member"][k], {"Cost": Cost})
    settings = Settings(as_metric("f1"), L2(), as_solver("auto"), 1e-3, 1000)
    seen = []
    for train, test in folds:
        samples = TwoClasses(MemoryDesign(X[train]), np.where(Y[train], 1.0, -1.0), np.ones(len(train)))
        seen.append((chosen.fit(samples, settings, {}).scores(MemoryDesign(X[test])), Y[test]))

    def mean(cut):
        return np.mean([f1_score(y, scores > cut) for scores, y in seen])

    best = max(mean(cut) for scores, _ in seen for cut in scores)
    assert_allclose(model.score_, best, atol=0.02)
    assert_allclose(mean(model.cv_results_["threshold"][k]), best, atol=0.02)


@every_metric
def test_auto_takes_every_metric(metric):
    model = MetricClassifier(metric=metric, **QUICK).fit(X, Y)
    assert model.strategy_ in ("logistic", "adaptive")
    assert model.converged_ and model.status_ is Status.CERTIFIED
    assert np.isfinite(model.score_) and set(model.cv_results_["strategy"]) == {"logistic", "adaptive"}
    assert all(certificate.relative_gap <= 1e-4 for certificate in model.certificates_)
    assert 0 < (model.predict(X)).sum() < N


def test_auto_by_hand(monkeypatch):
    """Log loss decides, features are in the size of their weights, the threshold is half counted."""
    monkeypatch.setattr("gapfit.estimators.metric._ROUGH", 0.0)
    folds, alphas, y = list(StratifiedKFold(3).split(X, Y)), [1.0, 1e-1, 1e-2], np.where(Y, 1.0, -1.0)
    model = MetricClassifier(alpha=alphas, cv=folds, tol=1e-9).fit(X, Y)

    def fit(rows, alpha, size):
        found = solve(Problem(X[rows] * size, y[rows], "logistic", alpha=alpha), tol=1e-9)
        return size * found.w, found.intercept

    def left_out(alpha, sizes):
        scores = np.empty(N)
        for (train, test), size in zip(folds, sizes, strict=True):
            w, b = fit(train, alpha, size)
            scores[test] = X[test] @ w + b
        return scores

    def log_loss(scores):
        return np.logaddexp(0, -y * scores).mean()

    def sizes_at(alpha, rows):
        size = np.sqrt(np.abs(fit(rows, alpha, np.ones(4))[0]))
        return size / np.sqrt(np.mean(size**2))

    plain = {alpha: left_out(alpha, [np.ones(4)] * 3) for alpha in alphas}
    pilot = min(plain, key=lambda alpha: log_loss(plain[alpha]))
    sizes = [sizes_at(pilot, train) for train, _ in folds]
    again = {alpha: left_out(alpha, sizes) for alpha in alphas}
    results = dict(zip(model.cv_results_["member"], model.cv_results_["score"], strict=True))
    for alpha in alphas:
        assert_allclose(results[str(Plain(alpha))], -log_loss(plain[alpha]), rtol=1e-5)
        assert_allclose(results[str(Adaptive(Plain(pilot), alpha))], -log_loss(again[alpha]), rtol=1e-5)
    best = min(again, key=lambda alpha: log_loss(again[alpha]))
    assert log_loss(again[best]) < log_loss(plain[pilot]) and model.strategy_ == "adaptive"
    assert model.alpha_ == best
    w, b = fit(np.arange(N), best, sizes_at(pilot, np.arange(N)))
    assert_allclose(model.coef_[0], w, rtol=1e-4)
    assert len(model.certificates_) == 2 and model.dual_gap_ == model.certificates_[-1].gap
    counted, _ = best_threshold("f1", again[best], Y)
    computed = expected_threshold(as_metric("f1"), again[best], Y, np.ones(N))
    assert_allclose(model.intercept_[0], b - 0.5 * (counted + computed), rtol=1e-3)
    assert_allclose(model.score_, f1_score(Y, again[best] > 0.5 * (counted + computed)), atol=1e-9)


def test_the_expected_threshold_is_half_of_the_best_f1():
    """Where scores are calibrated, F1 is best at a probability of half its value."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=40_000) * 2 - 2
    p = 1 / (1 + np.exp(-scores))
    positive = rng.random(len(p)) < p
    threshold = expected_threshold(as_metric("f1"), scores, positive, np.ones(len(p)))
    taken = scores > threshold
    best = 2 * p[taken].sum() / (taken.sum() + p.sum())
    assert_allclose(1 / (1 + np.exp(-threshold)), best / 2, atol=0.01)
    assert expected_threshold(as_metric("f1"), -scores, positive, np.ones(len(p))) is None


def test_other_penalties_are_not_adapted():
    model = MetricClassifier(penalty="l1", alpha=[1e-2, 1e-3], cv=3).fit(X, Y)
    assert model.strategy_ == "logistic" and set(model.cv_results_["strategy"]) == {"logistic"}
    assert model.converged_


# -- pool -------------------------------------------------------------------------------------------------


@every_metric
def test_the_pool_takes_every_metric(metric):
    model = MetricClassifier(metric=metric, strategy="pool", **QUICK).fit(X, Y)
    assert model.strategy_ in ("surrogate", "cost_path", "tilt", "average")
    assert model.converged_ == (model.strategy_ in ("surrogate", "cost_path"))
    assert model.status_ is (Status.CERTIFIED if model.converged_ else Status.LOCAL)
    assert np.isfinite(model.score_) and model.score_ >= max(model.cv_results_["score"])
    assert all(certificate.relative_gap <= 1e-4 for certificate in model.certificates_)
    assert 0 < (model.predict(X)).sum() < N
    # nothing is claimed for what is no optimum of a convex problem
    assert np.isfinite(model.dual_gap_) == (model.strategy_ in ("surrogate", "cost_path"))


def test_searches_from_one_anchor_solve_it_once(monkeypatch):
    samples = TwoClasses(MemoryDesign(X), np.where(Y, 1.0, -1.0), WEIGHT + 1.0)
    settings = Settings(as_metric("f1"), L2(), as_solver("auto"), 1e-6, 1000)
    anchor, other = Cost("logistic", 0.6, 1e-2), Cost("logistic", 0.9, 1e-2)
    tilts = [Tilt(anchor, 3.0, 0.1), Tilt(anchor, 1.0, 0.3), Tilt(other, 1.0, 0.3)]
    alone = [tilt.fit(samples, settings, {}) for tilt in tilts]
    solved, fit = [], Cost.fit
    monkeypatch.setattr(Cost, "fit", lambda self, *args: solved.append(self) or fit(self, *args))
    done = {}
    for tilt in tilts:
        done[tilt] = tilt.fit(samples, settings, done)
    assert solved == [anchor, other]
    for one, two in zip(alone, done.values(), strict=True):
        assert_array_equal(one.w, two.w)
        assert (one.b, one.certificate) == (two.b, two.certificate)


def test_the_tilt_descends_from_its_anchor_and_knows_its_gradient():
    y = np.where(Y, 1.0, -1.0)
    samples = TwoClasses(MemoryDesign(X), y, WEIGHT + 1.0)
    settings = Settings(as_metric("f1"), L2(), as_solver("auto"), 1e-6, 1000)
    tilt = Tilt(Cost("logistic", 0.6, 1e-2), 3.0, 0.1)
    anchor = tilt.anchor.fit(samples, settings, {})
    objective = _Tilted(tilt.anchor.problem(samples, L2()), samples, settings.metric, tilt, anchor.objective)
    point = np.random.default_rng(0).normal(size=6)
    _, gradient = objective(point)
    steps = 1e-6 * np.eye(6)
    numeric = [(objective(point + h)[0] - objective(point - h)[0]) / 2e-6 for h in steps]
    assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-6)
    threshold, _ = best_threshold("f1", anchor.scores(samples.design), Y, samples.weight)
    start, _ = objective(np.r_[anchor.w / objective.unit, anchor.b, threshold])
    bent = tilt.fit(samples, settings, {})
    assert bent.objective < start and bent.certificate == anchor.certificate


# -- several classes --------------------------------------------------------------------------------------


SEVERAL = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 1.5])
SKLEARN = {
    "f1_macro": lambda y, p: f1_score(y, p, average="macro"),
    "f1_micro": lambda y, p: f1_score(y, p, average="micro"),
    "f1_weighted": lambda y, p: f1_score(y, p, average="weighted"),
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
}


@pytest.mark.parametrize("metric", SKLEARN)
def test_several_classes(metric, tmp_path):
    labels = np.array(["few", "many", "some"])[SEVERAL]
    model = MetricClassifier(metric=metric, **QUICK).fit(X, labels)
    assert model.coef_.shape == (3, 4) and model.decision_function(X).shape == (N, 3)
    assert model.converged_ and model.strategy_ == "classes" and len(model.certificates_) >= 3
    assert_allclose(model.score(X, labels), SKLEARN[metric](labels, model.predict(X)))
    assert model.score(X, labels) > 0.75
    copies = MetricClassifier(metric=metric, **QUICK).fit(np.repeat(X, 2, axis=0), np.repeat(labels, 2))
    weighted = MetricClassifier(metric=metric, **QUICK).fit(X, labels, sample_weight=np.full(N, 2.0))
    assert_array_equal(copies.coef_, weighted.coef_)
    assert_array_equal(copies.intercept_, weighted.intercept_)
    save(model, tmp_path / "model.gapfit")
    assert_array_equal(load(tmp_path / "model.gapfit").predict(X), model.predict(X))
    two = MetricClassifier(metric=metric, **QUICK).fit(X, Y)
    assert_allclose(two.score(X, Y), SKLEARN[metric](Y, two.predict(X)))


def test_offsets_are_the_best_of_all_places():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, size=60)
    labels = np.eye(3)[truth]
    scores = labels * 0.8 + rng.normal(size=(60, 3))
    measure = as_metric("f1_macro").several
    for k in range(3):
        offset, value = _best_offset(measure, scores, labels, k)
        moved = scores.copy()
        moved[:, k] += offset
        assert_allclose(value, f1_score(truth, moved.argmax(axis=1), average="macro"))
        for other in np.linspace(-6, 6, 241):
            moved = scores.copy()
            moved[:, k] += other
            assert value >= f1_score(truth, moved.argmax(axis=1), average="macro") - 1e-12
    rare = scores + np.array([3.0, 0.0, 0.0])  # which is wrong
    offsets, value = offsets_of(measure, rare, labels, np.ones(60))
    assert value > value_of(measure, rare, labels) + 0.05 and offsets[0] < offsets[1:].min() - 1.0


def test_measures_of_two_classes_refuse_several():
    with pytest.raises(ValueError, match=r"Only binary.*f1_macro"):
        MetricClassifier().fit(X, SEVERAL)
    with pytest.raises(ValueError, match=r"Only binary.*auto"):
        MetricClassifier(metric="f1_macro", strategy="cost_path").fit(X, SEVERAL)


# -- laws -------------------------------------------------------------------------------------------------


@every_strategy
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_weights_are_copies_and_zero_is_absence(strategy, form):
    model = MetricClassifier(strategy=strategy, **QUICK)
    weighted = clone(model).fit(form(X), Y, sample_weight=WEIGHT)
    copies = np.random.default_rng(0).permutation(np.repeat(np.arange(N), WEIGHT))
    repeated = clone(model).fit(form(X[copies]), Y[copies])
    assert_array_equal(repeated.coef_, weighted.coef_)
    assert_array_equal(repeated.intercept_, weighted.intercept_)
    assert repeated.score_ == weighted.score_ and repeated.strategy_ == weighted.strategy_


def test_splitters_see_the_rows_as_given():
    copies = np.repeat(np.arange(N), 2)  # a fold apart from its copy
    group = np.tile([0, 1], N)
    folds = [(np.flatnonzero(group == k), np.flatnonzero(group != k)) for k in (0, 1)]
    doubled = MetricClassifier(strategy="cost_path", alpha=1e-2, cv=folds).fit(X[copies], Y[copies])
    everything = np.arange(N)
    same = MetricClassifier(strategy="cost_path", alpha=1e-2, cv=[(everything, everything)] * 2).fit(X, Y)
    assert_allclose(doubled.score_, same.score_)
    with pytest.raises(ValueError, match=r"cv.*both classes"):
        MetricClassifier(cv=[(np.flatnonzero(Y), everything)]).fit(X, Y)


def test_random_state_and_threads():
    fits = [
        MetricClassifier(**QUICK, random_state=seed, n_jobs=jobs).fit(X, Y) for seed, jobs in ((1, 1), (1, 2))
    ]
    assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert fits[0].score_ != MetricClassifier(**QUICK, random_state=2).fit(X, Y).score_


@every_strategy
def test_files_pickles_and_grids(strategy, tmp_path):
    labels = np.where(Y, "sick", "sound")[:]
    model = MetricClassifier(metric=losses.FBeta(0.5), strategy=strategy, alpha=[1e-1, 1e-2], cv=2)
    model.fit(X, labels)
    assert list(model.classes_) == ["sick", "sound"]
    save(model, tmp_path / "model.gapfit")
    for other in (load(tmp_path / "model.gapfit"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(other.predict(X), model.predict(X))
        assert_array_equal(other.decision_function(X), model.decision_function(X))
        assert other.get_params() == model.get_params() and vars(other).keys() == vars(model).keys()
        assert other.cv_results_ == model.cv_results_ and other.certificates_ == model.certificates_
        assert other.dual_gap_ == model.dual_gap_ and other.score(X, labels) == model.score(X, labels)
    clone(model)
    with pytest.raises(TypeError, match="metric"):
        save(MetricClassifier(metric=youden), tmp_path / "model.gapfit")


def test_in_company():
    pipeline = make_pipeline(StandardScaler(), MetricClassifier(strategy="cost_path", **QUICK))
    grid = GridSearchCV(pipeline, {"metricclassifier__metric": ["f1", losses.FBeta(2.0)]}, cv=2).fit(X, Y)
    assert grid.best_estimator_.predict(X).dtype == bool
    several = np.digitize(X[:, 0], [-0.5, 0.5])
    rest = OneVsRestClassifier(MetricClassifier(strategy="cost_path", **QUICK)).fit(X, several)
    assert accuracy_score(several, rest.predict(X)) > 0.6


def test_limits_are_told():
    with pytest.warns(ConvergenceWarning, match="max_iter") as log:
        MetricClassifier(strategy="surrogate", max_iter=1, tol=1e-9).fit(X, Y)
    assert log[0].filename == __file__
    short = MetricClassifier(max_time=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        short.fit(X, Y)
    assert np.isfinite(short.score_)
    pool = MetricClassifier(strategy="cost_path", max_time=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pool.fit(X, Y)
    assert 1 <= len(pool.cv_results_["member"]) < 50


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"metric": "f2"}, ValueError, "metric must be one of"),
        ({"metric": "precision_at_k"}, ValueError, r"losses.PrecisionAtK\(k\)"),
        ({"metric": losses.Hinge()}, ValueError, "metric"),
        ({"metric": losses.FBeta}, ValueError, "metric"),
        ({"metric": lambda tp, fp, fn, tn: 1.0, "strategy": "cost_path"}, ValueError, "metric must give"),
        ({"strategy": "best"}, ValueError, "strategy"),
        ({"alpha": -1.0}, ValueError, "alpha"),
        ({"alpha": []}, ValueError, "alpha"),
        ({"alpha": "big"}, TypeError, "alpha"),
        ({"score_weight": 0}, ValueError, "score_weight"),
        ({"cv": 1}, ValueError, "cv"),
        ({"cv": "three"}, ValueError, "cv"),
        ({"random_state": "x"}, ValueError, "random_state"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(parameters, error, message):
    fitted = MetricClassifier(**QUICK, strategy="cost_path").fit(X, Y)
    before = fitted.set_params(**parameters).score_
    with pytest.raises(error, match=message):
        fitted.fit(X, Y)
    assert fitted.score_ == before
    assert not hasattr(fitted, "score_bounds")


def test_a_class_with_a_single_sample():
    model = MetricClassifier(strategy="cost_path", alpha=1e-2).fit(X[:20], np.arange(20) == 3)
    assert model.predict(X[:20]).sum() >= 1


# -- held out ---------------------------------------------------------------------------------------------


def test_f1_on_mammography():
    """More than a logistic model gives, with the threshold of the training data's best F1."""
    path = FOLDER / "imbalanced" / "mammography.npz"
    if not path.exists():
        pytest.skip("the data are not there")
    table = np.load(path)
    ours, logistic = [], []
    for split in range(2):
        train, test = train_test_split(
            np.arange(len(table["y"])), stratify=table["y"], test_size=0.5, random_state=split
        )
        scaler = StandardScaler().fit(table["X"][train].astype(float))
        A, B = (scaler.transform(table["X"][rows].astype(float)) for rows in (train, test))
        a, b = table["y"][train], table["y"][test]
        ours.append(f1_score(b, MetricClassifier(alpha=[1e-3, 1e-4, 1e-5]).fit(A, a).predict(B)))
        plain = LinearClassifier(loss="logistic", alpha=1e-4).fit(A, a)
        threshold, _ = best_threshold("f1", plain.decision_function(A), a == 1)
        logistic.append(f1_score(b, plain.decision_function(B) > threshold))
    assert np.mean(ours) > np.mean(logistic) + 0.01


def test_precision_at_k_where_the_first_are_of_another_kind_than_most():
    """Negatives reach far in one direction, positives in the other, which tells less about most samples."""
    rng = np.random.default_rng(0)

    def some(n):
        positive = rng.random(n) < 0.2
        spread = np.where(positive[:, None], [0.5, 1.0], [1.5, 0.5])
        return rng.normal(size=(n, 2)) * spread + positive[:, None] * [1.5, 0.5], positive

    (A, a), (B, b) = some(1500), some(15_000)
    ours = MetricClassifier(metric=losses.PrecisionAtK(50), strategy="cost_path", alpha=1e-3).fit(A, a)
    plain = LinearClassifier(loss="logistic", alpha=1e-3).fit(A, a)
    found, known = (b[np.argsort(-model.decision_function(B))[:500]].mean() for model in (ours, plain))
    assert found > known + 0.15


# -- curves over thresholds -------------------------------------------------------------------------------


def test_a_curve_is_averaged_over_its_neighbours():
    labelled = np.arange(40.0)[::-1]  # fewer and fewer, as thresholds rise
    flat, slope = np.full(40, 0.3), np.linspace(0, 1, 40)
    assert_allclose(_smoothed(flat, labelled, 3.0), flat)
    assert_allclose(_smoothed(slope, labelled, 3.0)[3:-3], slope[3:-3])
    jagged = np.random.default_rng(0).random(40)
    fine = np.linspace(-3.0, 3.0, 6001)
    for k in (10, 20, 30):
        near = np.interp(labelled[k] + fine, labelled[::-1], jagged[::-1])
        assert_allclose(_smoothed(jagged, labelled, 3.0)[k], np.trapezoid(near, fine) / 6.0, rtol=1e-6)
    lucky = np.where(np.arange(40) == 8, 0.9, np.where(abs(np.arange(40) - 30) < 4, 0.8, 0.1))
    assert abs(_smoothed(lucky, labelled, 3.0).argmax() - 30) <= 3
    assert _smoothed(jagged, labelled, 0.0) is jagged  # no errors, no neighbours
