"""What a fit is about to return."""

from typing import Any, NamedTuple

from gapfit._types import Slope, Vector
from gapfit.minorant import Minorant
from gapfit.solution import Certificate


class Proof(NamedTuple):
    """A point as it will be returned, and what is proved of it."""

    w: Slope
    b: Vector
    certificate: Certificate
    rests_on: Minorant
    of: tuple[Slope, Minorant, Minorant]  # the best point so far that it stands for, and the best minorants

    def stands_for(self, *best: Any) -> bool:
        """Have these not changed since?"""
        return all(one is other for one, other in zip(self.of, best, strict=True))
