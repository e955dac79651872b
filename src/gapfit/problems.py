"""Many problems of one kind, and bounds of all their optima at once:

    minimise over functions f and b:   J_k(f, b) = alpha_k / 2 |f|^2 + sum of p_i phi(y_i, f(x_i) + b)

over the samples i of the k-th part, where the loss phi is made of lines and the kernel matrix is kept. Each
is a `Problem`, and what is proved of it is what `Problem` would prove, by the same arithmetic; but this is
done for all problems in a few calls of compiled code (`compiled.machine_proofs`). One by one, small problems
cost many times their arithmetic.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from gapfit._types import Indices, Matrix, Vector
from gapfit.certify import judged
from gapfit.design.kernel import KeptGram, KernelDesign
from gapfit.losses.atoms import Atoms
from gapfit.losses.base import Loss
from gapfit.losses.piecewise import PiecewiseLoss, PiecewiseRisk
from gapfit.projections import filled, project_dual_box
from gapfit.rounding import EPS, Estimate
from gapfit.solution import Certificate


class Part(Protocol):
    """Some of the samples, their targets, and the weight of the penalty."""

    @property
    def rows(self) -> Any: ...

    @property
    def target(self) -> Vector: ...

    @property
    def alpha(self) -> float: ...


class Proved(NamedTuple):
    """What is proved of a point of each problem."""

    b: Vector  # the best offsets of these points
    u: Vector  # the dual points, feasible and balanced
    certificates: list[Certificate]


class Problems:
    """Problems about parts of the samples, each with an intercept.

    What belongs to samples stands in flat arrays, one problem after the other: the k-th has the places
    first[k] to first[k + 1].
    """

    apart = False  # are there two sums to be kept, those of the positive and of the negative coefficients?
    offsets = 1
    steps = 6000, 40  # on pairs, and for each sample if that is more, beyond which exact ones are better

    def __init__(
        self, K: Matrix, rows: Indices, sizes: Any, alpha: Vector, loss: Loss, atoms: Atoms, p: Vector
    ) -> None:
        self.atoms, self.p = atoms, p
        self._about(K, rows, sizes, alpha, loss, atoms.kink)
        self.ends = self.proofs.Ends(*np.empty((3, len(alpha))))
        known = self.given, atoms, self.lower, self.upper
        self.can_be_balanced = self.proofs.set_up(*known, self.limits, self.ends)
        self.target = atoms.sign * atoms.lin

    def _about(self, K: Matrix, rows: Indices, sizes: Any, alpha: Vector, loss: Loss, kink: Vector) -> None:
        """Set what all kinds have, with room for the boxes of dual points, those of coefficients, and how
        long samples are."""
        from gapfit.compiled import blocks, machine_proofs, machines, smo  # loaded only when it is to run

        self.compiled, self.proofs = machines, machine_proofs
        self.K, self.rows, self.sizes = K, rows, sizes
        self.alpha, self.loss = alpha, loss
        self.first = np.concatenate([[0], sizes.cumsum()])
        self.parts = blocks.Parts(rows, self.first, *_runs(rows, self.first))
        self.lower, self.upper, low, high, lengths = np.empty((5, len(rows)))
        self.limits = smo.Limits(low, high, kink, self.apart)
        self.given = machine_proofs.Given(K, self.parts, alpha, lengths)

    @classmethod
    def of(cls, design: KernelDesign, parts: Sequence[Part], loss: Loss, weight: Vector) -> Self | None:
        """The problems, if they are of this kind and a bound of each can be balanced."""
        kept = design.form(KeptGram)
        if kept is None or not isinstance(loss, PiecewiseLoss) or design.indefinite is not None:
            return None
        (rows, sizes), y, p = joined(parts, weight)
        loss.check_target(y)
        atoms = loss.atoms(y).weighted(p).whole()
        if atoms.quad.any():
            return None
        alpha = np.array([part.alpha for part in parts])
        made = cls(np.ascontiguousarray(kept.K), rows, sizes, alpha, loss, atoms, p)
        return made if made.can_be_balanced else None

    def some(self, chosen: Any, places: Any) -> Self:
        """Some of the problems, and the places of their samples."""
        return type(self)(
            self.K, self.rows[places], self.sizes[chosen], self.alpha[chosen], self.loss,
            self.atoms.take(places), self.p[places],
        )  # fmt: skip

    def start(self) -> Vector:
        """Coefficients to begin with: zero, or where some of the slope in b is carried by no sample, what
        makes up for it."""
        total, v = self.atoms.total, np.zeros_like(self.target)
        if total != 0:
            for alpha, (start, stop) in zip(self.alpha, pairwise(self.first), strict=True):
                here = slice(start, stop)
                v[here] = filled(self.limits.lower[here], self.limits.upper[here], total / alpha)
        return v

    def proved(self, w: Vector, u: Vector) -> Proved:
        """What the points w with their best offsets, and the dual points nearest to u, all finite, prove."""
        near = self._feasible(u)
        found = self._bounds(w, near)
        numbers = zip(*(column.tolist() for column in found[:4]), strict=True)
        certificates = [
            judged(Estimate(most, above), Estimate(least, below), "conjugate", self.loss)
            for most, above, least, below in numbers
        ]
        return Proved(found.b, near, certificates)

    def _bounds(self, w: Vector, u: Vector) -> Any:
        """J at the points w, as `Objective.most` says it, and the lower bounds that the dual points u prove,
        as `Problem.minorant_at` and `Problem.least` do."""
        found = self._unknown()
        noise = PiecewiseRisk.sum_error(1.0, 0.0)  # relative
        self.proofs.prove(self.given, self.atoms, self.ends, noise, w, u, found)
        return found

    def _unknown(self) -> Any:
        """Room for what is proved."""
        upper, upper_error, lower, lower_error, b = np.empty((5, len(self.alpha)))
        squared = np.empty(len(self.alpha), np.bool_)
        return self.proofs.Found(upper, upper_error, lower, lower_error, b, squared)

    def _feasible(self, u: Vector) -> Vector:
        """The nearest dual points that are feasible and balanced; most are near, and found in one call."""
        box, balance = (self.p, self.lower, self.upper), (-self.atoms.total, 4 * EPS)
        near, k = np.empty_like(u), -1
        while (k := self.compiled.project(self.parts, k + 1, u, *box, balance, near)) < len(self.sizes):
            here = slice(self.first[k], self.first[k + 1])
            p, lower, upper = (values[here] for values in box)
            near[here] = project_dual_box(u[here], lower, upper, p, balance[0])
        return near


def joined(parts: Sequence[Part], weight: Vector) -> tuple[tuple[Indices, Any], Vector, Vector]:
    """The rows of all parts, one after the other, and how many each has; their targets, and their shares of
    the weight of a part."""
    sizes = np.array([len(part.target) for part in parts])
    rows: Indices = _in_line([part.rows for part in parts])
    y, each = _in_line([part.target for part in parts]), weight[rows]
    total = np.add.reduceat(each, sizes.cumsum() - sizes)
    return (rows, sizes), y, each / total.repeat(sizes)


def _in_line(vectors: list[Any]) -> Any:
    """One after the other; a single one is not copied."""
    return vectors[0] if len(vectors) == 1 else np.concatenate(vectors)


def _runs(rows: Indices, first: Any) -> tuple[Any, Any]:
    """Where runs of rows one after the other begin, and which of them each part has."""
    begins = np.ones(len(rows) + 1, dtype=bool)  # and one where all end
    np.not_equal(rows[1:], rows[:-1] + 1, out=begins[1:-1])
    begins[first] = True
    run = begins.nonzero()[0]
    return run, run.searchsorted(first)
