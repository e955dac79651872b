"""Rows on the machines of a Dask cluster: they stay there, and weights, sums and scores travel."""

from gapfit.cluster.collections import as_design, mapped, spread
from gapfit.cluster.parts import ClusterParts
from gapfit.cluster.rounds import PATIENCE

__all__ = ["PATIENCE", "ClusterParts", "as_design", "mapped", "spread"]
