"""The papers' counter-examples: ordinary problems, their worst oracles, and what happens on them in formulas.

Each function returns an `Example`. Its `problem` can be given to every solver; its `exact` twin runs in
rational arithmetic. What is printed wrongly in the papers is right here (see docs/errata.md).
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from gapfit._types import Matrix, Slope
from gapfit.lab.exact import ONE, ZERO, ExactProblem, Rational
from gapfit.lab.ties import LargestScore, TiedF1, TiedHinge
from gapfit.problem import Problem


class Example(NamedTuple):
    """A problem and what the papers' method does on it from w_0 = start, for 1 <= k <= last."""

    problem: Problem
    exact: ExactProblem
    start: Slope
    optimum: Slope  # w*
    minimum: Fraction  # J*
    iterate: Callable[[int], Slope]  # k -> w_k
    objective: Callable[[int], Fraction]  # k -> J(w_k)
    last: int

    def gap(self, k: int) -> Fraction:
        """J(w_k) - J*."""
        return self.objective(k) - self.minimum


def four_points() -> Example:
    """Four samples on a line on which ls-bmrm needs Omega(1 / eps) steps: k (J(w_k) - J*) -> 1/8.

    x = (-1, -1/2, 1/2, 1), y = sign x, alpha = 1/16:   J(w) = w^2 / 32 + [1 - w/2]_+ / 2 + [1 - w]_+ / 2,
    w* = 2, J* = 1/8. The hinge's kinks are never met, so the ordinary hinge serves.
    """
    x, alpha = [Fraction(k, 2) for k in (-2, -1, 1, 2)], Fraction(1, 16)

    def oracle(w: Rational) -> tuple[Fraction, Rational]:
        inside = [1 - abs(xi) * w[0] for xi in x]
        slope = -sum((abs(xi) for xi, m in zip(x, inside, strict=True) if m > 0), ZERO) / 4
        return sum((m for m in inside if m > 0), ZERO) / 4, [slope]

    def objective(k: int) -> Fraction:
        w = four_point_iterates(k)[-1][0]
        return w * w / 32 + max(1 - w / 2, ZERO) / 2 + max(1 - w, ZERO) / 2

    X = np.array([[float(xi)] for xi in x])
    return Example(
        Problem(X, np.sign(X[:, 0]), "hinge", alpha=1 / 16, intercept=False),
        ExactProblem(oracle, [ONE], alpha, [ZERO]),
        np.zeros(1),
        np.array([2.0]),
        Fraction(1, 8),
        lambda k: np.array([float(four_point_iterates(k)[-1][0])]),
        objective,
        40,  # the fractions double in length with every second step; the formulas hold for ever
    )


@cache
def four_point_iterates(k: int) -> tuple[tuple[Fraction, Fraction], ...]:
    """(w_i, share of the first plane) for i = 1 .. k, by the corrected recursion of Lemma 3."""
    w, a = Fraction(12), ONE
    found = [(w, a)]
    while len(found) < k:
        even = 2 - 8 * a / w
        found.append((even, a * even / w))
        factor = (w * w + 16 * a * a) / (w + 4 * a) ** 2
        w, a = 2 + 8 * a * (w - 4 * a) / (w * (w + 4 * a)), factor * found[-1][1]
        found.append((w, a))
    return tuple(found[:k])


def svm(n: int) -> Example:
    """n samples y_i x_i = n e_{i+1} + sqrt(n) e_1 on which qp-bmrm needs n steps to prove what it has.

    alpha = 1, w_0 = e_1 / sqrt(n). On the margin, with none inside, the oracle returns one sample's slope.

    w_k = (1/sqrt(n), 1/k k times, 0, ...),  J(w_k) = 1/(2k) + 1/(2n),  D_k = 1/(2n) - 1/(2k),  J* = 1/(4n);
    after n + 1 steps w* = (1/sqrt(n), 1/n, ..., 1/n) / 2.
    """
    y = np.where(np.arange(1, n + 1) % 2 == 0, 1.0, -1.0)
    X = y[:, None] * np.column_stack([np.full(n, np.sqrt(n)), n * np.eye(n)])

    def oracle(u: Rational) -> tuple[Fraction, Rational]:
        inside = [1 - u[0] - n * ui for ui in u[1:]]
        counted = [i for i, m in enumerate(inside) if m > 0]
        if not counted:
            counted = [i for i, m in enumerate(inside) if m == 0][:1]
        slope = [Fraction(-len(counted), n)] + [-ONE if i in counted else ZERO for i in range(n)]
        return sum((m for m in inside if m > 0), ZERO) / n, slope

    def iterate(k: int) -> Slope:
        return np.asarray(np.r_[1 / np.sqrt(n), np.full(k, 1 / k), np.zeros(n - k)])

    return Example(
        Problem(X, y, TiedHinge(), alpha=1.0, intercept=False),
        ExactProblem(oracle, [Fraction(1, n)] + [ONE] * n, ONE, [ONE] + [ZERO] * n),  # w_1 = u_1 / sqrt(n)
        np.r_[1 / np.sqrt(n), np.zeros(n)],
        0.5 * np.r_[1 / np.sqrt(n), np.full(n, 1 / n)],
        Fraction(1, 4 * n),
        iterate,
        lambda k: Fraction(1, 2 * k) + Fraction(1, 2 * n),
        n,
    )


def f1(n: int) -> Example:
    """n samples, one of them positive, on which qp-bmrm for the F1 score needs n - 1 steps.

    x_i = -n/(2 sqrt 3) e_1 - n/2 e_{i+1} (negative, i < n),  x_n = sqrt(3) n/2 e_1 + n/2 e_{n+1} (positive),
    alpha = 1, w_0 = e_1 / sqrt 3. Of tied labellings, the oracle takes the single false positive.

    w_k = (1/sqrt 3, 1/k k times, 0, ...),  J(w_k) = 1/6 + 1/(2k),  J* = (n + 8) / (6 (n + 11)),
    w* = ((n + 8) / (sqrt 3 (n + 11)), 1/(n + 11) n - 1 times, 3/(n + 11)).
    """
    root = np.sqrt(3.0)
    X = np.column_stack([np.full(n, -n / (2 * root)), -0.5 * n * np.eye(n)])
    X[-1] = 0.0
    X[-1, [0, n]] = root * n / 2, n / 2
    y = np.r_[np.full(n - 1, -1.0), 1.0]

    def oracle(u: Rational) -> tuple[Fraction, Rational]:
        scores = [-Fraction(n, 6) * u[0] - Fraction(n, 2) * ui for ui in u[1:n]]
        positive = Fraction(n, 2) * (u[0] + u[n])
        order = sorted(range(n - 1), key=lambda i: (-scores[i], i))
        found = []  # value, whether it is the single false positive, true positives, false positives
        for tp in (0, 1):
            height = ZERO if tp else -positive
            for fp in range(n):
                height += scores[order[fp - 1]] if fp else ZERO
                delta = 1 - Fraction(2 * tp, 1 + tp + fp)
                found.append((delta + 2 * height / n, (tp, fp) == (1, 1), tp, fp))
        value, _, tp, fp = max(found)
        slope = [Fraction(-fp, 3) - (1 - tp)] + [ZERO] * n
        for i in order[:fp]:
            slope[i + 1] = -ONE
        slope[n] -= 1 - tp
        return value, slope

    def iterate(k: int) -> Slope:
        return np.asarray(np.r_[1 / root, np.full(k, 1 / k), np.zeros(n - k)])

    return Example(
        Problem(X, y, TiedF1(), alpha=1.0, intercept=False),
        ExactProblem(oracle, [Fraction(1, 3)] + [ONE] * n, ONE, [ONE] + [ZERO] * n),  # w_1 = u_1 / sqrt(3)
        np.r_[1 / root, np.zeros(n)],
        np.r_[(n + 8) / (root * (n + 11)), np.full(n - 1, 1 / (n + 11)), 3 / (n + 11)],
        Fraction(n + 8, 6 * (n + 11)),
        iterate,
        lambda k: Fraction(1, 6) + Fraction(1, 2 * k),
        n - 1,
    )


def orthonormal(d: int, alpha: float = 1.0) -> Example:
    """R(w) = max(0, max_i <a_i, w>) with d orthonormal a_i: what the Hadamard example should have been.

    The oracle returns a slope that is tied with zero and not zero itself, so that for 1 <= t <= d

    w_t = -(1/(alpha t)) sum_{i <= t} a_i,   J(w_t) = 1/(2 alpha t),   D_t = -1/(2 alpha t),   J* = J(0) = 0.
    """
    exact = Fraction(alpha)

    def oracle(w: Rational) -> tuple[Fraction, Rational]:
        value = max(ZERO, *w)
        tied = [i for i, x in enumerate(w) if x == value][:1]
        return value, [ONE if i in tied else ZERO for i in range(d)]

    return Example(
        Problem(np.eye(d), np.zeros(d), LargestScore(floor=True), alpha=alpha, intercept=False),
        ExactProblem(oracle, [ONE] * d, exact, [ZERO] * d),
        np.zeros(d),
        np.zeros(d),
        ZERO,
        lambda t: np.asarray(np.r_[np.full(t, -1 / (alpha * t)), np.zeros(d - t)]),
        lambda t: 1 / (2 * exact * t),
        d,
    )


def hadamard_matrix(d: int) -> Matrix:
    """The printed matrix A = [[H, -H], [-H, H]] / sqrt(d) for d = 2, 4, 8, ...; its columns are the slopes.

    It is printed as orthonormal. Its second half is the first with the sign changed.
    """
    H = np.ones((1, 1))
    while 2 * len(H) < d:
        H = np.block([[H, H], [H, -H]])
    if 2 * len(H) != d:
        raise ValueError(f"d must be a power of two, at least 2, got {d}")
    return np.asarray(np.block([[H, -H], [-H, H]]) / np.sqrt(d))


def hadamard(d: int, alpha: float = 1.0) -> Problem:
    """The printed example, R(w) = max_i <a_i, w> with the columns of `hadamard_matrix`. It is easy."""
    A = hadamard_matrix(d)
    return Problem(A.T, np.zeros(d), LargestScore(floor=False), alpha=alpha, intercept=False)
