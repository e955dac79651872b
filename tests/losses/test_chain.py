"""Chains: log-partition functions, marginals and best labellings by brute force; bounds and their solvers."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from gapfit import IncompatibleSolver, Problem, solve
from gapfit.design import chain
from gapfit.design.chain import ALL, ChainDesign, Pairs
from gapfit.losses import ChainCRF, ChainMargin
from gapfit.losses.chain import ChainScores, best_labels, marginals
from gapfit.testing import check_solver

LOSSES = [
    ChainCRF(),
    ChainMargin(),
    ChainMargin(rescale="slack"),
    ChainMargin(cost=[[0, 2, 1], [1, 0, 3], [0.5, 1, 0]]),
]


def labellings(L, K):
    return np.array(list(itertools.product(range(K), repeat=L)))


def score(scores, y, first):
    """The score of the labelling y of the chain whose first token is `first`."""
    total = scores.start[y[0]] + scores.end[y[-1]]
    for t, label in enumerate(y):
        total += scores.nodes[first + t, label]
        if t:
            total += scores.edges[(first + t) if len(scores.edges) > 1 else 0, y[t - 1], label]
    return total


def brute_risk(loss, scores, labels, lengths, shares):
    """The loss by its definition."""
    K, total, first = len(scores.start), 0.0, 0
    for L, p in zip(lengths, shares, strict=True):
        y = labels[first : first + L]
        every = labellings(L, K)
        f = np.array([score(scores, other, first) for other in every]) - score(scores, y, first)
        errors = (every != y).sum(axis=1)
        if isinstance(loss, ChainCRF):
            top = f.max()
            total += p * (top + np.log(np.exp(f - top).sum()))
        elif loss.rescale == "slack":
            total += p * (errors * (1 + f)).max()
        else:
            cost = errors if loss.cost is None else np.array(loss.cost)[y, every].sum(axis=1)
            total += p * (cost + f).max()
        first += L
    return total


def random_chains(rng, K=3, chains=4, size=1.0, own_edges=False):
    lengths = rng.integers(1, 6, chains)
    n = lengths.sum()
    flat = size * rng.normal(size=n * K + (n if own_edges else 1) * K * K + 2 * K)
    labels = rng.integers(0, K, n)
    return flat, labels, lengths


@pytest.mark.parametrize("own_edges", [False, True])
@pytest.mark.parametrize("size", [1.0, 50.0, 1e4])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_risk_is_what_its_definition_says(loss, size, own_edges):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        flat, labels, lengths = random_chains(rng, size=size, own_edges=own_edges)
        if seed % 2:
            flat = np.round(flat)  # ties
        weight = rng.integers(1, 4, len(lengths)).astype(float)
        chains = np.repeat(np.arange(len(lengths)), lengths)
        bound = type(loss)(**{**vars(loss), "labels": 3}).bind(labels, np.repeat(weight, lengths), chains)
        value, u, _ = bound.value_and_subgradient(flat, np.zeros(0))
        scores = ChainScores.of(flat, len(labels), 3)
        expected = brute_risk(loss, scores, labels, lengths, weight / weight.sum())
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-12 * size)
        for _ in range(5):  # convex, and u is a subgradient
            other = flat + rng.normal(size=len(flat)) * size
            there, _, _ = bound.value_and_subgradient(other, np.zeros(0))
            assert there >= value + u @ (other - flat) - 1e-10 * max(size, abs(value))


def test_the_derivative_of_the_crf_is_its_difference_quotient():
    rng = np.random.default_rng(1)
    for own_edges in (False, True):
        flat, labels, lengths = random_chains(rng, own_edges=own_edges)
        chains = np.repeat(np.arange(len(lengths)), lengths)
        risk = ChainCRF(3).bind(labels, np.ones(len(labels)), chains)
        _, u, _ = risk.value_and_subgradient(flat, np.zeros(0))
        for k in range(len(flat)):
            step = np.zeros(len(flat))
            step[k] = 1e-5
            up, down = (risk.value_and_subgradient(flat + s * step, np.zeros(0))[0] for s in (1, -1))
            assert u[k] == pytest.approx((up - down) / 2e-5, abs=1e-8)


@pytest.mark.parametrize("size", [0.0, 1.0, 40.0, 1e5])
def test_marginals_and_best_labels_by_brute_force(size):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        K = int(rng.integers(2, 5))
        flat, _, lengths = random_chains(rng, K=K, size=size, own_edges=bool(seed % 2))
        tokens = np.concatenate(([0], np.cumsum(lengths)))
        scores = ChainScores.of(flat, int(tokens[-1]), K)
        found, log_z = marginals(flat, tokens, K)
        path = best_labels(flat, tokens, K)
        expected_log_z = 0.0
        for first, L in zip(tokens[:-1], lengths, strict=True):
            every = labellings(L, K)
            f = np.array([score(scores, y, first) for y in every])
            p = np.exp(f - f.max())
            expected_log_z += f.max() + np.log(p.sum())
            p /= p.sum()
            expected = np.stack([p @ (every == k) for k in range(K)], axis=1)
            np.testing.assert_allclose(found[first : first + L], expected, atol=1e-13 * max(size, 1e3))
            assert score(scores, path[first : first + L], first) == pytest.approx(f.max(), abs=1e-12 * size)
        assert log_z == pytest.approx(expected_log_z, rel=1e-12)


def test_a_label_that_only_later_tokens_speak_for_is_not_lost():
    """Probabilities of the left part alone underflow for the labelling that wins in the end."""
    K, L = 2, 40
    nodes = np.zeros((L, K))
    nodes[:20, 0], nodes[20:, 1] = 60.0, 100.0
    edges = np.array([[0.0, -1e4], [-1e4, 0.0]])  # who begins with 0 stays with 0
    flat = np.concatenate([nodes.ravel(), edges.ravel(), np.zeros(2 * K)])
    found, log_z = marginals(flat, np.array([0, L]), K)
    np.testing.assert_allclose(found[:, 1], 1.0)
    assert log_z == pytest.approx(2000.0)


# -- the design ----------------------------------------------------------------------------------------


def problem_of(loss, alpha=0.1, seed=0, kind="dense", chains=25, **kwargs):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, chains)
    n, K = int(lengths.sum()), 3
    X = rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.6)
    y = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=n)) + 1, 0, 2).astype(int)
    y[:3] = [0, 1, 2]
    pairs, edge = ALL, None
    if kind != "dense":
        X = sparse.csr_array(X)
    if kind == "seen":
        pairs = Pairs.seen(X[:10], y[:10], K)
    if kind == "edges":
        edge = rng.normal(size=(n, 2))
    design = ChainDesign(X, lengths, K, pairs, edge)
    loss = type(loss)(**{**vars(loss), "labels": K})
    groups = np.repeat(np.arange(chains), lengths)
    return Problem(design, y, loss, alpha=alpha, intercept=False, groups=groups, **kwargs)


@pytest.mark.parametrize("kind", ["dense", "sparse", "seen", "edges"])
def test_the_adjoint_is_the_adjoint(kind):
    design = problem_of(ChainCRF(), kind=kind).design
    rng = np.random.default_rng(0)
    w, u = rng.normal(size=design.shape[1]), rng.normal(size=design.shape[0])
    assert u @ design.scores(w) == pytest.approx(w @ design.adjoint(u))
    some = design.take(np.arange(int(design.tokens[7])))
    assert some.scores(w)[: some.n_nodes] == pytest.approx(design.scores(w)[: some.n_nodes])
    with pytest.raises(ValueError, match="a chain cannot be cut"):
        long = int(np.argmax(design.lengths > 1))
        design.take([design.tokens[long]])


def test_dense_and_sparse_are_the_same_problem():
    values = [
        solve(problem_of(ChainCRF(), kind=kind), tol=1e-8).certificate.primal for kind in ("dense", "sparse")
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-7)


@pytest.mark.parametrize("kind", ["dense", "seen", "edges"])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_risk_over_runs_of_chains_is_the_risk(loss, kind, monkeypatch):
    monkeypatch.setattr(chain, "_ROWS", 7)
    problem = problem_of(loss, kind=kind)
    w = np.random.default_rng(0).normal(size=problem.design.shape[1])
    whole, _, _ = problem.risk.value_and_subgradient(problem.design.scores(w), np.zeros(0))
    assert problem.design.risk(problem.risk, w, np.zeros(0))[0] == pytest.approx(whole, rel=1e-12)


def test_the_pairs_that_occur(monkeypatch):
    monkeypatch.setattr(chain, "_ROWS", 7)
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 9), density=0.1, format="csr", random_state=rng)
    X.data[::4] = 0.0  # stored zeros do not occur
    y = rng.integers(0, 3, 40)
    pairs = Pairs.seen(X, y, 3)
    found = {(j, int(k)) for j in range(9) for k in pairs.names[pairs.rows[j] : pairs.rows[j + 1]]}
    assert found == {(int(j), int(y[i])) for i, j in np.argwhere(X.toarray())}
    assert len(found) == len(pairs.names) and pairs.rows[-1] == len(found)


# -- solvers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "seen"])
@pytest.mark.parametrize("alpha", [1.0, 0.05])
@pytest.mark.parametrize("loss", [ChainCRF(), ChainMargin(), LOSSES[-1]], ids=repr)
def test_dual_ascent_agrees_with_the_bundle(loss, alpha, kind):
    for seed in range(3):
        problem = problem_of(loss, alpha, seed, kind)
        reference = solve(problem, "bundle", tol=1e-7).certificate
        tol = 1e-7 if isinstance(loss, ChainCRF) else 1e-2
        solution = solve(problem, "chain_dual", tol=tol)
        assert solution.converged
        assert solution.certificate.evidence == "accumulated"
        assert solution.certificate.dual <= reference.primal * (1 + 1e-12)
        assert solution.certificate.primal >= reference.dual * (1 - 1e-12)


def test_the_optimum_of_a_margin_is_that_of_the_quadratic_program():
    """All constraints of a problem small enough to write them down, solved by an independent program."""
    cvxpy = pytest.importorskip("cvxpy")
    problem = problem_of(ChainMargin(), 0.1, chains=5)
    design, risk = problem.design, problem.risk
    w, slack, constraints = cvxpy.Variable(design.shape[1]), cvxpy.Variable(5), []
    for i in range(5):
        first, last = risk.tokens[i], risk.tokens[i + 1]
        y = risk.labels[first:last]
        for other in labellings(last - first, 3):
            u = np.zeros(design.shape[0])
            for sign, path in ((1.0, other), (-1.0, y)):
                part = ChainScores.of(u, len(risk.labels), 3)
                part.start[path[0]] += sign
                part.end[path[-1]] += sign
                for t, label in enumerate(path):
                    part.nodes[first + t, label] += sign
                    if t:
                        part.edges[0, path[t - 1], label] += sign
            constraints.append(slack[i] >= float((other != y).sum()) + design.adjoint(u) @ w)
    program = cvxpy.Problem(cvxpy.Minimize(0.05 * cvxpy.sum_squares(w) + cvxpy.sum(slack) / 5), constraints)
    optimum = program.solve(solver=cvxpy.CLARABEL)
    certificate = solve(problem, "bundle", tol=1e-8).certificate
    assert certificate.primal == pytest.approx(optimum, rel=1e-6)


def test_dual_ascent_keeps_the_contract_of_solvers():
    check_solver("chain_dual", [problem_of(ChainCRF(), alpha, seed) for seed, alpha in enumerate((1.0, 0.1))])


def test_dual_ascent_goes_on_from_where_it_was():
    problem = problem_of(ChainCRF(), 0.3)
    whole = solve(problem, "chain_dual", tol=1e-9, max_iter=12)
    half = solve(problem, "chain_dual", tol=1e-9, max_iter=6)
    rest = solve(problem, "chain_dual", tol=1e-9, max_iter=6, start=half)
    assert rest.certificate.gap == pytest.approx(whole.certificate.gap, rel=1e-6)
    other = problem_of(ChainCRF(), 0.4)
    cold = solve(other, "chain_dual", tol=1e-4).n_iter
    assert solve(other, "chain_dual", tol=1e-4, start=whole).n_iter < cold
    assert solve(problem, "chain_dual", tol=1e-4, start=whole.w).n_iter < cold


def test_blocks_that_no_longer_move_do_no_harm():
    """Labels that are certain at low heat: changes of marginals underflow when they are squared."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    X = 40.0 * np.eye(3)[y] + 0.1 * rng.normal(size=(60, 3))
    for lengths in ([3] * 20, [60]):
        groups = np.repeat(np.arange(len(lengths)), lengths)
        problem = Problem(
            ChainDesign(X, lengths, 3), y, ChainMargin(labels=3), alpha=1e-2, intercept=False, groups=groups
        )
        solution = solve(problem, "chain_dual", tol=1e-2, max_iter=60)
        assert np.isfinite(solution.w).all() and solution.certificate.gap < np.inf


def test_the_same_bytes_for_any_number_of_threads():
    for loss in (ChainCRF(), ChainMargin()):
        problem = problem_of(loss, 0.1, chains=60)
        one, two = (solve(problem, "chain_dual", max_iter=3, n_jobs=jobs).w for jobs in (1, 2))
        assert one.tobytes() == two.tobytes()


def test_integer_weights_are_repetition_and_zero_is_absence():
    problem = problem_of(ChainCRF())
    design, y, groups = problem.design, problem.y, problem.groups
    weight = np.random.default_rng(0).integers(0, 3, len(design.lengths))
    weighted = Problem(
        design, y, problem.loss, alpha=0.1, intercept=False, groups=groups, sample_weight=weight[groups]
    )
    rows = np.concatenate(
        [np.arange(*design.tokens[i : i + 2]) for i in range(len(weight)) for _ in range(weight[i])]
    )
    copies = ChainDesign(design.memory.X[rows], np.repeat(design.lengths, weight), 3)
    names = np.repeat(np.arange(weight.sum()), np.repeat(design.lengths, weight))
    repeated = Problem(copies, y[rows], problem.loss, alpha=0.1, intercept=False, groups=names)
    values = [solve(p, tol=1e-9).certificate.primal for p in (weighted, repeated)]
    assert values[0] == pytest.approx(values[1], rel=1e-8)


def test_what_does_not_fit_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="ChainDesign"):
        Problem(rng.normal(size=(6, 2)), np.zeros(6), ChainCRF(), intercept=False).evaluate(
            np.zeros(2), np.zeros(0)
        )
    with pytest.raises(ValueError, match="follow each other"):
        ChainCRF().bind(np.zeros(3), np.ones(3), np.array([0, 1, 0]))
    with pytest.raises(ValueError, match="the same for all tokens"):
        ChainCRF().bind(np.zeros(2), np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="labels 0, 1, 2"):
        ChainCRF().as_target([0.5, 1.0], 2)
    with pytest.raises(ValueError, match="lengths add up"):
        ChainDesign(np.ones((3, 1)), [2], 2)
    with pytest.raises(ValueError, match="cost must be"):
        ChainMargin(cost=[[0, 1], [1, 1]]).bind(np.array([0, 1]), np.ones(2))
    with pytest.raises(IncompatibleSolver, match="without edge features"):
        solve(problem_of(ChainCRF(), kind="edges"), "chain_dual")
