"""Limits are limits: fits end by the clock, by Ctrl-C, by memory and by overflow, and keep what they have."""

import signal
import threading
import time
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info

from gapfit import KernelSVC, KernelSVR, LinearClassifier, Problem, Status, TooLarge, limits, solve, threads
from gapfit.design.memory import MemoryDesign
from gapfit.projections import project_simplex
from gapfit.registry import SOLVERS, as_solver
from gapfit.solution import Iterate
from gapfit.solvers.base import missing_need
from gapfit.solvers.coordinates import descent
from gapfit.solvers.pairs import exact
from gapfit.solvers.second_order.definite import factorised

LONG = 60.0  # seconds in which nothing here can be if it ends at all


def drawn(seed, n=300, d=20):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + 2 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.fixture
def default_ctrl_c():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs may be deaf to it
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def clock(monkeypatch):
    """Set how many looks at the clock there are before the time is up."""

    def after(looks):
        left = iter(range(looks))
        now = time.perf_counter
        monkeypatch.setattr(
            limits, "perf_counter", lambda: now() + (0.0 if next(left, None) is not None else 1e9)
        )

    return after


# -- every loop has an exit ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_a_ridge_is_found_for_every_finite_matrix(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 30))
    A = rng.normal(size=(d, d)) * 10.0 ** rng.uniform(-150, 150)
    hessian = [A + A.T, -A @ A.T, np.zeros((d, d)), A - A.T, np.diag(np.diag(-abs(A)))][seed % 5]
    factor, _ = factorised(MemoryDesign(np.ones((1, d))), hessian)
    assert np.isfinite(np.triu(factor)).all()


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_a_matrix_that_is_not_finite_is_an_overflow(bad):
    with pytest.raises(OverflowError):
        factorised(MemoryDesign(np.ones((1, 3))), np.full((3, 3), bad))


@pytest.mark.parametrize("solver", ["auto", "newton", "semismooth_newton", "newton_cg"])
@pytest.mark.parametrize("seed", range(6))
def test_hostile_columns_do_not_hang(solver, seed):
    """Constant columns of very large numbers, and columns of very different sizes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 60))
    X, weight = rng.normal(size=(n, 3)), rng.random(n) * 10.0 ** rng.uniform(-6, 0, n)
    X[:, 1] = 10.0 ** rng.uniform(3, 18)
    X = X[:, 1:2] if seed % 3 == 0 else X * 10.0 ** rng.uniform(-10, 11, 3) if seed % 3 == 1 else X
    y = np.where(rng.random(n) > 0.5, 1.0, -1.0)
    loss = ["squared", "hinge", "squared_hinge"][seed % 3] if solver != "newton_cg" else "squared_hinge"
    problem = Problem(sparse.csr_array(X), y, loss, "l2", 1e-2, weight)
    if missing_need(as_solver(solver), problem):
        pytest.skip("it takes other losses")
    began = time.perf_counter()
    solution = solve(problem, solver, tol=1e-6, max_time=3)
    assert time.perf_counter() - began < LONG
    assert solution.certificate.primal <= problem.evaluate(problem.start(), np.zeros(1)) * (1 + 1e-9)


@pytest.mark.parametrize("size", [1e15, 1e17, 1e300])
def test_the_nearest_point_of_a_simplex_to_large_numbers(size):
    rows = project_simplex(np.array([[size, size, 0.0], [-size, -size, -size], [size, 0.5 * size, 3.0]]))
    np.testing.assert_allclose(rows, [[0.5, 0.5, 0.0], [1 / 3] * 3, [1.0, 0.0, 0.0]], rtol=1e-15)


# -- the clock -----------------------------------------------------------------------------------------------


def endless(problem, state=None, *, then=lambda: None):
    """Yields a good point that the driver is not asked to look at, and then works for ever."""
    good = solve(problem, tol=1e-3)
    yield Iterate(good.w, np.array([good.intercept]), good.minorant, estimate=np.inf)
    then()
    while True:
        problem.scores(good.w)


def test_a_step_without_end_ends_with_what_was_found():
    problem = Problem(*drawn(0), "hinge", "l2", 1e-2)
    began = time.perf_counter()
    solution = solve(problem, endless, tol=1e-12, max_time=0.2)
    assert 0.2 <= time.perf_counter() - began < LONG
    assert solution.status is Status.TIME_LIMIT
    assert solution.w.any() and solution.certificate.relative_gap <= 1e-3
    assert solution.state == {}  # there is none in the middle of a step


CASES = [
    (name, loss, penalty)
    for loss, penalty in [
        ("hinge", "l2"),
        ("logistic", "l2"),
        ("squared_hinge", "l1"),
        ("hinge", "elastic_net"),
    ]
    for name in SOLVERS
    if name == "auto" or not missing_need(as_solver(name), Problem(*drawn(0, 20, 3), loss, penalty, 1e-3))
]


@pytest.mark.parametrize("looks", [1, 7, 40])
@pytest.mark.parametrize("solver, loss, penalty", CASES)
def test_every_solver_can_be_cut_off_anywhere(solver, loss, penalty, looks, clock):
    """What it had then is a point and a bound of the optimum."""
    problem = Problem(*drawn(looks, 400), loss, penalty, 1e-3)
    optimum = solve(problem, tol=1e-9).certificate
    clock(looks)
    found = solve(problem, solver, tol=1e-14, max_time=1e6)
    assert found.certificate.primal >= optimum.dual - 1e-12
    assert found.certificate.dual <= optimum.primal + 1e-12
    assert found.certificate.primal <= problem.evaluate(problem.start(), np.zeros(1)) + 1e-12


def test_no_limit_changes_no_byte():
    problem = Problem(*drawn(1), "hinge", "l2", 1e-3)
    for solver in ("auto", "dual_cd", "pragam", "bundle"):
        free, limited = (solve(problem, solver, tol=1e-4, max_time=limit) for limit in (np.inf, 1e6))
        assert free.w.tobytes() == limited.w.tobytes() and free.n_iter == limited.n_iter


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_how_much_is_done_at_once_changes_no_byte(loss, intercept, monkeypatch):
    problem = Problem(*drawn(2, 500, 40), loss, "l2", 1e-4, intercept=intercept)
    whole = solve(problem, "dual_cd", tol=1e-8)
    monkeypatch.setattr(descent, "_AT_ONCE", 0)
    parts = solve(problem, "dual_cd", tol=1e-8)
    assert whole.w.tobytes() == parts.w.tobytes() and whole.n_iter == parts.n_iter


@pytest.mark.parametrize("model", [KernelSVC(C=10.0), KernelSVR(C=10.0), KernelSVC(kernel="sigmoid", C=10.0)])
def test_how_many_pairs_are_done_at_once_changes_no_byte(model, monkeypatch):
    X, y = drawn(3, 120, 4)
    whole = model.fit(X, y).dual_coef_
    monkeypatch.setattr(exact, "_AT_ONCE", 1)
    assert model.fit(X, y).dual_coef_.tobytes() == whole.tobytes()


@pytest.mark.parametrize("looks", [0, 1, 2, 5])
def test_a_sigmoid_kernel_keeps_to_its_time(looks, clock):
    X, y = drawn(4, 200, 4)
    model = KernelSVC(kernel="sigmoid", gamma=1.0, coef0=-1.0, C=100.0, tol=1e-10, max_time=1e6)
    clock(looks)
    with pytest.warns(match="max_time"):
        model.fit(X, y)
    assert model.status_ is Status.TIME_LIMIT and np.isfinite(model.objective_)


# -- Ctrl-C --------------------------------------------------------------------------------------------------


def test_ctrl_c_before_the_first_look_keeps_the_point(default_ctrl_c):
    problem = Problem(*drawn(5), "hinge", "l2", 1e-2)
    solver = partial(endless, then=lambda: signal.raise_signal(signal.SIGINT))
    solution = solve(problem, solver, tol=1e-12)
    assert solution.status is Status.INTERRUPTED
    assert solution.w.any() and solution.certificate.relative_gap <= 1e-3


def test_a_second_ctrl_c_does_not_lose_the_certificate(default_ctrl_c):
    problem = Problem(*drawn(6), "hinge", "l2", 1e-2)
    good = solve(problem, tol=1e-3)
    pressed = []

    def solver(problem, state=None):
        def point():
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)
            return good.w

        yield Iterate(point, np.array([good.intercept]), good.minorant, estimate=np.inf)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the first one breaks off the step")

    solution = solve(problem, solver, tol=1e-12)
    assert pressed and solution.status is Status.INTERRUPTED
    assert solution.certificate.relative_gap <= 1e-3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Pressing(MemoryDesign):
    """Presses Ctrl-C in one of its products."""

    def __init__(self, X, at):
        super().__init__(X)
        self.left = at

    def scores(self, w):
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)
        return super().scores(w)


@pytest.mark.parametrize("at", [2, 5, 12])
@pytest.mark.parametrize("solver, loss, penalty", CASES)
def test_ctrl_c_in_any_solver(solver, loss, penalty, at, default_ctrl_c):
    X, y = drawn(at, 400)
    optimum = solve(Problem(X, y, loss, penalty, 1e-3), tol=1e-9).certificate
    found = solve(Problem(Pressing(X, at), y, loss, penalty, 1e-3), solver, tol=1e-14, max_iter=400)
    assert found.certificate.primal >= optimum.dual - 1e-12
    assert found.certificate.dual <= optimum.primal + 1e-12


# -- no headway ----------------------------------------------------------------------------------------------


def test_a_solver_that_guesses_its_gap_is_looked_at_before_it_is_given_up():
    """One that improves all the time, and whose guesses never ask for a look."""
    problem = Problem(*drawn(7), "squared_hinge", "l2", 1e-2)
    good = solve(problem, "newton", tol=1e-12)

    def slow(problem, state=None):
        for step in range(2000):
            share = 0.98 ** (step // 2)
            yield Iterate((1 - share) * good.w, np.array([good.intercept]), good.minorant, estimate=1e9)

    solution = solve(problem, slow, tol=1e-6)
    assert solution.status is Status.CERTIFIED


def test_a_solver_that_stands_still_is_given_up():
    problem = Problem(*drawn(8), "hinge", "l2", 1e-2)

    def still(problem, state=None):
        while True:
            yield Iterate(np.full(20, 1e-3), np.zeros(1), estimate=1e9)

    solution = solve(problem, still, tol=1e-6)
    assert solution.status is Status.STALLED and solution.n_iter < 1000


@pytest.mark.parametrize(
    "error", [OverflowError("too large"), ZeroDivisionError(), np.linalg.LinAlgError("singular")]
)
def test_overflow_in_a_step_is_an_end_and_no_error(error):
    problem = Problem(*drawn(9), "hinge", "l2", 1e-2)
    good = solve(problem, tol=1e-3)

    def breaks(problem, state=None):
        yield Iterate(good.w, np.array([good.intercept]), good.minorant, estimate=np.inf)
        raise error

    solution = solve(problem, breaks, tol=1e-12)
    assert solution.status is Status.STALLED and solution.certificate.relative_gap <= 1e-3


# -- threads and memory --------------------------------------------------------------------------------------


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.parametrize("seed", range(5))
def test_blas_has_its_threads_back_after_fits_that_overlap(seed):
    """Blocks that begin and end in any order, in threads of their own."""
    rng = np.random.default_rng(seed)
    before = blas_threads()
    turns = [threading.Event() for _ in range(24)]
    ends = rng.permutation(24).reshape(12, 2)
    inside = []

    def block(first, last):
        turns[first].wait(LONG)
        with threads.using(1 + first % 3):
            done.release()
            turns[last].wait(LONG)
            inside.append(blas_threads())
        done.release()

    done = threading.Semaphore(0)
    fits = [threading.Thread(target=block, args=sorted(pair)) for pair in ends]
    for fit in fits:
        fit.start()
    for turn in turns:
        turn.set()
        assert done.acquire(timeout=LONG)
    for fit in fits:
        fit.join()
    assert inside == [[1] * len(before)] * 12, threads._one_blas_thread.holders
    assert blas_threads() == before


def test_concurrent_fits_leave_no_trace():
    X, y = drawn(10, 1000, 10)
    before = blas_threads()
    fits = [
        threading.Thread(
            target=LinearClassifier(alpha=10.0 ** -(k % 5 + 1)).fit,
            args=(X[: 200 + 60 * k], y[: 200 + 60 * k]),
        )
        for k in range(12)
    ]
    for fit in fits:
        fit.start()
    for fit in fits:
        fit.join()
    assert blas_threads() == before


@pytest.mark.parametrize("solver", ["newton", "semismooth_newton"])
def test_what_has_no_room_is_refused_by_name(solver):
    X = sparse.random_array((20, 2_000_000), density=1e-6, format="csr", rng=np.random.default_rng(0))
    problem = Problem(X, np.where(np.arange(20) % 2, 1.0, -1.0), "squared_hinge", "l2", 1e-2)
    with pytest.raises(TooLarge, match=f"{solver} with 2000000 weights .* dual_cd") as refused:
        solve(problem, solver)
    assert isinstance(refused.value, MemoryError)
    assert "newton," not in str(refused.value).split("problem:")[1]
