"""Penalties: what keeps the weights in check. Each class states its value and has minimum zero."""

from gapfit.penalties.base import Penalty
from gapfit.penalties.constrained import Constrained
from gapfit.penalties.entropy import Entropy, SimplexEntropy
from gapfit.penalties.groups import GroupLasso
from gapfit.penalties.quadratic import QuadraticForm
from gapfit.penalties.separable import L1, L2, Box, ElasticNet, Separable
from gapfit.penalties.squared_lp import SquaredLp

__all__ = [
    "L1",
    "L2",
    "Box",
    "Constrained",
    "ElasticNet",
    "Entropy",
    "GroupLasso",
    "Penalty",
    "QuadraticForm",
    "Separable",
]
__all__ += ["SimplexEntropy", "SquaredLp"]
