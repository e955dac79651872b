"""The driver: how a fit ends, what it keeps, and that it can be continued."""

import itertools
import signal
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from gapfit import IncompatibleSolver, Problem, Status, certify, solve
from gapfit.solution import Iterate
from gapfit.solvers.bundle import bundle
from problems import labels_problem

SOLVERS = [
    "bundle", "line_search_bundle", "dual_cd", "pegasos", "newton", "semismooth_newton", "lbfgs", "primal_cd",
    "rounded_cd",
]  # fmt: skip
SMOOTH = ("newton", "lbfgs", "primal_cd")


def accepted(solver, **kwargs):
    return labels_problem(loss="logistic" if solver in SMOOTH else "hinge", **kwargs)


def test_certified_means_within_tol_as_recomputed_from_the_solution_alone():
    problem = labels_problem()
    solution = solve(problem, tol=1e-8)
    assert solution.status is Status.CERTIFIED
    assert solution.converged
    again = certify.certify(problem, solution.w, np.array([solution.intercept]), solution.minorant)
    assert again == solution.certificate
    assert again.relative_gap <= 1e-8
    assert "gap" in Status.CERTIFIED.value


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("max_iter", [0, 1])
def test_max_iter(solver, max_iter):
    solution = solve(accepted(solver, alpha=1e-4), solver, tol=1e-12, max_iter=max_iter)
    assert solution.status is Status.MAX_ITER
    assert solution.n_iter == max_iter
    assert np.isfinite(solution.certificate.gap)


@pytest.mark.parametrize("solver", SOLVERS)
def test_max_time_zero_still_gives_a_certificate(solver):
    solution = solve(accepted(solver), solver, tol=0.0, max_time=0.0)
    assert solution.status is Status.TIME_LIMIT
    assert 0 <= solution.certificate.gap < np.inf


def test_tolerance_below_rounding_stalls_and_says_so():
    for solver in ("bundle", "dual_cd"):
        solution = solve(labels_problem(), solver, tol=1e-18)
        assert solution.status is Status.STALLED
        assert solution.certificate.relative_gap < 1e-12


def test_float32_weights_are_returned_where_they_prove_enough():
    problem = labels_problem(dtype=np.float32)
    tight = solve(problem, tol=1e-12)
    assert tight.status is Status.CERTIFIED and tight.w.dtype == np.float64
    # ... and what is certified holds for the float32 weights that are returned
    reference = solve(labels_problem(dtype=np.float32), tol=1e-4)
    assert reference.status is Status.CERTIFIED and reference.w.dtype == np.float32
    J = problem.evaluate(reference.w.astype(float), np.array([reference.intercept]))
    assert pytest.approx(reference.certificate.primal, rel=1e-14) == J


def test_ctrl_c_returns_the_best_certified_point():
    problem = labels_problem(alpha=1e-5)

    def interrupt(record):
        if record.n_iter == 4:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs may be deaf to it
    try:
        solution = solve(problem, "bundle", tol=1e-12, callbacks=[interrupt])
    finally:
        signal.signal(signal.SIGINT, before)
    assert solution.status is Status.INTERRUPTED
    assert solution.n_iter == 4
    assert solution.certificate.primal < problem.evaluate(problem.start(), np.zeros(1))
    assert np.isfinite(solution.certificate.gap)


def test_a_callback_sees_every_record_and_can_stop():
    seen = []

    def stop_at_three(record):
        seen.append(record)
        return record.n_iter >= 3

    solution = solve(labels_problem(), "bundle", tol=1e-12, callbacks=[stop_at_three, seen.append])
    assert solution.status is Status.STOPPED
    assert [record.n_iter for record in seen[::2]] == [1, 2, 3]
    assert [record[:5] for record in solution.history[1:]] == [progress[:5] for progress in seen[::2]]
    assert seen[-1].primal == pytest.approx(
        labels_problem().evaluate(seen[-1].w, np.array([seen[-1].intercept]))
    )


def test_history_is_monotone():
    history = solve(labels_problem(alpha=1e-4), "bundle", tol=1e-10).history
    for earlier, later in itertools.pairwise(history):
        assert later.primal <= earlier.primal
        assert later.dual >= earlier.dual
        assert later.time >= earlier.time
    assert all(record.gap >= 0 for record in history)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_fit_continues_with_identical_bytes(solver):
    problem = accepted(solver, alpha=1e-4, n=200)
    steps = {"lbfgs": 2, "newton": 4, "primal_cd": 2}.get(solver, 6)
    whole = solve(problem, solver, tol=0.0, max_iter=steps)
    half = solve(problem, solver, tol=0.0, max_iter=steps // 2)
    rest = solve(problem, solver, tol=0.0, max_iter=steps - steps // 2, start=half)
    if whole.state:  # the solver is where it would have been, to the last bit
        assert rest.state.keys() - {"w"} == whole.state.keys() - {"w"}
        for name, value in {**whole.state, **whole.state.get("path", {})}.items():
            if isinstance(value, np.ndarray):
                assert np.array_equal({**rest.state, **rest.state.get("path", {})}[name], value), name
    # which of its points were looked at depends on where a run ended, for solvers that guess their gap
    looks = [r.n_iter for r in half.history] + [half.n_iter + r.n_iter for r in rest.history]
    if looks == [r.n_iter for r in whole.history]:
        assert np.array_equal(rest.w, whole.w)
        assert rest.certificate == whole.certificate


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_start_does_not_change_the_optimum(solver):
    problem = accepted(solver)
    rng = np.random.default_rng(0)
    tol = 1e-2 if solver in ("pegasos", "line_search_bundle") else 1e-5
    reference = solve(problem, "bundle", tol=1e-10)
    for start in (np.zeros(5), 1e6 * rng.normal(size=5), reference.w, reference):
        solution = solve(problem, solver, tol=tol, start=start)
        assert solution.status is Status.CERTIFIED
        assert solution.certificate.primal - reference.certificate.primal <= solution.certificate.gap


def test_a_path_of_falling_alphas_with_l1():
    """Cuts that went out of use must not take the zero plane with them."""
    X, y = load_diabetes(return_X_y=True)
    problem = partial(Problem, scale(X), scale(y), "huber", "l1")
    start = None
    for alpha in np.geomspace(0.63, 1e-3, 8):
        start = solve(problem(alpha), "bundle", tol=1e-6, start=start)
        assert start.converged


def test_l1_without_the_zero_plane():
    """The first linear programs are unbounded then, and must be kept within reach."""
    problem = labels_problem(penalty="l1", alpha=1e-2)
    without = solve(problem, partial(bundle, zero_plane=False), tol=1e-8)
    assert without.converged
    assert without.certificate.primal == pytest.approx(solve(problem, tol=1e-8).certificate.primal, rel=1e-7)


def test_a_start_where_the_risk_overflows_is_no_start():
    for solver in ("bundle", "newton", "lbfgs", "line_search_bundle", "pegasos", "primal_cd"):
        start = 1e6 * np.ones(5)
        solution = solve(labels_problem(loss="exponential", alpha=0.1), solver, tol=1e-2, start=start)
        assert np.isfinite(solution.certificate.gap)
    assert solve(labels_problem(loss="exponential", alpha=0.1), start=start).converged


def test_cuts_can_be_used_again_for_another_alpha():
    first = solve(labels_problem(alpha=1e-2), "bundle", tol=1e-8)
    cold = solve(labels_problem(alpha=5e-3), "bundle", tol=1e-8)
    warm = solve(labels_problem(alpha=5e-3), "bundle", tol=1e-8, start=first)
    assert warm.n_iter < cold.n_iter
    assert (
        abs(warm.certificate.primal - cold.certificate.primal) <= warm.certificate.gap + cold.certificate.gap
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_bounds_found_on_other_data_are_not_used(solver):
    other = solve(accepted(solver, seed=1), solver, tol=1e-2)
    for start in (other, solve(accepted(solver, intercept=False), solver, tol=1e-2)):
        problem = accepted(solver)
        reference = solve(problem, "bundle", tol=1e-10).certificate
        for max_iter in (0, 1, 5):
            certificate = solve(problem, solver, max_iter=max_iter, start=start).certificate
            assert certificate.dual <= reference.primal
            assert certificate.primal >= reference.dual


def test_bounds_are_not_used_on_data_that_were_changed_in_place():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=50) > 0, 1.0, -1.0)
    first = solve(Problem(X, y, alpha=1e-2), "bundle", tol=1e-8)
    again = solve(Problem(X, y, alpha=1e-2), "bundle", tol=1e-8, start=first)
    assert again.n_iter == 0  # the bounds hold, and prove enough at once
    X[:] = X[::-1].copy()
    changed = Problem(X, y, alpha=1e-2)
    reference = solve(changed, "bundle", tol=1e-8).certificate
    assert solve(changed, "bundle", tol=1e-8, start=first).certificate.dual <= reference.primal


def test_a_mismatch_names_the_missing_piece_and_what_would_work():
    needed = r"a loss made of lines and parabolas \(Atoms\) or the logistic loss \(BinaryEntropy\)"
    has = r"which Exponential\(\) is not; solvers that take this problem: bundle, line_search"
    with pytest.raises(IncompatibleSolver, match=f"dual_cd needs {needed}, {has}"):
        solve(labels_problem(loss="exponential"), "dual_cd")
    with pytest.raises(
        IncompatibleSolver, match=r"dual_cd needs the L2 penalty \(Euclidean\), which L1\(\) is not"
    ):
        solve(labels_problem(penalty="l1"), "dual_cd")
    with pytest.raises(
        IncompatibleSolver, match=r"lbfgs needs a differentiable loss \(Smooth\), which Hinge\(\) is not"
    ):
        solve(labels_problem(), "lbfgs")
    with pytest.raises(ValueError, match="unknown solver 'simplex'; known are auto, block_frank"):
        solve(labels_problem(), "simplex")


def test_options_reach_the_solver():
    problem = labels_problem(alpha=1e-3)
    plain, searched, level = (
        solve(problem, partial(bundle, stabilise=name), tol=1e-6) for name in (None, "line_search", "level")
    )
    assert plain.converged and searched.converged and level.converged
    assert max(searched.n_iter, level.n_iter) < plain.n_iter
    with pytest.raises(ValueError, match="stabilise"):
        solve(problem, partial(bundle, stabilise="proximal"))


def test_a_solver_of_ones_own():
    def gradient_descent(problem, state=None):
        w = problem.start()
        for step in itertools.count(1):
            at = problem.oracle(w)
            yield Iterate(w, at.b, at.minorant)
            w = w - (problem.alpha * w + at.minorant.a) / (problem.alpha * step + 1)

    solution = solve(labels_problem(loss="logistic", alpha=0.1), gradient_descent, tol=1e-3)
    assert solution.converged
    assert solution.solver == "gradient_descent"


@pytest.mark.parametrize(
    ("kwargs", "match"),
    [
        ({"tol": -1}, "tol"),
        ({"tol": np.nan}, "tol"),
        ({"max_iter": -1}, "max_iter"),
        ({"max_time": -1.0}, "max_time"),
        ({"max_time": np.nan}, "max_time"),
        ({"start": np.zeros(3)}, "start"),
        ({"start": np.full(5, np.nan)}, "start"),
        ({"solver": 3}, "solver"),
    ],
)
def test_bad_arguments_of_solve(kwargs, match):
    with pytest.raises((ValueError, TypeError), match=match):
        solve(labels_problem(), **kwargs)


@pytest.mark.parametrize("seed", range(150))
def test_no_false_success(seed):
    """Whatever the limits, CERTIFIED means what it says, and every bound is valid."""
    rng = np.random.default_rng(seed)
    solver = SOLVERS[seed % len(SOLVERS)]
    problem = accepted(
        solver, seed=seed, n=30, d=3, alpha=10.0 ** rng.uniform(-4, 0), intercept=bool(seed % 2)
    )
    tol, max_iter = 10.0 ** rng.uniform(-12, -1), int(rng.integers(0, 50))
    solution = solve(problem, solver, tol=tol, max_iter=max_iter, max_time=rng.uniform(0, 0.05))
    certificate = solution.certificate
    reference = solve(problem, "bundle", tol=1e-11).certificate
    assert certificate.dual <= reference.primal * (1 + 1e-14)
    assert certificate.primal >= reference.dual * (1 - 1e-14)
    if solution.converged:
        assert certificate.relative_gap <= tol or certificate.gap <= 1e-12
    else:
        assert solution.status in (Status.MAX_ITER, Status.TIME_LIMIT, Status.STALLED)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_bytes_for_any_number_of_threads(solver):
    problem = accepted(solver, n=5000, d=40)
    answers = []
    for threads in (1, 2, 7):
        with threadpool_limits(threads):
            answers.append(solve(problem, solver, tol=1e-3, max_iter=50).w)
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[0], answers[2])


@pytest.mark.parametrize("alpha", [1e250, 1e300, 1e308])
@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
def test_numbers_at_the_end_of_their_range_end_a_fit_with_what_is_known(alpha, solver):
    solution = solve(accepted(solver).at(alpha), solver, tol=1e-9, max_time=10)
    assert np.isfinite(solution.w).all() and not np.isnan(solution.certificate[:3]).any()
    assert solution.certificate.dual <= solution.certificate.primal


@pytest.mark.parametrize("seed", range(5))
def test_weights_keep_their_digits_where_those_of_the_data_would_spoil_the_tolerance(seed):
    """Columns of about 1e6, and targets that depend on their last digits."""
    rng = np.random.default_rng(seed)
    X = (1e6 + rng.normal(size=(80, 3))).astype(np.float32)
    y = X[:, 0].astype(np.float64) - X[:, 1].astype(np.float64)
    tight = solve(Problem(X, y, "squared", "l2", 1e-9, intercept=False), tol=1e-8)
    assert tight.status is Status.CERTIFIED and tight.w.dtype == np.float64
    loose = solve(Problem(X - X.mean(axis=0), y, "squared", "l2", 1e-3), tol=1e-4)
    assert loose.status is Status.CERTIFIED and loose.w.dtype == np.float32


def test_a_start_is_not_given_up_for_a_worse_point():
    problem = labels_problem(dtype=np.float32)
    known = solve(problem, tol=1e-12, max_iter=50)
    again = solve(problem, tol=1e-12, max_iter=1, start=known)
    assert again.certificate.gap <= known.certificate.gap * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["crammer_singer", "softmax"])
def test_a_fit_goes_on_with_the_offsets_it_had_where_those_found_anew_are_worse(loss, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    y = np.digitize(X[:, 0], (-0.5, 0.5)).astype(float)
    problem = Problem(X, y, loss, alpha=0.1)
    first = solve(problem, "bundle", tol=1e-9)
    found = Problem.tangent

    def poorly(self, scores, guess=None):
        at = found(self, scores, guess)
        risk = self.risk.value_and_subgradient(scores, at.b + np.arange(1.0, 1 + len(at.b)))[0]
        return at._replace(value=risk, b=at.b + np.arange(1.0, 1 + len(at.b)))

    monkeypatch.setattr(Problem, "tangent", poorly)
    again = solve(problem, "bundle", tol=1e-9, start=first, max_iter=0)
    assert again.certificate.primal <= first.certificate.primal * (1 + 1e-12)
