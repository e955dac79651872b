"""A sample of rows that come once: of each class as many as there is room for, all equally likely.

Nothing can be proved of rows that are gone. A reservoir holds a uniform sample of all that came, and says how
many these were, so that a fit to it can be weighted as all of them would be.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gapfit._types import Data, Vector
from gapfit.design.parts import stacked
from gapfit.design.rows import take_rows

__all__ = ["Block", "Reservoir"]


class Block(NamedTuple):
    """Rows, all of a weight above zero."""

    X: Data
    y: NDArray[Any]
    weight: Vector
    group: NDArray[np.intp]  # each of which has its own room

    def take(self, rows: Any) -> "Block":
        """Some of them."""
        return Block(take_rows(self.X, rows), self.y[rows], self.weight[rows], self.group[rows])

    def below(self, above: "Block") -> "Block":
        """All of the other's, then these."""
        pair = [above.X, self.X]
        if sparse.issparse(pair[0]) != sparse.issparse(pair[1]):
            pair = [sparse.csr_array(X) for X in pair]
        y, weight, group = (np.concatenate(both) for both in zip(above[1:], self[1:], strict=True))
        return Block(stacked(pair), y, weight, group)


class Reservoir(NamedTuple):
    """What is kept of each group, at most `room` rows; how many there were of it, and their weight."""

    kept: Block
    room: int
    labels: NDArray[Any]  # of the groups
    seen: NDArray[np.int64]
    weight: Vector
    random: Any  # the state of the generator

    @classmethod
    def of(cls, block: Block, labels: NDArray[Any], room: int, seed: int) -> "Reservoir":
        """That of a first block."""
        state = np.random.default_rng(seed).bit_generator.state
        nothing, none = block.take(np.empty(0, np.intp)), np.zeros(len(labels), np.int64)
        return cls(nothing, room, labels, none, np.zeros(len(labels)), state).after(block)

    def after(self, block: Block) -> "Reservoir":
        """What is kept once this block has come. Of t rows each is kept with probability room / t: the t-th
        takes a random one of t places, if that is among those there are."""
        rng = np.random.default_rng()
        rng.bit_generator.state = self.random
        both, before = block.below(self.kept), len(self.kept.y)
        seen, weight, chosen = self.seen.copy(), self.weight.copy(), []
        for group in range(len(seen)):
            new = np.flatnonzero(block.group == group)
            number = seen[group] + 1 + np.arange(len(new))
            drawn = (rng.random(len(new)) * number).astype(np.int64)
            place = np.where(number <= self.room, number - 1, drawn)
            owner = np.full(self.room, -1)
            old = np.flatnonzero(self.kept.group == group)
            owner[: len(old)] = old
            inside = place < self.room
            owner[place[inside]] = before + new[inside]  # of several the last one stays
            chosen.append(owner[owner >= 0])
            seen[group] += len(new)
            weight[group] += block.weight[new].sum()
        kept = both.take(np.concatenate(chosen))
        return Reservoir(kept, self.room, self.labels, seen, weight, rng.bit_generator.state)

    @property
    def weights(self) -> Vector:
        """Of what is kept: each group weighs what all its rows have weighed."""
        weight, group = self.kept.weight, self.kept.group
        there = np.bincount(group, minlength=len(self.seen))
        own = np.bincount(group, weight, len(self.seen))
        factor = np.where(there < self.seen, self.weight / np.where(own > 0, own, 1.0), 1.0)
        return weight * factor[group]
