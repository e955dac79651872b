"""Small fits of softmax and ordered levels in one compiled call: the same optimum as any solver's."""

import numpy as np
import pytest
from scipy import sparse

from gapfit import LinearClassifier, LinearRegressor, OrdinalClassifier, Problem, solve
from gapfit.design.memory import MemoryDesign
from gapfit.driver.curved_in_one_call import Curved
from gapfit.driver.in_one_call import Small
from gapfit.driver.one_call_given import Plain
from gapfit.losses import CrammerSinger, OrdinalThresholds, Poisson, Softmax
from gapfit.penalties import Box
from gapfit.registry import as_loss, as_penalty

LOSSES = (
    Softmax(),
    OrdinalThresholds("all", "logistic"),
    OrdinalThresholds("immediate", "logistic"),
)


def targets(f, rng):
    """A class or a level for each score."""
    K = int(rng.integers(2, 6))
    cuts = np.sort(rng.choice(f, K - 1, replace=False))  # some classes have few samples
    return np.unique(np.searchsorted(cuts, f), return_inverse=True)[1].astype(float)


def drawn(seed):
    """A problem of any of the losses: X, y, weights and the rest; some have no end but for the penalty."""
    rng = np.random.default_rng(seed)
    n = int(10 ** rng.uniform(0.8, 2.3))
    d = int(min(10 ** rng.uniform(0, rng.choice([1, 2.5])), 20_000 / n))
    X = rng.normal(size=(n, d)) + rng.choice([0, 1, 10]) * rng.normal(size=d)
    X *= 10 ** rng.uniform(-1, 1, d) * rng.choice([1e-4, 1, 1, 1e4])
    kind = rng.choice(["plain", "plain", "constant", "twice", "sparse"])
    if kind == "constant":
        X[:, rng.integers(d)] = rng.choice([0, 1])
    if kind == "twice":
        X[n // 2 :] = X[: n - n // 2]
    if kind == "sparse":
        X *= rng.random((n, d)) < 0.1
    f = X @ rng.normal(size=d)
    f = f / (f.std() + 1e-12) + rng.choice([0, 0.3, 3]) * rng.normal(size=n)
    loss = LOSSES[rng.integers(len(LOSSES))]
    weight = rng.choice([0, 1]) * rng.integers(0, 5, n) + 10 ** rng.uniform(-rng.choice([0, 0, 5]), 0, n)
    alpha = 10 ** rng.uniform(-5, 0) * float((X * X).sum() / n + 1e-12)
    free = bool(rng.random() < 0.6) or isinstance(loss, OrdinalThresholds)
    return sparse.csr_matrix(X) if kind == "sparse" else X, targets(f, rng), weight, loss, alpha, free


@pytest.mark.parametrize("seed", range(160))
def test_bounds_agree_with_those_of_others(seed):
    X, y, weight, loss, alpha, free = drawn(seed)
    small = Curved.of(Plain.of(MemoryDesign(X), weight, loss, as_penalty("l2"), alpha, free))
    tol = 10.0 ** -(3 + seed % 4)
    if len(np.unique(y)) < 2:
        return
    found = small.fit(y, tol)
    problem = Problem(X, y, loss, "l2", alpha, weight, free)
    other = solve(problem, tol=1e-9, max_time=20).certificate
    if found is None:
        return
    mine = found.certificate
    assert mine.relative_gap <= tol
    assert mine.dual <= other.primal and other.dual <= mine.primal
    again = found.solution(problem)  # by the proofs of `Problem`
    assert again.certificate.relative_gap <= 1.1 * tol
    assert again.certificate.primal == pytest.approx(mine.primal, rel=1e-11)
    least = problem.best(found.w, np.zeros(problem.n_offsets))[0]
    assert mine.primal <= least + 1e-9 * abs(least)  # the intercepts are the best ones


def with_margins(seed):
    """The same for the multiclass support vector machine, with costs of any kind."""
    rng = np.random.default_rng(seed)
    X, y, weight, _, alpha, _ = next(p for p in map(drawn, range(seed, 10**6)) if p[3] == LOSSES[0])
    K = int(y.max()) + 1
    costs = rng.choice([0, 1, 2.5], (K, K)) * (1 - np.eye(K))
    loss = CrammerSinger(costs if rng.random() < 0.3 and costs.any() else None)
    return X, y, weight, loss, 10 ** rng.uniform(-1, 2) * alpha, bool(rng.random() < 0.2)


@pytest.mark.parametrize("seed", range(0, 400, 4))
def test_margins_agree_with_those_of_others(seed):
    X, y, weight, loss, alpha, _ = with_margins(seed)
    small = Curved.of(Plain.of(MemoryDesign(X), weight, loss, as_penalty("l2"), alpha, False))
    tol = 10.0 ** -(3 + seed // 4 % 4)
    found = small.fit(y, tol)
    if found is None:
        return
    problem = Problem(X, y, loss, "l2", alpha, weight, False)
    mine, other = found.certificate, solve(problem, tol=1e-7, max_time=5).certificate
    assert mine.relative_gap <= tol
    assert mine.dual <= other.primal and other.dual <= mine.primal
    again = found.solution(problem)
    assert again.certificate.relative_gap <= 1.1 * tol
    assert again.certificate.primal == pytest.approx(mine.primal, rel=1e-11)


def test_most_margins_are_certified():
    ended = []
    for seed in range(0, 400, 4):
        X, y, weight, loss, alpha, _ = with_margins(seed)
        small = Curved.of(Plain.of(MemoryDesign(X), weight, loss, as_penalty("l2"), alpha, False))
        ended.append(small.fit(y, 1e-4) is not None)
    assert np.mean(ended) >= 0.9


def test_few_of_them_are_given_up():
    ended = []
    for seed in range(160):
        X, y, weight, loss, alpha, free = drawn(seed)
        small = Curved.of(Plain.of(MemoryDesign(X), weight, loss, as_penalty("l2"), alpha, free))
        together = (
            loss == LOSSES[2]
        )  # of neighbours: their order may hold thresholds together, which is not for here
        if len(np.unique(y)) > 1 and not together:
            ended.append(small.fit(y, 1e-4) is not None)
    assert np.mean(ended) >= 0.99


def test_what_is_not_for_one_call_is_left_to_others():
    X, weight, softmax, l2 = np.ones((20, 3)), np.ones(20), Softmax(), as_penalty("l2")

    def of(X=X, loss=softmax, penalty=l2, intercept=True):
        given = Plain.of(MemoryDesign(X), weight, loss, penalty, 0.1, intercept)
        return given and Curved.of(given)

    assert of() is not None
    assert of(X=sparse.csr_matrix(X)) is not None
    assert of(X=X.astype(np.float32)) is None
    assert of(X=np.zeros((2_000_000, 3))) is None
    margins = of(X=np.zeros((20_000, 60)), loss=CrammerSinger(), intercept=False)
    assert margins.fit(np.resize([0.0, 1.0, 2.0], 20_000), 1e-4) is None
    assert of(penalty=Box(l2, 0.0, 1.0)) is None
    assert of(penalty=as_penalty("elastic_net")) is None
    assert of(loss=as_loss("hinge")) is None
    assert of(loss=CrammerSinger()) is None  # whose best intercepts are no matter of Newton's method
    assert of(loss=CrammerSinger(), intercept=False) is not None
    assert of(loss=CrammerSinger(rescaling="slack"), intercept=False) is None
    assert of(loss=OrdinalThresholds()) is None  # of hinges
    assert of(loss=OrdinalThresholds(base="logistic"), intercept=False) is None

    class Mine(Softmax):
        pass

    assert of(loss=Mine()) is None  # it may do more than that


def test_what_has_no_best_offsets_is_left_to_those_who_name_them():
    X = np.random.default_rng(0).normal(size=(30, 2))
    for kind, loss, y in ((Curved, Softmax(4), np.arange(30) % 3), (Small, Poisson(), np.zeros(30))):
        small = kind.of(Plain.of(MemoryDesign(X), np.ones(30), loss, as_penalty("l2"), 0.1, True))
        assert small.fit(y.astype(float), 1e-4) is None


def test_numbers_that_are_too_large_are_left_to_others():
    X, y = np.random.default_rng(0).normal(size=(30, 2)) * 1e120, np.arange(30) % 3.0
    small = Curved.of(Plain.of(MemoryDesign(X), np.ones(30), Softmax(), as_penalty("l2"), 0.1, True))
    assert small.fit(y, 1e-4) is None


@pytest.mark.parametrize("free", [True, False])
def test_estimators_say_the_same_as_when_they_are_watched(free):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 4))
    f = X[:, 0] + 0.3 * rng.normal(size=120)
    levels, counts = np.digitize(f, [-0.7, 0.2, 0.9]), rng.poisson(np.exp(f))
    weight = rng.integers(0, 3, 120)
    options = {"alpha": 1e-2, "tol": 1e-9}
    models = [
        (LinearClassifier(loss="softmax", fit_intercept=free, **options), levels),
        (LinearClassifier(loss="softmax", fit_intercept=free, **options), (levels > 1)),
        (LinearRegressor(loss="poisson", fit_intercept=free, **options), counts),
        (OrdinalClassifier(**options), levels),
        (OrdinalClassifier(**options), (levels > 1)),
        (OrdinalClassifier(loss=OrdinalThresholds("immediate", "logistic"), **options), levels),
    ]
    for model, y in models:
        model.fit(X, y, sample_weight=weight)
        assert model.n_iter_ == 1 and model.converged_
        lo, hi = model.score_bounds(X)
        alone = type(model)(**model.get_params()).set_params(warm_start=True).fit(X, y, sample_weight=weight)
        assert alone.n_iter_ > 1
        assert model.objective_ == pytest.approx(alone.objective_, rel=2e-9)
        np.testing.assert_allclose(model.coef_, alone.coef_, atol=2e-3)
        b = "thresholds_" if isinstance(model, OrdinalClassifier) else "intercept_"
        np.testing.assert_allclose(getattr(model, b), getattr(alone, b), atol=2e-3)
        lowest, highest = alone.score_bounds(X)  # both hold the optimum's scores
        assert (lo <= highest).all() and (lowest <= hi).all()
        np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=1e-4)
