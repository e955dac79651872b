"""The papers' two cutting plane methods in rational arithmetic: what they do, without rounding.

    minimise over w:   alpha / 2 * sum_j metric_j w_j^2 + R(w)

The metric takes up square roots: with w_1 = u_1 / sqrt(n) a problem with irrational data has a rational twin
in u. Only for problems of a few dimensions and steps: numerators grow with every step.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

Rational = list[Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


class ExactProblem(NamedTuple):
    """A problem in rationals, with the point to start from."""

    oracle: Callable[[Rational], tuple[Fraction, Rational]]  # w -> R(w) and a subgradient
    metric: Rational  # the penalty is 1/2 sum_j metric_j w_j^2
    alpha: Fraction
    start: Rational

    def penalty(self, w: Rational) -> Fraction:
        """alpha * Omega(w)."""
        return self.alpha * sum((q * x * x for q, x in zip(self.metric, w, strict=True)), ZERO) / 2

    def minimiser(self, slope: Rational) -> Rational:
        """The w that minimises alpha * Omega(w) + <slope, w>."""
        return [-a / (self.alpha * q) for a, q in zip(slope, self.metric, strict=True)]


class ExactStep(NamedTuple):
    """The k-th iterate, J there, the lower bound D_k that was proved before, and the shares of the planes."""

    w: Rational
    J: Fraction
    D: Fraction | None
    shares: Rational


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """<a, b>."""
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


def qp_bmrm(problem: ExactProblem, steps: int, *, zero_plane: bool = False) -> list[ExactStep]:
    """w_0 and `steps` iterates, each the exact minimiser of alpha * Omega + the highest plane."""
    return _bmrm(problem, steps, _all_planes, zero_plane)


def ls_bmrm(problem: ExactProblem, steps: int, *, zero_plane: bool = False) -> list[ExactStep]:
    """The same with a line search: the shares so far, mixed with the newest plane."""
    return _bmrm(problem, steps, _newest_plane, zero_plane)


Plane = tuple[Rational, Fraction]
Master = Callable[[ExactProblem, list[Plane], Rational], Rational]


def _bmrm(problem: ExactProblem, steps: int, master: Master, zero_plane: bool) -> list[ExactStep]:
    planes: list[Plane] = [([ZERO] * len(problem.start), ZERO)] if zero_plane else []
    shares, w = [ONE] * zero_plane, problem.start
    D = ZERO if zero_plane else None
    found = []
    while True:
        risk, slope = problem.oracle(w)
        found.append(ExactStep(w, problem.penalty(w) + risk, D, shares))
        if len(found) > steps:
            return found
        planes.append((slope, risk - dot(slope, w)))
        shares = master(problem, planes, [*shares, ZERO] if shares else [ONE])
        mixed = _mixed(planes, shares)
        w = problem.minimiser(mixed[0])
        D = mixed[1] - problem.penalty(w)


def _mixed(planes: list[Plane], shares: Rational) -> Plane:
    slopes = zip(*(a for a, _ in planes), strict=True)
    return [dot(shares, column) for column in slopes], dot(shares, [b for _, b in planes])


def _newest_plane(problem: ExactProblem, planes: list[Plane], shares: Rational) -> Rational:
    if len(planes) == 1:
        return shares
    (old, old_b), (new, new_b) = _mixed(planes, shares), planes[-1]
    step = [x - y for x, y in zip(new, old, strict=True)]
    gain = dot(step, problem.minimiser(old)) + new_b - old_b
    curvature = -dot(step, problem.minimiser(step))
    eta = ONE if not curvature else max(min(gain / curvature, ONE), ZERO)
    return [(1 - eta) * share for share in shares[:-1]] + [eta]


def _all_planes(problem: ExactProblem, planes: list[Plane], shares: Rational) -> Rational:
    mapped = [problem.minimiser(a) for a, _ in planes]
    G = [[-dot(a, m) for m in mapped] for a, _ in planes]
    return maximise_on_simplex(G, [b for _, b in planes], shares)


def maximise_on_simplex(G: list[Rational], c: Rational, start: Rational) -> Rational:
    """maximise c'x - x'Gx / 2 over x >= 0, sum x = 1, by an active set."""
    x = list(start)
    free = [i for i, share in enumerate(x) if share]
    while True:
        gradient = [ci - dot(row, x) for ci, row in zip(c, G, strict=True)]
        step, bounded = _direction(G, gradient, free)
        limits = [(-x[i] / d, i) for i, d in zip(free, step, strict=True) if d < 0]
        length, blocking = min(limits, default=(ONE, -1))
        if bounded and length >= 1:
            length, blocking = ONE, -1
        for i, d in zip(free, step, strict=True):
            x[i] += length * d
        if blocking >= 0:
            x[blocking] = ZERO
            free.remove(blocking)
            continue
        gradient = [ci - dot(row, x) for ci, row in zip(c, G, strict=True)]
        level = dot(gradient, x)
        entering = max(range(len(x)), key=lambda i: (gradient[i], -i))
        if gradient[entering] <= level:
            return x
        free.append(entering)


def _direction(G: list[Rational], gradient: Rational, free: list[int]) -> tuple[Rational, bool]:
    """The step to the maximum on the face; or, unbounded, a direction in which G is flat and c rises."""
    k = len(free)
    rows = [[*(G[i][j] for j in free), ONE, gradient[i]] for i in free]
    rows.append([ONE] * k + [ZERO, ZERO])
    pivots: dict[int, int] = {}
    for column in range(k + 1):
        found = next((r for r in range(len(pivots), k + 1) if rows[r][column]), None)
        if found is None:
            continue
        top = len(pivots)
        rows[top], rows[found] = rows[found], rows[top]
        rows[top] = [value / rows[top][column] for value in rows[top]]
        for r in range(k + 1):
            if r != top and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [value - factor * above for value, above in zip(rows[r], rows[top], strict=True)]
        pivots[column] = top
    loose = [column for column in range(k) if column not in pivots]
    if not loose:
        return [rows[pivots[column]][-1] for column in range(k)], True
    null = [ONE if j == loose[0] else -rows[pivots[j]][loose[0]] if j in pivots else ZERO for j in range(k)]
    rise = dot(null, [gradient[i] for i in free])
    return (null if rise > 0 else [-value for value in null]), False
