"""Which dual set a risk has."""

from gapfit.losses.atoms import Atoms
from gapfit.losses.chain import MarginChains
from gapfit.losses.multiclass import MarginSimplices
from gapfit.problem import Problem
from gapfit.solvers.dual_sets.base import DualSet
from gapfit.solvers.dual_sets.box import BoxSet
from gapfit.solvers.dual_sets.chains import ChainSet
from gapfit.solvers.dual_sets.simplices import SimplexSet

_SETS: dict[type, type[DualSet]] = {Atoms: BoxSet, MarginSimplices: SimplexSet, MarginChains: ChainSet}
PROJECTABLE = tuple(_SETS)  # the forms of a risk whose dual points can be projected


def dual_set(problem: Problem) -> DualSet:
    """The set of the dual points, for risks of these forms."""
    return next(kind(problem) for form, kind in _SETS.items() if problem.has(form))
