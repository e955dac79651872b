"""The multiclass support vector machine: the best class, with what it would cost, against the true one."""

from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gapfit._types import Matrix, Target, Vector
from gapfit.elsewhere import fetched
from gapfit.errors import as_costs, as_count
from gapfit.losses.base import Loss, Risk
from gapfit.losses.multiclass import (
    ClassRisk,
    MarginSimplices,
    SimplexRisk,
    Simplices,
    as_labels,
    count_classes,
)
from gapfit.losses.vector import as_table, one_hot


class CrammerSinger(Loss):
    """max over classes k of  cost(y, k) + f_k - f_y: the multiclass support vector machine.

    It bounds the cost of predicting the class with the highest score from above. By default every error
    costs 1, and the loss is the multiclass hinge of Crammer and Singer.

    Parameters
    ----------
    costs : table of K x K numbers, or None
        costs[y][k] >= 0 is what it costs to predict k where y is true; zero on the diagonal. None: 1 off it.
    rescaling : "margin" (default), or "slack"
        "slack" multiplies instead of adding: max over k of cost(y, k) (1 + f_k - f_y). Labels that cost
        little then need no margin beyond 1, but a dual of simplices there is none: `bundle` fits it.
    n_classes : K, or None
        By default as many as `costs` has rows, or one more than the largest label.

    Targets may also be a matrix (n, K) instead of labels: row i holds what each class would cost for sample
    i. Its truth is the cheapest one (the first of several), and costs count from there.
    """

    target = Target.CLASSES
    relative = True
    anywhere = True

    def __init__(
        self,
        costs: ArrayLike | None = None,
        rescaling: Literal["margin", "slack"] = "margin",
        n_classes: int | None = None,
    ) -> None:
        if rescaling not in ("margin", "slack"):
            raise ValueError(f"rescaling must be 'margin' or 'slack', got {rescaling!r}")
        self.costs = None if costs is None else _checked_costs(costs)
        self.rescaling = rescaling
        self.n_classes = as_count("n_classes", n_classes, 2)
        if self.costs is not None and self.n_classes not in (None, len(self.costs)):
            raise ValueError(f"n_classes is {n_classes}, but costs has {len(self.costs)} rows")

    def as_target(self, y: Any, n: int) -> Any:
        if np.ndim(y) < 2:
            return as_labels(y, n)
        y = fetched(y)
        if self.costs is not None:
            raise ValueError("y holds costs of its own, so that costs=None is needed")
        return as_table("y", y, n)

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        kind = SlackRisk if self.rescaling == "slack" else MarginRisk
        if np.ndim(y) == 2:
            count_classes(np.array([float(y.shape[1] - 1)]), self.n_classes)
            y = fetched(y)
            costs = y - y.min(axis=1, keepdims=True)
            truth, rows = (np.asarray(x, like=weight) for x in (y.argmin(axis=1), np.arange(len(y))))
            return kind(self, truth, weight, costs, rows)
        K = count_classes(y, len(self.costs) if self.costs is not None else self.n_classes)
        truth = y.astype(np.intp)
        costs = 1.0 - np.eye(K) if self.costs is None else np.array(self.costs)
        return kind(self, truth, weight, costs, truth)


class CostRisk(ClassRisk):
    """A class risk with costs; those of sample i are costs[row_i]."""

    def __init__(
        self, loss: Loss, truth: NDArray[np.intp], weight: Vector, costs: Matrix, row: NDArray[np.intp]
    ) -> None:
        super().__init__(loss, truth, weight, costs.shape[1])
        self.costs, self.row = np.asarray(costs, like=weight), row
        self.size = float(costs.max(initial=0.0))

    def constants(self, u: Vector) -> float:
        return (1.0 + self.size) * super().constants(u)


class MarginRisk(CostRisk, SimplexRisk):
    """max over k of cost_k + f_k - f_y."""

    def value_and_slope(self, margins: Matrix, rows: slice) -> tuple[Vector, Matrix]:
        G = margins + self.costs[self.row[rows]]
        return G.max(axis=1), one_hot(G.argmax(axis=1), self.outputs)

    def conjugates(self, a: Matrix) -> Vector:
        each: Vector = -(a * self.costs[self.row]).sum(axis=1)
        return each

    @cached_property
    def simplices(self) -> Simplices:
        return MarginSimplices(self.p, self.truth, self.costs, self.row, False)


class SlackRisk(CostRisk):
    """max over k of cost_k (1 + f_k - f_y)."""

    @property
    def steepest(self) -> float:  # type: ignore[override]
        return self.size

    def value_and_slope(self, margins: Matrix, rows: slice) -> tuple[Vector, Matrix]:
        costs = self.costs[self.row[rows]]
        G = costs * (1.0 + margins)
        return G.max(axis=1), one_hot(G.argmax(axis=1), self.outputs) * costs


def _checked_costs(costs: ArrayLike) -> tuple[tuple[float, ...], ...]:
    table = as_costs("costs", costs)
    if len(table) < 2:
        raise ValueError(f"costs must be for two classes or more, got {len(table)}")
    if np.diagonal(table).any():
        raise ValueError("costs must be zero on the diagonal: the truth costs nothing")
    return table
