"""Structures to be predicted: what a labelling is, and how the best one is found."""

from gapfit.structures.assignment import Assignment
from gapfit.structures.base import Structure
from gapfit.structures.labels import Labels
from gapfit.structures.margin import StructuredMargin, WeightDesign
from gapfit.structures.sequence import LabelSequence
from gapfit.structures.tree import LabelTree

__all__ = [
    "Assignment",
    "LabelSequence",
    "LabelTree",
    "Labels",
    "Structure",
    "StructuredMargin",
    "WeightDesign",
]
