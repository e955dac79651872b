"""What users of linear and kernel models ask their libraries for, wish by wish: of every wish the heart.

What takes long, a device or a cluster is tested in full elsewhere; here it is asked for as a user would.
"""

import json
import logging
import pickle
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

import gapfit
from gapfit import (
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    MetricClassifier,
    OrdinalClassifier,
    Problem,
    Ranker,
    SequenceLabeler,
    Status,
    StructuredClassifier,
    room,
    solve,
    testing,
)
from gapfit.callbacks import EarlyStopping
from gapfit.losses import CrammerSinger, PointwiseLoss, PrecisionAtK, Quantile
from gapfit.penalties import L2, Box, Constrained, ElasticNet, GroupLasso, QuadraticForm
from gapfit.structures import Labels

CANCER, ILL = load_breast_cancer(return_X_y=True)
CANCER = scale(CANCER)
FLOWERS, SPECIES = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)


def test_the_measure_that_is_reported_is_trained_for_and_searched_over():
    y = SPECIES == 1
    for metric in ("f1", "roc_area", "break_even", PrecisionAtK(20)):
        assert MetricClassifier(metric=metric, cv=2).fit(FLOWERS, y).score(FLOWERS, y) > 0.5
    search = GridSearchCV(MetricClassifier(cv=2), {"penalty": ["l2", ElasticNet(0.1)]}, cv=2, scoring="f1")
    search.fit(FLOWERS, y)
    assert f1_score(y, search.predict(FLOWERS)) > 0.5


def test_convergence_is_a_statement_with_numbers_and_a_next_step():
    with pytest.warns(ConvergenceWarning, match=r"(?s)duality gap is .* of the objective.*tol asks.*Next: "):
        model = LinearClassifier(max_iter=1, alpha=1e-6, solver="bundle").fit(CANCER, ILL)
    assert not model.converged_ and model.status_ is Status.MAX_ITER
    better = LinearClassifier(alpha=1e-6, tol=1e-9).fit(CANCER, ILL)
    assert model.dual_objective_ <= better.objective_ <= model.objective_
    assert model.objective_ - better.dual_objective_ <= model.dual_gap_ + 1e-12


def test_quantiles_with_weights_penalties_and_sparse_rows_are_exact():
    X, y = load_diabetes(return_X_y=True)
    X, y, weight = X[:80, :4] * 20, y[:80] / 50, RNG.integers(1, 4, size=80)
    model = LinearRegressor(loss=Quantile(0.8), penalty="l1", alpha=0.05, tol=1e-9)
    model.fit(sparse.csr_array(X), y, sample_weight=weight)
    n, d = X.shape
    share = weight / weight.sum()
    cost = np.concatenate([0.05 * np.ones(2 * d), [0.0, 0.0], 0.8 * share, 0.2 * share])
    rows = np.hstack([X, -X, np.ones((n, 1)), -np.ones((n, 1)), np.eye(n), -np.eye(n)])
    assert_allclose(model.objective_, linprog(cost, A_eq=rows, b_eq=y).fun, rtol=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_the_intercept_is_not_penalised(loss):
    shift = 10.0 * RNG.normal(size=CANCER.shape[1])
    here, there = (
        LinearClassifier(loss=loss, C=0.1, tol=1e-10).fit(X, ILL) for X in (CANCER, CANCER + shift)
    )
    assert_allclose(here.coef_, there.coef_, atol=1e-5 * np.abs(here.coef_).max())


def test_rankings_take_queries_in_any_order_and_report_by_query():
    qid = RNG.permutation(np.repeat(np.arange(15), 10))
    y = np.digitize(FLOWERS[:, 2] + 0.2 * RNG.normal(size=150), [2, 5])
    model = Ranker().fit(FLOWERS, y, qid=qid)
    order = RNG.permutation(150)
    assert_array_equal(model.coef_, Ranker().fit(FLOWERS[order], y[order], qid=qid[order]).coef_)
    assert model.converged_ and model.score(FLOWERS, y, qid=qid) > 0.9


@pytest.mark.parametrize("balanced", [None, "balanced"])
def test_weights_are_copies_and_zero_is_absence(balanced):
    count = RNG.integers(0, 4, size=150)
    by_weight = LinearClassifier(class_weight=balanced, tol=1e-9).fit(FLOWERS, SPECIES, sample_weight=count)
    copies = np.repeat(np.arange(150), count)
    by_copies = LinearClassifier(class_weight=balanced, tol=1e-9).fit(FLOWERS[copies], SPECIES[copies])
    assert_array_equal(by_weight.coef_, by_copies.coef_)


def test_paths_and_choices_share_what_they_know_and_each_point_is_certified():
    alphas = np.geomspace(1, 1e-4, 20)
    path = LinearClassifier().path(CANCER, ILL, alphas)
    alone = [LinearClassifier(alpha=alpha).fit(CANCER, ILL).objective_ for alpha in alphas[::6]]
    assert (path.gaps <= 1e-4 * path.objectives).all()
    assert_allclose(path.objectives[::6], alone, rtol=2e-4)
    assert LinearClassifierCV(cv=2, alphas=5).fit(CANCER, ILL).converged_


def test_data_on_disk_have_the_same_objective(tmp_path):
    pytest.importorskip("pyarrow")
    gapfit.datasets.save(tmp_path / "rows.svm", gapfit.datasets.Data(CANCER, ILL.astype(float)))
    command = [sys.executable, "-m", "gapfit", "shard", str(tmp_path / "rows.svm"), str(tmp_path / "shards")]
    subprocess.run(command, check=True, capture_output=True)
    shards = gapfit.datasets.open_shards(tmp_path / "shards")
    ours, theirs = LinearClassifier(tol=1e-6).fit(shards), LinearClassifier(tol=1e-6).fit(CANCER, ILL)
    assert ours.converged_ and abs(ours.objective_ - theirs.objective_) <= 1e-6 * theirs.objective_ + 1e-12


def test_rows_on_a_cluster_are_fitted_and_its_loss_is_an_error():
    """Workers that are killed, and networks that break: tests/cluster."""
    distributed = pytest.importorskip("distributed")
    from dask import array

    with distributed.Client(processes=False, n_workers=2, dashboard_address=None):
        rows, labels = (array.from_array(one, chunks=300) for one in (CANCER, ILL))
        model = LinearClassifier(tol=1e-6).fit(rows, labels)
    here = LinearClassifier(tol=1e-6).fit(CANCER, ILL)
    assert model.converged_ and abs(model.objective_ - here.objective_) <= 1e-6 * here.objective_ + 1e-12
    assert issubclass(gapfit.errors.ClusterLost, gapfit.GapfitError)


def test_structures_are_learned_by_likelihood_or_margin():
    chains = [FLOWERS[k : k + 15] for k in range(0, 150, 15)]
    labels = [SPECIES[k : k + 15] for k in range(0, 150, 15)]
    for loss in ("crf", "margin"):
        assert SequenceLabeler(loss=loss).fit(chains, labels).score(chains, labels) > 0.9
    structured = StructuredClassifier(Labels(3), alpha=0.01).fit(list(FLOWERS), SPECIES.tolist())
    found = np.array(structured.predict(list(FLOWERS)))
    assert structured.converged_ and np.mean(found == SPECIES) > 0.9


def test_threads_change_no_byte():
    X, y = make_classification(3000, 40, random_state=0)
    weights = [LinearClassifier(loss="logistic", n_jobs=k).fit(X, y).coef_.tobytes() for k in (1, 2, 3, 7)]
    assert len(set(weights)) == 1


def test_tensors_are_taken_and_agree():
    """On a card: tests/device."""
    torch = pytest.importorskip("torch")
    ours = solve(Problem(torch.tensor(CANCER), 2.0 * ILL - 1, "hinge", "l2", 0.01))
    here = solve(Problem(CANCER, 2.0 * ILL - 1, "hinge", "l2", 0.01))
    assert (
        abs(ours.certificate.primal - here.certificate.primal) <= ours.certificate.gap + here.certificate.gap
    )


def test_a_loss_is_ten_lines_and_there_is_a_checker():
    class Cauchy(PointwiseLoss):  # which is not convex
        def value_and_slope(self, f, y):
            return np.log1p((f - y) ** 2), 2 * (f - y) / (1 + (f - y) ** 2)

    class Fourth(PointwiseLoss):
        def value_and_slope(self, f, y):
            return (f - y) ** 4 / 4, (f - y) ** 3

    model = LinearRegressor(loss=Fourth(), alpha=0.1).fit(FLOWERS, SPECIES.astype(float))
    assert model.converged_
    testing.check_loss(Fourth(), np.linspace(-1, 1, 12))
    with pytest.raises(gapfit.ContractError, match="not convex"):
        testing.check_loss(Cauchy(), np.linspace(-1, 1, 12))


def test_errors_may_cost_differently():
    """To miss one species costs ten times as much: fewer of it are missed."""
    costs = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [10.0, 10.0, 0.0]])
    rows = FLOWERS[:, :2]
    model = LinearClassifier(loss=CrammerSinger(costs)).fit(rows, SPECIES)
    found = model.predict(rows)
    plain = LinearClassifier(loss="crammer_singer").fit(rows, SPECIES).predict(rows)
    assert (found[SPECIES == 2] != 2).sum() < (plain[SPECIES == 2] != 2).sum()
    assert costs[SPECIES, found].mean() < costs[SPECIES, plain].mean()
    assert costs[SPECIES, found].mean() <= model.objective_


def test_ordered_levels_have_ordered_thresholds():
    model = OrdinalClassifier().fit(sparse.csr_array(FLOWERS), SPECIES, sample_weight=np.ones(150))
    assert (np.diff(model.thresholds_) >= 0).all() and model.score(FLOWERS, SPECIES) > 0.9


def test_there_is_a_curve_and_a_fit_can_be_stopped():
    model = LinearClassifier(solver="bundle", alpha=1e-4, tol=1e-6).fit(CANCER, ILL)
    table = pd.DataFrame(model.history_)
    assert {"n_iter", "time", "primal", "dual", "gap", "proved"} <= set(table.columns) and len(table) > 5
    stop = EarlyStopping(CANCER[:100], ILL[:100], patience=1)
    halted = LinearClassifier(solver="bundle", alpha=1e-8, tol=1e-12)
    halted.set_callbacks(stop).fit(CANCER, ILL)
    assert halted.status_ in (Status.STOPPED, Status.CERTIFIED)


def test_signs_and_bounds_hold_with_any_loss():
    for loss in ("hinge", "logistic"):
        model = LinearClassifier(loss=loss, penalty=Box(L2(), -0.1, 0.2)).fit(CANCER, ILL)
        assert (model.coef_ >= -0.1).all() and (model.coef_ <= 0.2).all() and model.converged_
    assert (LinearRegressor(positive=True).fit(FLOWERS, SPECIES).coef_ >= 0).all()


def test_linear_constraints_hold_exactly():
    order = np.diff(np.eye(4), axis=0)  # each weight is at most the one before
    model = LinearRegressor(penalty=Constrained(L2(), order, np.zeros(3))).fit(FLOWERS, SPECIES.astype(float))
    assert (order @ model.coef_ <= 0).all() and model.converged_


def test_several_quantiles_do_not_cross():
    rows, y = FLOWERS[:, :1], FLOWERS[:, 1]
    model = LinearRegressor(loss=Quantile([0.1, 0.5, 0.9])).fit(rows, y)
    found = model.predict(rows)
    assert found.shape == (150, 3) and (np.diff(found, axis=1) >= 0).all() and model.converged_
    assert np.abs(np.mean(y[:, None] <= found, axis=0) - [0.1, 0.5, 0.9]).max() < 0.05


def test_groups_of_weights_are_zero_together():
    groups = np.repeat(np.arange(10), 3)
    model = LinearClassifier(loss="logistic", penalty=GroupLasso(groups), alpha=0.1).fit(CANCER, ILL)
    zero = (model.coef_[0] == 0).reshape(10, 3)
    assert (zero.all(axis=1) == zero.any(axis=1)).all() and 0 < zero.sum() < 30 and model.converged_


@pytest.fixture
def default_ctrl_c():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # other libraries leave theirs
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_ctrl_c")
def test_a_fit_has_a_budget_an_interrupt_and_a_checkpoint(tmp_path):
    X, y = make_classification(20_000, 60, random_state=0)
    began = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        LinearClassifier(solver="bundle", alpha=1e-8, tol=1e-10, max_time=0.5).fit(X, y)
    assert time.monotonic() - began < 5
    threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = LinearClassifier(solver="bundle", alpha=1e-8, tol=1e-10).fit(X, y)
    assert np.isfinite(model.dual_gap_)
    kept = tmp_path / "kept"
    with pytest.warns(ConvergenceWarning):
        LinearClassifier(solver="bundle", checkpoint=kept, max_iter=5, tol=1e-6).fit(CANCER, ILL)
    assert kept.exists()
    assert LinearClassifier(solver="bundle", checkpoint=kept, tol=1e-6).fit(CANCER, ILL).converged_


def test_model_files_hold_data_and_no_code(tmp_path):
    model = LinearClassifier().fit(FLOWERS, SPECIES)
    gapfit.save(model, tmp_path / "model")
    assert_array_equal(gapfit.load(tmp_path / "model").predict(FLOWERS), model.predict(FLOWERS))
    (tmp_path / "bad").write_bytes(pickle.dumps(model))
    with pytest.raises(gapfit.ModelFileError):
        gapfit.load(tmp_path / "bad")
    onnx = pytest.importorskip("onnx")
    onnx.checker.check_model(gapfit.to_onnx(Ranker().fit(FLOWERS, SPECIES)))


def test_margins_have_probabilities_on_request():
    for way in ("sigmoid", "isotonic"):
        chances = LinearClassifier(calibrate=way).fit(FLOWERS, SPECIES).predict_proba(FLOWERS)
        assert_allclose(chances.sum(axis=1), 1)


def test_it_is_told_which_samples_matter():
    model = LinearClassifier(C=1.0).fit(CANCER, ILL)
    assert 0 < len(model.support_) < len(ILL) and model.dual_coef_.shape == (1, len(model.support_))
    matter = model.influence(CANCER[:3], refit=False)
    assert matter.stable.shape == (3, len(ILL)) and len(model.leave_one_out(CANCER, ILL).labels) == len(ILL)


def test_labels_are_fitted_together_for_a_joint_measure():
    Y = np.stack([SPECIES == 0, SPECIES == 2, FLOWERS[:, 0] > 6], axis=1)
    for loss in ("macro_f", "micro_f", "hamming"):
        assert LinearClassifier(loss=loss).fit(FLOWERS, Y).predict(FLOWERS).shape == Y.shape


def test_single_precision_is_kept_and_read_only_files_are_taken_as_they_are(tmp_path):
    X = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(20_000, 100))
    X[:] = RNG.normal(size=X.shape)
    X.flush()
    rows = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = LinearClassifier(loss="squared_hinge").fit(rows, rows[:, 0] > 0)
    assert model.coef_.dtype == np.float32 and model.converged_


@pytest.fixture(scope="module")
def many_rows():
    X = np.random.default_rng(1).standard_normal((30_000, 2000), dtype=np.float32)
    X[:, :9] += 3.0
    X.flags.writeable = False
    return X, X[:, 0] + X[:, 1] > 6.0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_a_fit_takes_a_tenth_of_large_data_beside_them(many_rows, loss, monkeypatch):
    """And 32 MB whatever their size: a block of rows in double precision, and some vectors."""
    monkeypatch.setattr(room, "HELD_TWICE", 0.0)  # 240 MB are large, then
    X, y = many_rows
    model = LinearClassifier(loss=loss, alpha=1e-3, tol=1e-3, n_jobs=1)
    model.fit(X, y)  # loads what is compiled, which is not what is asked for
    tracemalloc.start()
    model.fit(X, y)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.converged_ and most <= X.nbytes / 10 + 2**25


def test_penalties_are_objects_offsets_are_known_and_nothing_is_printed(capsys, caplog):
    model = LinearRegressor(loss="poisson", penalty=QuadraticForm(np.diag([1.0, 2.0, 3.0, 4.0])), alpha=0.1)
    counts, exposure = RNG.poisson(3.0, size=150), np.log(RNG.uniform(1, 2, size=150))
    with caplog.at_level(logging.INFO, logger="gapfit"):
        model.fit(FLOWERS, counts, offset=exposure)
    assert caplog.records and capsys.readouterr().out == ""
    assert (Path(gapfit.__file__).parent / "py.typed").exists()


def test_the_command_line_speaks_to_machines(tmp_path):
    gapfit.datasets.save(tmp_path / "rows.svm", gapfit.datasets.Data(CANCER, ILL.astype(float)))
    options = ["-c", "1", "--format", "json"]
    command = [sys.executable, "-m", "gapfit", "train", str(tmp_path / "rows.svm"), str(tmp_path / "model")]
    run = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["converged"] is True
