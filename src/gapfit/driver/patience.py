"""How long a fit that does not improve goes on."""

from typing import NamedTuple

import numpy as np

from gapfit.records import storable
from gapfit.solution import Certificate

_NOTICED = 1e-3  # of a gap, or of J: less is no progress worth waiting for
_LONG = 200  # steps that a fit goes on for in any case


@storable
class Patience(NamedTuple):
    """When the fit improved last, and how good it was then."""

    gap: float
    primal: float
    at: int  # step

    def after(self, found: Certificate, step: int) -> "Patience":
        """Where no bound is known yet, a lower J is all that can improve."""
        closer = found.gap < (1 - _NOTICED) * self.gap
        lower = self.gap == np.inf and found.primal < self.primal - _NOTICED * abs(self.primal)
        return Patience(found.gap, found.primal, step) if closer or lower else self

    def lost(self, step: int) -> bool:
        """Has nothing improved over half of a long run?"""
        return step > max(2 * self.at, self.at + _LONG)
