"""Which dual set a risk has."""

from gapfit.problem import Problem
from gapfit.solvers.dual_sets.base import DualSet
from gapfit.solvers.dual_sets.box import BoxSet
from gapfit.solvers.dual_sets.chains import ChainSet
from gapfit.solvers.dual_sets.simplices import SimplexSet

_SETS: dict[str, type[DualSet]] = {"dual_atoms": BoxSet, "dual_simplices": SimplexSet, "chain": ChainSet}


def dual_set(problem: Problem) -> DualSet:
    """The set of the dual points, for risks that can project onto it ("dual_projection")."""
    return next(kind(problem) for name, kind in _SETS.items() if name in problem.risk.capabilities)
