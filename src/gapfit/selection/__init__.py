"""Choosing alpha with a proof: errors on held-out samples, bounded over whole ranges of alphas."""

from gapfit.selection.folds import Fold
from gapfit.selection.measures import Measure, measure_of
from gapfit.selection.search import Budget, Cell, Search

__all__ = ["Budget", "Cell", "Fold", "Measure", "Search", "measure_of"]
