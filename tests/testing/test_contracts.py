"""The public checks pass on everything we ship, and find what is wrong with what we do not."""

import numpy as np
import pytest

from gapfit import ContractError, Problem, registry, solve
from gapfit.losses import Hinge, PointwiseLoss
from gapfit.penalties import L1, L2, Box, ElasticNet, SquaredLp
from gapfit.testing import check_loss, check_penalty, check_solver
from metrics import METRICS, registry_name
from problems import labels_problem, make_penalty
from tables import LOSSES, PENALTIES, targets
from vectors import VECTORS


def test_the_tables_are_complete():
    tables = (LOSSES, METRICS, VECTORS)
    others = {"chain_crf", "chain_margin", "scaled_huber"}  # see test_chain.py, test_scaled.py
    assert {registry_name(name) for table in tables for name in table} | others == set(registry.LOSSES)
    assert {name.partition("(")[0] for name in PENALTIES} == set(registry.PENALTIES)


@pytest.mark.parametrize("loss", LOSSES)
def test_loss(loss):
    check_loss(registry.LOSSES[loss](**LOSSES[loss]), targets(loss))


@pytest.mark.parametrize("penalty", PENALTIES)
def test_penalty(penalty):
    check_penalty(make_penalty(penalty, PENALTIES[penalty](5)), 5)


@pytest.mark.parametrize(
    "penalty",
    [ElasticNet(0.0), ElasticNet(1.0), SquaredLp(1.05), SquaredLp(2.0), Box(L1(), 0), Box(L2(), 0.5, 0.5)],
    ids=repr,
)
def test_penalty_at_the_edge_of_its_parameters(penalty):
    check_penalty(penalty, 4)


SLOW = {
    "pegasos": 1e-1,
    "line_search_bundle": 1e-2,
    "pragam": 1e-3,
    "pragam_entropy": 1e-3,
    "chain_dual": 1e-3,
}


@pytest.mark.parametrize("solver", registry.SOLVERS)
def test_solver(solver):
    """On all problems that it declares to take: every loss, penalties, kernels, chains and structures."""
    check_solver(solver, tol=SLOW.get(solver, 1e-5))


class _Wrong(PointwiseLoss):
    """max(0, 1 - y f)^2 with one thing wrong."""

    def __init__(self, fault: str, size: float = 1e-6) -> None:
        self.fault, self.size = fault, size

    def value_and_slope(self, f, y):
        margin = np.maximum(1 - y * f, 0.0)
        value, slope = margin**2, -2 * y * margin
        if self.fault == "slope":
            slope = slope * (1 + self.size)
        if self.fault == "value":
            value = value * (1 + self.size) + 1e-3 * np.sin(50 * f)
        return value, slope


@pytest.mark.parametrize("fault", ["slope", "value"])
def test_errors_of_one_in_a_million_are_found(fault):
    for seed in range(100):
        with pytest.raises(ContractError):
            check_loss(_Wrong(fault), targets("hinge"), seed=seed)
    check_loss(_Wrong("none"), targets("hinge"))


class _LyingHinge(PointwiseLoss):
    """A hinge whose slope is too flat: its tangents are not minorants."""

    def value_and_slope(self, f, y):
        margin = 1 - y * f
        return np.maximum(margin, 0.0), np.where(margin > 0, -0.5 * y, 0.0)


def test_a_lower_bound_above_an_attained_value_names_the_loss():
    with pytest.raises(ContractError, match="_LyingHinge"):
        solve(labels_problem(loss=_LyingHinge(), intercept=False, alpha=1e-1), "bundle")


def test_a_loss_that_returns_nan_is_named():
    class NotANumber(PointwiseLoss):
        def value_and_slope(self, f, y):
            return np.where(f > 0, np.nan, 1.0), np.zeros_like(f)

    problem = Problem(np.ones((3, 1)), np.ones(3), NotANumber(), intercept=False, offset=np.ones(3))
    with pytest.raises(ContractError, match="NotANumber"):
        solve(problem, "bundle")


def test_losses_compare_by_their_parameters():
    assert Hinge() == Hinge()
    assert registry.LOSSES["quantile"](0.2) != registry.LOSSES["quantile"](0.3)
    assert repr(registry.LOSSES["huber"](2.0)) == "Huber(delta=2.0)"
    assert Box(L2(), 0, 1) == Box(L2(), 0.0, 1.0)


def test_penalties_are_equal_by_their_parameters_however_large():
    A, B = np.eye(40), np.eye(40)
    B[20, 20] = 2.0  # numpy leaves that out when it prints the matrix
    form = registry.PENALTIES["quadratic_form"]
    assert form(A) == form(A.copy()) and hash(form(A)) == hash(form(A.copy()))
    assert form(A) != form(B)
