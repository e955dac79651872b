"""Penalties as sums over columns, or over groups of them."""

from gapfit.penalties.forms import Grouped
from gapfit.problem import Problem
from gapfit.solvers.columns.groups import GroupTerms
from gapfit.solvers.columns.terms import Terms

AnyTerms = Terms | GroupTerms


def terms_of(problem: Problem) -> AnyTerms:
    """The penalty of the problem."""
    return GroupTerms.of(problem) if problem.has(Grouped) else Terms.of(problem)
