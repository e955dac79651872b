"""Lines and parabolas of their own for every row: what losses of several scores are in sums of these."""

import numpy as np

from gapfit._types import Vector
from gapfit.losses.atoms import Atoms
from gapfit.losses.piecewise import PiecewiseLoss


class RowAtoms(PiecewiseLoss):
    """The mean of functions of one score each; y has the numbers of those that the rows have."""

    def __init__(self, table: Atoms) -> None:
        self.table = table

    def atoms(self, y: Vector) -> Atoms:
        return self.table.take(y.astype(np.intp))
