"""What to run: a case of an area, by numbers from which it can be run again."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Job:
    """One case of one area; everything about it follows from these three."""

    area: str
    seed: int
    case: int

    def rng(self) -> np.random.Generator:
        """The same numbers for the same case, whatever ran before it."""
        return np.random.default_rng([self.seed, *self.area.encode(), self.case])

    def choice(self, count: int) -> int:
        """One of so many things, each once in so many cases, in an order that the seed decides."""
        order = np.random.default_rng([self.seed, *self.area.encode()]).permutation(count)
        return int(order[self.case % count])
