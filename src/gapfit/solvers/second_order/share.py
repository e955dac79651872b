"""Some of the samples, for first steps that need not see all."""

import numpy as np

from gapfit._types import Indices

__all__ = ["one_of_each"]


def one_of_each(n: int, neighbours: int, seed: int) -> Indices:
    """One of each `neighbours` samples that follow each other, by lot: in order, and without a lot for each
    sample."""
    chosen = np.arange(0, n, neighbours)
    chosen += np.random.default_rng(seed).integers(0, neighbours, len(chosen), dtype=np.uint8)
    return chosen[: np.searchsorted(chosen, n)]
