"""What a penalty may be beside its values and its conjugate."""

from dataclasses import dataclass
from typing import NamedTuple

from gapfit._types import Indices, Vector
from gapfit.forms import penalty_form


@penalty_form("the L2 penalty")
@dataclass(frozen=True)
class Euclidean:
    """Omega(w) = 1/2 |w|^2."""


@penalty_form("a quadratic penalty")
@dataclass(frozen=True)
class Quadratic:
    """The conjugate is a quadratic form."""


@penalty_form("a differentiable penalty")
@dataclass(frozen=True)
class Differentiable:
    """Omega is differentiable on all of R^d."""


@penalty_form("L1, L2 or the elastic net, in a box or not")
class Net(NamedTuple):
    """Omega(w) = l1 |w|_1 + l2/2 |w|^2 within the penalty's `bounds`."""

    l1: float
    l2: float


@penalty_form("the group lasso")
class Grouped(NamedTuple):
    """Omega(w) = sum over groups of strength_g |w_g| + l2/2 |w|^2; `groups` has the group of each weight."""

    groups: Indices
    strength: Vector
    l2: float


@penalty_form("a penalty that allows every w")
@dataclass(frozen=True)
class Everywhere:
    """Omega is finite on all of R^d."""
