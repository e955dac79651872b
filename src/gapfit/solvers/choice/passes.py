"""What solvers take where rows are elsewhere, and a pass costs more than what is done with it.

| the problem                                 | solver              | passes to three digits | counted as |
|---------------------------------------------|---------------------|------------------------|------------|
| squared loss, few features                  | `least_squares`     | 4                      | 4          |
| smooth loss, quadratic penalty, few         | `newton`            | 11 to 25               | 10         |
| lines, L2, or many features: rows here      | `dual_cd`           | 4 to 40                | 12         |
| lines and parabolas, L2, few features       | `semismooth_newton` | 16 to 74               | 30         |
| smooth loss, L2                             | `newton_cg`         | 18 to 130              | 60         |
| differentiable loss and penalty             | `lbfgs`             | 24 to 300              | 120        |
| lines, L2, many features                    | `smoothing`         | 160 to 1,500           | 190        |
| anything else                               | `bundle`            | 31 to 350              | 200        |

"Rows here" are parts that this process loads itself: on a cluster there are none. "Few" are features whose
Hessian is summed up and factorised in the time of some passes; the design knows how many these are. On a card
passes cost so little that a Hessian may be dear beside them: the design says how many of them it costs, and
they are counted; not for losses with lines, which no other solver ends as soon. For the squared loss it is
set up once; with fewer samples than features conjugate gradients are slow there.
"""

from collections.abc import Collection, Iterator

from gapfit.design.forms import Rows, RowSums, WideRows, WideSums
from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import Smooth
from gapfit.problem import Problem
from gapfit.solvers.base import Effort
from gapfit.solvers.choice.shapes import is_parabola

HESSIANS = 2.5  # in a fit by Newton's method: its first ones are of a share of the samples
ONCE = 0.56  # the same, where one serves all steps: it is summed up in fewer pieces
SLOW = 10.0  # times as many passes of conjugate gradients, with fewer samples than features


def is_elsewhere(problem: Problem) -> bool:
    """Are there no rows to be had at once, but sums over them?"""
    if problem.has(Rows) or problem.has(WideRows):
        return False
    return problem.has(RowSums) or problem.has(WideSums)


def by_passes(problem: Problem, able: Collection[str]) -> Iterator[tuple[str, Effort]]:
    """Those solvers of the table above that are able, and what they take, in passes."""
    (n, d), hessian = problem.design.shape, problem.design.hessian_in_passes
    few = d <= problem.design.few_features
    lines = problem.has(Atoms) and not problem.has(Smooth)
    slow = SLOW if is_parabola(problem) and n <= d else 1.0
    passes = {
        "least_squares": 4 + ONCE * hessian if few else 0,
        "newton": 10 + HESSIANS * hessian if few and not lines else 0,
        "dual_cd": 12 if lines or not few else 0,
        "semismooth_newton": 30 + (0 if lines else HESSIANS * hessian) if few else 0,
        "newton_cg": 60 * slow,
        "lbfgs": 120,
        "smoothing": 190 if lines else 0,
        "bundle": 200,
    }
    for name, number in passes.items():
        if number and name in able:
            yield name, Effort(0.0, float(problem.design.size), float(number), 0.0)
