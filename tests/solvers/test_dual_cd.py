"""Dual coordinate descent: what it does beyond what every solver is tested for."""

import tracemalloc
from itertools import islice

import numpy as np
import pytest
from scipy import sparse

from gapfit import Problem, Status, solve
from gapfit.design.parted import PartedDesign
from gapfit.design.parts import MemoryParts
from gapfit.solvers.dual_cd import dual_cd
from parts import in_parts

LOSSES = ["hinge", "squared_hinge", "logistic"]


def text(n=300, common=60, own=4, seed=0):
    """Sparse rows with common words, and words that no other row has."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n, common, 0.15, format="csr", random_state=rng)
    rare = sparse.csr_matrix(
        (rng.random(n * own), (np.repeat(np.arange(n), own), rng.permutation(n * own))), shape=(n, n * own)
    )
    w = rng.normal(size=common)
    y = np.where(X @ w + 0.1 * rng.normal(size=n) > 0, 1.0, -1.0)
    shuffled = rng.permutation(common + n * own)
    return sparse.csr_matrix(sparse.hstack([X, rare]))[:, shuffled], y


def steps(problem, how_many, state=None):
    """Iterates, each with its gap."""
    for iterate in islice(dual_cd(problem, state=state), how_many):
        risk = problem.tangent(problem.scores(iterate.point()), iterate.b).value
        primal = problem.alpha * problem.penalty.value(iterate.point()) + risk
        yield iterate, primal - problem.dual(iterate.minorant())


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_words_of_one_row_are_left_out_of_sweeps_and_come_back_right(loss, intercept):
    X, y = text()
    problem = Problem(X, y, loss, alpha=1e-3, intercept=intercept)
    solution = solve(problem, "dual_cd", tol=1e-9)
    assert solution.status is Status.CERTIFIED
    reference = solve(problem, "bundle", tol=1e-6, max_iter=3000).certificate
    assert reference.dual <= solution.certificate.primal
    assert solution.certificate.dual <= reference.primal


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_guess_of_the_gap_is_a_good_one(loss, intercept):
    X, y = text()
    problem = Problem(X, y, loss, alpha=1e-4, intercept=intercept)
    ratios = [iterate.estimate / gap for iterate, gap in steps(problem, 12)]
    assert 0.2 < np.median(ratios) < 10


@pytest.mark.parametrize("words", [0, 4])
@pytest.mark.parametrize("loss", LOSSES)
def test_any_step_can_be_continued_with_the_same_bytes(loss, words):
    X, y = text(own=words)
    problem = Problem(X, y, loss, alpha=1e-4)
    whole = [
        (iterate.point().copy(), iterate.estimate, iterate.snapshot()) for iterate, _ in steps(problem, 16)
    ]
    for stop in (1, 3, 8, 13):
        rest = steps(problem, 16 - stop, {**whole[stop - 1][2], "same": True})
        for (w, estimate, _), (again, _) in zip(whole[stop:], rest, strict=True):
            assert np.array_equal(w, again.point())
            assert estimate == again.estimate


def test_a_state_of_another_problem_is_a_warm_start():
    X, y = text()
    earlier = solve(Problem(X, y, "hinge", alpha=2e-4), "dual_cd", tol=1e-5)
    problem = Problem(X, y, "hinge", alpha=1e-4)
    cold, warm = solve(problem, "dual_cd", tol=1e-3), solve(problem, "dual_cd", tol=1e-3, start=earlier)
    assert warm.converged
    assert warm.n_iter < cold.n_iter


@pytest.mark.parametrize("loss", LOSSES)
def test_dense_sparse_and_single_precision_agree(loss):
    X, y = text(n=80, own=1)
    bounds = [
        solve(Problem(data, y, loss, alpha=1e-3), "dual_cd", tol=1e-7).certificate
        for data in (X, X.toarray(), X.astype(np.float32))
    ]
    for one in bounds[:2]:
        assert one.dual <= bounds[0].primal
        assert bounds[0].dual <= one.primal
    assert bounds[2].primal == pytest.approx(bounds[0].primal, rel=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_copies_and_known_offsets_shift_scores(loss):
    X, y = text(n=60, own=1)
    rng = np.random.default_rng(1)
    weight, offset = rng.integers(0, 4, len(y)), rng.normal(size=len(y))
    copies = np.repeat(np.arange(len(y)), weight)
    weighted = Problem(X, y, loss, alpha=1e-3, sample_weight=weight, offset=offset)
    copied = Problem(X[copies], y[copies], loss, alpha=1e-3, offset=offset[copies])
    one, other = (solve(problem, "dual_cd", tol=1e-7).certificate for problem in (weighted, copied))
    assert one.dual <= other.primal * (1 + 1e-12)
    assert other.dual <= one.primal * (1 + 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_number_of_threads_changes_no_bit(loss):
    X, y = text(n=4000, common=500)
    problem = Problem(X, y, loss, alpha=1e-5)
    one, two = (solve(problem, "dual_cd", tol=1e-4, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one.w, two.w)
    assert one.certificate == two.certificate


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_features_on_wild_scales_end_with_a_valid_gap(loss, intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) * [1e-6, 1.0, 1e3, 1e6] + [0, 0, 1e3, 0]
    y = np.where(rng.random(50) < 0.5, 1.0, -1.0)
    problem = Problem(X, y, loss, alpha=1e-4, intercept=intercept)
    certificate = solve(problem, "dual_cd", tol=1e-6, max_iter=200).certificate
    assert np.isfinite(certificate.gap)
    best = solve(problem, "bundle", tol=1e-6, max_iter=5000).certificate
    assert certificate.dual <= best.primal * (1 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_empty_rows_and_no_entries_at_all(loss):
    y = np.array([1.0, -1.0, 1.0, 1.0])
    for X in (sparse.csr_matrix((4, 3)), sparse.csr_matrix([[1.0, 0, 0], [0, 0, 0], [0, 2.0, 0], [0, 0, 0]])):
        for intercept in (False, True):
            solution = solve(Problem(X, y, loss, alpha=1e-2, intercept=intercept), "dual_cd", tol=1e-6)
            assert solution.converged


@pytest.mark.parametrize("scale", [1e-40, 1e40])
def test_numbers_beyond_single_precision(scale):
    X, y = text(n=80, own=1)
    problem = Problem(scale * X, y, "hinge", alpha=1e-3 * scale**2)
    assert solve(problem, "dual_cd", tol=1e-6).converged


def crowd(n=2000, d=5):
    """Many samples of few features: most rest at a bound."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", ["hinge", "quantile", "epsilon_insensitive"])
def test_rows_that_are_dismissed_rest_there_at_the_optimum(loss):
    X, y = crowd()
    problem = Problem(X, y, loss, alpha=1e-2, intercept=False)
    exact = solve(problem, "semismooth_newton", tol=1e-11).state["path"]["v"]
    most = 0
    for iterate, _ in steps(problem, 40):
        state = iterate.snapshot()
        dismissed = np.setdiff1d(np.arange(len(y)), state["doubtful"])
        most = max(most, len(dismissed))
        np.testing.assert_allclose(-state["u"][dismissed], exact[dismissed], rtol=0, atol=1e-12)
    assert most > len(y) / 2


def test_what_is_proved_of_one_problem_is_not_believed_of_another():
    X, y = crowd()
    earlier = solve(Problem(X, y, "hinge", alpha=1e-2, intercept=False), "dual_cd", tol=1e-9)
    assert len(earlier.state["doubtful"]) < len(y)
    for other in (Problem(X, -y, "hinge", alpha=1e-2, intercept=False), Problem(X, y, "hinge", alpha=1e-3)):
        assert solve(other, "dual_cd", tol=1e-9, start=earlier).converged


def streamed_problem(alpha=1e-3, loss="hinge", n=400, resident=8000.0):
    """Rows in seven parts, of which a part may be held."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 6)) + 0.3
    y = np.where(X @ rng.normal(size=6) + rng.normal(size=n) > 0.5, 1.0, -1.0)
    return Problem(in_parts(X, 7, resident=resident), y, loss, alpha=alpha), Problem(X, y, loss, alpha=alpha)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("resident", [0.0, 8000.0, 1e9])
def test_rows_that_come_in_parts(loss, resident):
    there, here = streamed_problem(loss=loss, resident=resident)
    found = solve(there, "dual_cd", tol=1e-6)
    reference = solve(here, tol=1e-9).certificate
    assert found.converged
    assert found.certificate.dual <= reference.primal and reference.dual <= found.certificate.primal


def test_what_is_held_saves_passes_and_looks_cost_none():
    passes = {}
    for resident in (0.0, 1e9):
        problem, _ = streamed_problem(alpha=1e-4, resident=resident)
        found = solve(problem, "dual_cd", tol=1e-5)
        passes[resident] = found.cost.passes
        assert found.cost.passes <= found.n_iter + 2  # a pass a step, and what the proof may need
    assert passes[1e9] < passes[0.0]


def test_a_streamed_fit_goes_on_with_the_same_bytes():
    whole = solve(streamed_problem()[0], "dual_cd", tol=1e-7)
    problem, _ = streamed_problem()
    first = solve(problem, "dual_cd", tol=1e-7, max_iter=3)
    rest = solve(problem, "dual_cd", tol=1e-7, start=first)
    assert rest.converged and rest.w.tobytes() == whole.w.tobytes()


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_streamed_fit_keeps_few_numbers_a_row(loss):
    """Of two sizes the difference: what does not grow with the rows is not counted. (Compiled code takes
    memory that is not seen here, and memory that is never written to is seen.)"""
    peaks = {}
    for n in (100_000, 100_000, 300_000):  # the first time loads things
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 3)).astype(np.float32)
        y = np.where(X[:, 0] + rng.normal(size=n) > 0.3, 1.0, -1.0)
        design = PartedDesign(MemoryParts(np.array_split(X, 20)), resident=1e5)
        tracemalloc.start()
        solve(Problem(design, y, loss, alpha=1e-3), "dual_cd", tol=1e-2, resumable=False, n_jobs=1)
        peaks[n] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (peaks[300_000] - peaks[100_000]) / 200_000 < 110  # y is given, and not counted: 8 less


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_rows_beyond_single_precision_come_in_parts(scale):
    rng = np.random.default_rng(5)
    X = scale * rng.normal(size=(200, 4))
    y = np.where(X[:, 0] > 0.1 * scale * rng.normal(size=200), 1.0, -1.0)
    problem = Problem(in_parts(X, 5, resident=1e5), y, "hinge", alpha=1e-2 * scale**2, intercept=False)
    assert solve(problem, "dual_cd", tol=1e-6).converged
