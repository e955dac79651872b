"""What fits say of optima that nobody computed: at other alphas, over ranges of them, with a sample changed.

Smooth losses are judged by Newton's method to machine precision, which knows nothing of gapfit; others by a
fit to 1e-12, whose own bounds say where the optimum is: two intervals that both contain it must meet.
"""

from typing import Any

import numpy as np
from scipy import sparse

from gapfit import Problem, solve
from gapfit.design.memory import MemoryDesign
from gapfit.registry import LOSSES
from gapfit.statements import optimal_ball
from gapfit.whereabouts import Balls, NewtonCertificate, Optima
from gapfit.whereabouts.candidates import Candidates, qualifies
from gapfit.whereabouts.changes import Change, ChangeCertificate, glance
from gapfit.whereabouts.newton import sharper
from soak.exact.newton import HOSTILE, SMOOTH, Smooth, exact_scores
from soak.hostile import Rng
from soak.job import Job
from soak.outcome import Outcome

CASES = 400
LIMIT = 60.0
FIGURE = "distance of a score from its interval / its size"
_LABELS = ("logistic", "exponential", "hinge", "squared_hinge", "smoothed_hinge")
_NUMBERS = ("squared", "poisson", "absolute", "huber", "quantile", "epsilon_insensitive")
_ROOM = 1e-9  # of a score, that Newton's method may be off by


def run(job: Job) -> Outcome:
    """One problem: a loose fit, another one, and what both say of all alphas."""
    rng, outcome = job.rng(), Outcome()
    names = (*_LABELS, *_NUMBERS)
    case = _draw(rng, names[job.choice(len(names))])
    alpha = 10.0 ** rng.uniform(-3, 0.5)
    problem = _problem(case, alpha, as_sparse=bool(rng.random() < 0.3))
    rows = np.vstack([case.X, rng.normal(size=(4, case.X.shape[1]))])
    optima = Optima(problem)
    optima.add(alpha, solve(problem, tol=10.0 ** rng.uniform(-9, -1)))
    other = alpha * 10.0 ** rng.uniform(0.01, 0.6)
    ranges = [(alpha, alpha), (alpha / 1.1, alpha * 1.05), (other, other), (other / 1.3, other * 1.3)]
    for least, most in ranges:
        _alphas(outcome, case, optima, (least, most), rows, rng)
    optima.add(other, solve(problem.at(other), tol=10.0 ** rng.uniform(-9, -2)))
    middle = alpha + rng.random() * (other - alpha)
    _alphas(outcome, case, optima, (middle, min(other, middle * 1.05)), rows, rng)
    _changes(outcome, case, problem, rows, rng)
    _hostile(outcome, rng)
    _targets(outcome, case, alpha, rows, rng)
    return outcome


def _draw(rng: Rng, loss: str) -> Smooth:
    n, d = int(rng.integers(8, 40)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 0.7) + (3.0 if rng.random() < 0.2 else 0.0)
    if rng.random() < 0.3:
        X[rng.random(size=X.shape) < 0.5] = 0.0
    f = X @ rng.normal(size=d) / 3
    y = f + rng.normal(size=n)
    if loss in _LABELS:
        y = np.where(y > np.median(y), 1.0, -1.0)
        y[:4] = 1.0, -1.0, 1.0, -1.0
    if loss == "poisson":
        y = rng.poisson(np.exp(np.clip(f, -3, 2))).astype(float)
        y[:2] = 1.0
    weight = rng.choice([0.5, 1.0, 2.0, 3.0], n) if rng.random() < 0.5 else np.ones(n)
    offset = 0.3 * rng.normal(size=n) if rng.random() < 0.3 else np.zeros(n)
    return Smooth(X, y, loss, weight, bool(rng.random() < 0.6), offset)


def _problem(case: Smooth, alpha: float, *, as_sparse: bool = False) -> Problem:
    X = sparse.csr_array(case.X) if as_sparse else case.X
    loss = LOSSES[case.loss]()
    return Problem(X, case.y, loss, "l2", alpha, case.weight, case.intercept, case.offset)


def _hostile(outcome: Outcome, rng: Rng) -> None:
    """Data of all scales, shifts and precisions, judged with sixty digits: rounding is counted."""
    case, X = _hostile_draw(rng)
    alpha = float(10.0 ** rng.uniform(-8, 1) * max(float(np.abs(X).max()), 1e-20) ** 2)
    problem = Problem(X, case.y, case.loss, "l2", alpha, case.weight, case.intercept)
    fit = solve(problem, tol=10.0 ** rng.uniform(-12, -2), max_time=2.0)
    b = np.atleast_1d(np.asarray(fit.intercept, float))[: problem.n_offsets]
    newton, balls = NewtonCertificate(problem, fit.w, b), Balls(problem, fit.w, b, fit.minorant)
    other, start = alpha * float(10.0 ** rng.uniform(-0.3, 0.3)), np.append(fit.w.astype(float), b)
    own = sharper(problem, fit, optimal_ball(problem, fit))
    for at in (alpha, other):
        exact = exact_scores(case, at, start)
        cells = (at, at), (0.98 * at, 1.02 * at)
        answers = [tool.between(*cell) for tool in (newton, balls) for cell in cells]
        for answer in [*answers, own] if at == alpha and own is not None else answers:
            _exactly(outcome, exact, answer.score_bounds(X), f"{case.loss}, {X.dtype}, alpha {at:.3g}")
    change = Change(np.arange(len(case.y)), np.zeros(len(case.y)), False)
    lo, hi = ChangeCertificate(newton, alpha, change).own(problem.design)
    for i in range(5, 7):
        left = np.arange(len(case.y)) != i
        after = case.but(X=np.vstack([case.X[left], case.X[i]]), y=np.append(case.y[left], case.y[i]),
                         weight=np.append(case.weight[left], 0.0))  # fmt: skip
        exact = exact_scores(after, alpha, start)[-1:]
        _exactly(outcome, exact, (lo[i : i + 1], hi[i : i + 1]), f"{case.loss}, {X.dtype}, without {i}")


def _hostile_draw(rng: Rng) -> tuple[Smooth, Any]:
    loss, n, d = HOSTILE[rng.integers(len(HOSTILE))], 8, int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    f = X @ rng.normal(size=d) / 2
    y = f + rng.normal(size=n)
    if loss == "logistic":
        y = np.where(y > 0, 1.0, -1.0)
        y[:4] = 1.0, -1.0, 1.0, -1.0
    elif loss == "poisson":
        y = rng.poisson(np.exp(np.clip(f, -2, 2))) + 1.0
    else:
        y = y * 10.0 ** rng.uniform(-6, 6) + (10.0 ** rng.uniform(0, 7) if rng.random() < 0.3 else 0.0)
    X = X + (10.0 ** rng.uniform(0, 6) if rng.random() < 0.5 else 0.0)
    X = X * (10.0 ** rng.uniform(-8, 6) if rng.random() < 0.5 else 1.0)
    X = X / max(1.0, float(np.abs(X).max()) / 3) if loss == "poisson" else X
    if rng.random() < 0.3:
        X[:, -1] = X[:, 0]
    X = X.astype(np.float32) if rng.random() < 0.3 else X
    weight = 10.0 ** rng.uniform(-3, 3, n) if rng.random() < 0.4 else np.ones(n)
    return Smooth(X.astype(float), y, loss, weight, bool(rng.random() < 0.6), np.zeros(n)), X


def _exactly(outcome: Outcome, exact: list[Any], bounds: Any, what: str) -> None:
    pairs = zip(exact, *(ends.tolist() for ends in bounds), strict=True)
    wrong = sum(not lo <= score <= hi for score, lo, hi in pairs)
    outcome.checks += len(exact) - 1
    outcome.expect(wrong == 0, "rounding", f"{wrong} of {len(exact)} bounds [{what}]")


def _alphas(
    outcome: Outcome, case: Smooth, optima: Optima, ends: tuple[float, float], rows: Any, rng: Rng
) -> None:
    lo, hi = optima.between(*ends).score_bounds(rows)
    inside = np.exp(rng.uniform(*np.log(ends)))
    for alpha in dict.fromkeys((*ends, float(np.clip(inside, *ends)))):
        _judge(outcome, case, alpha, rows, (lo, hi), f"alpha {alpha:.4g} of {ends}")


def _judge(outcome: Outcome, case: Smooth, alpha: float, rows: Any, bounds: Any, what: str) -> None:
    """Every score of the optimum is within its bounds."""
    lo, hi = bounds
    if case.loss in SMOOTH:
        w, b = case.optimum(alpha)
        scores = rows @ w + b
        below, above = scores - _ROOM * (1 + np.abs(scores)), scores + _ROOM * (1 + np.abs(scores))
    else:
        problem = _problem(case, alpha)
        ball = optimal_ball(problem, solve(problem, tol=1e-12, max_time=2.0))
        assert ball is not None  # L2 is strongly convex
        below, above = ball.score_bounds(rows)
        scores = 0.5 * (below + above)
    apart = np.maximum(lo - above, below - hi)
    outcome.checks += apart.size - 1
    outcome.worst = max(outcome.worst, float(np.max(apart / (1 + np.abs(scores)), initial=0.0)))
    text = f"{int((apart > 0).sum())} of {apart.size} bounds, {what} [{case.loss}, {case.X.shape}]"
    outcome.expect(not (apart > 0).any() and not np.isnan([lo, hi]).any(), "whereabouts", text)


def _targets(outcome: Outcome, case: Smooth, alpha: float, rows: Any, rng: Rng) -> None:
    """Other targets of the last sample: single ones, ranges, and one far away from all that are fitted."""
    if case.loss not in _NUMBERS:
        return
    case = case.but(y=np.append(case.y[:-1], 0.0))
    problem = _problem(case, alpha)
    if not qualifies(problem):
        return
    candidates, size = Candidates(problem), 3.0 * float(np.std(case.y))
    for z in rng.normal(size=int(rng.integers(1, 4))) * size:
        candidates.fit(float(z))
    first, fitted = float(rng.normal() * size), min(candidates.known)
    around = fitted - 0.1 * size, fitted + 0.1 * size  # where nothing but the width of the range is in doubt
    for low, high in ((first, first), (first, first + 0.01 * size), (first, first + size), around):
        bounds = candidates.between(low, high).where.score_bounds(rows)
        for z in dict.fromkeys((low, 0.4 * low + 0.6 * high, high)):
            after = case.but(y=np.append(case.y[:-1], z))
            _judge(outcome, after, alpha, rows, bounds, f"target {z:.4g} of {low:.4g} to {high:.4g}")
    near, far = min(candidates.known), max(candidates.known) + 20 * size
    candidates.fit(far)
    growth = candidates.beyond(near, far)
    if growth is not None:
        lo, hi = candidates.between(far, far).where.score_bounds(case.X)
        room = 30 * size * growth.others
        after = case.but(y=np.append(case.y[:-1], far + 30 * size))
        _judge(outcome, after, alpha, case.X, (lo - room, hi + room), "a target beyond all")


def _changes(outcome: Outcome, case: Smooth, problem: Problem, rows: Any, rng: Rng) -> None:
    fit = solve(problem, tol=10.0 ** rng.uniform(-9, -3))
    n, b = len(case.y), np.atleast_1d(fit.intercept)[: problem.n_offsets]
    kind = ("delete", "weight", "flip")[rng.integers(3 if case.loss in _LABELS else 2)]
    weight = case.weight * (2.5 if kind == "weight" else 0.0)
    change, asked = Change(np.arange(n), weight, kind == "flip"), MemoryDesign(rows)
    certificate = None
    if case.loss in SMOOTH:
        certificate = ChangeCertificate(NewtonCertificate(problem, fit.w, b), problem.alpha, change)
        lo, hi = certificate.others(asked)
    for i in rng.permutation(n)[:6].tolist():
        after = case.but(y=case.y.copy(), weight=case.weight.copy())
        if kind == "flip":
            after.y[i] = -after.y[i]
        else:
            after.weight[i] = weight[i]
        left = after.y[after.weight > 0]
        if case.loss in ("logistic", "exponential") and len(set(left.tolist())) < 2:
            continue
        if case.loss == "poisson" and not left.any():
            continue
        if certificate is not None:
            bounds = lo[:, i], hi[:, i]
        else:
            changed, u = change.problem(problem, i), fit.minorant.u
            there = np.flatnonzero(after.weight > 0)
            if u is None or len(changed.y) != len(there):
                continue
            bounds = glance(changed, fit.w.astype(float), b, u[there]).score_bounds(rows)
        _judge(outcome, after, problem.alpha, rows, bounds, f"{kind} {i}")
