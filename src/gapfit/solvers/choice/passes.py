"""Which solver for rows that are elsewhere, where a pass costs more than what is done with it.

| the problem                                 | solver              | passes to three digits, about |
|---------------------------------------------|---------------------|-------------------------------|
| squared loss, few features                  | `least_squares`     | 4                             |
| smooth loss, L2; a Hessian is dear          | `newton_cg`         | 18 to 130                     |
| smooth loss, quadratic penalty, few         | `newton`            | 11 to 25                      |
| lines, L2, or many features: rows here      | `dual_cd`           | 4 to 40                       |
| lines and parabolas, L2, few features       | `semismooth_newton` | 16 to 74                      |
| smooth loss, L2                             | `newton_cg`         | 18 to 130                     |
| differentiable loss and penalty             | `lbfgs`             | 24 to 300                     |
| lines, L2, many features                    | `smoothing`         | 160 to 1,500                  |
| anything else                               | `bundle`            | 31 to 350                     |

"Rows here" are parts that this process loads itself: on a cluster there are none. "Few" are features whose
Hessian is summed up and factorised in the time of some passes; the design knows how many these are. `dual_cd`
goes first in haste, counted in passes: on hard problems it is endless. On a card passes cost so little that
a Hessian may be dear beside them, and the design says how many of them it costs; `newton_cg` then goes first,
for as many steps as the matrix is worth. For the squared loss that is set up once, so that it may cost more;
with fewer samples than features conjugate gradients are slow there.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gapfit.design.forms import Rows, RowSums, WideRows, WideSums
from gapfit.losses.forms import Smooth
from gapfit.problem import Problem
from gapfit.solvers.choice.shapes import has_lines, is_parabola

Told = tuple[str, str, Mapping[str, Any], int, int]

HASTE = 12  # passes, from the first one on
DEAR = 20  # passes that a Hessian costs: first steps on a share of the samples make a few of it cheap
DEAR_ONCE = 100  # the same, where it is set up once
WORTH = 2.0  # steps of conjugate gradients for each of these passes


def is_elsewhere(problem: Problem) -> bool:
    """Are its rows not at hand?"""
    if problem.has(Rows) or problem.has(WideRows):
        return False
    return problem.has(RowSums) or problem.has(WideSums)


def by_passes(problem: Problem, takes: Callable[[str], bool]) -> Iterator[Told]:
    """Solvers in the order in which they are to try: name, reason, options, haste, the most steps if any."""
    (n, d), passes, once = problem.design.shape, problem.design.hessian_in_passes, is_parabola(problem)
    few = d <= problem.design.few_features
    dear = passes >= DEAR_ONCE and n > d if once else passes >= DEAR
    lines = has_lines(problem) and not problem.has(Smooth)
    if few and dear and takes("newton_cg") and not lines:
        yield "newton_cg", "a Hessian costs many passes", {}, 0, round(WORTH * passes)
    if few and takes("least_squares"):
        yield "least_squares", "moments are one pass", {}, 0, 0
    if few and takes("newton") and not lines:
        yield "newton", "its passes are few", {}, 0, 0
    if takes("dual_cd") and (lines or not few):
        yield "dual_cd", "rows that matter can be held", {}, HASTE, 0
    if few and takes("semismooth_newton"):
        yield "semismooth_newton", "its passes are few", {}, 0, 0
    for name in ("newton_cg", "lbfgs", *(("smoothing",) if lines else ())):
        if takes(name):
            yield name, "it takes one pass a step", {}, 0, 0
