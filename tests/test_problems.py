"""Many problems proved together: what is proved of each is what `Problem` proves of it, and true."""

from typing import NamedTuple

import numpy as np
import pytest

from gapfit import Problem, Status, solve
from gapfit.certify import certify
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Gaussian
from gapfit.driver.together import together
from gapfit.losses import EpsilonInsensitive, Hinge, Huber, Novelty
from gapfit.problems import Problems

DRAW = np.random.default_rng(11)
X = DRAW.normal(size=(60, 3))
WEIGHT = DRAW.integers(1, 4, 60).astype(float)
DESIGN = KernelDesign(X, Gaussian(0.4))


class Part(NamedTuple):
    rows: np.ndarray
    target: np.ndarray
    alpha: float


def parts(loss):
    """About some samples each: few, many, all."""
    made = []
    for size, alpha in ((6, 1e-2), (25, 1e-1), (40, 1e-4), (60, 1e-3)):
        rows = np.sort(DRAW.choice(60, size, replace=False))
        target = X[rows, 0] + 0.3 * DRAW.normal(size=size)
        if isinstance(loss, Hinge):
            target = np.where(target > np.median(target), 1.0, -1.0)
        made.append(Part(rows, target, alpha))
    return made


def one_by_one(some, loss):
    return [
        Problem(DESIGN.take(part.rows), part.target, loss, "l2", part.alpha, WEIGHT[part.rows])
        for part in some
    ]


@pytest.fixture(params=[Hinge(), EpsilonInsensitive(0.2), Novelty(0.3)], ids=repr)
def many(request):
    some = parts(request.param)
    return Problems.of(DESIGN, some, request.param, WEIGHT), one_by_one(some, request.param)


def test_the_proofs_are_those_of_each_problem(many):
    problems, each = many
    pieces = np.split(np.arange(problems.first[-1]), problems.first[1:-1])
    for size in (0.0, 1e-3, 1.0):
        w, u = size * DRAW.normal(size=(2, problems.first[-1]))
        proved = problems.proved(w, u)
        for k, (problem, here) in enumerate(zip(each, pieces, strict=True)):
            b, _ = problem.best_offsets(w[here], np.zeros(1))
            assert proved.b[k] == pytest.approx(b[0], abs=1e-9)
            minorant = problem.minorant_at(u[here])
            np.testing.assert_allclose(proved.u[here], minorant.u, atol=1e-12)
            alone = certify(problem, w[here], proved.b[k : k + 1], minorant)
            np.testing.assert_allclose(proved.certificates[k][:3], alone[:3], rtol=1e-11, atol=1e-13)


def test_rounding_is_counted_as_in_each_problem(many):
    """Sums are in another order, so that allowances may differ by a factor; none may be missing."""
    problems, each = many
    w, u = DRAW.normal(size=(2, problems.first[-1]))
    near = problems._feasible(u)
    found = problems._bounds(w, near)
    for k, problem in enumerate(each):
        here = slice(*problems.first[k : k + 2])
        alone = problem.least(problem.minorant_at(near[here]))
        assert 0.7 * alone.error <= found.lower_error[k] <= 5 * alone.error
        alone = problem.most(w[here], found.b[k : k + 1])
        assert 0.7 * alone.error <= found.upper_error[k] <= 5 * alone.error


def test_a_minimiser_that_is_the_point_is_not_squared_again(many):
    """Up to rounding; what is proved stays true, and as sharp. From farther away its own square is taken."""
    problems, each = many
    u = problems._feasible(1e-3 * DRAW.normal(size=problems.first[-1]))
    mu = u / -problems.alpha.repeat(problems.sizes)
    for w, squared in ((mu * (1 + 2.0**-52), False), (mu * (1 + 1e-9), True)):
        assert problems._bounds(w, problems._feasible(u)).squared.tolist() == [squared] * len(each)
        proved = problems.proved(w, u)
        for k, problem in enumerate(each):
            here = slice(*problems.first[k : k + 2])
            least = problem.least(problem.minorant_at(u[here]))
            assert proved.certificates[k].dual == pytest.approx(least.value, rel=1e-12, abs=1e-14)


def test_one_problem_is_proved_as_many_are(many):
    """With numbers in place of arrays."""
    problems, _ = many
    w, u = 1e-2 * DRAW.normal(size=(2, problems.first[-1]))
    proved = problems.proved(w, u)
    for k in range(len(problems.sizes)):
        chosen = np.arange(len(problems.sizes)) == k
        here = np.arange(*problems.first[k : k + 2])
        alone = problems.some(chosen, here).proved(w[here], u[here])
        assert alone.b[0] == proved.b[k]
        np.testing.assert_allclose(alone.certificates[0][:3], proved.certificates[k][:3], rtol=1e-11)


def test_bounds_enclose_the_optimum(many):
    problems, each = many
    found = together(problems, 1e-4)
    assert found.statuses == [Status.CERTIFIED] * len(each)
    for k, problem in enumerate(each):
        certificate = found.certificates[k]
        assert certificate.relative_gap <= 1e-4
        exact = solve(problem, "bundle", tol=1e-8)
        assert certificate.dual <= exact.certificate.primal
        assert exact.certificate.dual <= certificate.primal
        here = slice(*problems.first[k : k + 2])
        value = problem.evaluate(found.w[here], found.b[k : k + 1])
        assert value == pytest.approx(certificate.primal, rel=1e-12)


def test_losses_with_parabolas_are_solved_one_by_one():
    assert Problems.of(DESIGN, parts(Huber(1.0)), Huber(1.0), WEIGHT) is None


def test_one_class_alone_is_not_balanced():
    alone = Part(np.arange(5), np.ones(5), 0.1)
    assert Problems.of(DESIGN, [alone], Hinge(), WEIGHT) is None
