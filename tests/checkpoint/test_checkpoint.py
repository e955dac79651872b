"""A fit that goes on from its checkpoint has the bytes of one that was never interrupted; every solver."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from gapfit import CheckpointError, Problem, Status, path, solve
from gapfit.checkpoint import store
from gapfit.design.chain import ChainDesign
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Gaussian
from gapfit.penalties import ElasticNet, GroupLasso, QuadraticForm, SquaredLp
from gapfit.registry import SOLVERS, as_solver
from gapfit.structures.margin import StructuredMargin, WeightDesign

N, D = 120, 12
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
Y = np.sign(X @ RNG.normal(size=D) + RNG.normal(size=N))
T = X @ RNG.normal(size=D) + RNG.normal(size=N)
CLASSES = RNG.integers(0, 4, N).astype(float)
QUERIES = RNG.integers(0, 12, N)
WIDE = RNG.normal(size=(60, 200))
Y_WIDE = np.sign(WIDE[:, 0] + 0.3 * RNG.normal(size=60))
THIN = sparse.random(200, 300, 0.05, random_state=0, format="csr")
Y_THIN = np.sign(THIN @ RNG.normal(size=300) + 0.1 * RNG.normal(size=200))
TOKENS = RNG.normal(size=(80, 4))
TAGS = (TOKENS[:, 0] > 0).astype(float) + (TOKENS[:, 1] > 0.5)


class Signs:
    """A structure of two labels."""

    def joint_features(self, x, y):
        return y * x

    def loss(self, truth, other):
        return float(truth != other)

    def argmax(self, x, w):
        return 1.0 if x @ w >= 0 else -1.0

    def loss_augmented_argmax(self, x, y, w):
        return max((-1.0, 1.0), key=lambda other: self.loss(y, other) + other * float(x @ w))


def structured():
    loss = StructuredMargin(Signs(), list(X), list(Y))
    return Problem(WeightDesign(N, D), np.arange(N), loss, "l2", 1e-2, intercept=False)


def chain(loss, alpha=1e-2):
    groups = np.repeat(np.arange(10), 8)
    return Problem(
        ChainDesign(TOKENS, np.full(10, 8), 3), TAGS, loss, "l2", alpha, intercept=False, groups=groups
    )


def kernel(loss, y=Y, alpha=1e-3, memory=10**9):
    return Problem(KernelDesign(X, Gaussian(0.05), memory), y, loss, "l2", alpha)


def linear(loss, y=Y, penalty="l2", alpha=1e-3, data=X, **options):
    return Problem(data, y, loss, penalty, alpha, **options)


FULL = partial(as_solver("pegasos"), batch="full")
PLAIN = partial(as_solver("bundle"), stabilise=None)
PAIRS = partial(as_solver("smo"), rule="second_order")
CASES = {
    "bundle": ("bundle", partial(linear, "hinge")),
    "bundle, f_beta": ("bundle", partial(linear, "f_beta")),
    "bundle, l1": ("bundle", partial(linear, "hinge", penalty="l1", alpha=1e-2)),
    "bundle, lp": ("bundle", partial(linear, "hinge", penalty=SquaredLp(1.5), alpha=1e-2)),
    "bundle, groups": ("bundle", partial(linear, "hinge", penalty=GroupLasso(np.arange(D) // 2), alpha=1e-2)),
    "bundle, kernel": ("bundle", partial(kernel, "hinge", alpha=1e-2)),
    "bundle, plain": (PLAIN, partial(linear, "hinge", alpha=1e-2)),
    "line_search_bundle": ("line_search_bundle", partial(linear, "hinge", alpha=1e-1)),
    "pragam": ("pragam", partial(linear, "hinge", alpha=1e-2)),
    "pragam, no intercept": ("pragam", partial(linear, "absolute", T, intercept=False)),
    "pragam, kernel": ("pragam", partial(kernel, "hinge", alpha=1e-2)),
    "smoothing": ("smoothing", partial(linear, "hinge")),
    "smoothing, classes": ("smoothing", partial(linear, "crammer_singer", CLASSES)),
    "pragam_entropy": ("pragam_entropy", partial(linear, "f_beta", Y[:40], data=X[:40], alpha=1e-2)),
    "dual_cd": ("dual_cd", partial(linear, "hinge", alpha=1e-4)),
    "dual_cd, sparse": ("dual_cd", partial(linear, "hinge", Y_THIN, data=THIN, alpha=1e-4)),
    "dual_cd, float32": ("dual_cd", partial(linear, "hinge", Y_THIN, data=THIN.astype(np.float32))),
    "dual_cd, logistic": ("dual_cd", partial(linear, "logistic", Y_WIDE, data=WIDE, alpha=1e-7)),
    "simplex_cd": ("simplex_cd", partial(linear, "crammer_singer", CLASSES)),
    "simplex_cd, softmax": ("simplex_cd", partial(linear, "softmax", CLASSES)),
    "chain_dual": ("chain_dual", partial(chain, "chain_crf")),
    "chain_dual, margin": ("chain_dual", partial(chain, "chain_margin")),
    "block_frank_wolfe": ("block_frank_wolfe", structured),
    "pegasos": ("pegasos", partial(linear, "hinge", alpha=1e-2)),
    "pegasos, full": (FULL, partial(linear, "hinge", alpha=1e-1)),
    "newton": ("newton", partial(linear, "logistic", alpha=1e-6)),
    "newton, seams": ("newton", partial(linear, "squared_hinge", alpha=1e-6)),
    "newton, form": ("newton", partial(linear, "logistic", penalty=QuadraticForm(np.eye(D) + 0.1))),
    "newton_cg": ("newton_cg", partial(linear, "logistic", alpha=1e-5)),
    "newton_cg, softmax": ("newton_cg", partial(linear, "softmax", CLASSES, alpha=1e-5)),
    "semismooth_newton": ("semismooth_newton", partial(linear, "hinge", alpha=1e-5)),
    "semismooth_newton, absolute": ("semismooth_newton", partial(linear, "absolute", T, alpha=1e-5)),
    "small_newton": ("small_newton", partial(linear, "hinge", alpha=1e-5)),
    "small_newton, net": ("small_newton", partial(linear, "logistic", penalty=ElasticNet(0.5), alpha=1e-5)),
    "lbfgs": ("lbfgs", partial(linear, "logistic", alpha=1e-6)),
    "primal_cd": ("primal_cd", partial(linear, "logistic", Y_WIDE, "l1", 1e-4, WIDE)),
    "primal_cd, sparse": ("primal_cd", partial(linear, "logistic", Y_THIN, "l1", 1e-4, THIN)),
    "primal_cd, net": ("primal_cd", partial(linear, "squared_hinge", Y_WIDE, ElasticNet(0.5), 1e-4, WIDE)),
    "primal_cd, groups": (
        "primal_cd",
        partial(linear, "logistic", Y_WIDE, GroupLasso(np.arange(WIDE.shape[1]) // 3), 1e-4, WIDE),
    ),
    "least_squares": ("least_squares", partial(linear, "squared", T, "l1", 1e-3, X + 1e3, intercept=False)),
    "rounded_cd": ("rounded_cd", partial(linear, "hinge", Y_WIDE, "l1", 1e-3, WIDE)),
    "rounded_cd, sparse": ("rounded_cd", partial(linear, "hinge", Y_THIN, "l1", 1e-4, THIN)),
    "pair_rows": ("pair_rows", partial(linear, "pairwise_ranking", CLASSES, groups=QUERIES, alpha=1e-5)),
    "pair_rows, net": (
        "pair_rows",
        partial(linear, "pairwise_ranking", CLASSES, ElasticNet(0.5), groups=QUERIES, alpha=1e-4),
    ),
    "pair_rows, products": (
        "pair_rows",
        partial(linear, "ordinal_pairs", CLASSES[:60], data=WIDE, alpha=1e-4),
    ),
    "classes_in_turn": ("classes_in_turn", partial(linear, "softmax", CLASSES, "l1", 1e-3)),
    "classes_in_turn, net": ("classes_in_turn", partial(linear, "softmax", CLASSES, ElasticNet(0.5), 1e-3)),
    "sum_rows": ("sum_rows", partial(linear, "quantiles", T)),
    "sum_rows, l1": ("sum_rows", partial(linear, "quantiles", T, "l1", 1e-2)),
    "smo": ("smo", partial(kernel, "hinge")),
    "smo, regression": ("smo", partial(kernel, "epsilon_insensitive", T, 1e-4)),
    "smo, little memory": ("smo", partial(kernel, "hinge", memory=15 * N * N)),  # K is not kept
    "smo, pairs": (PAIRS, partial(kernel, "squared_hinge", alpha=1e-2)),
    "auto": ("auto", partial(linear, "hinge", alpha=1e-5)),
    "auto, sparse": ("auto", partial(linear, "hinge", Y_THIN, data=THIN, alpha=1e-6)),
    "auto, wide": ("auto", partial(linear, "logistic", Y_WIDE, data=WIDE, alpha=1e-7)),
    "auto, classes": ("auto", partial(linear, "crammer_singer", CLASSES, alpha=1e-5)),
    "auto, kernel": ("auto", partial(kernel, "hinge", alpha=1e-4)),
    "auto, f_beta": ("auto", partial(linear, "f_beta")),
    "auto, pairs": ("auto", partial(linear, "pairwise_ranking", CLASSES, groups=QUERIES, alpha=1e-5)),
}
STEPS, TOL = 60, 1e-8


@pytest.fixture
def at_every_step(monkeypatch):
    monkeypatch.setattr(store, "INTERVAL", 0.0)
    monkeypatch.setattr(store, "SHARE", np.inf)


def without_times(history):
    return [(record.n_iter, *record[2:]) for record in history]


def assert_same(one, two):
    """To the last bit."""
    assert one.w.dtype == two.w.dtype and one.w.tobytes() == two.w.tobytes()
    assert np.asarray(one.intercept).tobytes() == np.asarray(two.intercept).tobytes()
    assert one.certificate == two.certificate and one.status is two.status and one.n_iter == two.n_iter
    assert without_times(one.history) == without_times(two.history)
    assert one.minorant.a.tobytes() == two.minorant.a.tobytes() and one.minorant.c == two.minorant.c


def test_every_solver_is_tried():
    assert {name.split(",")[0] for name in CASES} == set(SOLVERS)


@pytest.mark.parametrize("name", CASES)
def test_a_fit_goes_on_with_the_same_bytes(name, tmp_path):
    solver, make = CASES[name]
    file = tmp_path / "fit"
    whole = solve(make(), solver, tol=TOL, max_iter=STEPS)
    middle = whole.n_iter // 2
    kept = 0
    for k in sorted({1, 3, middle, whole.n_iter - 1} & set(range(1, whole.n_iter))):
        solve(make(), solver, tol=TOL, max_iter=k, checkpoint=file)
        kept += file.exists()
        rest = solve(make(), solver, tol=TOL, max_iter=STEPS, checkpoint=file)
        assert_same(whole, rest)
        assert file.exists() == (whole.status is Status.MAX_ITER)
        file.unlink(missing_ok=True)
    assert kept or whole.n_iter == 1


@pytest.mark.parametrize("name", CASES)
def test_writing_disturbs_nothing(name, tmp_path, at_every_step):
    solver, make = CASES[name]
    whole = solve(make(), solver, tol=TOL, max_iter=STEPS // 4)
    assert_same(whole, solve(make(), solver, tol=TOL, max_iter=STEPS // 4, checkpoint=tmp_path / "fit"))


@pytest.mark.parametrize("name", ["bundle", "dual_cd", "newton_cg", "auto, sparse", "smo", "rounded_cd"])
@pytest.mark.parametrize("how", [True, RuntimeError, KeyboardInterrupt])
def test_a_callback_that_stops_or_fails_loses_nothing(name, how, tmp_path):
    solver, make = CASES[name]
    file = tmp_path / "fit"
    whole = solve(make(), solver, tol=TOL, callbacks=[lambda progress: False])
    looks = sum(record.proved for record in whole.history) - 1
    for k in sorted({1, looks // 2} - {0}):
        seen = []

        def stop(progress, seen=seen, k=k):
            seen.append(progress)
            if len(seen) == k and how is not True:
                raise how
            return len(seen) == k

        options = dict(tol=TOL, checkpoint=file)
        if how is RuntimeError:
            with pytest.raises(RuntimeError):
                solve(make(), solver, callbacks=[stop], **options)
        else:
            assert solve(make(), solver, callbacks=[stop], **options).status in (
                Status.STOPPED,
                Status.INTERRUPTED,
            )
        assert file.exists()
        assert_same(whole, solve(make(), solver, callbacks=[lambda progress: False], **options))
        assert not file.exists()


@pytest.mark.parametrize("solver", ["bundle", "dual_cd", "semismooth_newton"])
def test_an_interrupt_in_the_middle_of_a_step(solver, tmp_path, at_every_step):
    file, method, left = tmp_path / "fit", as_solver(solver), [0]

    def cut_off(problem, state=None):
        steps = method(problem, state=state)
        answer = yield next(steps)
        while True:
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
            answer = yield steps.send(answer)

    whole = solve(linear("hinge"), cut_off, tol=TOL)
    left[0] = 5
    assert solve(linear("hinge"), cut_off, tol=TOL, checkpoint=file).status is Status.INTERRUPTED
    assert file.exists()
    assert_same(whole, solve(linear("hinge"), cut_off, tol=TOL, checkpoint=file))


def test_many_interruptions(tmp_path):
    file, whole = tmp_path / "fit", solve(linear("hinge"), "bundle", tol=TOL)
    for k in range(1, whole.n_iter):
        solve(linear("hinge"), "bundle", tol=TOL, max_iter=k, checkpoint=file)
    assert_same(whole, solve(linear("hinge"), "bundle", tol=TOL, checkpoint=file))


def test_seconds_are_added_up_and_limits_are_those_of_the_call(tmp_path):
    file = tmp_path / "fit"
    first = solve(linear("hinge"), "pegasos", tol=0, max_iter=5, checkpoint=file)
    rest = solve(linear("hinge"), "pegasos", tol=0, max_iter=9, max_time=60, checkpoint=file)
    times = [record.time for record in rest.history]
    assert rest.n_iter == 9 and times == sorted(times) and times[:4] == [r.time for r in first.history][:4]


CHANGES = {
    "data": lambda: (linear("hinge", data=np.nextafter(X, 9)), "bundle"),
    "targets": lambda: (linear("hinge", -Y), "bundle"),
    "weights": lambda: (linear("hinge", sample_weight=np.r_[2.0, np.ones(N - 1)]), "bundle"),
    "loss": lambda: (linear("squared_hinge"), "bundle"),
    "alpha": lambda: (linear("hinge", alpha=2e-3), "bundle"),
    "penalty": lambda: (linear("hinge", penalty="l1"), "bundle"),
    "solver": lambda: (linear("hinge"), "dual_cd"),
    "options": lambda: (linear("hinge"), PLAIN),
}


@pytest.mark.parametrize("what", CHANGES)
def test_another_fit_is_refused_by_name(what, tmp_path):
    file = tmp_path / "fit"
    solve(linear("hinge"), "bundle", tol=TOL, max_iter=3, checkpoint=file)
    before = file.read_bytes()
    problem, solver = CHANGES[what]()
    told = {"targets": "data", "weights": "data"}.get(what, what)
    with pytest.raises(CheckpointError, match=rf"{file}: it belongs to another fit: {told}.*remove the file"):
        solve(problem, solver, tol=TOL, checkpoint=file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("alphas", [[1e-1, 1e-3, 1e-2], [1e-1, 2e-2, 5e-2, 3e-2, 1e-2]])
def test_a_path_goes_on_with_the_same_bytes(alphas, tmp_path, at_every_step):
    file = tmp_path / "path"
    whole = path(linear("hinge"), alphas, "bundle", tol=1e-6)
    total = sum(solution.n_iter for solution in whole)
    for k in (1, total // 2, total - 2):
        steps = []

        def stop(progress, steps=steps, k=k):
            steps.append(1)
            if len(steps) == k:
                raise RuntimeError

        with pytest.raises(RuntimeError):
            path(linear("hinge"), alphas, "bundle", tol=1e-6, callbacks=[stop], checkpoint=file)
        rest = path(linear("hinge"), alphas, "bundle", tol=1e-6, checkpoint=file)
        for one, two in zip(whole, rest, strict=True):
            assert_same(one, two)
        assert not file.exists()


def test_a_quick_fit_writes_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr("gapfit.checkpoint.file.write", pytest.fail)
    assert solve(linear("hinge"), checkpoint=tmp_path / "fit").converged
    assert list(tmp_path.iterdir()) == []
