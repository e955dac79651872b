"""Numbers that are the same for all of many samples are stored once, and nobody notices."""

import sys

import numpy as np
import pytest

from gapfit import Problem, rowwise, solve
from gapfit.losses.atoms import Atoms
from gapfit.registry import SOLVERS, as_solver
from gapfit.rowwise import is_repeated, of_each, once, repeated, shares, short
from gapfit.solvers.base import missing_need
from parts import in_parts

N = 700
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
REAL = X @ RNG.normal(size=4) + RNG.normal(size=N)
LOSSES = [
    "hinge",
    "squared_hinge",
    "logistic",
    "quantile",
    "epsilon_insensitive",
    "huber",
    "squared",
    "novelty",
]


@pytest.fixture
def many(monkeypatch):
    """A few hundred samples count as many."""
    monkeypatch.setattr(rowwise, "MANY", 600)
    monkeypatch.setattr("gapfit.losses.atoms.MANY", 600)


def targets(loss):
    return np.where(REAL > 0.3, 1.0, -1.0) if loss in ("hinge", "squared_hinge", "logistic") else REAL


def test_a_number_is_stored_once(many):
    x = repeated(3.0, N)
    assert is_repeated(x) and len(x) == N and (x == 3.0).all() and not is_repeated(repeated(3.0, 500))
    assert is_repeated(once(np.full(N, 2.0))) and not is_repeated(once(np.arange(float(N))))
    assert not is_repeated(once(np.r_[2.0, 1.0, np.full(N, 2.0)]))
    both = of_each(np.add, x, repeated(1.0, N))
    assert is_repeated(both) and (both == 4.0).all()
    mixed = of_each(np.add, x, np.arange(float(N)))
    np.testing.assert_array_equal(mixed, np.arange(N) + 3.0)
    np.testing.assert_array_equal(shares(repeated(2.0, N)), np.full(N, 1 / N))
    assert short(x).flags.c_contiguous and len(short(x)) == rowwise.SHORT and len(short(mixed)) == N


def test_atoms_of_equal_samples_take_no_memory(many):
    problem = Problem(X, targets("hinge"), "hinge")
    atoms = problem.form(Atoms)
    assert all(map(is_repeated, (atoms.lin, atoms.kink, atoms.quad, atoms.lo, atoms.hi, problem.weight)))
    assert np.shares_memory(atoms.sign, problem.y)


def gaps_overlap(one, two):
    room = 1e-12 * max(abs(one.primal), 1e-3)
    return one.dual <= two.primal + room and two.dual <= one.primal + room


@pytest.mark.parametrize("loss", LOSSES)
def test_every_solver_finds_the_same_optimum(loss, monkeypatch):
    """In memory and in parts, weighted alike or not."""
    y, uneven = targets(loss), RNG.integers(1, 4, N).astype(float)
    for weight in (None, np.full(N, 3.0), uneven):
        monkeypatch.undo()
        usual = solve(Problem(X, y, loss, alpha=1e-2, sample_weight=weight), tol=1e-8).certificate
        monkeypatch.setattr(rowwise, "MANY", 600)
        monkeypatch.setattr("gapfit.losses.atoms.MANY", 600)
        for design in (X, in_parts(X, 3)):
            problem = Problem(design, y, loss, alpha=1e-2, sample_weight=weight)
            for name in SOLVERS:
                if name in ("auto", "pragam", "smoothing", "line_search_bundle", "pegasos"):
                    continue  # they take long, or use nothing that others do not
                if not missing_need(as_solver(name), problem):
                    found = solve(problem, name, tol=1e-5, max_iter=2000)
                    assert gaps_overlap(found.certificate, usual), (name, type(design))
                    assert found.converged, (name, found)


def with_gaps():
    """Compiled functions that were called with arrays that have gaps."""
    return {
        (function.__name__, str(kind))
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith("gapfit.compiled.")
        for function in vars(module).values()
        for signature in getattr(function, "signatures", ())
        for kind in signature
        if "float64, 1d, A" in str(kind)
    }


def test_compiled_code_never_sees_them(many):
    """It would be compiled once more for arrays with gaps, and be slow."""
    before = with_gaps()  # by tests that call it
    for loss in LOSSES:
        for name in ("auto", "pragam", "smoothing", "dual_cd", "semismooth_newton"):
            problem = Problem(X, targets(loss), loss, alpha=1e-2)
            if name == "auto" or not missing_need(as_solver(name), problem):
                solve(problem, name, tol=1e-2, max_iter=20)
    assert with_gaps() == before
