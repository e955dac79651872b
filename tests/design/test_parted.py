"""Rows in parts: the same optimum as in memory, and the same bytes for the same parts."""

import numpy as np
import pytest
from scipy import sparse

import metrics
from gapfit import IncompatibleSolver, Problem, Status, solve
from gapfit.design.memory import MemoryDesign
from gapfit.design.parted import PartedDesign
from gapfit.design.parts import FAN_IN, LocalParts, MemoryParts, Tree
from gapfit.registry import SOLVERS, as_solver
from gapfit.solvers.base import missing_need
from gapfit.statements import optimal_ball, support_status
from gapfit.testing import check_design
from parts import EVERY_LOSS, data_of, in_parts, problems

COUNTS = (1, 3, 16)
LOOSE = {"line_search_bundle": 1e-2, "pragam": 1e-2, "pragam_entropy": 1e-2, "smoothing": 1e-4}
SKIPPED = {"auto"}


def solvers_of(problem):
    return [name for name in SOLVERS if name not in SKIPPED and not missing_need(as_solver(name), problem)]


def same_optimum(found, reference):
    room = 1e-12 * max(abs(reference.primal), 1e-3)
    assert found.dual <= reference.primal + room and reference.dual <= found.primal + room


@pytest.mark.parametrize("name", EVERY_LOSS)
def test_every_loss_and_solver_finds_the_optimum_of_memory(name):
    whole, parted = problems(name, COUNTS)
    reference = solve(whole, tol=1e-7).certificate
    tried = solvers_of(parted[0])
    assert "bundle" in tried
    for problem in parted:
        for solver in tried:
            most = 60 if solver in LOOSE else 3000
            solution = solve(problem, solver, tol=LOOSE.get(solver, 1e-6), max_iter=most)
            same_optimum(solution.certificate, reference)
            if solver not in LOOSE:
                assert solution.status is Status.CERTIFIED, (solver, solution)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared", "softmax", "f_beta", "poisson"])
def test_these_solvers_take_parts(loss):
    expected = {
        "hinge": {"bundle", "dual_cd", "semismooth_newton", "smoothing", "line_search_bundle", "pragam"},
        "logistic": {"bundle", "dual_cd", "newton", "newton_cg", "lbfgs"},
        "squared": {"bundle", "newton", "newton_cg", "lbfgs", "least_squares", "semismooth_newton"},
        "softmax": {"bundle", "newton_cg", "lbfgs"},
        "f_beta": {"bundle", "pragam_entropy"},
        "poisson": {"bundle", "newton", "newton_cg", "lbfgs"},
    }[loss]
    assert expected <= set(solvers_of(problems(loss, [3])[1][0]))


class Loaded(LocalParts):
    """Parts that are made anew in each pass, as those of a disk."""

    def __init__(self, parts):
        self.parts, self.loads = parts, 0
        self.edges, self.columns, self.dtype, self.size = parts.edges, parts.columns, parts.dtype, parts.size

    def load(self, k):
        self.loads += 1
        return MemoryDesign(self.parts.load(k).X.copy())

    def digest(self):
        return self.parts.digest()


@pytest.mark.parametrize("name", ["hinge", "logistic", "crammer_singer", "softmax", "roc_area", "f_beta"])
def test_the_same_parts_give_the_same_bytes(name):
    X, y, loss = data_of(name)
    design = in_parts(X, 5)
    first = solve(Problem(design, y, loss, alpha=0.05), tol=1e-6, n_jobs=1)
    again = solve(Problem(PartedDesign(Loaded(design.parts)), y, loss, alpha=0.05), tol=1e-6, n_jobs=2)
    assert again.w.tobytes() == first.w.tobytes() and again.certificate == first.certificate


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse", "sparse32"])
@pytest.mark.parametrize("count", COUNTS)
def test_the_contract_of_designs(kind, count):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 5)) * (rng.random((40, 5)) < 0.7)
    X = X.astype(np.float32) if kind.endswith("32") else X
    X = sparse.csr_array(X) if kind.startswith("sparse") else X
    check_design(in_parts(X, count), other=in_parts(2 * X, count))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_verbs_are_those_of_memory(make):
    rng = np.random.default_rng(4)
    X = make(rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.6))
    whole, parted = MemoryDesign(X), in_parts(X, 7)
    weight, v, centre = rng.random(60), rng.normal(size=4), rng.normal(size=4)
    gram = np.tril(parted.weighted_gram(weight, centre))
    np.testing.assert_allclose(gram, np.tril(whole.weighted_gram(weight, centre)), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(parted.squares(weight), whole.squares(weight), rtol=1e-12)
    np.testing.assert_allclose(whole.squares(weight), (X**2).T @ weight, rtol=1e-12)
    for found, expected in zip(parted.bend(weight, v, 0.3), whole.bend(weight, v, 0.3), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert (parted.row_sizes >= whole.row_sizes).all()  # bounds of lengths, in single precision
    np.testing.assert_allclose(parted.row_sizes, whole.row_sizes, rtol=3e-7)
    assert parted.largest == whole.largest


def test_rows_are_taken_in_any_order():
    X = np.arange(24.0).reshape(12, 2)
    for rows in (np.array([7, 0, 7, 11]), slice(2, 9, 3), X[:, 0] > 10):
        np.testing.assert_array_equal(in_parts(X, 4).take(rows).X, X[rows])
    with pytest.raises(ValueError, match="no rows"):
        in_parts(X, 4).take(slice(0, 0))


def test_samples_without_weight_stay_where_they_are():
    X, y, loss = data_of("hinge")
    weight = (np.arange(len(X)) % 3 > 0).astype(float)
    weight[:9] = 0.0  # a part or two have no sample left
    problem = Problem(in_parts(X, 16), y, loss, alpha=0.05, sample_weight=weight)
    assert isinstance(problem.design, PartedDesign)
    there = weight > 0
    reference = solve(Problem(X[there], y[there], loss, alpha=0.05), tol=1e-9).certificate
    for solver in ("bundle", "semismooth_newton"):
        same_optimum(solve(problem, solver, tol=1e-7).certificate, reference)


def test_statements_hold_and_are_those_of_memory():
    whole, (parted,) = problems("hinge", [5])
    X, _, _ = data_of("hinge")
    here, there = (solve(problem, "semismooth_newton", tol=1e-6) for problem in (whole, parted))
    ball, other = optimal_ball(whole, here), optimal_ball(parted, there)
    (lo, hi), (low, high) = ball.score_bounds(X), other.score_bounds(X)
    assert (lo <= high).all() and (low <= hi).all()
    decided = (support_status(whole, ball) > 0) & (support_status(parted, other) > 0)
    assert decided.mean() > 0.5
    assert (support_status(whole, ball) == support_status(parted, other))[decided].all()


def test_a_solver_that_needs_rows_says_so():
    _, (problem,) = problems("hinge", [3])
    with pytest.raises(IncompatibleSolver, match=r"the rows of X.*PartedDesign.*semismooth_newton"):
        solve(problem, "pegasos")


def test_a_solution_continues_on_the_same_parts_only():
    _, (three, five) = problems("logistic", [3, 5])
    first = solve(three, tol=1e-3)
    assert solve(three, start=first, tol=1e-3, max_iter=0).converged
    assert three.fingerprint() != five.fingerprint() and three.fingerprint() == first.fingerprint


def test_sums_have_one_shape():
    """That of a tree whose nodes have eight branches, in order."""
    terms = list(10.0 ** np.random.default_rng(0).uniform(-8, 8, 200))
    for count in (1, 7, 8, 9, 64, 65, 200):
        tree, level = Tree(), terms[:count]
        for term in level:
            tree.add(term)
        while len(level) > 1:
            level = [sum(level[k + 1 : k + FAN_IN], level[k]) for k in range(0, len(level), FAN_IN)]
        assert tree.total() == level[0]


def test_parts_must_fit_together():
    with pytest.raises(ValueError, match="the same columns"):
        MemoryParts([np.ones((2, 3)), np.ones((2, 4))])
    with pytest.raises(ValueError, match="a part or more"):
        MemoryParts([])


def test_passes_are_counted():
    X, _, _ = data_of("hinge")
    design = in_parts(X, 3)
    before = design.parts.cost
    design.scores(np.ones(4))
    design.adjoints(np.ones(48), np.ones(48))
    assert design.parts.cost.since(before).passes == 2
    assert metrics.METRICS  # every loss above includes those that are not means over samples
