"""Some of the samples, for first steps that need not see all."""

from typing import Any

import numpy as np

from gapfit._types import Indices

__all__ = ["one_of_each"]


def one_of_each(n: int, neighbours: int, seed: int, like: Any) -> Indices:
    """One of each `neighbours` samples that follow each other, by lot: in order, without a lot for each
    sample, and where `like` is."""
    chosen = np.arange(0, n, neighbours, like=like)
    lots = np.random.default_rng(seed).integers(
        0, neighbours, len(chosen), dtype=np.uint8 if neighbours <= 256 else np.int16
    )
    chosen += np.asarray(lots, like=like)
    return chosen[:-1] if chosen[-1] >= n else chosen
