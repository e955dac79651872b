"""Penalties: what keeps the weights in check. Each class states its value and has minimum zero."""

from gapfit.penalties.base import Penalty as Penalty
from gapfit.penalties.entropy import Entropy as Entropy
from gapfit.penalties.entropy import SimplexEntropy as SimplexEntropy
from gapfit.penalties.quadratic import QuadraticForm as QuadraticForm
from gapfit.penalties.separable import L1 as L1
from gapfit.penalties.separable import L2 as L2
from gapfit.penalties.separable import Box as Box
from gapfit.penalties.separable import ElasticNet as ElasticNet
from gapfit.penalties.separable import Separable as Separable
from gapfit.penalties.squared_lp import SquaredLp as SquaredLp
