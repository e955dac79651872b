"""Second derivatives of penalties, at weights where they have some."""

from typing import NamedTuple

import numpy as np

from gapfit._types import Indices, Matrix, Slope, Vector


class Bend(NamedTuple):
    """l2 on the diagonal."""

    l2: float

    @property
    def constant(self) -> bool:
        """Is it the same at all weights?"""
        return True

    def times(self, v: Slope) -> Slope:
        """The product with v."""
        return self.l2 * v

    def diagonal(self) -> Vector | float:
        """Its entries there."""
        return self.l2

    def add_to(self, H: Matrix) -> None:
        """Add it to H in place."""
        H[np.diag_indices(len(H))] += self.l2

    def take(self, some: Indices) -> "Bend":
        """That of some of the weights."""
        return self


class GroupBend(NamedTuple):
    """The same, and a norm for each group: across the weights of a group, that many times the identity."""

    l2: float
    groups: Indices
    across: Vector  # strength / |w_g|, for each weight
    unit: Slope  # w_g / |w_g|

    @property
    def constant(self) -> bool:
        """See `Bend`."""
        return False

    def times(self, v: Slope) -> Slope:
        """See `Bend`."""
        along = np.bincount(self.groups, self.unit * v)[self.groups]
        return np.asarray(self.l2 * v + self.across * (v - along * self.unit))

    def diagonal(self) -> Vector | float:
        """See `Bend`."""
        return self.l2 + self.across * np.maximum(1.0 - self.unit**2, 0.0)

    def add_to(self, H: Matrix) -> None:
        """See `Bend`."""
        H[np.diag_indices(len(H))] += self.l2 + self.across
        same = self.groups[:, None] == self.groups
        H -= np.where(same, (self.across * self.unit)[:, None] * self.unit, 0.0)

    def take(self, some: Indices) -> "GroupBend":
        """See `Bend`."""
        return GroupBend(self.l2, self.groups[some], self.across[some], self.unit[some])


AnyBend = Bend | GroupBend
