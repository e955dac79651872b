"""Many small fits that nobody watches, proved together: see `at_once` for one.

All take some steps, all are proved, and those whose gaps are not small enough take some more.
"""

from collections.abc import Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from gapfit import limits
from gapfit._types import Vector
from gapfit.driver.at_once import quietly
from gapfit.driver.claims import on_the_way
from gapfit.problems import Problems
from gapfit.solution import Certificate, Record, Status
from gapfit.solvers.pairs.together import Machines, Passed
from gapfit.solvers.pairs.whole import FACTOR

ENOUGH = 0.9  # of the tolerance: what is proved counts rounding as well
_LAST = 1e-9  # the violation, in units of the targets, at which steps end although the gap is still too large
_ROUNDS = 3  # of steps and proofs, as long as steps on pairs are better than exact ones
NOTHING = Certificate(np.inf, -np.inf, np.inf, "none")  # is known yet


class Round(NamedTuple):
    """Steps, and a proof of each problem that took them."""

    left: list[int]  # which these are
    passed: Passed  # on the way
    before: float  # seconds, then
    seconds: float  # and in the end
    certificates: list[Certificate]


class Together(NamedTuple):
    """The solutions of all problems, the numbers of samples one problem after the other."""

    w: Vector
    u: Vector  # dual points, on which the lower bounds rest
    b: Vector
    since: Vector  # after how many steps each coefficient last came to a bound or left one
    certificates: list[Certificate]
    rounds: list[Round]
    statuses: list[Status | None]  # None: it is not certified, and steps on pairs will not do

    @property
    def histories(self) -> list[list[Record]]:
        """Those of all problems."""
        return [list(History(self.rounds, k)) for k in range(len(self.statuses))]

    def each(self) -> list["End | None"]:
        """How each of the fits ended, if it did."""
        last = {k: n_iter for n_iter, one in enumerate(self.rounds, 1) for k in one.left}
        return [
            None if status is None else End(certificate, status, History(self.rounds, k), last[k])
            for k, (certificate, status) in enumerate(zip(self.certificates, self.statuses, strict=True))
        ]


class History:
    """The records of a problem, which take longer than some fits: they are made by who goes through them."""

    def __init__(self, rounds: list[Round], k: int) -> None:
        self.rounds, self.k = rounds, k

    def __iter__(self) -> Iterator[Record]:
        for n_iter, (left, passed, before, seconds, certificates) in enumerate(self.rounds, 1):
            if self.k in left:
                at = left.index(self.k)
                yield from on_the_way(passed.by(at), n_iter, before, seconds)
                yield Record(n_iter, seconds, *certificates[at][:3])


class End(NamedTuple):
    """How a fit ended."""

    certificate: Certificate
    status: Status
    history: History
    n_iter: int


def together(problems: Problems, tol: float) -> Together:
    """Solutions with certified gaps, as far as steps on pairs lead to them.

    Ctrl-C ends it with the points that it has.
    """
    began, machines = perf_counter(), Machines(problems)
    count, aim = len(problems.sizes), ENOUGH * tol
    w, u = np.zeros((2, len(problems.rows)))
    found = Together(
        w, u, np.zeros(count), np.zeros(len(problems.rows), np.int64), [NOTHING] * count, [], [None] * count
    )
    left = np.arange(count)
    places: Any = slice(None)  # all
    before = 0.0
    with quietly(), limits.Interrupts() as interrupts:
        for _ in range(_ROUNDS):
            reached, at = machines.ascend(_LAST, aim), machines.at
            proved = machines.problems.proved(at.v, at.u)
            seconds = perf_counter() - began
            found.w[places], found.u[places], found.since[places] = at.v, proved.u, at.since
            found.b[left] = proved.b
            mine = left.tolist()
            found.rounds.append(Round(mine, machines.passed, before, seconds, proved.certificates))
            for k, certificate in zip(mine, proved.certificates, strict=True):
                found.certificates[k] = certificate
                if certificate.relative_gap <= tol:
                    found.statuses[k] = Status.CERTIFIED
                elif interrupts.pressed:
                    found.statuses[k] = Status.INTERRUPTED
            before = seconds
            more = reached & np.array([found.statuses[k] is None for k in mine])
            if not more.any():
                break
            if not more.all():
                places, left = np.arange(len(w))[places][machines.only(more)], left[more]
            aim *= FACTOR
    return found
