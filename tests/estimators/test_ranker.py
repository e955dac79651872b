"""Ranking: the estimator and its laws, the measures of a ranking, the command line, and MQ2008."""

import doctest
import json
import os
import pickle
import subprocess
import sys
import warnings
from copy import deepcopy
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.callback import ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gapfit
from gapfit import LinearClassifier, LinearRegressor, Problem, Ranker, Status, datasets, losses
from gapfit.cli.main import run as run_command
from gapfit.penalties import ElasticNet
from gapfit.ranking_metrics import (
    map_scorer,
    mean_average_precision,
    mean_ndcg,
    ndcg_per_query,
    ndcg_scorer,
)

FOLDER = Path(os.environ.get("GAPFIT_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")

RNG = np.random.default_rng(11)
N = 80
QID = RNG.integers(0, 12, size=N)
X = RNG.normal(size=(N, 4)) + 3 * RNG.normal(size=(12, 1))[QID]  # queries differ by a shift
Y = np.clip(np.rint(X @ [1.0, -1.0, 0.5, -0.5] + 1.5 * RNG.normal(size=N)), 0, 3)
WEIGHT = RNG.integers(0, 4, size=N)
WORDS = np.array([f"query {k}" for k in range(12)])  # "query 10" comes before "query 2"

LOSSES = {
    "pairwise": "pairwise",
    "queries": losses.PairwiseRanking(mean="queries"),
    "ndcg": "ndcg",
    "ndcg@3": losses.NDCG(k=3),
}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


def pairs(y, qid):
    """All pairs of a query's documents, the more relevant one first."""
    high, low = (k.ravel() for k in np.indices((len(y), len(y))))
    ordered = (y[high] > y[low]) & (qid[high] == qid[low])
    return high[ordered], low[ordered]


# -- scikit-learn's contract ------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        Ranker(),
        Ranker(loss="ndcg"),
        Ranker(loss=losses.PairwiseRanking(mean="queries"), positive=True),
        Ranker(penalty="elastic_net", alpha=0.01),
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
        "run = check_estimator(gapfit.Ranker(), on_fail=None, on_skip=None)\n"
        "print(json.dumps([check['status'] for check in run]))"
    )
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    statuses = json.loads(done.stdout)
    assert set(statuses) == {"passed"} and len(statuses) >= 50


def test_examples():
    results = doctest.testmod(import_module("gapfit.estimators.ranking"))
    assert results.attempted >= 2 and results.failed == 0


def test_parameters_are_keywords_and_are_kept_as_they_are():
    with pytest.raises(TypeError):
        Ranker("pairwise")
    parameters = {name: object() for name in Ranker().get_params()}
    made = Ranker(**parameters)
    assert all(getattr(made, name) is value for name, value in parameters.items())
    others = LinearRegressor().get_params().keys() - {"fit_intercept", "keep"} | {"calibrate"}
    assert parameters.keys() == others


# -- attributes and the objective -------------------------------------------------------------------------


@every_loss
def test_attributes(loss):
    fitted = Ranker(loss=loss, alpha=0.01).fit(X, Y, QID, sample_weight=WEIGHT)
    assert fitted.coef_.shape == (4,) and fitted.intercept_ == 0.0 and fitted.n_features_in_ == 4
    assert fitted.converged_ and fitted.status_ is Status.CERTIFIED
    assert fitted.objective_ - fitted.dual_objective_ <= fitted.dual_gap_
    (certificate,) = fitted.certificates_
    assert certificate.gap == fitted.dual_gap_ and certificate.relative_gap <= 1e-4
    assert fitted.history_[-1].gap >= 0 and fitted.n_iter_ >= 1 and fitted.alpha_ == 0.01
    assert_allclose(fitted.C_, 1 / (0.01 * WEIGHT.sum()))
    assert_array_equal(fitted.support_status_ == "zero", WEIGHT == 0)
    assert_array_equal(fitted.predict(X), fitted.decision_function(X))
    assert_allclose(fitted.predict(X), X @ fitted.coef_, rtol=1e-12)
    assert fitted.score(X, Y, QID) == mean_ndcg(Y, fitted.predict(X), QID)
    made = losses.PairwiseRanking() if loss == "pairwise" else losses.NDCG() if loss == "ndcg" else loss
    problem = Problem(X, Y, made, alpha=0.01, sample_weight=WEIGHT, groups=QID)
    assert_allclose(fitted.objective_, problem.evaluate(fitted.coef_, np.zeros(0)), rtol=1e-12)


def test_the_optimum_is_that_of_a_hinge_on_all_pairs():
    high, low = pairs(Y, QID)
    sign = np.where(np.arange(len(high)) % 2, 1, -1)
    differences = (X[high] - X[low]) * sign[:, None]
    by_pairs = LinearClassifier(alpha=0.01, fit_intercept=False, tol=1e-9).fit(differences, sign)
    fitted = Ranker(alpha=0.01, tol=1e-9).fit(X, Y, QID)
    hinge = np.maximum(0, 1 - (X[high] - X[low]) @ fitted.coef_)
    assert_allclose(fitted.objective_, 0.005 * fitted.coef_ @ fitted.coef_ + hinge.mean(), rtol=1e-12)
    assert abs(fitted.objective_ - by_pairs.objective_) <= fitted.dual_gap_ + by_pairs.dual_gap_
    assert_allclose(fitted.coef_, by_pairs.coef_[0], atol=1e-3)


def test_all_queries_may_count_the_same():
    high, low = pairs(Y, QID)
    count = np.bincount(QID[high])
    weight = 1 / count[QID[high]]
    sign = np.where(np.arange(len(high)) % 2, 1, -1)
    by_pairs = LinearClassifier(alpha=0.01, fit_intercept=False, tol=1e-8)
    by_pairs.fit((X[high] - X[low]) * sign[:, None], sign, sample_weight=weight)
    fitted = Ranker(loss=losses.PairwiseRanking(mean="queries"), alpha=0.01, tol=1e-8).fit(X, Y, QID)
    assert abs(fitted.objective_ - by_pairs.objective_) <= fitted.dual_gap_ + by_pairs.dual_gap_


def test_one_query_of_two_levels_is_the_area_under_the_roc_curve():
    fitted = Ranker(alpha=0.01, tol=1e-8).fit(X, Y > 1)
    area = Ranker(loss=losses.RocArea(), alpha=0.01, tol=1e-8).fit(X, np.where(Y > 1, 1, -1))
    assert abs(fitted.objective_ - area.objective_) <= fitted.dual_gap_ + area.dual_gap_


@every_loss
@pytest.mark.parametrize("tol", [1e-1, 1e-4])
def test_score_bounds_hold_at_the_optimum(loss, tol):
    fitted = Ranker(loss=loss, alpha=0.1, tol=tol).fit(X, Y, QID)
    optimum = Ranker(loss=loss, alpha=0.1, tol=1e-9).fit(X, Y, QID)
    lo, hi = fitted.score_bounds(X)
    at = optimum.predict(X)
    assert (lo <= at + 1e-4).all() and (at <= hi + 1e-4).all()


# -- laws -------------------------------------------------------------------------------------------------


@every_loss
def test_neither_names_nor_order_matter(loss):
    rng = np.random.default_rng(0)
    model = Ranker(loss=loss, alpha=0.01)
    fitted = clone(model).fit(X, Y, QID)
    order = rng.permutation(N)
    sort = np.argsort(QID, kind="stable")
    names = rng.permutation(12)  # queries that come in another order
    for rows, qid in (
        (sort, QID),
        (order, QID),
        (order, WORDS[QID]),
        (order, WORDS[QID].astype(object)),
        (sort, names[QID]),
        (order, names[QID] - 0.5),
        (sort, -(10**12) * QID),
    ):
        again = clone(model).fit(X[rows], Y[rows], qid[rows])
        assert_array_equal(again.coef_, fitted.coef_)
        assert again.objective_ == fitted.objective_


def test_names_do_not_matter_for_many_documents_either():
    rng = np.random.default_rng(0)
    n = 12_000
    data, qid = rng.normal(size=(n, 3)), rng.integers(0, 500, size=n)
    y = rng.integers(0, 3, size=n) + (data[:, 0] > 0)
    fitted = Ranker(alpha=0.01).fit(data, y, qid)
    renamed = Ranker(alpha=0.01).fit(data, y, np.array([f"q{k}" for k in rng.permutation(500)])[qid])
    assert_array_equal(renamed.coef_, fitted.coef_)
    order = rng.permutation(n)
    shuffled = Ranker(alpha=0.01).fit(data[order], y[order], qid[order])
    assert abs(shuffled.objective_ - fitted.objective_) <= shuffled.dual_gap_ + fitted.dual_gap_


@every_loss
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_weights_are_copies_and_zero_is_absence(loss, form):
    model = Ranker(loss=loss, alpha=0.01)
    weighted = clone(model).fit(form(X), Y, QID, sample_weight=WEIGHT)
    copies = np.repeat(np.arange(N), WEIGHT)
    repeated = clone(model).fit(form(X[copies]), Y[copies], QID[copies])
    present = WEIGHT > 0
    removed = clone(model).fit(form(X[present]), Y[present], QID[present], sample_weight=WEIGHT[present])
    for other in (repeated, removed):
        assert_array_equal(other.coef_, weighted.coef_)
        assert other.C_ == weighted.C_ and other.objective_ == weighted.objective_


@every_loss
def test_equal_documents_of_different_queries_stay_apart(loss):
    rng = np.random.default_rng(0)
    data, y = rng.integers(-1, 2, size=(200, 2)).astype(float), rng.integers(0, 3, size=200)
    qid = rng.integers(0, 6, size=200)
    fitted = Ranker(loss=loss, alpha=0.1).fit(data, y, qid)
    made = losses.PairwiseRanking() if loss == "pairwise" else losses.NDCG() if loss == "ndcg" else loss
    problem = Problem(data, y, made, alpha=0.1, groups=qid)
    assert_allclose(fitted.objective_, problem.evaluate(fitted.coef_, np.zeros(0)), rtol=1e-12)
    assert fitted.support_status_.shape == (200,)


@every_loss
def test_a_shift_within_a_query_changes_nothing(loss):
    model = Ranker(loss=loss, alpha=0.01, tol=1e-9)
    still = clone(model).fit(X, Y, QID).coef_
    moved = clone(model).fit(X + 10 * np.sin(np.arange(48)).reshape(12, 4)[QID], Y, QID).coef_
    assert_allclose(moved, still, atol=1e-5 * np.abs(still).max())


USELESS = {
    "one document": (np.ones((1, 4)), [2]),
    "all tied": (np.eye(4), [1, 1, 1, 1]),
    "nothing relevant": (np.eye(4)[:2], [0, 0]),
}


@every_loss
@pytest.mark.parametrize("case", USELESS)
def test_queries_that_say_nothing_are_left_out(loss, case):
    data, y = USELESS[case]
    fitted = Ranker(loss=loss, alpha=0.01, tol=1e-6).fit(X, Y, QID)
    more = Ranker(loss=loss, alpha=0.01, tol=1e-6).fit(
        np.concatenate([data, X]), np.concatenate([y, Y]), np.r_[np.full(len(y), 99), QID]
    )
    factor = 1.0
    if "ndcg" in str(loss).lower() and case != "nothing relevant":
        # the query has an NDCG, 1 whatever the scores are: one more to take the mean over
        valued = len(np.unique(QID[Y > 0]))
        factor = valued / (valued + 1)
    value = Ranker(loss=loss, alpha=0.01 / factor, tol=1e-6).fit(X, Y, QID).objective_ * factor
    assert abs(more.objective_ - value) <= 1e-6 + more.dual_gap_ + fitted.dual_gap_
    if factor == 1:
        assert abs(more.objective_ - fitted.objective_) <= more.dual_gap_ + fitted.dual_gap_
    with pytest.raises(ValueError, match=r"\by\b|1 sample"):
        Ranker(loss=loss).fit(data, y)


def test_float32_sparse_and_penalties():
    single = Ranker(alpha=0.01).fit(X.astype(np.float32), Y, QID)
    assert single.coef_.dtype == np.float32 and single.converged_
    thin = X * (np.abs(X) > 1)
    dense, fitted = (Ranker(alpha=0.01).fit(form(thin), Y, QID) for form in (np.asarray, sparse.csr_matrix))
    assert abs(fitted.objective_ - dense.objective_) <= fitted.dual_gap_ + dense.dual_gap_
    positive = Ranker(alpha=0.01, positive=True).fit(X, Y, QID)
    assert positive.converged_ and (positive.coef_ >= 0).all() and (positive.coef_ == 0).any()
    assert Ranker(alpha=0.01, penalty=ElasticNet(0.5)).fit(X, Y, QID).converged_


@pytest.mark.parametrize("solver", ["auto", "bundle"])
def test_warm_start_goes_on_where_the_last_fit_ended(solver):
    cold = Ranker(alpha=0.01, tol=1e-6, solver=solver).fit(X, Y, QID)
    warm = Ranker(alpha=0.01, tol=1e-2, solver=solver, warm_start=True).fit(X, Y, QID)
    warm.set_params(tol=1e-6).fit(X, Y, QID)
    assert warm.converged_ and abs(warm.objective_ - cold.objective_) <= warm.dual_gap_ + cold.dual_gap_
    assert warm.fit(X, Y, QID).n_iter_ <= 1
    other = warm.fit(X, Y, QID % 3)  # other queries: no bound is carried over
    fresh = Ranker(alpha=0.01, tol=1e-6, solver=solver).fit(X, Y, QID % 3)
    assert abs(other.objective_ - fresh.objective_) <= other.dual_gap_ + fresh.dual_gap_


def test_the_warning_points_at_the_fit():
    with pytest.warns(ConvergenceWarning, match="max_iter") as log:
        Ranker(max_iter=2, tol=1e-10).fit(X, Y, QID)
    assert log[0].filename == __file__


@pytest.mark.parametrize(
    ("parameters", "data", "error", "message"),
    [
        ({}, {"qid": QID[1:]}, ValueError, "qid"),
        ({}, {"qid": QID[:, None]}, ValueError, "qid"),
        ({}, {"qid": np.where(QID == 3, np.nan, QID)}, ValueError, "qid"),
        ({}, {"qid": np.array([1, "a"] * 40, dtype=object)}, TypeError, "qid"),
        ({}, {"y": Y[1:]}, ValueError, "y has"),
        ({}, {"sample_weight": -np.ones(N)}, ValueError, "sample_weight"),
        ({"loss": "hinge"}, {}, ValueError, "loss"),
        ({"loss": "pairs"}, {}, ValueError, "loss"),
        ({"loss": losses.Hinge()}, {}, ValueError, "loss"),
        ({"loss": losses.OrdinalPairs()}, {}, ValueError, "OrdinalPairs.*qid"),
        ({"loss": "ndcg"}, {"y": Y - 1}, ValueError, "y must lie"),
        ({"loss": "ndcg"}, {"sample_weight": np.full(N, 0.5)}, ValueError, "whole numbers"),
        ({"alpha": -1}, {}, ValueError, "alpha"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(parameters, data, error, message):
    fitted = Ranker(alpha=0.01).fit(X, Y, QID)
    before = deepcopy(vars(fitted.set_params(**parameters)))
    with pytest.raises(error, match=message):
        fitted.fit(X, **{"y": Y, "qid": QID, **data})
    assert vars(fitted).keys() == before.keys() and fitted.objective_ == before["objective_"]


# -- in company -------------------------------------------------------------------------------------------


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_hand(model, folds, measure):
    scores = []
    for train, test in folds:
        fitted = clone(model).fit(X[train], Y[train], QID[train])
        scores.append(measure(Y[test], fitted.predict(X[test]), QID[test]))
    return scores


@pytest.mark.parametrize(
    ("scoring", "measure"),
    [
        (None, mean_ndcg),
        (ndcg_scorer(3), lambda *ranking: mean_ndcg(*ranking, k=3)),
        (map_scorer(), mean_average_precision),
    ],
)
def test_grid_search_and_cross_validation(scoring, measure, routing):
    folds = GroupKFold(3)
    search = GridSearchCV(Ranker(), {"alpha": [1.0, 1e-2]}, cv=folds, scoring=scoring)
    search.fit(X, Y, qid=WORDS[QID], groups=QID)
    parts = list(folds.split(X, Y, QID))
    for k, alpha in enumerate([1.0, 1e-2]):
        scores = [search.cv_results_[f"split{fold}_test_score"][k] for fold in range(3)]
        assert_allclose(scores, by_hand(Ranker(alpha=alpha), parts, measure), rtol=1e-12)
    assert search.best_estimator_.converged_
    scores = cross_val_score(
        Ranker(alpha=1e-2), X, Y, cv=folds, scoring=scoring, params={"qid": QID, "groups": QID}
    )
    assert_allclose(scores, by_hand(Ranker(alpha=1e-2), parts, measure), rtol=1e-12)


def test_routing_through_a_pipeline_with_weights(routing):
    ranker = Ranker(alpha=0.01).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    search = GridSearchCV(
        make_pipeline(StandardScaler().set_fit_request(sample_weight=False), ranker),
        {"ranker__alpha": [1.0, 1e-2]},
        cv=GroupKFold(3),
        scoring=ndcg_scorer(),
    )
    search.fit(X, Y, qid=QID, groups=QID, sample_weight=np.ones(N))
    assert 0.5 < search.best_score_ <= 1
    silent = Ranker().set_fit_request(qid=False)
    assert silent.get_metadata_routing().fit.requests["qid"] is False


def test_scorers_take_any_model_that_predicts(routing):
    scores = cross_val_score(
        LinearRegressor(alpha=0.01), X, Y, cv=GroupKFold(3), scoring=ndcg_scorer(),
        params={"qid": QID, "groups": QID},
    )  # fmt: skip
    assert np.isfinite(scores).all()


def test_callbacks_are_told_the_queries(routing):
    told = []

    def measure(y, scores, qid, sample_weight):
        told.append(mean_ndcg(y, scores, qid, sample_weight=sample_weight))
        return told[-1]

    scorer = make_scorer(measure).set_score_request(qid=True, sample_weight=True)
    fitted = Ranker(alpha=0.01).set_callbacks(ScoringMonitor(scoring=scorer)).fit(X, Y, WORDS[QID])
    assert_allclose(told[-1], fitted.score(X, Y, QID), rtol=1e-12)


@every_loss
def test_clone_pickle_and_model_files(loss, tmp_path):
    fitted = Ranker(loss=loss, alpha=0.01).fit(X, Y, WORDS[QID])
    gapfit.save(fitted, tmp_path / "model")
    for again in (gapfit.load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        assert again.get_params() == fitted.get_params()
        assert_array_equal(again.predict(X), fitted.predict(X))
        assert_array_equal(again.score_bounds(X), fitted.score_bounds(X))
        assert_array_equal(again.support_status_, fitted.support_status_)
        assert again.history_ == fitted.history_ and again.certificates_ == fitted.certificates_
    assert not hasattr(clone(fitted), "coef_")
    assert "dual_gap_" in fitted._repr_html_()


# -- the command line -------------------------------------------------------------------------------------

RELEVANT = np.unique(QID[Y > 0])


def run(call):
    return run_command(call.split())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = datasets.Data(X, Y, QID, tuple("abcd"))
    for name in ("train.svm", "train.npz"):
        datasets.save(name, table)


def test_from_file_to_model_to_scores(folder, capsys):
    assert run("rank train.svm --alpha 1e-3 --loss pairwise -o model") == 0
    certified, measured = capsys.readouterr().out.splitlines()
    assert certified.startswith("certified: objective ")
    fitted = gapfit.load("model")
    data = datasets.load("train.svm")
    expected = Ranker(loss=losses.PairwiseRanking(), alpha=1e-3).fit(data.X, data.y, data.qid)
    assert_array_equal(fitted.coef_, expected.coef_)
    scores = fitted.predict(data.X)
    assert measured.startswith(f"NDCG@10 {mean_ndcg(Y, scores, QID):.6g}, MAP ")
    assert measured.endswith(f"over {len(RELEVANT)} of 12 queries")
    assert run("rank train.svm --predict model -o scores.txt") == 0
    assert capsys.readouterr().out.strip() == measured
    assert_array_equal(np.loadtxt("scores.txt"), scores)
    assert run("rank train.svm --predict model") == 0
    assert_array_equal(np.array(capsys.readouterr().out.split(), float), scores)
    assert run("predict train.svm model again.txt") == 0
    assert_array_equal(np.loadtxt("again.txt"), scores)
    assert run("info model") == 0 and "class: Ranker" in capsys.readouterr().out


def test_measures_of_each_query_for_machines(folder, capsys):
    assert run("rank train.npz --loss ndcg -k 3 --alpha 0.01 -o model --format json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["converged"] and told["queries"] == 12 and told["means"]["MAP"] > 0.5
    fitted = gapfit.load("model")
    assert fitted.loss == losses.NDCG(3) and list(fitted.feature_names_in_) == list("abcd")
    fitted = Ranker(loss=losses.NDCG(3), alpha=0.01).fit(X, Y, QID)
    each = [query["NDCG@3"] for query in told["per_query"]]
    assert_allclose(each, ndcg_per_query(Y, fitted.predict(X), QID, 3)[RELEVANT], rtol=1e-12)
    assert [query["qid"] for query in told["per_query"]] == RELEVANT.tolist()


@pytest.mark.parametrize("mean", ["pairs", "queries"])
def test_the_cost_of_svm_rank(folder, mean, capsys):
    assert run(f"rank train.svm -c 5 --mean {mean} -e 1e-8 -o model") == 0
    fitted = gapfit.load("model")
    high, low = pairs(Y, QID)
    count = np.bincount(QID[high], minlength=12)
    share = np.ones(len(high)) if mean == "pairs" else 1 / count[QID[high]]

    def theirs(w):
        return w @ w / 2 + 5 / 12 * share @ np.maximum(0, 1 - (X[high] - X[low]) @ w)

    rng = np.random.default_rng(0)
    best = theirs(fitted.coef_)
    for size in (1e-3, 1e-2, 1e-1):
        for _ in range(20):
            assert theirs(fitted.coef_ + size * rng.normal(size=4)) >= best * (1 - 1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("train.svm", "-o MODEL"),
        ("train.svm -o model -c 1 --alpha 1", "one of them"),
        ("train.svm -o model -c -1", "positive"),
        ("train.svm -o model -c 1 --loss ndcg", "--alpha"),
        ("train.npz --predict other -o scores", "gapfit predict"),
        ("none.svm -o model", "none.svm"),
        ("unlabelled.npz -o model", "--target"),
        ("train.svm -o model --qid q", "for tables"),
    ],
)
def test_wrong_calls_say_so(folder, call, message, capsys):
    gapfit.save(LinearRegressor().fit(X, Y), "other")
    datasets.save("unlabelled.npz", datasets.Data(X))
    assert run(f"rank {call}") == 1
    assert message in capsys.readouterr().err
    assert not Path("model").exists()


def test_tables_and_relevances_of_any_kind(folder, capsys):
    Path("table.csv").write_text("session,rank,a,b\n7,-1,0.5,1\n7,-2,0.25,3\n9,-2,1,1\n9,0,1.5,0\n8,-5,1,2\n")
    assert run("rank table.csv --target rank --qid session --alpha 0.1 -o model") == 0
    assert "none of 3 queries has a relevant document" in capsys.readouterr().out
    assert list(gapfit.load("model").feature_names_in_) == ["a", "b"]
    assert run("rank table.csv --target rank --qid 0 --predict model -o scores") == 0
    scores = np.loadtxt("scores")
    assert scores[0] > scores[1] and scores[3] > scores[2]


def test_a_fit_that_did_not_converge_is_written_all_the_same(folder, capsys):
    assert run("rank train.svm --max-iter 2 -e 1e-10 -o model") == 2
    assert capsys.readouterr().out.startswith("max_iter: ") and Path("model").exists()


# -- MQ2008 -----------------------------------------------------------------------------------------------


@pytest.mark.skipif(not (FOLDER / "ranking").is_dir(), reason="MQ2008 is not here: set GAPFIT_DATA")
@pytest.mark.parametrize("loss", ["pairwise", "ndcg"])
def test_mq2008(loss):
    parts = [datasets.load(FOLDER / "ranking" / f"MQ2008.S{k}.libsvm.xz") for k in (1, 2, 3, 5)]
    data = sparse.vstack([part.X for part in parts[:3]]).toarray()
    y, qid = (np.concatenate([part[k] for part in parts[:3]]) for k in (1, 2))
    model = Ranker(loss=loss, alpha=1e-3, tol=1e-3).fit(data, y, qid)
    assert model.converged_ and model.certificates_[0].relative_gap <= 1e-3
    test = parts[3]
    scores = model.predict(test.X)
    assert np.nan_to_num(ndcg_per_query(test.y, scores, test.qid)).mean() > 0.5  # without relevance: 0
    assert model.score(test.X, test.y, test.qid) > 0.7
    assert mean_average_precision(test.y, scores, test.qid) > 0.65


def test_a_score_without_queries_is_warned_of():
    """GridSearchCV drops qid unless metadata are routed: then all samples are one query."""
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(20, 3)), np.arange(20) % 3, np.repeat(np.arange(5), 4)
    model = Ranker().fit(X, y, qid=qid)
    with pytest.warns(UserWarning, match="no qid.*5 queries.*enable_metadata_routing"):
        model.score(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.score(X, y, qid=qid)
        Ranker().fit(X, y).score(X, y)
