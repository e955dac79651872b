"""Forms: solvers ask what losses and designs of anybody's say of themselves, and tell what is missing."""

import numpy as np
import pytest

from gapfit import IncompatibleSolver, Problem, registry, solve
from gapfit.design.base import Design
from gapfit.design.forms import Plain, Rows, WideRows
from gapfit.design.kernel import KernelDesign
from gapfit.design.memory import MemoryDesign
from gapfit.losses import Hinge, Logistic, PiecewiseLoss
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import Conjugate, Curvature, Smooth
from gapfit.penalties import L1, L2, Box
from gapfit.penalties.forms import Differentiable, Euclidean, Net
from gapfit.solution import Iterate
from gapfit.solvers.base import missing_need, needs
from problems import labels_problem


class Halved(Design):
    """w -> X w / 2: products and nothing else."""

    dtype = np.dtype(np.float64)

    def __init__(self, X):
        self.X, self.shape, self.size = X, X.shape, X.size

    @property
    def largest(self):
        return 0.5 * float(np.abs(self.X).max())

    def scores(self, w):
        return 0.5 * (self.X @ w)

    def adjoint(self, u):
        return 0.5 * (self.X.T @ u)

    def take(self, rows):
        return type(self)(self.X[rows])

    def distances(self, penalty, centre):
        return penalty.dual_norms(0.5 * self.X, centre)


class PlainHalved(Halved):
    def forms(self):
        yield Plain()


class RowsHalved(PlainHalved):
    def forms(self):
        yield from super().forms()
        yield Rows(MemoryDesign(0.5 * self.X))


def drawn(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sign(X[:, 0] + 0.5 * rng.normal(size=n))


@pytest.mark.parametrize("kind", [Halved, PlainHalved, RowsHalved])
@pytest.mark.parametrize(
    "loss", ["hinge", "logistic", "squared_hinge", "f_beta", "softmax", "crammer_singer"]
)
def test_a_foreign_design_works_with_every_solver_that_takes_it(kind, loss):
    X, y = drawn()
    if loss in ("softmax", "crammer_singer"):
        y = (y > 0) + (X[:, 1] > 1.0).astype(float)
        if kind is Halved:
            with pytest.raises(TypeError, match="Halved cannot have 3 scores a sample"):
                Problem(kind(X), y, loss)
            return
    problem, same = Problem(kind(X), y, loss, alpha=0.1), Problem(0.5 * X, y, loss, alpha=0.1)
    reference = solve(same, tol=1e-8).certificate
    able = [name for name in registry.SOLVERS if not missing_need(registry.as_solver(name), problem)]
    full = [name for name in registry.SOLVERS if not missing_need(registry.as_solver(name), same)]
    assert {"auto", "bundle"} <= set(able) <= set(full)
    if kind is RowsHalved:
        assert able == full
    for name in able:
        tol = 1e-2 if name == "pegasos" else 1e-3 if name == "pragam" else 1e-5
        found = solve(problem, name, tol=tol, max_iter=3000)
        assert found.converged, (name, found.status)
        assert found.certificate.primal >= reference.dual and found.certificate.dual <= reference.primal


def test_the_type_is_the_name():
    problem = labels_problem(loss="squared_hinge")
    risk = problem.risk
    assert isinstance(risk.form(Atoms), Atoms) and isinstance(risk.form(Conjugate), Conjugate)
    assert risk.has(Smooth) and problem.has(Curvature) and not problem.has(WideRows)
    assert problem.form(Rows).matrix is problem.design
    assert not Hinge().bind(problem.y, problem.weight).has(Smooth)
    assert not Logistic().bind(problem.y, problem.weight).has(Atoms)
    with pytest.raises(
        IncompatibleSolver, match=r"the rows of X, several scores each.*MemoryDesign does not"
    ):
        problem.form(WideRows)


def test_forms_of_penalties():
    assert L2().has(Euclidean) and L2().has(Differentiable) and L2().form(Net) == Net(0.0, 1.0)
    assert not L1().has(Euclidean) and not L1().has(Differentiable) and L1().form(Net) == Net(1.0, 0.0)
    assert Box(L2(), 0.0, 1.0).form(Net) == Net(0.0, 1.0)
    assert not Box(L2(), 0.0, 1.0).has(Euclidean) and not Box(L2(), 0.0, 1.0).has(Differentiable)


def test_a_kernel_has_one_score_a_sample():
    X, y = drawn(20)
    with pytest.raises(TypeError, match="KernelDesign cannot have 2 scores a sample"):
        Problem(KernelDesign(X @ X.T), (y > 0).astype(float), "softmax")


class Level:
    """A form that gapfit does not know."""


def test_forms_may_be_anybodys():
    class LevelHinge(PiecewiseLoss):
        def atoms(self, y):
            return Atoms.each(y, sign=y, lin=1.0, hi=1.0)

        def bind(self, y, weight, groups=None):
            risk = super().bind(y, weight, groups)
            risk.forms = lambda: iter([Level()])
            return risk

    @needs(Level)
    def level_only(problem, state=None):
        yield Iterate(problem.start(), np.zeros(0), problem.zero_plane())

    X, y = drawn()
    assert missing_need(level_only, Problem(X, y, LevelHinge())) is None
    with pytest.raises(IncompatibleSolver, match="level_only needs Level, which no part of the problem has"):
        solve(Problem(X, y, "hinge"), level_only)


def test_needs_as_texts_are_understood_for_now():
    with pytest.warns(DeprecationWarning, match=r"needs\(Smooth, Euclidean, Rows\)"):

        @needs("smooth", penalty="L2", design="rows")
        def old(problem, state=None):
            yield

    assert old.needs == (Smooth, Euclidean, Rows)
    with pytest.raises(TypeError, match="not loss 'shiny'"):
        needs("shiny")(old)


def test_capabilities_and_offers_are_not_silently_ignored():
    with pytest.warns(DeprecationWarning, match="Old.offers is no longer read: yield records from `forms`"):

        class Old(Halved):
            offers = frozenset({"euclidean"})
