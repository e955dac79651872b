"""Structures to be predicted: what a labelling is, and how the best one is found."""

from gapfit.structures.assignment import Assignment as Assignment
from gapfit.structures.base import Structure as Structure
from gapfit.structures.labels import Labels as Labels
from gapfit.structures.margin import StructuredMargin as StructuredMargin
from gapfit.structures.margin import WeightDesign as WeightDesign
from gapfit.structures.sequence import LabelSequence as LabelSequence
from gapfit.structures.tree import LabelTree as LabelTree
