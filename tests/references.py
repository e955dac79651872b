"""Independent optima of J(w, b) = alpha * Omega(w) + sum_i p_i phi(y_i, x_i'w + offset_i + b).

Nothing here imports gapfit. `reference(case)` solves a case twice through cvxpy, by Clarabel and by
HiGHS (linear programs) or SCS (the rest), and recomputes everything in NumPy: `upper` is the
smaller J at their feasible points, `lower` the largest Fenchel dual at their multipliers, made
feasible, so both are bounds whatever the solvers say, up to rounding (`tiny`). Measured on 5,680
random cases: (upper - lower) / scale has median 1e-15, 99% below 1.5e-11, maximum 1.2e-9, with
scale = max(|J|, FLOOR); the two solvers' J differ by 3e-14, 1.3e-8 and 9.3e-7; 5 are refused.

The two solvers' J may differ by AGREE = 1e-6 of the scale, the bounds by GAP = 1e-8, and a value
that cvxpy reports from ours by DRIFT = 1e-4 (its points are slightly infeasible); otherwise
`reference` raises NoReference with the reason, and a test must count these.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from scipy import sparse
from scipy.optimize import brentq, linprog
from scipy.special import expit, xlogy

INF = np.inf


@dataclass(frozen=True, eq=False)
class Case:
    """One problem; sample_weight and offset may be None, X may be dense or CSR."""

    X: Any
    y: np.ndarray
    loss: str
    loss_params: dict[str, Any] = field(default_factory=dict)
    penalty: str = "l2"
    penalty_params: dict[str, Any] = field(default_factory=dict)
    alpha: float = 1.0
    sample_weight: np.ndarray | None = None
    intercept: bool = True
    offset: np.ndarray | None = None


# ---- losses: phi(y, z) = g(t), t = sign * (z - shift) ------------------------------------------


class Scalar(NamedTuple):
    """A convex g(t) of a margin or residual: slope, conjugate on [lo, hi], cvxpy expression."""

    value: Callable
    slope: Callable
    conjugate: Callable
    lo: Any
    hi: Any
    model: Callable


def _pos(t):
    return np.maximum(t, 0.0)


def _smoothed_model(t, gamma):
    bend = cp.Variable(t.shape)
    return cp.square(bend) / (2 * gamma) + cp.pos(1 - t - bend)


def _poisson(y):
    rest = xlogy(y, y) - y
    return Scalar(
        lambda t: np.exp(t) - y * t + rest,
        lambda t: np.exp(t) - y,
        lambda s: xlogy(s + y, s + y) - (s + y) - rest,
        -y, INF,
        lambda t: cp.exp(t) - cp.multiply(y, t) + rest,
    )  # fmt: skip


G: dict[str, Callable[..., Scalar]] = {
    "hinge": lambda y: Scalar(
        lambda t: _pos(1 - t), lambda t: -1.0 * (t < 1), lambda s: s, -1, 0,
        lambda t: cp.pos(1 - t)),
    "squared_hinge": lambda y: Scalar(
        lambda t: _pos(1 - t) ** 2, lambda t: -2 * _pos(1 - t), lambda s: s + s**2 / 4, -INF, 0,
        lambda t: cp.square(cp.pos(1 - t))),
    "smoothed_hinge": lambda y, gamma=1.0: Scalar(
        lambda t: np.where(t < 1 - gamma, 1 - t - gamma / 2, _pos(1 - t) ** 2 / (2 * gamma)),
        lambda t: -np.clip((1 - t) / gamma, 0, 1), lambda s: s + gamma * s**2 / 2, -1, 0,
        lambda t: _smoothed_model(t, gamma)),
    "logistic": lambda y: Scalar(
        lambda t: np.logaddexp(0, -t), lambda t: -expit(-t),
        lambda s: xlogy(-s, -s) + xlogy(1 + s, 1 + s), -1, 0, lambda t: cp.logistic(-t)),
    "exponential": lambda y: Scalar(
        lambda t: np.exp(-t), lambda t: -np.exp(-t), lambda s: xlogy(-s, -s) + s, -INF, 0,
        lambda t: cp.exp(-t)),
    "squared": lambda y: Scalar(
        lambda t: t**2 / 2, lambda t: t, lambda s: s**2 / 2, -INF, INF,
        lambda t: cp.square(t) / 2),
    "absolute": lambda y: Scalar(
        np.abs, np.sign, lambda s: 0 * s, -1, 1, cp.abs),
    "quantile": lambda y, q: Scalar(
        lambda t: np.maximum(-q * t, (1 - q) * t), lambda t: np.where(t < 0, -q, 1 - q),
        lambda s: 0 * s, -q, 1 - q, lambda t: cp.maximum(-q * t, (1 - q) * t)),
    "epsilon_insensitive": lambda y, epsilon: Scalar(
        lambda t: _pos(np.abs(t) - epsilon), lambda t: np.sign(t) * (np.abs(t) > epsilon),
        lambda s: epsilon * np.abs(s), -1, 1, lambda t: cp.pos(cp.abs(t) - epsilon)),
    "squared_epsilon_insensitive": lambda y, epsilon: Scalar(
        lambda t: _pos(np.abs(t) - epsilon) ** 2,
        lambda t: 2 * np.sign(t) * _pos(np.abs(t) - epsilon),
        lambda s: epsilon * np.abs(s) + s**2 / 4, -INF, INF,
        lambda t: cp.square(cp.pos(cp.abs(t) - epsilon))),
    "huber": lambda y, delta: Scalar(
        lambda t: np.where(np.abs(t) <= delta, t**2 / 2, delta * np.abs(t) - delta**2 / 2),
        lambda t: np.clip(t, -delta, delta), lambda s: s**2 / 2, -delta, delta,
        lambda t: cp.huber(t, delta) / 2),
    "poisson": _poisson,
    "novelty": lambda y, nu: Scalar(
        lambda t: _pos(-t) / nu, lambda t: -1.0 * (t < 0) / nu, lambda s: 0 * s, -1 / nu, 0,
        lambda t: cp.pos(-t) / nu),
}  # fmt: skip
CLASSIFICATION = ("hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential")
REGRESSION = ("squared", "absolute", "quantile", "epsilon_insensitive",
              "squared_epsilon_insensitive", "huber")  # fmt: skip
STEEP = ("exponential", "poisson", "novelty")  # kept away from e^30 by columns of scale at most 1


# ---- penalties ----------------------------------------------------------------------------------


class Penalty(NamedTuple):
    value: Callable
    conjugate: Callable
    shrink: Callable  # the share of mu that stays in the domain of the conjugate
    project: Callable  # onto the domain of the penalty
    model: Callable  # cvxpy: (expression, constraints)


def _everything(mu):
    return 1.0


def _bounds(w, lo, hi):
    return [w[k] >= lo[k] for k in [np.flatnonzero(lo > -INF)] if k.size] + [
        w[k] <= hi[k] for k in [np.flatnonzero(hi < INF)] if k.size
    ]


def _elastic(d, ratio, lo=-INF, hi=INF):
    """ratio |w|_1 + (1 - ratio)/2 |w|^2 on lo <= w <= hi: also l1, l2 and their boxes."""
    lo, hi = np.broadcast_to(lo, d).astype(float), np.broadcast_to(hi, d).astype(float)

    def value(w):
        inside = np.all((w >= lo) & (w <= hi))
        return ratio * np.abs(w).sum() + (1 - ratio) / 2 * w @ w if inside else INF

    def conjugate(mu):
        if ratio < 1:
            w = np.sign(mu) * _pos(np.abs(mu) - ratio) / (1 - ratio)
        else:
            w = np.where(mu > 1, hi, np.where(mu < -1, lo, 0.0))
        w = np.clip(w, lo, hi)
        return mu @ w - value(w) if np.all(np.isfinite(w)) else INF

    def shrink(mu):
        if ratio < 1:
            return 1.0
        reach = np.maximum(np.where(hi == INF, mu, 0), np.where(lo == -INF, -mu, 0))
        return 1.0 if reach.max() <= 1 else (1 - 1e-15) / reach.max()

    def model(w):
        terms = [(ratio, cp.norm1), ((1 - ratio) / 2, cp.sum_squares)]
        return sum(c * term(w) for c, term in terms if c), _bounds(w, lo, hi)

    return Penalty(value, conjugate, shrink, lambda w: np.clip(w, lo, hi), model)


def _entropy(d, lo=0.0, hi=INF):
    lo, hi = np.broadcast_to(np.maximum(lo, 0.0), d), np.broadcast_to(hi, d).astype(float)

    def value(w):
        return np.sum(xlogy(w, w) - w + 1) if np.all((w >= lo) & (w <= hi)) else INF

    def conjugate(mu):
        w = np.clip(np.exp(np.minimum(mu, 700)), lo, hi)
        return mu @ w - value(w)

    def model(w):
        return -cp.sum(cp.entr(w)) - cp.sum(w) + d, _bounds(w, lo, hi)

    return Penalty(value, conjugate, _everything, lambda w: np.clip(w, lo, hi), model)


def _simplex_entropy(d):
    def value(w):
        inside = np.all(w >= 0) and abs(w.sum() - 1) <= 1e-12
        return xlogy(w, w).sum() + np.log(d) if inside else INF

    def conjugate(mu):
        return np.logaddexp.reduce(mu) - np.log(d)

    def model(w):
        return -cp.sum(cp.entr(w)) + np.log(d), [cp.sum(w) == 1]

    return Penalty(value, conjugate, _everything, lambda w: _pos(w) / _pos(w).sum(), model)


def _quadratic_form(d, Q):
    root = np.linalg.cholesky(Q)
    return Penalty(
        lambda w: w @ Q @ w / 2,
        lambda mu: np.sum(np.linalg.solve(root, mu) ** 2) / 2,
        _everything,
        lambda w: w,
        lambda w: (cp.sum_squares(root.T @ w) / 2, []),
    )


def _squared_lp(d, p):
    def half_square(v, order):
        return np.linalg.norm(v, order) ** 2 / 2

    return Penalty(
        lambda w: half_square(w, p),
        lambda mu: half_square(mu, p / (p - 1)),
        _everything,
        lambda w: w,
        lambda w: (cp.square(cp.pnorm(w, p)) / 2, []),
    )


def _group_lasso(d, groups, ratio, weights=None):
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    weights = [np.sqrt(len(m)) for m in members] if weights is None else weights

    def norms(v):
        return np.array([np.linalg.norm(v[m]) for m in members])

    def value(w):
        return ratio * norms(w) @ weights + (1 - ratio) / 2 * w @ w

    def conjugate(mu):
        beyond = _pos(norms(mu) - ratio * np.asarray(weights))
        if ratio < 1:
            return beyond @ beyond / (2 * (1 - ratio))
        return INF if beyond.any() else 0.0

    def shrink(mu):
        reach = (norms(mu) / np.asarray(weights)).max() if ratio == 1 else 0.0
        return 1.0 if reach <= 1 else (1 - 1e-15) / reach

    def model(w):
        lengths = sum(s * cp.norm2(w[m]) for s, m in zip(weights, members, strict=True))
        return ratio * lengths + (1 - ratio) / 2 * cp.sum_squares(w) if ratio < 1 else lengths, []

    return Penalty(value, conjugate, shrink, lambda w: w, model)


def _constrained(d, root, A, b):
    """1/2 |root' w|^2 under A w <= b. Multipliers from another solver make the conjugate an upper bound."""
    room, box = np.column_stack([A, np.ones(len(A))]), [(-9, 9)] * d + [(0, 1)]
    inside = linprog(np.append(np.zeros(d), -1.0), room, b, bounds=box).x[:-1]

    def value(w):
        return np.sum((root.T @ w) ** 2) / 2 if np.all(A @ w <= b) else INF

    def conjugate(mu):
        x = cp.Variable(len(b), nonneg=True)
        inverse = np.linalg.inv(root)
        cp.Problem(cp.Minimize(b @ x + cp.sum_squares(inverse @ (mu - A.T @ x)) / 2)).solve(cp.CLARABEL)
        x = _pos(x.value)
        return b @ x + np.sum((inverse @ (mu - A.T @ x)) ** 2) / 2

    def project(w):
        room, beyond = b - A @ inside, _pos(A @ w - b)
        share = (beyond / (beyond + room)).max()
        while not np.all(A @ (w + share * (inside - w)) <= b):
            share = 1.5 * share + 1e-15
        return w + share * (inside - w)

    return Penalty(
        value, conjugate, _everything, project, lambda w: (cp.sum_squares(root.T @ w) / 2, [A @ w <= b])
    )


def _penalty(name: str, params: dict[str, Any], d: int) -> Penalty:
    if name == "box":
        inner, lo, hi = params["inner"], params["lo"], params["hi"]
        if inner == "entropy":
            return _entropy(d, lo, hi)
        ratio = {"l2": 0.0, "l1": 1.0, **params.get("inner_params", {})}
        return _elastic(d, ratio["l1_ratio" if inner == "elastic_net" else inner], lo, hi)
    if name == "constrained":
        Q = params["inner_params"].get("Q", np.eye(d))
        return _constrained(d, np.linalg.cholesky(Q), params["A"], params["b"])
    return {
        "l2": lambda: _elastic(d, 0.0),
        "l1": lambda: _elastic(d, 1.0),
        "elastic_net": lambda l1_ratio: _elastic(d, l1_ratio),
        "entropy": lambda: _entropy(d),
        "simplex_entropy": lambda: _simplex_entropy(d),
        "quadratic_form": lambda Q: _quadratic_form(d, Q),
        "squared_lp": lambda p: _squared_lp(d, p),
        "group_lasso": lambda **given: _group_lasso(d, **given),
    }[name](**params)


# ---- a case, bound -----------------------------------------------------------------------------


class _Problem:
    """A case without its rows of zero weight: t = sign * (X w + b + base)."""

    def __init__(self, case: Case):
        X = case.X.toarray() if sparse.issparse(case.X) else np.asarray(case.X, float)
        n, d = X.shape
        s = np.ones(n) if case.sample_weight is None else np.asarray(case.sample_weight, float)
        base = np.zeros(n) if case.offset is None else np.asarray(case.offset, float)
        keep = s > 0
        y = np.asarray(case.y, float)[keep]
        novelty = case.loss == "novelty"
        self.X, self.p = X[keep], s[keep] / s[keep].sum()
        self.sign = y if case.loss in CLASSIFICATION else np.ones_like(y)
        self.base = base[keep] - (y if case.loss in REGRESSION else 0.0)
        self.g = G[case.loss](y, **case.loss_params)
        self.total = float(novelty)  # the slope in b that no sample carries
        self.free = case.intercept or novelty
        self.alpha = case.alpha
        self.penalty = _penalty(case.penalty, case.penalty_params, d)

    def margins(self, w, b):
        return self.sign * (self.X @ w + b + self.base)

    def value(self, w, b):
        with np.errstate(over="ignore"):
            risk = self.p @ self.g.value(self.margins(w, b)) + self.total * b
        return float(self.alpha * self.penalty.value(w) + risk)

    def best_b(self, w):
        """A root in b of the slope of the risk."""
        if not self.free:
            return 0.0

        def slope(b):
            with np.errstate(over="ignore"):
                return self.total + (self.p * self.sign) @ self.g.slope(self.margins(w, b))

        return _root(slope, 1.0)

    def dual(self, s):
        """The Fenchel dual at slopes s of g, made feasible first: a lower bound whatever s is."""
        g, a = self.g, self.p * self.sign
        if self.free:
            s = s + self.sign * _root(
                lambda shift: self.total + a @ np.clip(s + self.sign * shift, g.lo, g.hi), 1e-9
            )
        s = np.clip(s, g.lo, g.hi)
        mu = -self.X.T @ (a * s) / self.alpha
        share = self.penalty.shrink(mu)
        if share < 1 and self.total:
            return -INF  # shrinking would break the balance of b
        s, mu = share * s, share * mu
        risk = (a * s) @ self.base - self.p @ g.conjugate(s)
        return float(risk - self.alpha * self.penalty.conjugate(mu))

    def solve(self, second):
        """w, slopes of g and the value, by Clarabel, or by a second solver."""
        w, t = cp.Variable(self.X.shape[1]), cp.Variable(self.p.size)
        b = cp.Variable() if self.free else 0.0
        omega, constraints = self.penalty.model(w)
        risk = self.p @ self.g.model(t) + self.total * b
        link = cp.multiply(self.sign, self.X @ w + b + self.base) == t
        model = cp.Problem(cp.Minimize(self.alpha * omega + risk), [link, *constraints])
        options = CLARABEL if not second else HIGHS if model.is_lp() else SCS
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # inaccurate solutions are judged below
            model.solve(**options)
        if w.value is None or link.dual_value is None:
            raise cp.SolverError(model.status)
        return self.penalty.project(w.value), link.dual_value / self.p, model.solution.opt_val


def _root(slope, step):
    """A sign change of a non-decreasing function."""
    lo, hi = -step, step
    while slope(lo) > 0 and lo > -1e100:
        lo *= 2
    while slope(hi) < 0 and hi < 1e100:
        hi *= 2
    for end in (lo, hi):
        if slope(end) == 0:
            return end
    return brentq(slope, lo, hi, xtol=1e-300, rtol=1e-15, maxiter=5000)


# ---- the references -----------------------------------------------------------------------------

FLOOR, AGREE, GAP, DRIFT = 1e-3, 1e-6, 1e-8, 1e-4
CLARABEL = {
    "solver": "CLARABEL",
    **dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-12),
    **dict.fromkeys(("iterative_refinement_reltol", "iterative_refinement_abstol"), 1e-15),
    "iterative_refinement_max_iter": 50,
    "accept_unknown": True,  # the best point found; the bounds judge it
}
SCS = {"solver": "SCS", "eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 50_000}
HIGHS = {"solver": "HIGHS"}


class Reference(NamedTuple):
    lower: float
    upper: float
    w: np.ndarray
    b: float
    spread: float  # how far the two solvers' J differ, relative to the scale

    @property
    def scale(self) -> float:
        return max(abs(self.upper), FLOOR)

    @property
    def gap(self) -> float:
        return (self.upper - self.lower) / self.scale

    @property
    def tiny(self) -> float:
        """What rounding may cost: expect dual <= upper + tiny and primal >= lower - tiny."""
        return 1e-11 * self.scale


class NoReference(Exception):
    """The two solvers do not settle this case; the message says why."""


def objective(case: Case, w, b=0.0) -> float:
    """J(w, b) by its definition; +inf outside the domain of the penalty."""
    return _Problem(case).value(np.asarray(w, float), float(np.sum(b)))


def best_objective(case: Case, w) -> tuple[float, float]:
    """min over b of J(w, b), and a minimiser b (0 without an intercept)."""
    problem, w = _Problem(case), np.asarray(w, float)
    b = problem.best_b(w)
    return problem.value(w, b), b


def reference(case: Case) -> Reference:
    """Bounds on min J by two solvers; raises NoReference with a reason."""
    problem = _Problem(case)
    points, duals, drift = [], [], 0.0
    for second in (False, True):
        try:
            w, s, reported = problem.solve(second)
        except cp.SolverError as error:
            raise NoReference(f"solver {1 + second} failed: {error}") from error
        b = problem.best_b(w)
        value = problem.value(w, b)
        points.append((value, w, b))
        duals += [problem.dual(s), problem.dual(problem.g.slope(problem.margins(w, b)))]
        drift = max(drift, abs(reported - value))
    (upper, w, b), (other, *_) = sorted(points, key=lambda point: point[0])
    scale = max(abs(upper), FLOOR)
    found = Reference(max(duals), upper, w, b, (other - upper) / scale)
    for what, size, limit in (
        ("the solvers differ", found.spread, AGREE),
        ("the bounds differ", found.gap, GAP),
        ("the cvxpy model and the objective differ", drift / scale, DRIFT),
    ):
        if not size <= limit:
            raise NoReference(f"{what} by {size:.1e}")
    return found


# ---- random cases -------------------------------------------------------------------------------


def _loss_params(rng, loss, scale):
    if loss == "quantile":
        return {"q": float(rng.uniform(0.1, 0.9))}
    if loss.endswith("epsilon_insensitive"):
        return {"epsilon": float(scale * rng.choice([0.05, 0.5]))}
    if loss == "huber":
        return {"delta": float(scale * rng.choice([0.1, 1.0]))}
    if loss == "novelty":
        return {"nu": float(rng.uniform(0.1, 0.9))}
    return {"gamma": float(rng.choice([0.1, 1.0]))} if loss == "smoothed_hinge" else {}


def _penalty_params(rng, penalty, inner, d, finite):
    if penalty == "quadratic_form":
        root = rng.normal(size=(d, d))
        return {"Q": root @ root.T / d + 0.1 * np.eye(d)}
    if penalty == "squared_lp":
        return {"p": float(rng.choice([1.25, 1.5, 2.0]))}
    if penalty == "elastic_net":
        return {"l1_ratio": float(rng.uniform(0.1, 0.9))}
    if penalty == "constrained":
        A, inner = (
            rng.normal(size=(int(rng.integers(1, 6)), d)),
            inner or rng.choice(["l2", "quadratic_form"]),
        )
        b = A @ (0.3 * rng.normal(size=d)) + rng.uniform(0.01, 0.5, len(A))
        return {
            "inner": str(inner),
            "inner_params": _penalty_params(rng, inner, "", d, False),
            "A": A,
            "b": b,
        }
    if penalty == "group_lasso":
        groups, ratio = rng.integers(0, 3, d), float(rng.uniform(0.1, 0.9)) if inner else 1.0
        weights = None if rng.random() < 0.5 else rng.uniform(0.3, 3.0, len(np.unique(groups)))
        return {"groups": groups, "ratio": ratio, "weights": weights}
    if penalty != "box":
        return {}
    inner = inner or rng.choice(["l2", "l1", "elastic_net", "entropy"])
    low, far = rng.normal(size=d), 3.0 if finite else INF
    lo, hi = [
        (-0.5, 0.5),
        (0.0, far),
        (np.where(rng.random(d) < 0.3, -far, -rng.random(d)), rng.random(d)),
        (low, low + rng.random(d)),
    ][rng.integers(4)]
    if inner == "entropy":
        lo = np.maximum(lo, 0.0) if np.ndim(lo) else max(lo, 0.0)
        hi = np.maximum(hi, lo + 0.1)
    inner_params = _penalty_params(rng, inner, "", d, False)
    return {"inner": str(inner), "inner_params": inner_params, "lo": lo, "hi": hi}


def random_case(seed: int, loss: str, penalty: str) -> Case:
    """A small random problem; penalty "box" draws its inner penalty, "box(l1)" names it."""
    rng = np.random.default_rng([seed, *f"{loss} {penalty}".encode()])
    penalty, _, inner = penalty.rstrip(")").partition("(")
    if loss == "novelty" and penalty in ("l1", "group_lasso") and not inner:
        raise ValueError("novelty with a norm may be unbounded")
    n, d = int(rng.integers(4, 41)), int(rng.integers(1, 9))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.2:
        X = np.round(2 * X) / 2
    is_sparse = rng.random() < 1 / 3
    if is_sparse:
        X *= rng.random((n, d)) < 0.4
    if rng.random() < 0.25:
        X[:, rng.integers(d)] = rng.choice([0.0, 1.0, -2.0])
    if rng.random() < 0.3:
        X[n // 2 :] = X[rng.integers(n // 2, size=n - n // 2)]
    signal = X @ rng.normal(size=d) / np.sqrt(d) + 0.5 * rng.normal(size=n)
    if rng.random() < 0.5:
        X *= 10.0 ** rng.uniform(-1.5, 0 if loss in STEEP else 1, size=d)
    scale = float(rng.choice([1, 100]))
    if loss in CLASSIFICATION:
        y = np.where(signal + rng.normal() > 0, 1.0, -1.0)
        y[:2] = 1, -1
    elif loss == "poisson":
        y = rng.poisson(np.exp(np.minimum(signal + rng.choice([0, 2]), 4))).astype(float)
        y[0] += 1
    elif loss == "novelty":
        y = np.ones(n)
    else:
        y = scale * (signal + rng.normal())
        y = np.round(y) if rng.random() < 0.2 else y
    weight = None
    if rng.random() < 0.5:
        weight = rng.integers(0, 4, size=n).astype(float)
        if rng.random() < 0.5:
            weight *= rng.random(n)
        weight[:2] = np.maximum(weight[:2], 1)
    intercept = bool(rng.random() < 0.5) or loss == "novelty"
    offset = rng.normal(size=n) if rng.random() < 0.25 else None
    return Case(
        sparse.csr_array(X) if is_sparse else X,
        y,
        loss,
        _loss_params(rng, loss, scale),
        penalty,
        _penalty_params(rng, penalty, inner, d, loss == "novelty"),
        float(10 ** rng.uniform(-1 if (loss, penalty) == ("novelty", "entropy") else -3, 0)),
        weight,
        intercept,
        offset,
    )
