"""The table of known rates, measured again: steps T(eps) to reach eps, as a power of 1 / eps.

A slope is fitted to log T against log(1 / eps). For a strong lower bound one problem serves every eps; for a
weak one each eps has its own.
"""

from collections.abc import Callable
from math import floor
from typing import NamedTuple

import numpy as np

from gapfit._types import Vector
from gapfit.lab import examples
from gapfit.lab.accelerated import gaps, lipschitz, pragam_steps
from gapfit.lab.page import Table
from gapfit.lab.runs import ls_bmrm, qp_bmrm
from gapfit.lab.upper_bounds import random_problem

_FINE: Vector = np.exp2(-np.arange(6.0, 14.0))


class Cell(NamedTuple):
    """What is known of an algorithm under an assumption, and the problem on which it is measured."""

    algorithm: str
    assumption: str
    upper: str
    lower: str
    problem: str


class Rate(NamedTuple):
    """One cell of the table with what was measured."""

    cell: Cell
    eps: Vector
    steps: Vector

    @property
    def slope(self) -> float:
        """Of log T against log(1 / eps), least squares."""
        return float(np.polyfit(np.log(1 / self.eps), np.log(self.steps), 1)[0])


def first_below(gaps: Vector, eps: Vector) -> Vector:
    """The first k >= 1 with gap_k <= eps, for each eps; gaps[0] belongs to k = 1."""
    lowest = np.minimum.accumulate(gaps)
    return np.array([1.0 + np.argmax(lowest <= value) if lowest[-1] <= value else np.nan for value in eps])


def _four_points() -> tuple[Vector, Vector]:
    example = examples.four_points()
    run = ls_bmrm(example.problem, example.start, 3000)
    return _FINE, first_below(run.J[1:] - 0.125, _FINE)


def _svm() -> tuple[Vector, Vector]:
    eps = np.exp2(-np.arange(2.0, 8.0))
    steps = []
    for value in eps:
        example = examples.svm(floor(1 / value))
        run = qp_bmrm(example.problem, example.start, example.last)
        steps.append(first_below(run.J[1:] - float(example.minimum), np.array([value]))[0])
    return eps, np.array(steps)


def _random_qp() -> tuple[Vector, Vector]:
    problem = random_problem(0, alpha=1e-3)
    run = qp_bmrm(problem, problem.start(), 120)
    return _FINE, first_below(run.eps[1:], _FINE)


def _nesterov() -> tuple[Vector, Vector]:
    problem = random_problem(0, alpha=1e-3)
    found = gaps(problem, pragam_steps(problem, 3000, lipschitz(problem)))
    return _FINE, first_below(found, _FINE)


_MEASURED: list[tuple[Cell, Callable[[], tuple[Vector, Vector]]]] = [
    (Cell("ls-bmrm", "A1", "O(1/eps)", "Omega(1/eps), strong", "four points, J(w_k) - J*"), _four_points),
    (Cell("qp-bmrm", "A1", "O(1/eps)", "open", "random hinge problem, certificate"), _random_qp),
    (Cell("qp-bmrm", "A2", "O(1/eps)", "Omega(1/eps), weak", "SVM example, n = floor(1/eps), k >= 1"), _svm),
    (
        Cell("Nesterov (pragam)", "A1", "O(1/sqrt(eps))", "Omega(1/sqrt(eps))", "random hinge problem, gap"),
        _nesterov,
    ),
]


def measure() -> list[Rate]:
    """Every cell of the table that can be measured."""
    found = [Rate(cell, *run()) for cell, run in _MEASURED]
    implied = found[0].cell._replace(assumption="A2", lower="Omega(1/eps), strong, since A1 implies A2")
    return [found[0], found[0]._replace(cell=implied), *found[1:]]


def table(found: list[Rate]) -> Table:
    """The table of known rates with fitted slopes."""
    rows = [
        (*r.cell[:4], f"{r.slope:.2f}", r.cell.problem,
         f"{r.steps[0]:.0f} at {r.eps[0]:.2g}, {r.steps[-1]:.0f} at {r.eps[-1]:.2g}")
        for r in found
    ]  # fmt: skip
    rows.append(("Nesterov", "A2", "n/a", "n/a", "", "", ""))
    head = ("algorithm", "assuming", "upper bound", "lower bound", "slope measured", "on", "steps")
    return Table("Known rates, and slopes of log T(eps) against log(1/eps)", head, rows)
