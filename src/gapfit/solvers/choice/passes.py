"""What solvers take where rows are elsewhere, and a pass costs more than what is done with it.

| the problem                                 | solver              | passes to three digits | counted as |
|---------------------------------------------|---------------------|------------------------|------------|
| squared loss, few features                  | `least_squares`     | 4                      | 4          |
| smooth loss, quadratic penalty, few         | `newton`            | 11 to 25               | 10         |
| lines, L2, or many features: rows here      | `dual_cd`           | 4 to 40                | 12         |
| lines and parabolas, L2, few features       | `semismooth_newton` | 16 to 74               | 30         |
| smooth loss, L2                             | `newton_cg`         | 18 to 130              | 60         |
| differentiable loss and penalty             | `lbfgs`             | 24 to 300              | 120        |
| anything else                               | `bundle`            | 31 to 350              | 200        |

"Rows here" are parts that this process loads itself: on a cluster there are none. "Few" are features whose
Hessian is summed up and factorised in the time of some passes; the design knows how many these are.
"""

from collections.abc import Collection, Iterator

from gapfit.design.forms import Rows, RowSums, WideRows, WideSums
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import Smooth
from gapfit.problem import Problem
from gapfit.solvers.base import Effort


def is_elsewhere(problem: Problem) -> bool:
    """Are its rows not at hand?"""
    if problem.has(Rows) or problem.has(WideRows):
        return False
    return problem.has(RowSums) or problem.has(WideSums)


def by_passes(problem: Problem, able: Collection[str]) -> Iterator[tuple[str, Effort]]:
    """Those solvers of the table above that are able, and what they take, in passes."""
    few = problem.design.shape[1] <= problem.design.few_features
    lines = problem.has(Atoms) and not problem.has(Smooth)
    passes = {
        "least_squares": 4 if few else 0,
        "newton": 10 if few and not lines else 0,
        "dual_cd": 12 if lines or not few else 0,
        "semismooth_newton": 30 if few else 0,
        "newton_cg": 60,
        "lbfgs": 120,
        "bundle": 200,
    }
    for name, number in passes.items():
        if number and name in able:
            yield name, Effort(0.0, float(problem.design.size), float(number), 0.0)
