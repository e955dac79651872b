"""SMO: exact steps on pairs of dual variables, their linear rate, and the support vectors they find.

    minimise  f(v) = 1/2 v'Kv - y'v,    v_i between 0 and y_i c,  sum v = 0,     c = 1 / (alpha n)

is the dual of the support vector machine with an unpenalised intercept, min J = -alpha min f. The paper's x_i
is y_i v_i. K is positive definite here, so the constant mu of its theorem can be computed: the least
eigenvalue of K, and L is the largest.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from gapfit._types import Indices, Matrix, Vector
from gapfit.lab.statement import Chapter, Measured
from gapfit.problem import Problem
from gapfit.projections import project_box_hyperplane
from gapfit.solve import solve

PAIRS = Chapter()
SEEDS = range(5)
DRAWS = range(10)  # of random pairs, on each machine


class Machine(NamedTuple):
    """A kernel machine, its best dual value and point, and the run of pairwise steps from v = 0."""

    problem: Problem
    K: Matrix
    y: Vector
    lower: Vector
    upper: Vector
    least: float  # min f
    best: Vector  # where
    run: Matrix  # v after each step

    def f(self, v: Vector) -> float:
        """The dual objective, to be minimised."""
        return float(0.5 * v @ self.K @ v - self.y @ v)

    @property
    def rate(self) -> float:
        """1 - mu / (|B| L), |B| the number of pairs."""
        values = np.linalg.eigvalsh(self.K)
        n = len(self.y)
        return float(1 - values[0] / (0.5 * n * (n - 1) * values[-1]))

    def sides(self, v: Vector) -> Vector:
        """0 for variables at zero, 2 for those at c, 1 for those between."""
        return np.where(v == 0, 0, np.where((v == self.lower) | (v == self.upper), 2, 1))

    def identified(self) -> int:
        """The step after which no variable comes to a bound or leaves it."""
        sides = np.array([self.sides(v) for v in self.run])
        return int(np.flatnonzero((sides[1:] != sides[:-1]).any(axis=1))[-1]) + 1


@cache
def machine(seed: int, n: int = 30, steps: int = 400) -> Machine:
    """Overlapping classes in the plane, and a Gaussian kernel."""
    from gapfit.design.kernel import KernelDesign
    from gapfit.design.kernel_functions import Gaussian
    from gapfit.solvers.pairs.exact import Box

    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, 2)) + 0.7 * y[:, None]
    alpha = 1 / (2.0 * n)
    problem = Problem(KernelDesign(X, Gaussian(8.0)), y, "hinge", alpha=alpha)
    K = np.column_stack([problem.design.scores(e) for e in np.eye(n)])
    c = 1 / (alpha * n)
    lower, upper = np.minimum(0.0, c * y), np.maximum(0.0, c * y)
    box = Box(K, -y, np.zeros(n), lower, upper, np.zeros(n), True)
    run = [box.v.copy()]
    while len(run) <= steps and box.pairs(1, 1e-13)[0]:
        run.append(box.v.copy())
    solution = solve(problem, "smo", tol=1e-13)
    least = -solution.certificate.dual / alpha
    return Machine(problem, K, y, lower, upper, least, solution.w, np.array(run))


def pair_gains(machine: Machine, v: Vector) -> Vector:
    """By how much the exact step on each pair lowers f: updates (13) to (16), for all pairs at once."""
    g = machine.K @ v - machine.y
    i, j = np.triu_indices(len(v), 1)
    bend = machine.K[i, i] + machine.K[j, j] - 2 * machine.K[i, j]
    low = np.maximum(machine.lower[i] - v[i], v[j] - machine.upper[j])
    high = np.minimum(machine.upper[i] - v[i], v[j] - machine.lower[j])
    slope = g[i] - g[j]
    t = np.clip(-slope / bend, low, high)
    return -(slope * t + 0.5 * bend * t**2)


@PAIRS.states("SMO, (11)")
def _smo_expected_decrease() -> Measured:
    """(11): the exact step on a pair drawn uniformly lowers f by at least mu / (|B| L) (f - f*) on average,
    |B| = n (n - 1) / 2 pairs, at every feasible point."""
    smallest, checked = np.inf, 0
    for seed in SEEDS:
        m = machine(seed)
        rng = np.random.default_rng(seed)
        ones = np.ones(len(m.y))
        feasible = [
            project_box_hyperplane(rng.normal(size=len(m.y)), m.lower, m.upper, ones, 0.0) for _ in range(40)
        ]
        for v in [*m.run[:40], *feasible]:
            excess = m.f(v) - m.least
            if excess > 1e-9:
                mean = float(pair_gains(m, v).mean())
                smallest, checked = min(smallest, mean / ((1 - m.rate) * excess)), checked + 1
    words = f"the mean decrease is at least {smallest:.0f} times that, at {checked} points"
    return Measured(words, smallest >= 1)


@cache
def run_by_rule(seed: int, rule: str, draw: int, rounds: int = 400) -> tuple[Matrix, int]:
    """v after every n steps on pairs by the rule, and after how many steps no variable changed sides."""
    from gapfit.solvers.pairs.rules import Identification
    from gapfit.solvers.smo import smo

    m, trace = machine(seed), Identification()
    run = [np.zeros(len(m.y))]
    for iterate in smo(m.problem, rule=rule, seed=draw, trace=trace):
        run.append(iterate.point())
        if len(run) > rounds or m.f(run[-1]) - m.least < 1e-13:
            break
    return np.array(run), int(trace.since.max())


def _compared(m: Machine, excess: Vector, k: Indices) -> tuple[float, float]:
    """What is left of f after k steps, by what (12) allows, at most; and by what factor a step lowers it."""
    shown = excess > 1e-10
    last = int(np.flatnonzero(shown)[-1])
    ratio = float((excess / (m.rate**k * excess[0]))[shown].max())
    return ratio, float((excess[last] / excess[0]) ** (1 / k[last]))


def _told(compared: list[tuple[float, float]]) -> Measured:
    ratios, rates = zip(*compared, strict=True)
    words = f"largest ratio {max(ratios):.3f}; rates {min(rates):.3f} to {max(rates):.3f} a step, "
    return Measured(words + f"proved 1 - {1 - machine(0).rate:.0e}", max(ratios) <= 1)


@PAIRS.states("SMO, (12)")
def _smo_rate() -> Measured:
    """(12): E f(x_k) - f* <= (1 - mu / (|B| L))^k (f(x_0) - f*) for pairs drawn uniformly."""
    compared = []
    for seed in SEEDS:
        m = machine(seed)
        runs = [run_by_rule(seed, "random", draw)[0] for draw in DRAWS]
        shortest = min(map(len, runs))
        excess = np.mean([[m.f(v) for v in run[:shortest]] for run in runs], axis=0) - m.least
        compared.append(_compared(m, excess, len(m.y) * np.arange(len(excess))))
    words, holds = _told(compared)
    return Measured(f"mean of {len(DRAWS)} draws: {words}", holds)


@PAIRS.states("SMO, (12)")
def _smo_rate_second_order() -> Measured:
    """(12) holds as well for the pairs that the second-order rule chooses, and f falls at each step."""
    compared = []
    for seed in SEEDS:
        m = machine(seed)
        excess = np.array([m.f(v) for v in m.run]) - m.least
        if (np.diff(excess) > 1e-12).any():
            return Measured("f rose", False)
        compared.append(_compared(m, excess, np.arange(len(excess))))
    return _told(compared)


@PAIRS.states("SMO, Lemma 3")
def _smo_identification() -> Measured:
    """The variables at zero and at c are those of the optimum after finitely many steps, and stay so, for
    random pairs and for each rule that chooses them."""
    from gapfit.solvers.pairs.rules import RULES

    words, right = [], []
    for rule in RULES:
        since = []
        for seed in SEEDS:
            m = machine(seed)
            run, last = run_by_rule(seed, rule, 0)
            since.append(last)
            steps = (len(run) - 1) * len(m.y)
            right.append(np.array_equal(m.sides(run[-1]), m.sides(m.best)) and last < steps)
        words.append(f"{rule} {min(since)} to {max(since)}")
    return Measured(f"steps until identified: {', '.join(words)}", all(right))


@PAIRS.states("SMO, Lemma 2", erratum=True)
def _smo_conformal() -> Measured:
    """Lemma 2, corrected: for separable convex h and a conformal realisation d = sum d_j, sum_j (h(x + d_j) -
    h(x)) <= h(x + d) - h(x). With the printed h(x - d) it fails."""
    rng = np.random.default_rng(0)
    corrected = printed = 0
    trials = 500
    for _ in range(trials):
        d = rng.normal(size=6)
        d -= d.mean()
        x, centre, bend = rng.normal(size=6), rng.normal(size=6), rng.uniform(0, 2, 6)

        def h(z: Vector, centre: Vector = centre, bend: Vector = bend) -> float:
            return float((bend * (z - centre) ** 2 + np.abs(z)).sum())

        gains = sum(h(x + part) - h(x) for part in _realisation(d))
        corrected += gains > h(x + d) - h(x) + 1e-9
        printed += gains > h(x - d) - h(x) + 1e-9
    words = f"violations in {trials} trials: {corrected} as corrected, {printed} as printed"
    return Measured(words, corrected == 0 < printed)


def _realisation(d: Vector) -> list[Vector]:
    """Vectors with two entries each, t and -t, with the signs of d, that add up to d (whose sum is zero)."""
    parts: list[Vector] = []
    rest = d.copy()
    while True:
        i, j = int(rest.argmax()), int(rest.argmin())
        t = min(rest[i], -rest[j])
        if t <= 1e-12:
            return parts
        part = np.zeros_like(d)
        part[i], part[j] = t, -t
        parts.append(part)
        rest -= part
