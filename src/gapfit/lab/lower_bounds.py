"""Lower bounds: the counter-examples do what the papers say, with the constants put right."""

from fractions import Fraction
from math import ceil, floor

import numpy as np

from gapfit.lab import exact, examples
from gapfit.lab.runs import ls_bmrm, qp_bmrm
from gapfit.lab.statement import Chapter, Measured
from gapfit.losses import FBeta, Hinge
from gapfit.problem import Problem

LOWER = Chapter()


@LOWER.states("2010, Section 4.1")
def _four_points_iterates() -> Measured:
    """On the four points ls-bmrm from w_0 = 0 visits w = 12, 4/3, 7/3, 37/21, 2159/987, ... exactly."""
    example = examples.four_points()
    run = [step.w[0] for step in exact.ls_bmrm(example.exact, 5)][1:]
    trace = ls_bmrm(example.problem, example.start, 5)
    error = max(abs(w[0] - float(k)) for w, k in zip(trace.w[1:], run, strict=True))
    expected = [Fraction(12), Fraction(4, 3), Fraction(7, 3), Fraction(37, 21), Fraction(2159, 987)]
    words = f"w = {', '.join(map(str, run))} in rationals; the solver is within {error:.0e} of them"
    return Measured(words, run == expected and error <= 1e-12)


@LOWER.states("2010, Lemma 3", erratum=True)
def _four_points_recursion() -> Measured:
    """Lemma 3, corrected: the share of the first plane follows a_2k = a_(2k-1) w_2k / w_(2k-1) and a_(2k+1) =
    (w^2 + 16 a^2) / (w + 4 a)^2 a_2k, w = w_(2k-1), a = a_(2k-1). The printed (12) has a_(2k-1) in place of
    a_2k."""
    steps = 9
    run = exact.ls_bmrm(examples.four_points().exact, steps)[1:]
    formula = examples.four_point_iterates(steps)
    agree = all((s.w[0], s.shares[0]) == f for s, f in zip(run, formula, strict=True))
    (w, a), third = formula[0], formula[2][1]
    printed = (w * w + 16 * a * a) / (w + 4 * a) ** 2 * a
    words = f"{steps} steps equal in rationals; a_3 = {third}, and {printed} by the printed formula"
    return Measured(words, agree and printed != third)


@LOWER.states("2010, Theorem 2", erratum=True)
def _four_points_rate() -> Measured:
    """Theorem 2, corrected: k (J(w_k) - J*) tends to 1/8 for ls-bmrm on the four points (printed: 1/4)."""
    example = examples.four_points()
    k = 10_000
    J = ls_bmrm(example.problem, example.start, k).J[-1]
    measured = k * (J - 0.125)
    return Measured(f"{measured:.6f} at k = {k}", abs(measured - 1 / 8) < 1e-3)


@LOWER.states("2010, Lemma 4", erratum=True)
def _four_points_limits() -> Measured:
    """Lemma 4, corrected: k a_(2k-1) tends to 1/8 and k |2 - w_k| to 1 (printed: 1/4 and 2)."""
    w, a, k = 12.0, 1.0, 200_000
    for _ in range(k - 1):  # the recursion from one odd step to the next
        even = a * (2 - 8 * a / w) / w
        w, a = 2 + 8 * a * (w - 4 * a) / (w * (w + 4 * a)), (w * w + 16 * a * a) / (w + 4 * a) ** 2 * even
    share, distance = k * a, (2 * k - 1) * abs(2 - w)
    words = f"{share:.6f} and {distance:.6f} at k = {k}"
    return Measured(words, abs(share - 1 / 8) < 1e-4 and abs(distance - 1) < 1e-3)


@LOWER.states("2010, (4)", erratum=True)
def _four_points_false_gap() -> Measured:
    """For ls-bmrm the gap (4) is no certificate: w_k does not minimise J_k, and J_k(w_k) exceeds J* at 28 of
    the first 30 steps. D_k never does."""
    example = examples.four_points()
    run = ls_bmrm(example.problem, example.start, 30)
    planes = [example.problem.oracle(w).minorant for w in run.w]
    model = [
        max(float(p.a[0] * w[0]) + p.c for p in planes[:k]) + example.problem.alpha * 0.5 * float(w @ w)
        for k, w in enumerate(run.w[1:], start=1)
    ]
    above = sum(value > 0.125 + 1e-12 for value in model)
    words = f"J_k(w_k) > J* at {above} of 30 steps; largest D_k - J* is {run.D.max() - 0.125:.1e}"
    return Measured(words, above == 28 and bool((run.D <= 0.125 + 1e-15).all()))


@LOWER.states("2010, Section 4.1")
def _four_points_qp() -> Measured:
    """qp-bmrm solves the four points exactly in three steps."""
    run = exact.qp_bmrm(examples.four_points().exact, 3)
    words = "w = " + ", ".join(str(step.w[0]) for step in run)
    return Measured(words, [run[3].w[0], run[3].J] == [2, Fraction(1, 8)])


@LOWER.states("2010, Theorem 5")
def _svm_gap() -> Measured:
    """Theorem 5: on the SVM example with n samples J(w_k) - J* is exactly 1/(2k) + 1/(4n), 1 <= k <= n, and
    step n + 1 is the optimum."""
    exactly = []
    for n in (4, 9):
        example = examples.svm(n)
        run = exact.qp_bmrm(example.exact, n + 1)
        exactly += [run[k].J - example.minimum == Fraction(1, 2 * k) + Fraction(1, 4 * n) for k in _to(n)]
        exactly.append(run[n + 1].J == example.minimum == Fraction(1, 4 * n))
    example = examples.svm(100)
    solver = qp_bmrm(example.problem, example.start, 101)
    error = max(abs(solver.J[k] - float(example.objective(k))) for k in _to(100))
    last = float(np.abs(solver.w[101] - example.optimum).max())
    words = f"equal in rationals for n = 4, 9; within {max(error, last):.0e} in floating point for n = 100"
    return Measured(words, all(exactly) and max(error, last) < 1e-12)


@LOWER.states("2010, Theorem 5", erratum=True)
def _svm_certificate() -> Measured:
    """What is slow is the certificate: the gap eps_k, w_0 included, is exactly 1/(2k) for k <= n, though w_0
    is within 1/(4n) of the optimum."""
    n = 9
    example = examples.svm(n)
    run = exact.qp_bmrm(example.exact, n)
    exactly = all(_eps(run, k) == Fraction(1, 2 * k) for k in _to(n))
    words = f"n = {n}: eps_k = {', '.join(str(_eps(run, k)) for k in (1, 2, 3))}, ...; "
    words += f"J(w_0) - J* = {run[0].J - example.minimum}"
    return Measured(words, exactly and run[0].J - example.minimum == Fraction(1, 4 * n))


@LOWER.states("2010, Theorem 5", erratum=True)
def _svm_floor() -> Measured:
    """Theorem 5 with n = floor(1/eps): the gap of w_1 .. w_k stays above eps for all k < 2/(3 eps). With n =
    ceil(1/eps), as printed, it does not."""

    def violations(n: int, eps: Fraction) -> int:
        below = [k for k in range(1, n + 1) if k < Fraction(2, 3) / eps]
        return sum(Fraction(1, 2 * k) + Fraction(1, 4 * n) <= eps for k in below)

    grid = [Fraction(k, 10_000) for k in range(100, 5_000, 7)]
    floored = sum(violations(floor(1 / eps), eps) for eps in grid)
    raised = sum(violations(ceil(1 / eps), eps) for eps in grid)
    words = f"{floored} violations with floor, {raised} with ceil, over {len(grid)} values of eps"
    return Measured(words, floored == 0 < raised)


@LOWER.states("2010, Theorem 5", erratum=True)
def _svm_other_ties() -> Measured:
    """The bound is adversarial in the oracle: with the ordinary subgradient at the margin, or with the zero
    plane, qp-bmrm solves the SVM example in two steps."""
    example = examples.svm(50)
    plain = Problem(example.problem.design, example.problem.y, Hinge(), alpha=1.0, intercept=False)
    ordinary = qp_bmrm(plain, example.start, 3)
    zero = qp_bmrm(example.problem, example.start, 3, True)
    gaps = abs(float(ordinary.eps[2])), abs(float(zero.eps[2]))
    words = f"gap after two steps {gaps[0]:.0e} and {gaps[1]:.0e}, where the worst oracle leaves 1/4"
    return Measured(words, max(gaps) < 1e-12)


@LOWER.states("2010, Theorem 6")
def _f1_gap() -> Measured:
    """Theorem 6 with exact constants: J* = (n + 8) / (6 (n + 11)), and J(w_k) - J* = 1/(2k) + 1/(2(n + 11))
    for 1 <= k < n (printed: at least 1/(2k) - 1/(2(n - 1)))."""
    exactly = []
    for n in (5, 8):
        example = examples.f1(n)
        run = exact.qp_bmrm(example.exact, n - 1)
        extra = Fraction(1, 2 * (n + 11))
        exactly += [run[k].J - example.minimum == Fraction(1, 2 * k) + extra for k in _to(n - 1)]
        exactly.append(example.minimum == Fraction(n + 8, 6 * (n + 11)))
    example = examples.f1(60)
    solver = qp_bmrm(example.problem, example.start, 59)
    error = max(abs(solver.J[k] - float(example.objective(k))) for k in _to(59))
    ordinary = Problem(example.problem.design, example.problem.y, FBeta(), alpha=1.0, intercept=False)
    best = ordinary.evaluate(example.optimum, np.zeros(0)) - float(example.minimum)
    words = f"equal in rationals for n = 5, 8; within {error:.0e} for n = 60; J(w*) - J* = {best:.0e}"
    return Measured(words, all(exactly) and error < 1e-12 and abs(best) < 1e-14)


@LOWER.states("2010, Theorem 6", erratum=True)
def _f1_zero_plane() -> Measured:
    """The F1 example stays slow with the zero plane: for n = 10, eps_k = 1/(2 (k + 11)) for 2 <= k <= 9."""
    run = exact.qp_bmrm(examples.f1(10).exact, 9, zero_plane=True)
    words = "eps_k = " + ", ".join(str(_eps(run, k)) for k in range(2, 10))
    return Measured(words, all(_eps(run, k) == Fraction(1, 2 * (k + 11)) for k in range(2, 10)))


@LOWER.states("2009, Theorems 6 and 7", erratum=True)
def _hadamard_false() -> Measured:
    """Theorems 6 and 7 are false as printed: the columns of the Hadamard construction come in pairs a, -a,
    its rank is d/2, and qp-bmrm closes the gap in two steps from any start."""
    d = 16
    A, problem = examples.hadamard_matrix(d), examples.hadamard(d)
    starts = [np.zeros(d), *np.random.default_rng(0).normal(size=(5, d))]
    eps = max(qp_bmrm(problem, start, 2).eps[2] for start in starts)
    rank = int(np.linalg.matrix_rank(A))
    words = f"d = {d}: rank {rank}, a_(i + d/2) = -a_i, eps_2 = {eps:.0e} where 1/4 was claimed"
    return Measured(words, rank == d // 2 and np.array_equal(A[:, 8:], -A[:, :8]) and eps < 1e-12)


@LOWER.states("2009, Theorems 6 and 7", erratum=True)
def _orthonormal_max() -> Measured:
    """The corrected example, R(w) = max(0, max_i <a_i, w>) with d orthonormal a_i: J(w_t) = 1/(2 alpha t) and
    D_t = -1/(2 alpha t) for 1 <= t <= d, J* = 0, and step d + 1 is the optimum."""
    example = examples.orthonormal(8, 0.5)
    run = exact.qp_bmrm(example.exact, 9)
    exactly = all(step.J == Fraction(1, t) == -(step.D or 0) for t, step in enumerate(run[1:9], start=1))
    solver = qp_bmrm(example.problem, example.start, 9)
    error = float(np.abs(solver.J[1:9] - [1 / t for t in _to(8)]).max())
    words = f"d = 8, alpha = 1/2: equal in rationals, J(w_9) = {run[9].J}; the solver is within {error:.0e}"
    return Measured(words, exactly and run[9].J == 0 and error < 1e-12)


def _eps(run: list[exact.ExactStep], k: int) -> Fraction:
    """The certificate after k steps, w_0 included."""
    bound = run[k].D
    assert bound is not None
    return min(step.J for step in run[: k + 1]) - bound


def _to(n: int) -> range:
    return range(1, n + 1)
