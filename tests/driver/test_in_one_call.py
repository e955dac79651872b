"""Small fits in one compiled call: the same optimum as any solver's, proved."""

import numpy as np
import pytest
from scipy import sparse

from gapfit import LinearClassifier, LinearRegressor, Problem, solve
from gapfit.design.memory import MemoryDesign
from gapfit.driver import in_one_call
from gapfit.driver.in_one_call import Small
from gapfit.driver.one_call_given import Plain
from gapfit.losses import Hinge
from gapfit.penalties import Box
from gapfit.registry import as_loss, as_penalty

LABELS = ("hinge", "squared_hinge", "smoothed_hinge", "logistic")
REAL = ("squared", "absolute", "quantile", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")


def drawn(seed):
    """A problem of any loss and penalty that there is for it: X, y, weights and the rest."""
    rng = np.random.default_rng(seed)
    n = int(10 ** rng.uniform(1, 2.5))
    d = int(min(n // 2, 10 ** rng.uniform(0, 1.3)))
    X = (rng.normal(size=(n, d)) + rng.choice([0, 1, 10]) * rng.normal(size=d)) * 10 ** rng.uniform(-1, 1, d)
    loss, penalty = str(rng.choice(LABELS + REAL)), str(rng.choice(["l2", "l1", "elastic_net"]))
    f = X[:, 0] / X[:, 0].std() + 10 ** rng.uniform(-1, 1) * rng.normal(size=n)
    y = np.where(f > np.median(f), 1.0, -1.0) if loss in LABELS else f
    weight = np.ones(n) if rng.random() < 0.5 else 10 ** rng.uniform(-2, 2, n)
    return X, y, weight, loss, penalty, 10 ** rng.uniform(-3, 0), bool(rng.random() < 0.6)


@pytest.mark.parametrize("seed", range(120))
def test_bounds_agree_with_those_of_the_bundle(seed):
    X, y, weight, loss, penalty, alpha, free = drawn(seed)
    small = Small.of(Plain.of(MemoryDesign(X), weight, as_loss(loss), as_penalty(penalty), alpha, free))
    found = small.fit(y, 1e-6)
    problem = Problem(X, y, loss, penalty, alpha, weight, free)
    other = solve(problem, "bundle", tol=1e-6, max_time=20).certificate
    mine = found.certificate
    assert mine.relative_gap <= 1e-6
    assert mine.dual <= other.primal and other.dual <= mine.primal
    again = found._replace(slope=None).solution(problem)  # by the proofs of `Problem`
    assert again.certificate.relative_gap <= 1.1e-6
    assert again.certificate.primal == pytest.approx(mine.primal, rel=1e-12)
    least = problem.best(found.w, np.zeros(problem.n_offsets))[0]
    assert mine.primal <= least + 1e-12 * abs(least)  # the intercept is the best one


@pytest.mark.parametrize("seed", range(12))
def test_outliers_under_l1_are_certified_at_once(seed):
    """Far out a loss of Huber's is a line, and its dual variable at an end of the box: scaled down, it loses
    more than scores tell. A guess that knew only these was content too soon."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(200, 3000)), int(rng.integers(3, 9))
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 1))
    y = X[:, 0] + 5 * rng.normal(size=n) + 20 * rng.normal(size=n) * (rng.random(n) < 0.02)
    most = np.abs((X - X.mean(axis=0)).T @ np.clip(y - np.median(y), -1, 1)).max() / n
    alpha = 10 ** rng.uniform(-1, -0.3) * most
    small = Small.of(Plain.of(MemoryDesign(X), np.ones(n), as_loss("huber"), as_penalty("l1"), alpha, True))
    assert small.fit(y, 1e-4).certificate.relative_gap <= 1e-4


def wide(seed):
    """One of more columns than a Hessian is worth, dense or sparse, that coordinate descent finds easy."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(50, 200)), int(rng.integers(300, 1000))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.02, 0.3, 1.0]))
    loss = str(rng.choice(LABELS + REAL))
    f = X @ rng.normal(size=d) * (rng.random() < 0.8) + rng.normal(size=n) + rng.choice([0.0, 5.0])
    y = np.where(f > np.median(f), 1.0, -1.0) if loss in LABELS else f / f.std()
    weight = np.ones(n) if rng.random() < 0.5 else rng.integers(1, 5, n).astype(float)
    alpha = 10 ** rng.uniform(-1.5, 0.5) * float((X * X).sum() / n)
    return sparse.csr_matrix(X) if (X == 0).any() else X, y, weight, loss, alpha, bool(rng.random() < 0.6)


@pytest.mark.parametrize("seed", range(60))
def test_wide_rows_go_by_samples_or_by_products(seed):
    X, y, weight, loss, alpha, free = wide(seed)
    small = Small.of(Plain.of(MemoryDesign(X), weight, as_loss(loss), as_penalty("l2"), alpha, free))
    found = small.fit(y, 1e-4)
    if found is None:  # a few make no headway, and are left to others
        return
    assert found.solver == ("newton_cg" if loss in ("logistic", "squared") else "dual_cd")
    problem = Problem(X, y, loss, "l2", alpha, weight, free)
    mine, other = found.certificate, solve(problem, tol=1e-8).certificate
    assert mine.dual <= other.primal and other.dual <= mine.primal
    assert found.solution(problem).certificate.relative_gap <= 1.1e-4
    least = problem.best(found.w, np.zeros(problem.n_offsets))[0]
    assert mine.primal <= least + 1e-9 * abs(least)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("n, d, solver", [(100, 130, "small_newton"), (500, 2500, "newton_cg")])
def test_what_sweeps_give_up_is_certified_by_steps(n, d, solver, seed):
    """Rows of one or two entries under next to no penalty: equal ones of both labels pull at few weights."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, d))
    X[np.arange(n), rng.integers(0, d // 6, n)] = np.abs(rng.normal(size=n))
    X[np.arange(n), rng.integers(0, d, n)] = np.abs(rng.normal(size=n))
    y, weight = np.where(rng.random(n) < 0.5, 1.0, -1.0), np.ones(n)
    alpha = 1e-4 * float((X * X).sum() / n)
    loss, penalty = as_loss("squared_hinge"), as_penalty("l2")
    small = Small.of(Plain.of(MemoryDesign(sparse.csr_matrix(X)), weight, loss, penalty, alpha, True))
    found = small.fit(y, 1e-6)
    assert found.solver in (solver, "dual_cd") and found.certificate.relative_gap <= 1e-6
    if found.solver == "dual_cd":
        small = small._replace(methods=small.methods[1:])
        assert small.fit(y, 1e-6).solver == solver
    other = solve(Problem(sparse.csr_matrix(X), y, loss, penalty, alpha, weight, True), tol=1e-8).certificate
    assert found.certificate.dual <= other.primal and other.dual <= found.certificate.primal


def tall(seed):
    """One of more samples than columns, of losses that are round: at any alpha, with columns of all sizes."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(300, 2000)), int(rng.integers(70, 300))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.02, 0.3, 1.0]))
    X = X * 10.0 ** rng.uniform(-1, 1, d) + rng.choice([0.0, 1.0]) * rng.normal(size=(n, 1))
    loss = str(rng.choice(["logistic", "squared", "squared_hinge", "squared_epsilon_insensitive", "huber"]))
    f = X @ rng.normal(size=d) + rng.normal(size=n) + rng.choice([0.0, 5.0])
    y = np.where(f > np.median(f), 1.0, -1.0) if loss in LABELS else f / f.std()
    weight = np.ones(n) if rng.random() < 0.5 else rng.integers(1, 5, n).astype(float)
    alpha = 10 ** rng.uniform(-5, 0) * float((X * X).sum() / n)
    return sparse.csr_matrix(X) if (X == 0).any() else X, y, weight, loss, alpha, bool(rng.random() < 0.6)


@pytest.mark.parametrize("seed", range(60))
def test_round_losses_of_many_weights_go_by_products(seed):
    X, y, weight, loss, alpha, free = tall(seed)
    small = Small.of(Plain.of(MemoryDesign(X), weight, as_loss(loss), as_penalty("l2"), alpha, free))
    found = small.fit(y, 1e-6)
    assert found.solver == "newton_cg"
    problem = Problem(X, y, loss, "l2", alpha, weight, free)
    mine, other = found.certificate, solve(problem, tol=1e-9).certificate
    assert mine.relative_gap <= 1e-6
    assert mine.dual <= other.primal and other.dual <= mine.primal
    assert found.solution(problem).certificate.relative_gap <= 1.1e-6


@pytest.mark.parametrize("seed", range(40))
def test_sparse_weights_of_sparse_rows_go_by_columns(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(50, 300)), int(rng.integers(300, 1500))
    X = sparse.random(n, d, 0.02, format="csr", random_state=seed, data_rvs=rng.standard_normal)
    loss, penalty = (
        str(rng.choice(["squared", "squared_hinge", "logistic"])),
        str(rng.choice(["l1", "elastic_net"])),
    )
    f = X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)
    y = np.where(f > np.median(f), 1.0, -1.0) if loss in LABELS else f / f.std()
    free = bool(rng.random() < 0.6)
    problem = Problem(X, y, loss, penalty, 1.0, intercept=free)
    alpha = 0.2 * float(np.abs(X.T @ problem.tangent(np.zeros(n)).u).max())
    small = Small.of(Plain.of(MemoryDesign(X), np.ones(n), as_loss(loss), as_penalty(penalty), alpha, free))
    found = small.fit(y, 1e-4)
    assert found.solver == "primal_cd"
    problem = problem.at(alpha)
    mine, other = found.certificate, solve(problem, tol=1e-8).certificate
    assert mine.dual <= other.primal and other.dual <= mine.primal
    assert found.solution(problem).certificate.relative_gap <= 1.1e-4


def hostile(seed):
    """Columns that are alike, or constant, or of all sizes; samples of all weights; labels that can be told
    apart; few rows, or one that stands for most."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 120)), int(rng.integers(60, 400))
    X = rng.normal(size=(n, d)) + rng.choice([0.0, 3.0]) * rng.normal(size=(n, 1))
    X *= rng.random((n, d)) < rng.choice([0.05, 1.0])
    kind = seed % 5
    if kind == 1:
        X[:, d // 2 :] = X[:, : d - d // 2]
    if kind == 2:
        X[:, ::7] = rng.normal(size=len(X[0, ::7]))
    if kind == 3:
        X *= 10.0 ** rng.uniform(-5, 5, d)
    loss = str(rng.choice(["squared", "huber", "squared_hinge", "logistic", "squared_epsilon_insensitive"]))
    f = X @ (rng.normal(size=d) * (rng.random(d) < 0.1) / np.maximum(np.abs(X).max(axis=0), 1e-9))
    f += rng.choice([0.0, 1.0]) * rng.normal(size=n)
    y = np.where(f >= np.median(f), 1.0, -1.0) if loss in LABELS else f + rng.choice([0.0, 100.0])
    weight = 10 ** rng.uniform(-3, 3, n) if kind == 4 else np.ones(n)
    penalty, free = str(rng.choice(["l1", "elastic_net"])), bool(rng.random() < 0.6)
    return sparse.csr_matrix(X) if (X == 0).mean() > 0.5 else X, y, weight, loss, penalty, free


@pytest.mark.parametrize("seed", range(30))
def test_hostile_columns_are_proved_or_left_to_others(seed):
    X, y, weight, loss, penalty, free = hostile(seed)
    problem = Problem(X, y, loss, penalty, 1.0, weight, free)
    steepest = float(np.abs(X.T @ problem.tangent(np.zeros(len(y))).u).max())
    for strength, tol in ((0.3, 1e-6), (0.01, 1e-4)):
        alpha = strength * steepest
        small = Small.of(Plain.of(MemoryDesign(X), weight, as_loss(loss), as_penalty(penalty), alpha, free))
        found = small.fit(y, tol)
        if found is None:
            continue
        here = problem.at(alpha)
        mine, other = found.certificate, solve(here, "primal_cd", tol=1e-7, max_time=1).certificate
        assert mine.relative_gap <= tol
        assert mine.dual <= other.primal and other.dual <= mine.primal
        assert found.solution(here).certificate.relative_gap <= 1.1 * tol
        least = here.best(found.w, np.zeros(here.n_offsets))[0]
        assert mine.primal <= least + 1e-9 * abs(least)


def test_hostile_columns_are_seldom_given_up():
    ended = []
    for seed in range(60):
        X, y, weight, loss, penalty, free = hostile(seed)
        problem = Problem(X, y, loss, penalty, 1.0, weight, free)
        alpha = 0.1 * float(np.abs(X.T @ problem.tangent(np.zeros(len(y))).u).max())
        small = Small.of(Plain.of(MemoryDesign(X), weight, as_loss(loss), as_penalty(penalty), alpha, free))
        ended.append(small.fit(y, 1e-4) is not None)
    assert sum(ended) >= 55


def test_few_of_them_are_given_up():
    ended = []
    for seed in range(60):
        X, y, weight, loss, alpha, free = wide(seed)
        small = Small.of(Plain.of(MemoryDesign(X), weight, as_loss(loss), as_penalty("l2"), alpha, free))
        ended.append(small.fit(y, 1e-4) is not None)
    assert sum(ended) >= 57


def test_what_is_slow_is_given_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 200)) + 5 * rng.normal(size=(300, 1))
    small = Small.of(
        Plain.of(MemoryDesign(X), np.ones(300), as_loss("absolute"), as_penalty("l2"), 1e-7, True)
    )
    assert small.fit(rng.normal(size=300), 1e-6) is None
    model = LinearRegressor(loss="absolute", alpha=1e-3, tol=1e-4).fit(X, rng.normal(size=300))
    assert model.converged_  # by others


def test_what_is_not_for_one_call_is_left_to_others():
    X, _, weight, *_ = drawn(0)
    hinge, l2 = as_loss("hinge"), as_penalty("l2")

    def of(X=X, loss=hinge, penalty=l2):
        given = Plain.of(MemoryDesign(X), weight, loss, penalty, 0.1, True)
        return given and Small.of(given)

    assert of() is not None
    assert of(X=sparse.csr_matrix(X)) is not None
    assert of(X=X.astype(np.float32)) is None
    assert of(penalty=Box(l2, 0.0, 1.0)) is None
    assert of(loss=as_loss("exponential")) is None
    assert of(loss=as_loss("f_beta")) is None
    assert of(X=np.zeros((100_000, 250))) is None
    assert of(X=np.zeros((100_000, 60))).fit(np.resize([1.0, -1.0], 100_000), 1e-4) is None  # it has lines
    crowd = of(X=np.full((100_000, 10), 30.0))
    assert crowd.fit(np.resize([1.0, -1.0], 100_000), 1e-4) is None  # too many sweeps

    class Mine(Hinge):
        def bind(self, y, weight, groups=None):
            return super().bind(y, weight, groups)

    lines = of(X=sparse.csr_matrix(np.ones((30, 900))), penalty=as_penalty("l1"))
    assert lines.fit(np.resize([1.0, -1.0], 30), 1e-4) is None  # steps would be very many

    assert of(loss=Mine()) is None  # it may do more than that


def test_many_dense_rows_go_by_products_where_these_are_few():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2800))
    y, ones = np.where(X[:, 0] > 0, 1.0, -1.0), np.ones(1500)

    def fitted(loss, ease):
        net = Plain.of(MemoryDesign(X), ones, as_loss(loss), as_penalty("l2"), ease * 2800 / 1500, True)
        return Small.of(net).fit(y, 1e-3)

    for found in (fitted("logistic", 0.1), fitted("squared_hinge", 10.0), fitted("squared", 0.1)):
        assert found.solver == "newton_cg" and found.certificate.relative_gap <= 1e-3
    assert fitted("squared_hinge", 0.1) is None  # weights may fit all samples, which have no curvature then


def test_numbers_that_are_too_large_are_left_to_those_who_name_them():
    X, y, weight, *_ = drawn(1)
    small = Small.of(
        Plain.of(MemoryDesign(X * 1e120), weight, as_loss("squared"), as_penalty("l2"), 0.1, True)
    )
    assert small.fit(y, 1e-4) is None
    with pytest.raises(ValueError, match="X holds"):
        LinearRegressor().fit(X * 1e120, y)


def test_labels_without_a_best_intercept_are_left_to_those_who_name_them():
    X = np.random.default_rng(0).normal(size=(30, 2))
    small = Small.of(Plain.of(MemoryDesign(X), np.ones(30), as_loss("logistic"), as_penalty("l2"), 0.1, True))
    assert small.fit(np.ones(30), 1e-4) is None


@pytest.mark.parametrize("loss", LABELS)
def test_statements_are_made_when_asked_for(loss, monkeypatch):
    calls = []
    fit = Small.fit
    monkeypatch.setattr(in_one_call.Small, "fit", lambda *given: calls.append(fit(*given)) or calls[-1])
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=80), [-0.5, 0.5])
    model = LinearClassifier(loss=loss, alpha=1e-2, tol=1e-6).fit(X, y)
    assert len(calls) == 3 and None not in calls
    lo, hi = model.score_bounds(X)
    exact = LinearClassifier(loss=loss, alpha=1e-2, tol=1e-10, solver="semismooth_newton", max_time=60)
    if loss == "logistic":
        exact.set_params(solver="newton")
    lowest, highest = exact.fit(X, y).score_bounds(X)  # both hold the optimum's scores
    assert (lo <= highest).all() and (lowest <= hi).all()
    assert model.support_status_.shape == (3, 80)
    assert model.certified_zeros_.shape == model.coef_.shape
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=0.05)
    assert [record.proved for record in model.history_[0]].count(True) == 1


def counts(seed):
    """Counts of any size, of few features or many that are sparse, some of them with outliers."""
    rng = np.random.default_rng(seed)
    n, few = int(rng.integers(20, 300)), rng.random() < 0.6
    d = int(rng.integers(1, max(n // 4, 2))) if few else int(rng.integers(200, 800))
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-1, 1, d) if few else rng.normal(size=(n, d))
    X *= 1.0 if few else rng.random((n, d)) < 0.05
    f = X @ (rng.normal(size=d) * (rng.random(d) < 0.3))
    y = rng.poisson(np.exp(np.clip(f / (f.std() + 1e-9) + rng.uniform(-1, 4), -20, 8))).astype(float)
    y[0] += rng.choice([1.0, 1e4])
    weight = np.ones(n) if rng.random() < 0.5 else 10 ** rng.uniform(-2, 2, n)
    penalty, free = str(rng.choice(["l1", "elastic_net"] + ["l2"] * few)), bool(rng.random() < 0.6)
    return X if few else sparse.csr_matrix(X), y, weight, penalty, free


@pytest.mark.parametrize("seed", range(80))
def test_counts_are_proved(seed):
    X, y, weight, penalty, free = counts(seed)
    problem = Problem(X, y, "poisson", penalty, 1.0, weight, free)
    steepest = float(np.abs(X.T @ problem.tangent(np.zeros(len(y))).u).max())
    alpha = (0.1 if penalty != "l2" else 1e-2) * steepest
    small = Small.of(Plain.of(MemoryDesign(X), weight, as_loss("poisson"), as_penalty(penalty), alpha, free))
    found, here = small.fit(y, 1e-6), problem.at(alpha)
    assert found is not None
    other = solve(here, "newton" if penalty == "l2" else "primal_cd", tol=1e-8, max_time=10).certificate
    assert found.certificate.relative_gap <= 1e-6
    assert found.certificate.dual <= other.primal and other.dual <= found.certificate.primal
    assert found.solution(here).certificate.relative_gap <= 1.1e-6
    least = here.best(found.w, np.zeros(here.n_offsets))[0]
    assert found.certificate.primal <= least + 1e-11 * abs(least)
