"""Upper bounds: how fast the cutting plane methods are at the least, measured on many small problems."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from gapfit._types import Matrix
from gapfit.lab.examples import four_points, orthonormal, svm
from gapfit.lab.runs import Method, Trace, ls_bmrm, qp_bmrm
from gapfit.lab.statement import Chapter, Measured
from gapfit.problem import Problem
from gapfit.solve import solve

UPPER = Chapter()
NOISE = 1e-12


def random_problem(seed: int, loss: str = "hinge", alpha: float = 0.02, intercept: bool = False) -> Problem:
    """Sixty noisy samples in five dimensions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 5))
    y = np.where(X @ rng.normal(size=5) + 0.7 * rng.normal(size=60) > 0, 1.0, -1.0)
    return Problem(X, y, loss, alpha=alpha, intercept=intercept)


def rows(problem: Problem) -> Matrix:
    """X, whatever holds it."""
    return np.column_stack([problem.design.scores(e) for e in np.eye(problem.design.shape[1])])


def slope_bound(problem: Problem) -> float:
    """G: no subgradient of a mean of 1-Lipschitz losses is longer than the mean row."""
    return float(problem.weight @ problem.distances / problem.weight.sum())


def _runs(loss: str = "hinge", seeds: int = 6, steps: int = 60) -> Iterator[tuple[Problem, float, Trace]]:
    """(problem, G, trace): both methods, with and without the zero plane, on random data and the examples."""
    methods: list[Method] = [qp_bmrm, ls_bmrm]
    for seed in range(seeds):
        problem = random_problem(seed, loss, alpha=(0.1, 0.02, 0.004)[seed % 3])
        for method in methods:
            for zero_plane in (False, True):
                trace = method(problem, problem.start(), steps, zero_plane)
                yield problem, slope_bound(problem), trace
    if loss == "hinge":
        for example, G in ((four_points(), 0.75), (svm(30), np.sqrt(1 + 1 / 30)), (orthonormal(30), 1.0)):
            for method in methods if example.problem.design.shape[1] == 1 else methods[:1]:
                yield example.problem, G, method(example.problem, example.start, 30, False)


@UPPER.states("2007, Lemma 1")
def _monotone_bounds() -> Measured:
    """Lemma 1: D_t never falls, D_t <= J* <= J(w_t), eps_t - eps_(t+1) >= D_(t+1) - D_t >= 0, and gamma_t >=
    eps_t >= min J(w_i) - J*."""
    checked, worst = 0, 0.0
    for problem, _, run in _runs(seeds=3):
        best = solve(problem, "bundle", tol=1e-12).certificate.dual
        lowest = np.minimum.accumulate(run.J)
        finite = np.isfinite(run.D)
        D, eps = run.D[finite], run.eps[finite]
        worst = max(
            worst,
            *(before - after for before, after in pairwise(D)),
            float((D - lowest[finite]).max()),
            float((best - run.J).max()),
            float((np.diff(D) + np.diff(eps)).max()),
            float((eps - run.gamma[finite]).max()),
            float((lowest[finite] - best - eps).max()),
        )
        checked += len(run.J)
    return Measured(f"largest violation {worst:.0e} over {checked} steps", worst < 1e-9)


@UPPER.states("2007, Theorem 4")
def _progress() -> Measured:
    """Inequality (11): eps_t - eps_(t+1) >= gamma_t / 2 * min(1, alpha gamma_t / (4 G^2)), for the exact
    master and the line search, with and without the zero plane."""
    checked, least = 0, np.inf
    for problem, G, run in _runs():
        gamma, eps = run.gamma[:-1], run.eps
        wanted = 0.5 * gamma * np.minimum(1.0, problem.alpha * gamma / (4 * G**2))
        counts = np.isfinite(gamma) & (wanted > 1e-10)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = ((eps[:-1] - eps[1:]) / wanted)[counts]
        checked, least = checked + len(ratio), min(least, ratio.min(initial=np.inf))
    return Measured(f"smallest ratio of the two sides {least:.3f} over {checked} steps", least >= 1 - 1e-6)


@UPPER.states("2010, Theorem 1; 2007, (13)", erratum=True)
def _steps_nonsmooth() -> Measured:
    """Theorem 1: eps_t <= eps after at most log2(alpha J(0) / G^2) + 8 G^2 / (alpha eps) - 1 steps, for eps <
    4 G^2 / alpha and J(0) not too small (the printed -4 of 2007 comes from a real-valued count)."""
    checked, most = 0, 0.0
    for problem, G, run in _runs():
        J0 = problem.evaluate(problem.start(), np.zeros(0))
        for t, eps in enumerate(run.eps[1:], start=1):
            if NOISE < eps < 4 * G**2 / problem.alpha and J0 > 0:
                allowed = np.log2(problem.alpha * J0 / G**2) + 8 * G**2 / (problem.alpha * eps) - 1
                checked, most = checked + 1, max(most, t / max(1.0, np.ceil(allowed)))
    return Measured(f"most steps used, as a share of those allowed: {most:.3f} ({checked} gaps)", most <= 1)


@UPPER.states("ours")
def _steps_sharper() -> Measured:
    """Sharper for w_0 = 0: eps_1 <= G^2 / (2 alpha), so at most 8 G^2 / (alpha eps) - 15 steps are needed for
    eps <= G^2 / (2 alpha), and the logarithm goes."""
    checked, most, first = 0, 0.0, 0.0
    for problem, G, run in _runs():
        if np.any(run.w[0]):
            continue
        limit = G**2 / (2 * problem.alpha)
        first = max(first, run.eps[1] / limit)
        for t, eps in enumerate(run.eps[1:], start=1):
            if NOISE < eps <= limit:
                allowed = max(1.0, np.ceil(8 * G**2 / (problem.alpha * eps) - 15))
                checked, most = checked + 1, max(most, t / allowed)
    words = f"share of the steps allowed {most:.3f}, of the first gap allowed {first:.3f} ({checked} gaps)"
    return Measured(words, most <= 1 and first <= 1 + 1e-9)


def curvature_bound(problem: Problem) -> float:
    """H: alpha + the largest eigenvalue of the logistic loss's Hessian bound, X'X / (4 n)."""
    X = rows(problem)
    return float(problem.alpha + np.linalg.norm(X, 2) ** 2 / (4 * len(X)))


@UPPER.states("2007, Theorem 4, (12)")
def _smooth_linear_rate() -> Measured:
    """Smooth losses, |Hess J| <= H: eps_t - eps_(t+1) >= alpha gamma_t / (4 H) at every step, hence at most
    (4 H / alpha) log(eps_0 / eps) steps. Measured with the logistic loss."""
    checked, least, most = 0, np.inf, 0.0
    for problem, _, run in _runs("logistic"):
        rate = problem.alpha / (4 * curvature_bound(problem))
        gamma, eps = run.gamma, run.eps
        counts = np.isfinite(gamma[:-1]) & (gamma[:-1] > 1e-9)
        least = min(least, float(((eps[:-1] - eps[1:])[counts] / (rate * gamma[:-1][counts])).min()))
        start = int(np.flatnonzero(np.isfinite(eps))[0])
        for t, value in enumerate(eps[start + 1 :], start=1):
            if value > 1e-10:
                checked, most = checked + 1, max(most, t * rate / np.log(eps[start] / value))
    words = f"smallest ratio of the two sides {least:.2f}; share of the steps allowed {most:.4f} ({checked})"
    return Measured(words, least >= 1 and most <= 1)


@UPPER.states("2007, (14)", erratum=True)
def _smooth_sign() -> Measured:
    """(14) has a sign reversed: the middle term is (4 / alpha) max(0, 8 G^2 / alpha - H). Iterating (12) with
    equality takes more steps than the printed formula allows and fewer than the corrected one."""
    alpha, G, H, start, goal = 0.1, 1.0, 1.0, 100.0, 1e-3
    gap, steps = start, 0
    while gap > goal:
        if gap > 4 * G**2 / alpha:
            gap -= gap / 2
        elif gap >= H / 2:
            gap -= alpha / 8
        else:
            gap -= alpha * gap / (4 * H)
        steps += 1
    ends = np.log2(alpha * start / (4 * G**2)), 4 * H / alpha * np.log(H / (2 * goal))
    printed = sum(ends) + 4 / alpha * max(0.0, H - 8 * G**2 / alpha)
    corrected = sum(ends) + 4 / alpha * max(0.0, 8 * G**2 / alpha - H)
    words = f"{steps} steps; printed {printed:.0f}, corrected {corrected:.0f}"
    return Measured(words, printed < steps <= corrected)


@UPPER.states("2009, Section 5", erratum=True)
def _frank_wolfe() -> Measured:
    """ls-bmrm is the Frank-Wolfe method with exact line search on the dual, and not coordinate descent: on a
    hinge problem without intercept its iterates are those of Frank-Wolfe."""
    problem = random_problem(1)
    run = ls_bmrm(problem, problem.start(), 25, True)
    Z = problem.y[:, None] * rows(problem)
    n = len(Z)
    dual = np.zeros(n)
    worst = moved = 0.0
    for w in run.w:
        worst = max(worst, float(np.abs(w - Z.T @ dual / problem.alpha).max()))
        gradient = 1.0 - Z @ (Z.T @ dual) / problem.alpha
        vertex = np.where(gradient > 0, 1.0 / n, 0.0)  # of the box that maximises the linear part
        step = vertex - dual
        moved = max(moved, float((step != 0).mean()))
        along = Z.T @ step
        dual = dual + float(np.clip(problem.alpha * (gradient @ step) / (along @ along), 0, 1)) * step
    words = (
        f"largest difference {worst:.0e} in {len(run.w)} steps; a step moves up to {moved:.0%} of the dual"
    )
    return Measured(words, worst < 1e-10 and moved > 0.5)


@UPPER.states("2009, Section 4", erratum=True)
def _balanced_subgradient() -> Measured:
    """With an unpenalised intercept the subgradient of min_b R needs sum u = 0. Counting the samples strictly
    inside the margin, at the breakpoint b* itself, gives planes that cut off part of the risk."""
    rng = np.random.default_rng(0)
    problem = random_problem(2, intercept=True)
    X, y, n = rows(problem), problem.y, len(problem.y)
    balanced = naive = pairs = 0
    for _ in range(60):
        w = rng.normal(size=5)
        at = problem.oracle(w)
        b = np.sort(y - at.scores)[int((y > 0).sum()) - 1]
        mask = X.T @ (-y * (y * (at.scores + b) < 1 - 1e-12) / n)
        for other in w + 0.1 * rng.normal(size=(20, 5)):
            risk = problem.oracle(other).risk
            balanced += risk < at.risk + at.minorant.a @ (other - w) - 1e-10
            naive += risk < at.risk + mask @ (other - w) - 1e-10
            pairs += 1
    words = f"planes above the risk: {balanced} of {pairs} balanced, {naive} of {pairs} counted"
    return Measured(words, balanced == 0 < naive)


@UPPER.states("2009, Appendix C")
def _best_offset() -> Measured:
    """The best intercept of the hinge at fixed scores is the n_+-th smallest of the numbers y_i - f_i."""
    rng = np.random.default_rng(3)
    worst = 0.0
    for seed in range(20):
        problem = random_problem(seed, intercept=True)
        scores = problem.scores(rng.normal(size=5))
        kinks = np.sort(problem.y - scores)
        b = kinks[int((problem.y > 0).sum()) - 1]
        grid = np.r_[kinks, rng.uniform(kinks[0], kinks[-1], 200)]
        values = [np.maximum(0.0, 1 - problem.y * (scores + x)).mean() for x in (b, *grid)]
        worst = max(worst, values[0] - min(values), abs(values[0] - problem.tangent(scores).value))
    return Measured(f"no other intercept is better by more than {worst:.0e} in 20 problems", worst < 1e-12)
