"""Losses: what is fitted. Each class states its value; weights and intercept are dealt with in `base`."""

from gapfit.losses.base import Loss as Loss
from gapfit.losses.base import Risk as Risk
from gapfit.losses.margin import Exponential as Exponential
from gapfit.losses.margin import Hinge as Hinge
from gapfit.losses.margin import Logistic as Logistic
from gapfit.losses.margin import Novelty as Novelty
from gapfit.losses.margin import SmoothedHinge as SmoothedHinge
from gapfit.losses.margin import SquaredHinge as SquaredHinge
from gapfit.losses.piecewise import Atoms as Atoms
from gapfit.losses.piecewise import PiecewiseLoss as PiecewiseLoss
from gapfit.losses.pointwise import PointwiseLoss as PointwiseLoss
from gapfit.losses.regression import Absolute as Absolute
from gapfit.losses.regression import EpsilonInsensitive as EpsilonInsensitive
from gapfit.losses.regression import Huber as Huber
from gapfit.losses.regression import Poisson as Poisson
from gapfit.losses.regression import Quantile as Quantile
from gapfit.losses.regression import Squared as Squared
from gapfit.losses.regression import SquaredEpsilonInsensitive as SquaredEpsilonInsensitive
