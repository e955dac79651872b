"""Every check can fail: examples with one thing wrong each, and the sentence that says so."""

from functools import cached_property

import numpy as np
import pytest
from scipy import sparse

from gapfit import ContractError, Problem
from gapfit.design.chain import ChainDesign
from gapfit.design.forms import Plain, Rows
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import Gaussian
from gapfit.design.memory import MemoryDesign
from gapfit.losses import CrammerSinger, Hinge, Logistic, SquaredHinge
from gapfit.losses.base import Certain
from gapfit.losses.forms import Smooth
from gapfit.minorant import Minorant
from gapfit.penalties import L1, L2, Box, ElasticNet, SquaredLp
from gapfit.penalties.forms import Net
from gapfit.registry import as_solver
from gapfit.rounding import Estimate
from gapfit.solution import Iterate
from gapfit.solvers.base import Effort, needs
from gapfit.solvers.second_order.place import place
from gapfit.structures import WeightDesign
from gapfit.testing import check_design, check_loss, check_penalty, check_solver

LABELS = np.where(np.arange(12) % 3 == 0, 1.0, -1.0)


def changed(loss, **faults):
    """The loss, its risks with some methods replaced; those are given the risk and the old method."""

    class Changed(type(loss)):
        def bind(self, y, weight, groups=None):
            risk = super().bind(y, weight, groups)
            for name, fault in faults.items():
                old = getattr(risk, name)
                setattr(
                    risk, name, (lambda *a, f=fault, o=old, **k: f(o, *a, **k)) if callable(fault) else fault
                )
            return risk

    found = Changed.__new__(Changed)
    vars(found).update(vars(loss))
    return found


def other_atoms(forms):
    return (form._replace(lin=form.lin + 1e-6) if hasattr(form, "lin") else form for form in forms())


def moved(entropy):
    lower, upper = entropy.bounds()
    return entropy._replace(bounds=lambda: (lower, 1.1 * upper))


LOSSES = {
    "R\\(f\\) \\+ R\\*\\(u\\)": changed(SquaredHinge(), conjugate=lambda old, u: old(u) + 1e-6),
    "Fenchel-Young fails": changed(
        Hinge(), project_dual=lambda old, u, balanced: old(2 * u, balanced=balanced) * 2
    ),
    "does not balance": changed(Hinge(), project_dual=lambda old, u, balanced: old(u, balanced=False)),
    "the curvature is not": changed(Logistic(), curvature=lambda old, f, b: 1.01 * old(f, b)),
    "the atoms give another": changed(Hinge(), forms=other_atoms),
    "Smooth, but": changed(Hinge(), forms=lambda old: iter([Smooth(), *old()])),
    "BinaryEntropy is off": changed(
        Logistic(),
        forms=lambda old: (moved(f) if hasattr(f, "bounds") else f for f in old()),
    ),
    "value_above is too low": changed(
        Hinge(), value_above=lambda old, f, low, b, slack: Estimate(old(f, low, b, 0 * slack).value, 0.0)
    ),
    "over `rise`": changed(Hinge(), rise=lambda old, slack: 0.0),
    "conjugate_above is wrong": changed(Hinge(), conjugate_above=lambda old, u, exact: Estimate(-9.0, 0.0)),
    "certainly zero is not": changed(
        Hinge(), certain=lambda old, lo, hi: Certain(*3 * [np.ones(len(lo), bool)])
    ),
    "certainly not zero is zero": changed(
        Hinge(), certain=lambda old, lo, hi: Certain(*2 * [np.zeros(len(lo), bool)], np.ones(len(lo), bool))
    ),
    "below infimum": changed(Hinge(), infimum=9.0),
    "best_offset says": changed(SquaredHinge(), best_offset=lambda old, f: (0.1, 0.1)),
}


@pytest.mark.parametrize("sentence", LOSSES)
def test_a_fault_of_a_loss_is_found(sentence):
    with pytest.raises(ContractError, match=sentence):
        check_loss(LOSSES[sentence], LABELS)


def test_simplices_that_are_not_those_of_the_loss():
    loss = CrammerSinger()
    wrong = changed(
        loss, forms=lambda old: (f._replace(entropic=True) if hasattr(f, "costs") else f for f in old())
    )
    check_loss(changed(loss), np.arange(12.0) % 3)
    with pytest.raises(ContractError, match="the simplices give another value"):
        check_loss(wrong, np.arange(12.0) % 3)


class Weightless(Hinge):
    def bind(self, y, weight, groups=None):
        return super().bind(y, np.ones_like(weight), groups)


def test_weights_that_do_not_count():
    with pytest.raises(ContractError, match="weight k is not k copies"):
        check_loss(Weightless(), LABELS)


def altered(penalty, **faults):
    """The penalty with some attributes replaced, methods given the old ones."""
    for name, fault in faults.items():
        old = getattr(penalty, name)
        setattr(penalty, name, (lambda *a, f=fault, o=old, **k: f(o, *a, **k)) if callable(fault) else fault)
    return penalty


PENALTIES = {
    "below zero": lambda: altered(L2(), value=lambda old, w: old(w) - 1.0),
    "though least_is_zero": lambda: altered(Box(L2(), 0.5, 1.0), least_is_zero=True),
    "at argmax": lambda: altered(L2(), argmax=lambda old, mu: 1.01 * mu),
    "Fenchel-Young": lambda: altered(
        L2(), conjugate=lambda old, mu: 0.9 * old(mu), argmax=lambda old, mu: mu * (1 - 0.1**0.5)
    ),
    "less convex": lambda: altered(L2(), modulus=1.01),
    "subgradient inequality": lambda: altered(L2(), subgradient=lambda old, w: 0.5 * w),
    "not between 0 and 1": lambda: altered(L1(), shrinkage=lambda old, mu, slack=0.0: 2.0),
    "infinite at shrinkage": lambda: altered(L1(), shrinkage=lambda old, mu, slack=0.0: old(mu)),
    "not the largest": lambda: altered(L1(), shrinkage=lambda old, mu, slack=0.0: 0.5 * old(mu, slack)),
    "what value_above says": lambda: altered(
        L2(), value_above=lambda old, w, exact: Estimate(1.1 * old(w).value, 0.0)
    ),
    "conjugate_above is": lambda: altered(L2(), conjugate_above=lambda old, mu, slack, exact: old(mu, 0.0)),
    "over argmax_error": lambda: altered(L2(), argmax_error=lambda old, mu, slack: 0.5 * slack),
    "norm_below is above": lambda: altered(L2(), norm_below=lambda old, w: 1.01 * old(w)),
    "length is below": lambda: altered(L2(), length=lambda old, w: 0.99 * old(w)),
    "stretch is too small|argmax_error": lambda: altered(L2(), stretch=0.5),
    "dual_norms are too small": lambda: altered(L2(), dual_norms=lambda old, X, c: 0.3 * old(X, c)),
    "leave its bounds": lambda: altered(L2(), bounds=lambda old, d: (np.full(d, -0.01), np.full(d, 0.01))),
    "finite outside its bounds": lambda: altered(
        L2(), bounds=lambda old, d: (np.full(d, -1e3), np.full(d, 1e3)), value=lambda old, w: old(w)
    ),
    "infinite at its own point": lambda: altered(L2(), rounded=lambda old, w, dtype: np.full(5, np.inf)),
    "argmax, prox or rounded": lambda: altered(Box(L2(), -1, 1), rounded=lambda old, w, dtype: w - 9),
    "euclidean, but": lambda: altered(ElasticNet(0.5), euclidean=True),
    "quadratic, but": lambda: altered(ElasticNet(0.5), quadratic=True),
    "no gradient": lambda: altered(L1(), smooth=True),
    "gives another value": lambda: altered(L2(), forms=lambda old: iter([Net(0.1, 1.0)])),
    "does not match the maximiser": lambda: altered(L2(), curvature=lambda old, mu, V: 1.1 * old(mu, V)),
    "not positive semidefinite": lambda: altered(L2(), curvature=lambda old, mu, V: -old(mu, V)),
    "prox is not the minimum": lambda: altered(SquaredLp(1.5), prox=lambda old, v, step: 0.9 * old(v, step)),
}


@pytest.mark.parametrize("sentence", PENALTIES)
def test_a_fault_of_a_penalty_is_found(sentence):
    with pytest.raises(ContractError, match=sentence):
        check_penalty(PENALTIES[sentence]())


RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 6))
THIN = sparse.random(60, 80, 0.1, format="csr", random_state=0)
DESIGNS = {
    "dense": MemoryDesign(X),
    "single": MemoryDesign(X.astype(np.float32)),
    "sparse": MemoryDesign(THIN),
    "wide": MemoryDesign(X).widened(3),
    "kernel": KernelDesign(X, Gaussian(0.1)),
    "matrix": KernelDesign(X @ X.T),
    "chain": ChainDesign(X, np.full(10, 5), 3),
    "sparse chain": ChainDesign(THIN, np.full(12, 5), 3),
    "edges": ChainDesign(X, np.full(10, 5), 3, edge_features=X[:, :2]),
    "weights": WeightDesign(30, 7),
}


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("seed", [0, 1])
def test_designs(name, seed):
    rows = np.arange(20) if "chain" in name or name == "edges" else None
    check_design(DESIGNS[name], rows=rows, seed=seed)


class Faulty(MemoryDesign):
    """The rows of X, and one thing wrong."""

    def __init__(self, X, **faults):
        super().__init__(X)
        for name, fault in faults.items():
            old = getattr(self, name)
            setattr(self, name, (lambda *a, f=fault, o=old, **k: f(o, *a, **k)) if callable(fault) else fault)


class Unsteady(MemoryDesign):
    count = 0

    def digest(self):
        self.count += 1
        return str(self.count)


class Doubled(MemoryDesign):
    @cached_property
    def row_sizes(self):
        return 0.5 * super().row_sizes

    def distances(self, penalty, centre):
        return penalty.dual_norms(self.X, centre)


class Small(MemoryDesign):
    largest = 0.01


DESIGN_FAULTS = {
    "size is 0": lambda: Faulty(X, size=0),
    "are not 50 float64": lambda: Faulty(X, scores=lambda old, w: old(w).astype(np.float32)),
    "not linear": lambda: Faulty(X, scores=lambda old, w: old(w) + 1e-6 * (w[0] * w[1])),
    "scores\\(0\\) is not 0": lambda: Faulty(X, scores=lambda old, w: old(w) + 1.0),
    "<adjoint\\(u\\), w> is not": lambda: Faulty(X, adjoint=lambda old, u: old(u) * (1 + 1e-6)),
    "adjoints differ": lambda: Faulty(X, adjoints=lambda old, *u: [1.001 * a for a in old(*u)]),
    "slack allows": lambda: Faulty(X, slack=lambda old, w: 1e-3 * old(w)),
    "spread allows": lambda: Faulty(X, spread=lambda old, u: 1e-6 * old(u)),
    "the slack of precise_scores": lambda: Faulty(
        X, precise_scores=lambda old, w: old(w)._replace(low=np.zeros(50))
    ),
    "the slack of precise_adjoint": lambda: Faulty(
        X, precise_adjoint=lambda old, u: old(u)._replace(low=np.zeros(6))
    ),
    "row [0-9]+ has the length": lambda: Doubled(X),
    "over distances": lambda: Faulty(X, distances=lambda old, penalty, centre: 0.9 * old(penalty, centre)),
    "over largest": lambda: Small(X),
    "over reach": lambda: Faulty(X, reach=lambda old, u: 0.9 * old(u)),
    "take gives other scores": lambda: Faulty(X, take=lambda old, rows: old(rows[::-1])),
    "has [0-9]+ samples": lambda: Faulty(X, take=lambda old, rows: MemoryDesign(X)),
    "risk is not that of its scores": lambda: Faulty(X, risk=lambda old, risk, w, b: (0.0, None)),
    "risk_above misses": lambda: Faulty(X, risk_above=lambda old, risk, w, b, stray: Estimate(0.0, 0.0)),
    "widened\\(2\\) gives other": lambda: Faulty(
        X, widened=lambda old, k: MemoryDesign(X[:, ::-1].copy()).widened(k)
    ),
    "its Rows give scores": lambda: Faulty(X, forms=lambda old: iter([Rows(MemoryDesign(2 * X))])),
    "its Rows have another shape": lambda: Faulty(X, forms=lambda old: iter([Rows(MemoryDesign(X[:9]))])),
    "Plain, but": lambda: Faulty(
        X,
        inner=lambda old, a, w: 2 * old(a, w),
        adjoint=lambda old, u: 0.5 * old(u),
        adjoints=lambda old, *u: [0.5 * a for a in old(*u)],
        precise_adjoint=lambda old, u: None,
        forms=lambda old: iter([Plain()]),
    ),
    "digest changes": lambda: Unsteady(X),
    "a part has the digest": lambda: Faulty(
        X, digest=lambda old: "", take=lambda old, rows: Faulty(X[rows], digest=lambda old: "")
    ),
}


@pytest.mark.parametrize("sentence", DESIGN_FAULTS)
def test_a_fault_of_a_design_is_found(sentence):
    with pytest.raises(ContractError, match=sentence):
        check_design(DESIGN_FAULTS[sentence]())


def test_other_data_have_another_digest():
    check_design(MemoryDesign(X), other=MemoryDesign(X + 1.0))
    with pytest.raises(ContractError, match="the same digest"):
        check_design(MemoryDesign(X), other=MemoryDesign(X.copy()))


class Forgetful(KernelDesign):
    """Its products depend on those before, and its state does not hold them."""

    count = 0

    def state(self):
        return None

    def restore(self, state):
        self.count += 1

    def scores(self, w):
        return super().scores(w) * (1 + 1e-16 * self.count) + 1e-17 * self.count


def test_a_design_that_does_not_come_back_to_its_state():
    with pytest.raises(ContractError, match="from the same state, differs"):
        check_design(Forgetful(np.eye(9)), trials=0)


# solvers: Newton's method, and one thing wrong


def newton(problem, state=None):
    return as_solver("newton")(problem, state=state)


def passed_on(change):
    """Newton's iterates, changed."""

    def method(problem, state=None):
        steps, answer = newton(problem, state), None
        while True:
            try:
                answer = yield change(problem, steps.send(answer))
            except StopIteration:
                return

    method.__name__ = "method"
    return method


def forged(problem, iterate):
    a = np.zeros(problem.design.shape[1])
    return iterate._replace(minorant=Minorant(a, np.zeros(problem.n_offsets), 1e-3, maker=0))


def inflated(problem, iterate):
    u = np.zeros(problem.design.shape[0])
    return iterate._replace(minorant=problem.claimed(u, problem.design.adjoint(u), 1e3), estimate=None)


def forgetful(problem, iterate):
    """Its state is that of another point."""
    begun = {**iterate.snapshot(), "point": place(problem, problem.start(), None)}
    return iterate._replace(snapshot=lambda: begun)


def small_problem():
    return [Problem(X, np.sign(X[:, 0] + 0.3), "logistic", alpha=0.1)]


SOLVER_FAULTS = {
    "its problem has not made|its problem has made": passed_on(forged),
    "is above the optimum|lower bound": passed_on(inflated),
    "a point of shape": passed_on(lambda p, i: i._replace(w=np.append(i.point(), 0.0))),
    "over tol": passed_on(lambda p, i: i._replace(minorant=None)),
    "claims that J is": passed_on(lambda p, i: i._replace(primal=0.5 * p.best(i.point(), i.b)[0])),
    "it yields b": passed_on(lambda p, i: i._replace(b=np.zeros(3))),
    "the step from a state": passed_on(forgetful),
    "goes nowhere": lambda problem, state=None: (
        iter(()) if state else passed_on(lambda p, i: i._replace(snapshot=lambda: {"k": 1}))(problem)
    ),
}


@pytest.mark.parametrize("sentence", SOLVER_FAULTS)
def test_a_fault_of_a_solver_is_found(sentence):
    with pytest.raises((ContractError, ValueError), match=sentence):
        check_solver(SOLVER_FAULTS[sentence], small_problem())


def test_a_solver_that_draws_at_random_without_a_seed():
    rng = np.random.default_rng(0)
    method = passed_on(lambda p, i: i._replace(w=i.point() * (1 + 1e-9 * rng.normal()), snapshot=dict))
    with pytest.raises(ContractError, match="another answer"):
        check_solver(method, small_problem())


class Nowhere:
    """A form that no problem has."""


def test_a_solver_that_takes_nothing():
    with pytest.raises(ContractError, match="takes none of the problems"):
        check_solver(needs(Nowhere)(passed_on(lambda p, i: i)))


@pytest.mark.parametrize(
    ("share", "sentence"), [(0.1, "not .* as its effort says"), (10.0, "multiply-adds"), (-1, "step =")]
)
def test_an_effort_that_is_not_so(share, sentence):
    def slow(problem, state=None):
        return as_solver("bundle")(problem, state=state)

    def declared(factor):
        return lambda problem: Effort(0.0, factor * 2.0 * problem.design.size, 100, 0.0)

    needs(effort=declared(1.0))(slow)
    check_solver(slow, small_problem())
    needs(effort=declared(share))(slow)
    with pytest.raises(ContractError, match=sentence):
        check_solver(slow, small_problem())


def test_a_solver_that_yields_something_else():
    def short(problem, state=None):
        yield Iterate(problem.start(), np.zeros(1), problem.zero_plane())
        yield 3

    with pytest.raises(ContractError, match="3, which is no Iterate"):
        check_solver(short, small_problem())
