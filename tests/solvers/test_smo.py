"""Sequential minimal optimisation: optima by independent references, certificates, and the theory."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from gapfit import IncompatibleSolver, Problem, solve
from gapfit.compiled import pairs as rules
from gapfit.compiled.blocks import alone
from gapfit.compiled.smo import Limits, second_order, unseen
from gapfit.design.gram import FunctionTiles
from gapfit.design.kept import KeptColumns
from gapfit.design.kept_matrix import MatrixTiles
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Gaussian, Linear, Polynomial
from gapfit.losses import EpsilonInsensitive, FBeta, Novelty, Quantile, RocArea, SmoothedHinge
from gapfit.solvers.pairs import whole
from gapfit.solvers.pairs.dual import Dual
from gapfit.solvers.pairs.rules import CURVATURES, RULES, pair_bound
from gapfit.solvers.smo import Identification, smo
from gapfit.testing import check_solver


def two_clouds(n, d=3, seed=0, shift=1.0):
    draw = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return draw.normal(size=(n, d)) + shift * y[:, None] / np.sqrt(d), y


def reference(K, y, alpha, intercept, solver):
    """min alpha/2 w'Kw + mean hinge by CVXPY, K = LL' and u = L'w."""
    import cvxpy as cp

    values, vectors = np.linalg.eigh(K)
    L = vectors * np.sqrt(np.maximum(values, 0.0))
    u, b = cp.Variable(len(y)), cp.Variable() if intercept else 0.0
    J = alpha / 2 * cp.sum_squares(u) + cp.sum(cp.pos(1 - cp.multiply(y, L @ u + b))) / len(y)
    return float(cp.Problem(cp.Minimize(J)).solve(solver=solver))


@pytest.fixture(params=["few samples", "many samples"])
def ways(request, monkeypatch):
    """Among all variables, or on working sets in single precision."""
    if request.param == "many samples":
        monkeypatch.setattr(whole, "LARGEST", 0)


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_optimum_is_that_of_two_other_solvers(C, intercept):
    X, y = two_clouds(60)
    alpha = 1 / (C * len(y))
    problem = Problem(KernelDesign(X, Gaussian(0.5)), y, "hinge", alpha=alpha, intercept=intercept)
    solution = solve(problem, "smo", tol=1e-12)
    assert solution.converged
    for other in ("CLARABEL", "SCS"):
        found = reference(rbf_kernel(X, gamma=0.5), y, alpha, intercept, other)
        assert found == pytest.approx(solution.certificate.primal, rel=1e-6 if other == "CLARABEL" else 1e-3)


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_certifies_far_beyond_libsvm(C):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X), np.where(y > 0, 1.0, -1.0)
    problem = Problem(KernelDesign(X, Gaussian(1 / 30)), y, "hinge", alpha=1 / (C * len(y)))
    solution = solve(problem, "smo", tol=1e-10)
    assert solution.converged and solution.certificate.relative_gap <= 1e-10
    model = SVC(C=C, gamma=1 / 30, tol=1e-6).fit(X, y)
    theirs = np.zeros(len(y))
    theirs[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(solution.w, theirs, atol=1e-3)
    assert solution.intercept == pytest.approx(model.intercept_[0], abs=1e-5)
    assert solution.certificate.primal <= problem.evaluate(theirs, model.intercept_) + 1e-15


@pytest.mark.usefixtures("ways")
def test_contract():
    problems = [
        Problem(KernelDesign(X, Gaussian(0.5)), y, "hinge", alpha=10.0**-power, intercept=bool(power % 2))
        for power, (X, y) in ((1, two_clouds(30)), (2, two_clouds(40, seed=1)))
    ]
    check_solver("smo", problems, tol=1e-8)


LOSSES = [
    "squared_hinge",
    SmoothedHinge(0.5),
    "squared",
    "absolute",
    Quantile(0.8),
    EpsilonInsensitive(0.2),
    "squared_epsilon_insensitive",
    "huber",
    Novelty(0.3),
]


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("intercept", [True, False])
def test_every_loss_of_lines_and_parabolas(loss, intercept):
    X, y = two_clouds(80, seed=1)
    if isinstance(loss, Novelty) and not intercept:
        pytest.skip("novelty detection is about the offset")
    weight = np.random.default_rng(2).integers(1, 4, len(y)).astype(float)
    make = partial(Problem, y=y, loss=loss, alpha=1e-2, sample_weight=weight, intercept=intercept)
    kernel = solve(make(KernelDesign(X, Linear())), "smo", tol=1e-10)
    linear = solve(make(X), tol=1e-10)
    assert kernel.converged and linear.converged
    assert kernel.certificate.primal == pytest.approx(linear.certificate.primal, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("loss", ["hinge", "logistic", FBeta(1.0), RocArea(), Quantile(0.3)], ids=str)
def test_the_bundle_method_works_in_a_kernel_space_with_every_loss(loss):
    """The same optimum as with the features of the kernel written out."""
    X, y = two_clouds(50, d=2)
    x0, x1 = X.T
    features = np.column_stack(
        [x0**2, x1**2, np.sqrt(2) * x0 * x1, np.sqrt(2) * x0, np.sqrt(2) * x1, np.ones(50)]
    )
    kernel = Problem(KernelDesign(X, Polynomial(1.0, 2, 1.0)), y, loss, alpha=1e-2)
    explicit = Problem(features, y, loss, alpha=1e-2)
    np.testing.assert_allclose(
        polynomial_kernel(X, degree=2, gamma=1, coef0=1), features @ features.T, atol=1e-12
    )
    first, second = solve(kernel, "bundle", tol=1e-7), solve(explicit, "bundle", tol=1e-7)
    assert first.converged and second.converged
    assert first.certificate.primal == pytest.approx(second.certificate.primal, rel=3e-7)
    np.testing.assert_allclose(kernel.scores(first.w), explicit.scores(second.w), atol=2e-2)


def test_logistic_in_a_kernel_space_is_gaussian_process_classification():
    """The mode of the posterior, by scikit-learn's Laplace approximation, whose prior has variance K."""
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF

    X, y = two_clouds(40, d=2)
    model = GaussianProcessClassifier(RBF(1.0), optimizer=None, max_iter_predict=1000).fit(X, y)
    problem = Problem(KernelDesign(X, Gaussian(0.5)), y, "logistic", alpha=1 / len(y), intercept=False)
    solution = solve(problem, "bundle", tol=1e-9)
    np.testing.assert_allclose(problem.scores(solution.w), model.base_estimator_.f_cached, atol=1e-3)


def test_dense_sparse_precomputed_and_callable_are_one():
    X, y = two_clouds(70)
    X[np.abs(X) < 0.7] = 0.0
    kernel = Gaussian(0.3)
    designs = [
        KernelDesign(X, kernel),
        KernelDesign(sparse.csr_array(X), kernel),
        KernelDesign(rbf_kernel(X, gamma=0.3)),
        KernelDesign(X, lambda A, B: rbf_kernel(A, B, gamma=0.3)),
        KernelDesign(X, kernel, memory=200_000),  # too little to keep K
    ]
    solutions = [solve(Problem(design, y, "hinge", alpha=1e-2), "smo", tol=1e-11) for design in designs]
    assert all(solution.converged for solution in solutions)
    for other in solutions[1:]:
        np.testing.assert_allclose(other.w, solutions[0].w, atol=1e-6)


def test_duplicates_with_opposite_labels():
    X, y = two_clouds(40)
    X, y = np.vstack([X, X[:10]]), np.concatenate([y, -y[:10]])
    problem = Problem(KernelDesign(X, Gaussian(1.0)), y, "hinge", alpha=1e-3)
    assert solve(problem, "smo", tol=1e-10).converged


def test_warm_start_and_any_number_of_threads_give_the_same():
    X, y = two_clouds(2500, seed=3)
    problem = Problem(KernelDesign(X, Gaussian(0.5)), y, "hinge", alpha=1e-3)
    one, two = (solve(problem, "smo", tol=1e-6, n_jobs=jobs) for jobs in (1, 2))
    assert one.w.tobytes() == two.w.tobytes() and one.intercept == two.intercept
    again = solve(problem, "smo", tol=1e-6, start=one)
    assert again.converged and again.n_iter <= 2


@pytest.mark.parametrize("d", [10, 40])  # with many features, columns of K are kept
def test_memory_stays_within_the_budget(d):
    X, y = two_clouds(3000, d=d)
    budget = 20_000_000  # K would take 72 MB
    tracemalloc.start()
    try:
        design = KernelDesign(X, Gaussian(0.1), memory=budget)
        solution = solve(Problem(design, y, "hinge", alpha=1e-3), "smo", tol=1e-3, resumable=False)
        assert solution.converged
        assert tracemalloc.get_traced_memory()[1] <= budget
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("memory", [4 * 2100 * 50, 4 * 2100 * 3000])  # too little for all, and enough
@pytest.mark.parametrize("sparsely", [False, True])
def test_kept_columns_are_those_of_the_kernel_matrix(memory, sparsely):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 40)) * (rng.random((2100, 40)) < (0.8 if sparsely else 1.0))
    tiles = FunctionTiles(sparse.csr_array(X) if sparsely else X, Gaussian(0.02), thin=sparsely)
    kept, K = KeptColumns(tiles, memory), rbf_kernel(X, gamma=0.02)
    asked = set()
    for _ in range(8):
        columns = np.sort(rng.choice(300, 80, replace=False))
        asked.update(columns.tolist())
        weights = rng.normal(size=80)
        np.testing.assert_allclose(kept.sums(columns, weights), K[:, columns] @ weights, atol=1e-4)
        chosen = np.sort(rng.choice(300, 60, replace=False))
        np.testing.assert_allclose(kept.tile(chosen), K[np.ix_(chosen, chosen)], atol=1e-5)
    assert (kept.slot >= 0).sum() == min(len(kept.kept), len(asked))


def test_screening_is_right():
    X, y = two_clouds(200)
    problem = Problem(KernelDesign(X, Gaussian(0.5)), y, "hinge", alpha=1e-2)
    exact = solve(problem, "smo", tol=1e-13).w
    rough = solve(problem, partial(smo, rule="second_order"), tol=1e-5)
    dual = Dual(problem, rough.w)
    dual.screen(rough.certificate.gap)
    assert dual.fixed.sum() > 50
    np.testing.assert_allclose(dual.v[dual.fixed], exact[dual.fixed], atol=1e-9)


# -- the theory --------------------------------------------------------------------------------------------


class Quadratic:
    """f(x) = 1/2 x'Qx - sum x, 0 <= x <= c, <y, x> = 0, and its minimum."""

    def __init__(self, n=14, c=1.0, seed=0):
        X, self.y = two_clouds(n, seed=seed)
        K = rbf_kernel(X, gamma=0.5)
        self.Q, self.c = K * np.outer(self.y, self.y), c
        problem = Problem(KernelDesign(K), self.y, "hinge", alpha=1 / (c * n))
        solution = solve(problem, "smo", tol=1e-14)
        self.optimum = solution.w * self.y
        self.lowest = self.value(self.optimum)

    def value(self, x):
        return 0.5 * x @ self.Q @ x - x.sum()

    def run(self, rule, curvature, steps, seed=0):
        """x after each step."""
        n = len(self.y)
        x, g = np.zeros(n), -np.ones(n)
        bound = pair_bound(self.Q, -np.ones(n)) if curvature == "bound" else 0.0
        draws = np.random.default_rng(seed).random((steps, 1, 2))
        lower, upper = np.zeros(n), np.full(n, self.c)
        for draw in draws:
            rules.pair_steps(self.Q, g, self.y, x, lower, upper, RULES.index(rule), bound, draw, 1e-12)
            yield x.copy()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("curvature", CURVATURES)
def test_steps_keep_the_constraints_and_never_ascend(rule, curvature):
    problem = Quadratic()
    before = 0.0
    for x in problem.run(rule, curvature, 200):
        assert (x >= 0).all() and (x <= problem.c).all()
        assert problem.y @ x == pytest.approx(0.0, abs=1e-12)
        assert problem.value(x) <= before + 1e-13
        before = problem.value(x)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("curvature", CURVATURES)
def test_linear_rate_over_seeds(rule, curvature):
    """E f(x_k) - f* <= (1 - mu / (|B| L))^k (f(x_0) - f*), |B| the number of pairs, mu the constant of strong
    convexity on the subspace of the constraint, with which the proximal inequality holds."""
    problem = Quadratic()
    n, y = len(problem.y), problem.y
    values = np.linalg.eigvalsh(problem.Q)
    null = np.linalg.svd(y[None])[2][1:]
    mu, L = np.linalg.eigvalsh(null @ problem.Q @ null.T)[0], values[-1]
    steps, seeds = 400, range(40 if rule == "random" else 1)
    gaps = np.mean(
        [
            [problem.value(x) - problem.lowest for x in problem.run(rule, curvature, steps, seed)]
            for seed in seeds
        ],
        axis=0,
    )
    rate = 1 - mu / (n * (n - 1) / 2 * L)
    assert (gaps <= rate ** np.arange(1, steps + 1) * -problem.lowest + 1e-12).all()
    assert gaps[-1] < 0.02 * gaps[0]  # and far faster than the bound


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("curvature", CURVATURES)
def test_support_vectors_are_identified_in_finitely_many_steps(rule, curvature):
    """After some step, the variables at 0 and at c are those of the optimum, and stay so."""
    problem = Quadratic(c=0.8, seed=1)
    g = problem.Q @ problem.optimum - 1
    at = [problem.optimum < 1e-12, problem.optimum > problem.c - 1e-12]
    free = ~(at[0] | at[1])
    assert free.any() and at[0].any() | at[1].any()
    nu = -np.mean(problem.y[free] * g[free])
    assert (np.abs(g + nu * problem.y)[~free] > 1e-3).all()  # strict complementarity
    same = [
        np.array_equal(x == 0, at[0]) and np.array_equal(x == problem.c, at[1])
        for x in problem.run(rule, curvature, 6000 if curvature == "bound" or rule == "random" else 1500)
    ]
    assert same[-1]
    last_wrong = max((k for k, right in enumerate(same) if not right), default=-1)
    assert last_wrong < 0.8 * len(same)


@pytest.mark.parametrize("rule", RULES)
def test_rules_reach_certified_optima(rule):
    X, y = two_clouds(40)
    for intercept in (True, False):
        problem = Problem(KernelDesign(X, Gaussian(0.5)), y, "hinge", alpha=1e-2, intercept=intercept)
        exact = solve(problem, "smo", tol=1e-12)
        solution = solve(problem, partial(smo, rule=rule, seed=1), tol=1e-6)
        assert solution.converged
        assert solution.certificate.primal == pytest.approx(exact.certificate.primal, rel=2e-6)


def test_seeds_and_refusals():
    X, y = two_clouds(30)
    problem = Problem(KernelDesign(X, Gaussian(0.5)), y, "hinge", alpha=1e-2)
    same = [solve(problem, partial(smo, rule="random", seed=5), tol=1e-4).w for _ in range(2)]
    assert same[0].tobytes() == same[1].tobytes()
    with pytest.raises(ValueError, match="rule must be"):
        solve(problem, partial(smo, rule="lucky"))
    with pytest.raises(IncompatibleSolver, match="kinks"):
        solve(Problem(problem.design, y, EpsilonInsensitive(0.1)), partial(smo, rule="random"))
    with pytest.raises(IncompatibleSolver, match="whole kernel matrix"):
        solve(Problem(KernelDesign(X, Gaussian(1.0), memory=1000), y), partial(smo, rule="random"))
    with pytest.raises(IncompatibleSolver, match="a kernel"):
        solve(Problem(X, y), "smo")
    with pytest.raises(ValueError, match="L2"):
        Problem(problem.design, y, penalty="l1")


def test_trace_tells_when_variables_were_identified():
    X, y = two_clouds(200)
    trace = Identification()
    problem = Problem(KernelDesign(X, Gaussian(0.5)), y, "hinge", alpha=1e-3)
    solution = solve(problem, partial(smo, trace=trace), tol=1e-10)
    assert trace.since.shape == y.shape
    assert (trace.since[solution.w == 0] >= 0).all() and (trace.since[solution.w != 0] > 0).all()
    assert trace.since.max() <= trace.steps


def test_compiled_steps_agree_with_an_exhaustive_search():
    """The second-order rule on a tile: each step is the best partner of the worst violator."""
    problem = Quadratic(n=12)
    K = problem.Q * np.outer(problem.y, problem.y)
    lower, upper = np.where(problem.y > 0, 0.0, -1.0), np.where(problem.y > 0, 1.0, 0.0)
    v, G = np.zeros(12), -problem.y.copy()
    for _ in range(30):
        rise, fall = v < upper, v > lower
        lowest = G[rise].min()
        if G[fall].max() - lowest <= 1e-9:
            break
        before, slopes = v.copy(), G.copy()
        limits = Limits(lower, upper, np.zeros(12), False)
        second_order(alone(K), G, v, limits, 1, 1e-12, 1e-12, np.full(2, np.nan), unseen())
        (i,), (j,) = np.flatnonzero(v > before), np.flatnonzero(v < before)
        assert slopes[i] <= lowest + 1e-6
        gains = [
            (slopes[k] - slopes[i]) ** 2 / (2 - 2 * K[i, k])
            for k in np.flatnonzero(fall & (slopes > slopes[i]))
        ]
        assert (slopes[j] - slopes[i]) ** 2 / (2 - 2 * K[i, j]) >= 0.999 * max(gains)
        np.testing.assert_allclose(G, K @ v - problem.y, atol=1e-12)


def test_compiled_steps_keep_the_two_sides_apart():
    """With two sums, both stay what they are, and at the end no pair on one side improves on another."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(12, 20))
    K, p = A @ A.T, rng.normal(size=12)
    v = np.where(np.arange(12) % 2, 0.3, -0.3)
    v[:2] = 0.0  # may go to either side
    lower, upper, start = np.full(12, -1.0), np.full(12, 1.0), v.copy()
    limits = Limits(lower, upper, np.zeros(12), True)
    taken, violation = second_order(
        alone(K), K @ v + p, v, limits, 10_000, 1e-10, 1e-12, np.full(2, np.nan), unseen()
    )
    assert taken > 10 and violation <= 1e-10
    for side in (1, -1):
        assert np.maximum(side * v, 0).sum() == pytest.approx(np.maximum(side * start, 0).sum(), rel=1e-12)
    G = K @ v + p  # on each side, nothing is gained by a shift from one variable to another
    for may_rise, may_fall in ((v >= 0) & (v < 1), v > 0), (v < 0, (v <= 0) & (v > -1)):
        assert G[may_fall].max() - G[may_rise].min() <= 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_no_sample_is_a_support_vector_by_rounding(seed):
    rng = np.random.default_rng(seed)
    X, y = two_clouds(100 + 40 * seed)
    X = X + 0.3 * rng.normal(size=X.shape)
    w = solve(Problem(KernelDesign(X, Gaussian(0.5)), y, "hinge", alpha=1e-2), "smo", tol=1e-4).w
    assert np.abs(w[w != 0]).min() > 1e-9 * np.abs(w).max() and (w == 0).any()


def test_few_samples_take_two_products_for_each_look(monkeypatch):
    """Scores come with the steps; the point and its bound take a product with K each."""
    products = []
    sums = MatrixTiles.sums
    monkeypatch.setattr(
        MatrixTiles, "sums", lambda self, *args, **more: products.append(1) or sums(self, *args, **more)
    )
    X, y = two_clouds(120)
    solution = solve(Problem(KernelDesign(X, Gaussian(0.5)), y, "hinge", alpha=1e-2), "smo", tol=1e-3)
    assert solution.converged and len(products) == 2 * solution.n_iter == 2


@pytest.mark.parametrize("seed", range(6))
def test_variables_stay_on_their_bounds_when_a_point_is_made_feasible(seed):
    """One that makes up for the sum of all is moved by more than a last digit: it is not free for that."""
    rng = np.random.default_rng(seed)
    n = 300 + 100 * seed
    design = KernelDesign(rng.normal(size=(n, 3)), Gaussian(0.5))
    dual = Dual(Problem(design, np.ones(n), Novelty(0.2), alpha=1 / (0.2 * n), intercept=True), None)
    dual.v = rng.permutation(np.clip(dual.v, dual.lower, dual.upper))
    bounded = (dual.v == dual.lower) | (dual.v == dual.upper)
    dual.v[~bounded] += 1e-10 * rng.normal(size=(~bounded).sum()) * np.abs(dual.v).max()
    dual.settle()
    assert bounded.sum() > n // 2
    np.testing.assert_array_equal((dual.v == dual.lower) | (dual.v == dual.upper), bounded)
