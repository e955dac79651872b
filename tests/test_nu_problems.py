"""Nu machines proved together: what is proved of each is what `Problem` proves of it, and true."""

from typing import NamedTuple

import numpy as np
import pytest
from sklearn.svm import NuSVC

from gapfit import KernelSVC, Problem
from gapfit.certify import certify
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Gaussian
from gapfit.driver.together import together
from gapfit.errors import UnboundedProblem
from gapfit.losses import Hinge
from gapfit.losses.nu import NuHinge, NuTube
from gapfit.nu_problems import NuProblems

DRAW = np.random.default_rng(12)
X = DRAW.normal(size=(60, 3))
WEIGHT = DRAW.integers(1, 4, 60).astype(float)
DESIGN = KernelDesign(X, Gaussian(0.4))


class Part(NamedTuple):
    rows: np.ndarray
    target: np.ndarray
    alpha: float


def parts():
    """About some samples each: few, many, all."""
    made = []
    for size in (12, 25, 40, 60):
        rows = np.sort(DRAW.choice(60, size, replace=False))
        score = X[rows, 0] + 0.3 * DRAW.normal(size=size)
        made.append(Part(rows, np.where(score > np.median(score), 1.0, -1.0), 1.0 / WEIGHT[rows].sum()))
    return made


@pytest.fixture
def many():
    some, loss = parts(), NuHinge(0.4)
    each = [Problem(DESIGN.take(p.rows), p.target, loss, "l2", p.alpha, WEIGHT[p.rows]) for p in some]
    return NuProblems.of(DESIGN, some, loss, WEIGHT), each


def dual_points(problems, each, size):
    """Feasible ones of all problems, and points that may be theirs."""
    u = [problem.minorant_at(size * DRAW.normal(size=problem.design.n_samples)).u for problem in each]
    return np.concatenate(u), np.concatenate(
        [one / -problem.alpha for one, problem in zip(u, each, strict=True)]
    )


@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("far", [False, True])
def test_the_proofs_are_those_of_each_problem(many, size, far):
    problems, each = many
    u, w = dual_points(problems, each, size)
    w = size * DRAW.normal(size=len(w)) if far else w
    proved = problems.proved(w, u)
    for k, problem in enumerate(each):
        here = slice(*problems.first[k : k + 2])
        alone = certify(problem, w[here], np.zeros(0), problem.minorant_at(u[here]))
        np.testing.assert_allclose(proved.certificates[k][:3], alone[:3], rtol=1e-11, atol=1e-13)
        b, width = problem.risk.offset_and_width(problem.scores(w[here]))
        assert problems.margins(w)[k][:2] == pytest.approx((b, width), abs=1e-12)


def test_rounding_is_counted_as_in_each_problem(many):
    """Sums are in another order, so that allowances may differ by a factor; none may be missing."""
    problems, each = many
    u, w = dual_points(problems, each, 0.1)
    near = problems._feasible(u)
    found = problems._bounds(w, near)
    for k, problem in enumerate(each):
        here = slice(*problems.first[k : k + 2])
        alone = problem.least(problem.minorant_at(near[here]))
        assert 0.2 * alone.error <= found.lower_error[k] <= 10 * alone.error
        alone = problem.most(w[here], np.zeros(0))
        assert 0.2 * alone.error <= found.upper_error[k] <= 10 * alone.error


@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_they_are_solved_together(many, tol):
    problems, each = many
    found = together(problems, tol)
    for k, problem in enumerate(each):
        certificate, here = found.certificates[k], slice(*problems.first[k : k + 2])
        assert found.statuses[k] is not None and 0 <= certificate.relative_gap <= tol
        alone = certify(problem, found.w[here], np.zeros(0), problem.minorant_at(found.u[here]))
        np.testing.assert_allclose(certificate[:2], alone[:2], rtol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_they_are_those_of_libsvm(seed):
    rng = np.random.default_rng(seed)
    n, k, nu = int(rng.integers(60, 200)), int(rng.integers(2, 5)), float(rng.uniform(0.1, 0.4))
    X = rng.normal(size=(n, 4)).round(1)
    score = X[:, 0] + 0.5 * rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, k) / k))
    ours, theirs = KernelSVC(nu=nu, tol=1e-7).fit(X, y), NuSVC(nu=nu, tol=1e-9).fit(X, y)
    assert ours.converged_
    shape = {"decision_function_shape": "ovo"}
    ours.set_params(**shape), theirs.set_params(**shape)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-2)
    np.testing.assert_array_equal(ours.support_status_.shape[-1], n)


def test_what_is_not_of_this_kind_is_left_to_others():
    some = parts()
    assert NuProblems.of(DESIGN, some, Hinge(), WEIGHT) is None
    assert NuProblems.of(DESIGN, some, NuTube(0.4), WEIGHT) is None
    assert NuProblems.of(DESIGN, some, NuHinge(1.0), WEIGHT) is None  # more than either class has
    assert NuProblems.of(KernelDesign(X, Gaussian(0.4), keep=0), some, NuHinge(0.4), WEIGHT) is None


def test_a_margin_of_no_width_is_named():
    y = np.resize([0, 1], 40)
    with pytest.raises(UnboundedProblem, match="no width"):
        KernelSVC(nu=0.2).fit(np.zeros((40, 2)) + (np.arange(40) // 2)[:, None], y)
