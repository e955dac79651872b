"""Many fits of least squares under L1 that nobody watches, at one alpha after the other.

Steps are taken on the moments of the data, for all alphas in one call, and all are proved together. Where
columns are many, moments are those of some columns. What is proved is of all of them: where it is not enough,
those columns come in whose derivatives are largest, and the alphas that are left go on.
"""

from time import perf_counter

import numpy as np

from gapfit._types import Indices, Vector
from gapfit.alphas import Alphas, Proved, shares_a_matrix
from gapfit.design.forms import Rows
from gapfit.driver.at_once import quietly
from gapfit.problem import Problem
from gapfit.solution import Record, Solution, Status, as_intercept
from gapfit.solvers import least_squares as moments

_WORTH = 20.0  # products with X that an alpha costs otherwise
_ALL = 3000  # columns, whose moments may all be taken
_FIRST = 4  # times the most weights that can be in use, or so many
_FEW = 250  # columns, to begin with
_MORE = 60  # columns that an alpha brings in at a time, at most
_ROUGH = 100.0  # times the tolerance is aimed at first, while columns are missing
_ROUNDS = 6  # of steps and proofs
_LARGEST = 2**23  # weights of all alphas


def suits(problem: Problem, alphas: int) -> bool:
    """Are there so many alphas that moments of the data cost less than what they save?"""
    return shares_a_matrix(problem) and alphas * problem.design.shape[1] <= _LARGEST


def _take_all(problem: Problem, alphas: int) -> bool:
    n, d = problem.design.shape
    return d <= min(n, _ALL) and 0.5 * problem.design.size / max(n, 1) <= _WORTH * alphas


def along_alphas(problem: Problem, alphas: list[float], tol: float) -> dict[float, Solution]:
    """Solutions at those of the falling alphas where steps on moments prove enough."""
    began, falling = perf_counter(), np.array(alphas)
    with quietly():
        if _take_all(problem, len(alphas)):
            proved = dict(
                enumerate(Alphas(problem).proved(falling, moments.along_alphas(problem, falling, tol)))
            )
        else:
            proved = _by_some_columns(problem, falling, tol)
    each = (perf_counter() - began) / len(alphas)
    return {
        alphas[k]: Solution(
            one.w, as_intercept(one.b), Status.CERTIFIED, one.certificate, 1,
            [Record(1, each, *one.certificate[:3])], one.minorant, moments.least_squares.__name__, None,
        )
        for k, one in proved.items()
        if one.certificate.relative_gap <= tol
    }  # fmt: skip


def _by_some_columns(problem: Problem, alphas: Vector, tol: float) -> dict[int, Proved]:
    """What is proved at each alpha."""
    together, X = Alphas(problem), problem.form(Rows).matrix.X
    n, d = problem.design.shape
    pulls = np.abs(together.pulls())
    columns = np.sort(np.argsort(-pulls)[: max(_FEW, min(_FIRST * n, d // 20))])
    left, found = np.arange(len(alphas)), dict[int, Proved]()
    aims = np.full(len(alphas), _ROUGH * tol)
    for _ in range(_ROUNDS):
        part = Problem(
            X[:, columns], problem.y, problem.loss, problem.penalty, problem.alpha, problem.weight,
            problem.n_offsets > 0,
        )  # fmt: skip
        V = moments.along_alphas(part, alphas, aims)[left]  # smaller alphas are hard to begin with
        W = np.zeros((len(left), d))
        W[:, columns] = V
        proved = together.proved(alphas[left], W, lambda rows, part=part, V=V: part.design.scores(V[rows].T))
        found |= dict(zip(left.tolist(), proved, strict=True))
        enough = [one.certificate.relative_gap <= tol for one in proved]
        more = [_outside(one, columns) for one, done in zip(proved, enough, strict=True) if not done]
        left, before = left[~np.array(enough)], len(columns)
        aims[:], aims[left] = _ROUGH * tol, tol
        columns = np.union1d(columns, np.concatenate([*more, columns[:0]]))
        if len(columns) == before:
            break
    return found


def _outside(one: Proved, columns: Indices) -> Indices:
    """Those of the other columns whose derivatives are largest."""
    sizes = np.abs(one.minorant.a)
    sizes[columns] = 0.0
    some = np.argpartition(-sizes, _MORE)[:_MORE] if len(sizes) > _MORE else np.arange(len(sizes))
    return some[sizes[some] > 0.0]
