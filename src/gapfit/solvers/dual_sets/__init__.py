"""Which dual set a risk has."""

from gapfit.problem import Problem
from gapfit.solvers.dual_sets.base import DualSet
from gapfit.solvers.dual_sets.box import BoxSet
from gapfit.solvers.dual_sets.chains import ChainSet
from gapfit.solvers.dual_sets.simplices import SimplexSet

_SETS: dict[str, type[DualSet]] = {"dual_atoms": BoxSet, "dual_simplices": SimplexSet, "chain": ChainSet}
DUALS = tuple(_SETS)  # the capabilities of a risk of which one is enough


def dual_set(problem: Problem) -> DualSet:
    """The set of the problem's dual points."""
    return next(kind(problem) for name, kind in _SETS.items() if name in problem.risk.capabilities)
