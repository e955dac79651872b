"""The two kinds of duals that coordinate descent knows: of lines and parabolas, and the logistic loss."""

import numpy as np

from gapfit._types import Matrix, Vector
from gapfit.losses.forms import BinaryEntropy
from gapfit.losses.piecewise import Atoms
from gapfit.problem import Problem

_INSIDE = 1e-14  # of their range entropic variables are away from their bounds at the start


def coordinates(problem: Problem) -> Matrix:
    """The table of `kernels.rows`: the loss in its columns 0 to 4, the others zero.

    v = sign * a turns the signs of the atoms into the order of their bounds, and a known offset of
    a score is the same as a smaller target.
    """
    sign, lin, kink, quad, lo, hi, _ = problem.form(Atoms)
    table = np.zeros((len(sign), 8))
    table[:, 0] = sign * lin - problem.offset
    table[:, 1], table[:, 2] = kink, quad
    table[:, 3] = np.where(sign > 0, lo, -hi)
    table[:, 4] = np.where(sign > 0, hi, -lo)
    return table


def offset_per_imbalance(problem: Problem, table: Matrix) -> float:
    """How far b should move for a unit of imbalance s (any step of that order is a good one).

    Eight times as far as the losses need to make up for it: each gives way by its quad, or moves
    from bound to bound over the spread of the targets.
    """
    target, kink, quad, lower, upper = table[:, :5].T
    spread = np.average(np.abs(target - np.median(target)) + kink, weights=problem.weight)
    with np.errstate(divide="ignore"):
        give = np.sum(1 / (quad + spread / (upper - lower)))
    return 8 / give if give < np.inf else 1.0


class Piecewise:
    """Losses of lines and parabolas: psi is a parabola and a kink."""

    form: type = Atoms
    entropic = False
    offset_per_imbalance = staticmethod(offset_per_imbalance)

    @staticmethod
    def table(problem: Problem) -> tuple[Matrix, float]:
        """The kernels' table at v = 0, and what the v add up to if there is an intercept."""
        return coordinates(problem), problem.form(Atoms).total

    @staticmethod
    def put(table: Matrix, v: Vector) -> None:
        """Write v into the table, as near as it can be."""
        table[:, 7] = np.clip(v, table[:, 3], table[:, 4])


class Entropic(Piecewise):
    """The logistic loss: psi is an entropy."""

    form, entropic = BinaryEntropy, True

    @staticmethod
    def offset_per_imbalance(problem: Problem, table: Matrix) -> float:
        """As for the others: each loss gives way by a quarter of its range, or less."""
        del problem
        return 32.0 / float(np.sum(table[:, 4] - table[:, 3]))

    @staticmethod
    def table(problem: Problem) -> tuple[Matrix, float]:
        lower, upper = problem.form(BinaryEntropy).bounds()
        table = np.zeros((len(lower), 8))
        table[:, 0], table[:, 3], table[:, 4] = -problem.offset, lower, upper
        Entropic.put(table, np.zeros(len(lower)))
        return table, 0.0

    @staticmethod
    def put(table: Matrix, v: Vector) -> None:
        lower, upper = table[:, 3], table[:, 4]
        share = np.clip((v - lower) / (upper - lower), _INSIDE, 1 - _INSIDE)
        table[:, 1] = np.log(share) - np.log1p(-share)
        table[:, 7] = lower + (upper - lower) * share


KINDS = (Piecewise, Entropic)
