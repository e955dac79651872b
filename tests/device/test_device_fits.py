"""Fits on a device: every loss has the optimum of memory within the two gaps, and every certificate holds
when it is made anew in memory."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

pytest.importorskip("torch", reason="devices need torch: pip install 'gapfit[gpu]'")

import torch
from scipy import sparse
from torch.fx.experimental.proxy_tensor import make_fx

from gapfit import (
    KernelSVC,
    LinearClassifier,
    LinearRegressor,
    Problem,
    Status,
    datasets,
    load,
    losses,
    save,
    solve,
)
from gapfit._types import Target
from gapfit.certify import certify, recheck
from gapfit.cli.main import run
from gapfit.design.gram import FunctionTiles, Over
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Gaussian, Linear, Polynomial, Sigmoid
from gapfit.device import DeviceArray, DeviceDesign, answered
from gapfit.device.formulas import fused
from gapfit.device.tiles import DeviceTiles
from gapfit.errors import TooLarge
from gapfit.losses.forms import Conjugate
from gapfit.losses.margin import Logistic
from gapfit.losses.piecewise import PiecewiseLoss
from gapfit.losses.pointwise import PointwiseLoss
from gapfit.penalties import QuadraticForm
from gapfit.registry import LOSSES, as_loss, as_solver
from gapfit.solvers.base import missing_need
from gapfit.solvers.second_order.definite import factorised

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TOL = 1e-5
rng = np.random.default_rng(0)
N, D = 400, 6
X = (rng.normal(size=(N, D)) * rng.uniform(0.3, 3.0, D) + 0.3).astype(np.float32)
MARGIN = X @ rng.normal(size=D) + rng.normal(size=N)
LABELS = np.where(MARGIN > 0.4, 1.0, -1.0)
COUNTS = rng.poisson(np.exp(np.clip(0.3 * MARGIN, -2, 2))).astype(float)
TARGETS = {"poisson": COUNTS, "novelty": np.ones(N)}
REAL = {"absolute", "epsilon_insensitive", "huber", "quantile", "squared", "squared_epsilon_insensitive"}
POINTWISE = [
    name for name, kind in LOSSES.items() if kind.anywhere and issubclass(kind, PiecewiseLoss | PointwiseLoss)
]
SOLVERS = ["semismooth_newton", "newton", "newton_cg", "lbfgs", "bundle", "smoothing"]


def target(loss):
    return TARGETS.get(loss, MARGIN if loss in REAL else LABELS)


def problems(loss, intercept=True, weight=None, kind="float32"):
    y = target(loss)
    there = torch.as_tensor(X).to(getattr(torch, kind)).to(DEVICE)
    here = there.double().cpu().numpy() if kind == "bfloat16" else there.cpu().numpy()
    options = {"alpha": 1e-2, "intercept": intercept or loss == "novelty", "sample_weight": weight}
    return Problem(there, y, loss, **options), Problem(here, y, loss, **options)


def agree(found, wanted):
    assert found.status is wanted.status is Status.CERTIFIED
    assert found.certificate.dual <= wanted.certificate.primal + 1e-12
    assert wanted.certificate.dual <= found.certificate.primal + 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", POINTWISE)
def test_the_optimum_of_memory(loss, solver):
    there, here = problems(loss)
    if missing_need(as_solver(solver), here):
        assert missing_need(as_solver(solver), there)
        pytest.skip(f"{solver} does not take {loss}")
    assert isinstance(there.weight, DeviceArray)
    agree(solve(there, solver, tol=TOL), solve(here, solver, tol=TOL))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "quantile"])
def test_weights_kinds_and_intercepts(loss, kind, intercept):
    weight = rng.uniform(0, 2, N) * (rng.random(N) < 0.9)  # some are zero
    there, here = problems(loss, intercept, weight, kind)
    agree(solve(there, tol=TOL), solve(here, tol=TOL))


ORDERED = [
    losses.FBeta(), losses.FBeta(2.0), losses.Jaccard(), losses.RocArea(), losses.PartialRocArea(0.2),
    losses.PrecisionAtK(20), losses.RecallAtK(30), losses.Lift(20), losses.BreakEven(),
    losses.BalancedAccuracy(), losses.ErrorRate(),
]  # fmt: skip


@pytest.mark.parametrize("weights", ["ones", "copies", "shares"])
@pytest.mark.parametrize("loss", ORDERED, ids=repr)
def test_losses_by_the_order_of_scores(loss, weights):
    """Values of memory, and planes that are tight there and below everywhere; with ties as well."""
    draw = np.random.default_rng(3)
    weight = {"ones": np.ones(N), "copies": draw.integers(1, 4, N) * 1.0, "shares": draw.uniform(0.5, 2, N)}
    here = loss.bind(LABELS, weight[weights])
    there = loss.bind(*(DeviceArray(torch.as_tensor(x).to(DEVICE)) for x in (LABELS, weight[weights])))
    for digits in (0, 1, 9):
        f, b = np.round(2 * draw.normal(size=N), digits), np.full(here.offsets.size, 0.3)
        value, u, _ = there.value_and_subgradient(DeviceArray(torch.as_tensor(f).to(DEVICE)), b)
        assert value == pytest.approx(here.value_and_subgradient(f, b)[0], rel=1e-12, abs=1e-13)
        for _ in range(5):
            other = f + draw.normal(size=N)
            assert here.value_and_subgradient(other, b)[0] >= value + u.to_host() @ (other - f) - 1e-10


@pytest.mark.parametrize("loss", ["f_beta", "roc_area", "break_even", "balanced_accuracy"])
def test_fits_by_the_order_of_scores(loss):
    there, here = problems(loss)
    assert isinstance(there.weight, DeviceArray)
    agree(solve(there, "bundle", tol=1e-3), solve(here, "bundle", tol=1e-3))


@pytest.mark.parametrize("weights", ["ones", "shares"])
@pytest.mark.parametrize("size", [1, 7, 100, 400])
@pytest.mark.parametrize(
    "loss", [losses.PairwiseRanking(), losses.PairwiseRanking("queries"), losses.NDCG(5)]
)
def test_rankings_within_queries(loss, size, weights):
    """The values and slopes of memory, for short queries and for one of all samples, in no order."""
    draw = np.random.default_rng(4)
    groups, y = draw.permutation(np.arange(N) // size), draw.integers(0, 4, N).astype(float)
    weight = draw.integers(1, 4, N).astype(float) if weights == "shares" else np.ones(N)
    if size == 1:
        with pytest.raises(ValueError, match="some query"):
            loss.bind(*(DeviceArray(torch.as_tensor(x).to(DEVICE)) for x in (y, weight)), groups)
        return
    here = loss.bind(y, weight, groups)
    there = loss.bind(*(DeviceArray(torch.as_tensor(x).to(DEVICE)) for x in (y, weight)), groups)
    for digits in (0, 9):
        f = np.round(2 * draw.normal(size=N), digits)
        value, u, _ = there.value_and_subgradient(DeviceArray(torch.as_tensor(f).to(DEVICE)), np.zeros(0))
        known, slopes, _ = here.value_and_subgradient(f, np.zeros(0))
        assert value == pytest.approx(known, rel=1e-12, abs=1e-13)
        np.testing.assert_allclose(u.to_host(), slopes, rtol=1e-12, atol=1e-15)


def test_a_ranking_is_fitted_on_the_device():
    groups = np.arange(N) % 20
    there, here = (Problem(x, MARGIN, "pairwise_ranking", alpha=1e-2, groups=groups) for x in
                   (torch.as_tensor(X).to(DEVICE), X))  # fmt: skip
    assert isinstance(there.weight, DeviceArray)
    agree(solve(there, "bundle", tol=1e-3), solve(here, "bundle", tol=1e-3))


@pytest.mark.parametrize("loss", ["matthews", "mean_average_precision"])
def test_losses_that_need_their_vectors_in_memory(loss):
    there, here = problems(loss)
    assert isinstance(there.weight, np.ndarray)
    agree(solve(there, "bundle", tol=1e-3), solve(here, "bundle", tol=1e-3))


SEVERAL = [
    ("softmax", "newton_cg"), ("softmax", "lbfgs"), ("softmax", "bundle"), ("crammer_singer", "bundle"),
]  # fmt: skip


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("loss", "solver"), SEVERAL)
def test_several_scores_a_sample(loss, solver, intercept):
    y, weight = np.digitize(MARGIN, [-1.0, 1.0]).astype(float), rng.uniform(0.5, 2, N)
    options = {"alpha": 1e-2, "intercept": intercept, "sample_weight": weight}
    there, here = (Problem(x, y, loss, **options) for x in (torch.as_tensor(X).to(DEVICE), X))
    assert isinstance(there.weight, DeviceArray)
    found = solve(there, solver, tol=1e-4)
    agree(found, solve(here, solver, tol=1e-4))
    again = recheck(there, found)  # from the dual point: no better than what was proved, but for its rounding
    assert again.gap <= found.certificate.gap + 1e-9 * here.scale


@pytest.mark.parametrize("kind", ["costs", "slack", "table"])
def test_errors_over_classes_that_cost_more_than_others(kind):
    """The values and slopes of memory."""
    costs, draw = [[0, 1, 4], [1, 0, 1], [2, 1, 0]], np.random.default_rng(5)
    loss = losses.CrammerSinger(None if kind == "table" else costs, "slack" if kind == "slack" else "margin")
    y = draw.uniform(0, 2, (N, 3)) if kind == "table" else draw.integers(0, 3, N).astype(float)
    weight, scores, b = draw.uniform(0.5, 2, N), draw.normal(size=3 * N), np.array([0.3, 0.0, -0.2])
    here = loss.bind(y, weight)
    there = loss.bind(*(DeviceArray(torch.as_tensor(x).to(DEVICE)) for x in (y, weight)))
    value, u, e = there.value_and_subgradient(DeviceArray(torch.as_tensor(scores).to(DEVICE)), b)
    known, slopes, leaning = here.value_and_subgradient(scores, b)
    assert value == pytest.approx(known, rel=1e-12)
    np.testing.assert_allclose(u.to_host(), slopes, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(e, leaning, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", ["softmax", "crammer_singer"])
def test_dual_points_of_classes_are_those_of_memory(loss):
    """Also of points from which the nearest must be looked for."""
    y, draw = np.digitize(MARGIN, [-1.0, 1.0]).astype(float), np.random.default_rng(6)
    here, there = (as_loss(loss).bind(*(f(x) for x in (y, np.ones(N)))) for f in (np.array, _there))
    for size in (0.1, 3.0):
        u = draw.normal(size=3 * N) * size / N
        for balanced in (False, True):
            known = here.project_dual(u, balanced=balanced)
            found = there.project_dual(_there(u), balanced=balanced)
            np.testing.assert_allclose(found.to_host(), known, rtol=1e-9, atol=1e-15)
            assert there.conjugate(found) == pytest.approx(here.conjugate(known), rel=1e-9)


def _there(x):
    return DeviceArray(torch.as_tensor(x).to(DEVICE))


@pytest.mark.parametrize("loss", POINTWISE)
def test_memory_confirms_the_certificate(loss):
    """The point and the dual point of the fit, certified once more from X and y in memory."""
    there, here = problems(loss)
    if not there.risk.has(Conjugate):
        pytest.skip(f"{loss} has no dual points")
    solver = "semismooth_newton" if missing_need(as_solver("newton"), there) else "newton"
    found = solve(there, solver, tol=TOL)
    again = recheck(there, found)
    assert again.gap <= found.certificate.gap + 1e-9 * here.scale
    plane = here.minorant_at(found.minorant.u.to_host())
    assert again == certify(here, found.w.astype(float), np.atleast_1d(found.intercept), plane)


K = float(np.sum(LABELS > 0))
ASKED_FOR = {  # of what has no default
    "precision_at_k": losses.PrecisionAtK(K), "recall_at_k": losses.RecallAtK(K),
    "lift": losses.Lift(K), "precision_at_recall": losses.PrecisionAtRecall(0.6),
    "recall_at_precision": losses.RecallAtPrecision(0.6), "quantiles": losses.Quantiles([0.2, 0.7]),
    "contingency": losses.Contingency(lambda tp, fp, fn, tn: (fp + 2 * fn) / (tp + fp + fn + tn), "linear"),
}  # fmt: skip
CLASSES = np.digitize(MARGIN, [-1.0, 1.0]).astype(float)
MADE = {
    Target.LABELS: LABELS, Target.TABLE: LABELS, Target.CLASSES: CLASSES, Target.LEVELS: CLASSES,
    Target.RELEVANCE: CLASSES, Target.REAL: MARGIN, Target.COUNTS: COUNTS, Target.NOTHING: np.ones(N),
    Target.INDICATORS: np.stack([LABELS > 0, CLASSES > 0], 1).astype(float),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", sorted(LOSSES.keys() - {"chain_crf", "chain_margin"})
)  # which take sequences
def test_every_loss_has_the_optimum_of_memory(name):
    """By the solver that is chosen there; a dual point that was kept proves as much in memory."""
    loss = ASKED_FOR.get(name, name)
    kind = as_loss(loss).target
    y = LABELS if name in ("roc_area", "partial_roc_area") else next(MADE[one] for one in MADE if one in kind)
    there, here = (Problem(x, y, loss, alpha=3e-2) for x in (torch.as_tensor(X).to(DEVICE), X))
    found = solve(there, tol=1e-3)
    agree(found, solve(here, tol=1e-3))
    if found.dual_point is not None and there.has(Conjugate):
        assert recheck(there, found).gap <= found.certificate.gap + 1e-9 * here.scale


def test_what_has_no_dual_point_is_not_rechecked():
    there, here = problems("hinge")
    found = solve(there, "semismooth_newton", tol=TOL)
    with pytest.raises(ValueError, match="dual point"):
        recheck(there, replace(found, minorant=found.minorant._replace(u=None)))
    assert recheck(here, solve(here, tol=TOL)).gap < 1e-3  # those of memory, too


@pytest.mark.parametrize(
    ("loss", "solver"), [("hinge", "semismooth_newton"), ("logistic", "newton"), ("squared", "least_squares")]
)
@pytest.mark.parametrize("penalty", ["l2", "quadratic"])
def test_hessians_may_stay_on_the_device(loss, solver, penalty, monkeypatch):
    monkeypatch.setattr("gapfit.device.design._LARGE", 2)
    given = QuadraticForm(np.diag(np.arange(1.0, D + 1))) if penalty == "quadratic" else penalty
    there, here = (
        Problem(x, target(loss), loss, given, alpha=1e-2) for x in (torch.as_tensor(X).to(DEVICE), X)
    )
    if missing_need(as_solver(solver), here):
        pytest.skip(f"{solver} does not take {penalty}")
    agree(solve(there, solver, tol=1e-8), solve(here, solver, tol=1e-8))


def test_losses_are_compiled_however_many_there_are(monkeypatch):
    """torch's compiler gives a code up that it has compiled eight times: each loss has one of its own."""
    monkeypatch.setattr("gapfit.device.formulas._on_a_card", lambda things: True)
    monkeypatch.setattr("torch.compile", partial(torch.compile, backend="eager"))
    monkeypatch.setattr("torch._dynamo.config.fail_on_recompile_limit_hit", True)

    def made(k):
        graph = make_fx(lambda x: x + k)(torch.ones(3))
        return fused(lambda x: graph(x))

    for k in range(20):
        assert made(k)(torch.ones(3)).tolist() == [1.0 + k] * 3


class Branching(Logistic):
    """A loss that asks what its numbers are: it cannot be recorded."""

    def value_and_slope(self, f, y):
        return super().value_and_slope(f if (f > 0).any() else 1.0 * f, y)


def test_losses_that_cannot_be_recorded_run_as_they_are():
    there, here = (Problem(x, LABELS, Branching(), alpha=1e-2) for x in (torch.as_tensor(X).to(DEVICE), X))
    agree(solve(there, "newton", tol=TOL), solve(here, "newton", tol=TOL))


def test_targets_and_weights_may_be_tensors():
    there = torch.as_tensor(X).to(DEVICE)
    y, weight = (torch.as_tensor(v).to(DEVICE) for v in (LABELS, rng.uniform(0.5, 2, N)))
    found = solve(Problem(there, y, "hinge", alpha=1e-2, sample_weight=weight), tol=TOL)
    wanted = Problem(X, LABELS, "hinge", alpha=1e-2, sample_weight=weight.cpu().numpy())
    agree(found, solve(wanted, tol=TOL))


def test_a_fit_goes_on_from_another():
    there, _ = problems("hinge")
    first = solve(there, "semismooth_newton", tol=1e-2)
    again = solve(there, "semismooth_newton", tol=TOL, start=first)
    assert again.status is Status.CERTIFIED
    assert first.fingerprint == again.fingerprint


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_estimators_take_rows_on_a_device(loss):
    there = torch.as_tensor(X).to(DEVICE)
    given = there if DEVICE == "cuda" else DeviceDesign(there)  # tensors in memory are arrays to scikit-learn
    model = LinearClassifier(loss=loss, alpha=1e-2, tol=TOL).fit(given, torch.as_tensor(LABELS))
    known = LinearClassifier(loss=loss, alpha=1e-2, tol=TOL).fit(X, LABELS)
    assert model.converged_
    assert abs(model.objective_ - known.objective_) <= model.dual_gap_ + known.dual_gap_
    found = answered(model.decision_function, there)
    assert isinstance(found, torch.Tensor) and found.device == there.device
    np.testing.assert_allclose(found.cpu().numpy(), model.decision_function(X), rtol=1e-6, atol=1e-6)
    assert (answered(model.predict, there).cpu().numpy() == model.predict(X)).all()
    words = LinearClassifier(loss=loss, alpha=1e-2).fit(X, np.where(LABELS > 0, "yes", "no"))
    assert set(answered(words.predict, there)) == {"yes", "no"}


def test_estimators_of_several_classes_and_numbers():
    there = DeviceDesign(torch.as_tensor(X).to(DEVICE))
    classes = np.digitize(MARGIN, [-1.0, 1.0])
    model = LinearClassifier(loss="hinge", alpha=1e-2).fit(there, classes)
    known = LinearClassifier(loss="hinge", alpha=1e-2).fit(X, classes)
    assert (model.predict(X) == known.predict(X)).mean() > 0.99
    model = LinearRegressor(loss="quantile", alpha=1e-2, tol=TOL).fit(there, MARGIN)
    known = LinearRegressor(loss="quantile", alpha=1e-2, tol=TOL).fit(X, MARGIN)
    assert abs(model.objective_ - known.objective_) <= model.dual_gap_ + known.dual_gap_


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "exponential", "absolute", "squared"])
def test_what_is_said_of_optima_and_stored(loss, tmp_path):
    kind = LinearRegressor if loss in REAL else LinearClassifier
    there, y = DeviceDesign(torch.as_tensor(X).to(DEVICE)), target(loss)
    model, known = (kind(loss=loss, alpha=1e-2, tol=1e-9).fit(rows, y) for rows in (there, X))
    save(model, tmp_path / "model")
    assert (load(tmp_path / "model").support_status_ == model.support_status_).all()
    here, decided = known.support_status_, model.support_status_ != "undecided"
    assert decided.mean() > 0.9
    both = decided & (here != "undecided")
    assert ((model.support_status_ == "zero") == (here == "zero"))[both].all()
    lo, hi = model.score_bounds(X)
    scores = known.predict(X) if loss in REAL else known.decision_function(X)
    assert (lo <= scores + 1e-3).all() and (scores <= hi + 1e-3).all()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_samples_are_moved(kind):
    given = sparse.csr_array(X) if kind == "sparse" else X
    model = LinearClassifier(loss="hinge", alpha=1e-2, tol=TOL, device=DEVICE).fit(given, LABELS)
    known = LinearClassifier(loss="hinge", alpha=1e-2, tol=TOL).fit(given, LABELS)
    assert model.converged_
    assert abs(model.objective_ - known.objective_) <= model.dual_gap_ + known.dual_gap_
    assert isinstance(model.coef_, np.ndarray) and (model.predict(X) == known.predict(X)).mean() > 0.99


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "sigmoid"])
def test_tiles_of_kernels_are_those_of_memory(kernel):
    kinds = {
        "rbf": Gaussian(0.1), "poly": Polynomial(0.1, 3, 1.0), "linear": Linear(),
        "sigmoid": Sigmoid(0.05, 0.1),
    }  # fmt: skip
    here, there = FunctionTiles(X, kinds[kernel]), DeviceTiles(X, kinds[kernel], DEVICE)
    rows, columns, weights = np.arange(5, 50), np.arange(100, 300), rng.normal(size=200)
    for dtype, room in ((np.float64, 1e-11), (np.float32, 1e-3)):
        np.testing.assert_allclose(
            there.tile(rows, columns, dtype), here.tile(rows, columns, dtype), rtol=room, atol=room
        )
        for some in (None, rows):
            np.testing.assert_allclose(
                there.sums(columns, weights, dtype, Over(some)),
                here.sums(columns, weights, dtype, Over(some)), rtol=10 * room, atol=100 * room,
            )  # fmt: skip
    np.testing.assert_allclose(there.diagonal, here.diagonal, rtol=1e-12)


def test_kernel_machines_on_a_device(monkeypatch):
    monkeypatch.setattr("gapfit.design.kernel._SMALL", 10)  # K is not kept
    design = KernelDesign(DeviceTiles(X, Gaussian(0.1), DEVICE), keep=10)
    there, here = (
        Problem(K, LABELS, "hinge", alpha=1e-3) for K in (design, KernelDesign(X, Gaussian(0.1), keep=10))
    )
    agree(solve(there, "smo", tol=1e-6), solve(here, "smo", tol=1e-6))
    model = KernelSVC(C=10.0, device=DEVICE).fit(X, LABELS)
    known = KernelSVC(C=10.0).fit(X, LABELS)
    assert abs(model.objective_ - known.objective_) <= model.dual_gap_ + known.dual_gap_


def test_devices_that_are_not_there_are_named():
    with pytest.raises(ValueError, match="'quda'"):
        LinearClassifier(device="quda").fit(X, LABELS)
    missing = "cuda:99" if DEVICE == "cuda" else "cuda"
    with pytest.raises(ValueError, match="card"):
        LinearClassifier(device=missing).fit(X, LABELS)


def test_memory_is_asked_for_by_name(monkeypatch):
    monkeypatch.setattr("gapfit.device.room.free", lambda device: 1000.0)
    with pytest.raises(TooLarge, match=r"400 rows .* GB of .* float32"):
        LinearClassifier(device=DEVICE).fit(X, LABELS)
    with pytest.raises(TooLarge, match="400 samples"):
        KernelSVC(device=DEVICE).fit(X, LABELS)


def test_the_command_line_moves_data_as_well(tmp_path, capsys):
    datasets.save(str(tmp_path / "data.svm"), datasets.Data(X, LABELS))
    given = ["train", str(tmp_path / "data.svm"), str(tmp_path / "model")]
    assert run([*given, "--loss", "logistic", "--device", DEVICE]) == 0
    assert (tmp_path / "model").exists()
    assert run([*given, "--device", "quda"]) == 1
    assert "'quda'" in capsys.readouterr().err


def test_hessians_that_rounding_has_spoilt_stay_on_the_device():
    """To fetch and factorise them again and again in memory would take seconds."""
    draw = np.random.default_rng(8)
    root = draw.normal(size=(5, 12))
    hessian = root.T @ root - 1e-9 * np.eye(12)
    design, gradient = DeviceDesign(torch.as_tensor(X).to(DEVICE)), root.T @ draw.normal(size=5)
    found = factorised(design, DeviceArray(torch.as_tensor(hessian).to(DEVICE)))
    assert isinstance(found.matrix, DeviceArray)
    np.testing.assert_allclose(hessian @ found.solve(gradient), gradient, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        found.solve(gradient), factorised(design, hessian).solve(gradient), rtol=1e-4, atol=1e-4
    )
    with pytest.raises(OverflowError, match="second derivatives"):
        factorised(design, DeviceArray(torch.full((3, 3), torch.nan, dtype=torch.float64, device=DEVICE)))
