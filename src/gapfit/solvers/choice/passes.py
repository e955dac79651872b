"""Which solver for rows that are elsewhere, where a pass costs more than what is done with it.

| the problem                                 | solver              | passes to three digits, about |
|---------------------------------------------|---------------------|-------------------------------|
| squared loss, few features                  | `least_squares`     | 4                             |
| smooth loss, quadratic penalty, few         | `newton`            | 11 to 25                      |
| lines, L2, or many features: rows here      | `dual_cd`           | 4 to 40                       |
| lines and parabolas, L2, few features       | `semismooth_newton` | 16 to 74                      |
| smooth loss, L2                             | `newton_cg`         | 18 to 130                     |
| differentiable loss and penalty             | `lbfgs`             | 24 to 300                     |
| anything else                               | `bundle`            | 31 to 350                     |

"Rows here" are parts that this process loads itself: on a cluster there are none. "Few" are features whose
Hessian is summed up and factorised in the time of some passes; the design knows how many these are. `dual_cd`
goes first in haste, counted in passes: on hard problems it is endless.
"""

from collections.abc import Callable, Iterator

from gapfit.design.forms import Rows, RowSums, WideRows, WideSums
from gapfit.losses.forms import Smooth
from gapfit.problem import Problem
from gapfit.solvers.choice.shapes import has_lines

HASTE = 12  # passes, from the first one on


def is_elsewhere(problem: Problem) -> bool:
    """Are its rows not at hand?"""
    if problem.has(Rows) or problem.has(WideRows):
        return False
    return problem.has(RowSums) or problem.has(WideSums)


def by_passes(problem: Problem, takes: Callable[[str], bool]) -> Iterator[tuple[str, str, int]]:
    """Solvers in the order in which they are to try: name, reason, haste."""
    few = problem.design.shape[1] <= problem.design.few_features
    lines = has_lines(problem) and not problem.has(Smooth)
    if few and takes("least_squares"):
        yield "least_squares", "moments are one pass", 0
    if few and takes("newton") and not lines:
        yield "newton", "its passes are few", 0
    if takes("dual_cd") and (lines or not few):
        yield "dual_cd", "rows that matter can be held", HASTE
    if few and takes("semismooth_newton"):
        yield "semismooth_newton", "its passes are few", 0
    for name in ("newton_cg", "lbfgs"):
        if takes(name):
            yield name, "it takes one pass a step", 0
