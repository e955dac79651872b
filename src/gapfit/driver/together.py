"""Many small fits that nobody watches, proved together: see `at_once` for one.

All take some steps, all are proved, and those whose gaps are not small enough take some more.
"""

from time import perf_counter
from typing import NamedTuple

import numpy as np

from gapfit import limits
from gapfit._types import Vector
from gapfit.driver.at_once import quietly
from gapfit.driver.claims import on_the_way
from gapfit.problems import Problems
from gapfit.solution import Certificate, Record, Status
from gapfit.solvers.pairs.together import Machines
from gapfit.solvers.pairs.whole import FACTOR

ENOUGH = 0.9  # of the tolerance: what is proved counts rounding as well
_LAST = 1e-9  # the violation, in units of the targets, at which steps end although the gap is still too large
_ROUNDS = 3  # of steps and proofs, as long as steps on pairs are better than exact ones
NOTHING = Certificate(np.inf, -np.inf, np.inf, "none")  # is known yet


class Together(NamedTuple):
    """The solutions of all problems, the numbers of samples one problem after the other."""

    w: Vector
    u: Vector  # dual points, on which the lower bounds rest
    b: Vector
    since: Vector  # after how many steps each coefficient last came to a bound or left one
    certificates: list[Certificate]
    histories: list[list[Record]]
    statuses: list[Status | None]  # None: it is not certified, and steps on pairs will not do

    def each(self) -> list["End | None"]:
        """How each of the fits ended, if it did."""
        ends = zip(self.certificates, self.statuses, self.histories, strict=True)
        return [
            None if status is None else End(certificate, status, history, history[-1].n_iter)
            for certificate, status, history in ends
        ]


class End(NamedTuple):
    """How a fit ended."""

    certificate: Certificate
    status: Status
    history: list[Record]
    n_iter: int


def together(problems: Problems, tol: float) -> Together:
    """Solutions with certified gaps, as far as steps on pairs lead to them.

    Ctrl-C ends it with the points that it has.
    """
    began, machines = perf_counter(), Machines(problems)
    count, aim = len(problems.sizes), ENOUGH * tol
    w, u = np.zeros((2, len(problems.rows)))
    found = Together(
        w, u, np.zeros(count), np.zeros(len(problems.rows), np.int64),
        [NOTHING] * count, [[] for _ in range(count)], [None] * count,
    )  # fmt: skip
    left, places = np.arange(count), np.arange(len(problems.rows))
    before = 0.0
    with quietly(), limits.Interrupts() as interrupts:
        for n_iter in range(1, _ROUNDS + 1):
            reached = machines.ascend(_LAST, aim)
            proved = machines.problems.proved(machines.v, machines.dual_points())
            seconds = perf_counter() - began
            found.w[places], found.u[places], found.since[places] = machines.v, proved.u, machines.since
            found.b[left] = proved.b
            for k, certificate, way in zip(left.tolist(), proved.certificates, machines.ways, strict=True):
                found.certificates[k] = certificate
                found.histories[k].extend(on_the_way(way, n_iter, before, seconds))
                found.histories[k].append(Record(n_iter, seconds, *certificate[:3]))
                if certificate.relative_gap <= tol:
                    found.statuses[k] = Status.CERTIFIED
                elif interrupts.pressed:
                    found.statuses[k] = Status.INTERRUPTED
            before = seconds
            more = reached & np.array([found.statuses[k] is None for k in left.tolist()])
            if not more.any():
                break
            if not more.all():
                places, left = places[machines.only(more)], left[more]
            aim *= FACTOR
    return found
