"""What a design is: the linear map A from weights to scores.

Weights and slopes are flat float64 vectors of length `shape[1]`, scores of length `shape[0]`. A sample may
have several scores (one for each class), and scores may belong to no sample (the transitions of a chain), so
the number of samples that y, weights and queries speak of is told apart.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from gapfit._types import Matrix, Slope, Vector
from gapfit.design.forms import Plain, Rows, RowSums, WideRows, WideSums
from gapfit.elsewhere import fetched
from gapfit.fingerprint import fingerprint
from gapfit.forms import F, HasForms
from gapfit.rounding import EPS, TINY, Estimate, gamma, length
from gapfit.solution import Cost

if TYPE_CHECKING:
    from gapfit.losses.base import Risk
    from gapfit.penalties.base import Penalty


class Precise(NamedTuple):
    """Numbers high + low, each within `slack` of the exact one."""

    high: Vector
    low: Vector
    slack: Vector


class Design(HasForms, ABC):
    """The map w -> A w and its adjoint. What else it is, algorithms ask it by `form`: see `design.forms`."""

    shape: tuple[int, int]  # scores, weights
    dtype: Any  # in which weights are returned
    size: int  # the work of a product with A: its stored entries
    few_features: int = 2000  # whose Hessian is summed up and factorised in the time of some passes
    hessian_in_passes: float = 0.0  # what that costs, where it is known

    def __repr__(self) -> str:
        return type(self).__name__

    def form(self, kind: type[F]) -> F | None:
        """It in this form. Who has the rows has sums over them."""
        found = super().form(kind)
        if found is not None or kind not in (RowSums, WideSums):
            return found
        if kind is RowSums and (rows := super().form(Rows)) is not None:
            return cast(F, RowSums(rows.matrix))
        if kind is WideSums and (wide := super().form(WideRows)) is not None:
            return cast(F, WideSums(*wide))
        return None

    @property
    def n_samples(self) -> int:
        """How many samples y, sample_weight and groups speak of."""
        return self.shape[0]

    @property
    def groups(self) -> Any:
        """Which samples belong together, of a design that knows it: the tokens of a chain. None: all may."""
        return None

    @abstractmethod
    def scores(self, w: Slope) -> Vector:
        """A w."""

    @abstractmethod
    def adjoint(self, u: Vector) -> Slope:
        """A'u."""

    def adjoints(self, *vectors: Vector) -> list[Slope]:
        """A'u for one or two u, for designs that can have two at less than twice the cost of one."""
        return [self.adjoint(u) for u in vectors]

    def foresee(self, asked: Callable[[], tuple[Slope, Vector]]) -> None:
        """Somebody will ask for A w and A'u of these w and u; a design whose products are dear can have them
        along with the next `adjoints`. Others need not know."""

    @property
    def picks(self) -> bool:
        """Can it take some rows out in less time than a product with so many takes? Sparse rows are used
        where they are."""
        return self.size == self.shape[0] * self.shape[1] and self.has(Rows)

    @abstractmethod
    def take(self, rows: Any) -> "Design":
        """The design of some of the samples."""

    def keeping(self, rows: Any) -> "Design":
        """The same, for a design that may be large: it need not be copied."""
        return self.take(rows)

    def with_vectors(self, *, anywhere: bool) -> "Design":
        """The same, for a loss that can work `anywhere`, or needs its vectors in memory."""
        del anywhere
        return self

    def given(self, values: Any) -> Any:
        """What is given for the samples, in memory; a design that keeps it elsewhere takes it from there."""
        return fetched(values)

    def in_memory(self) -> "Design":
        """The same rows, in memory."""
        return self

    def held(self, vector: Any) -> Any:
        """A vector of samples, where this design has its own."""
        return vector

    def zeros(self) -> Any:
        """Zero for every score, there."""
        return np.zeros(self.shape[0])

    def over(self, function: Callable[..., Any], *row_vectors: Any, **shared: Any) -> list[Any]:
        """function(part, its rows of the vectors, what is shared) for each part of the rows: for all."""
        return [function(self, *row_vectors, **shared)]

    def widened(self, outputs: int) -> "Design":
        """The design of so many scores a sample, each with weights of its own."""
        if not self.has(Plain) or self.n_samples != self.shape[0]:
            raise TypeError(f"{self!r} cannot have {outputs} scores a sample, as the loss wants")
        from gapfit.design.wide import WideDesign  # which is a design as well

        return WideDesign(self, outputs)

    @property
    @abstractmethod
    def largest(self) -> float:
        """The largest absolute entry of A."""

    @abstractmethod
    def distances(self, penalty: "Penalty", centre: Slope) -> Vector:
        """How far each score, but for its part <centre, w>, can move with w: a dual norm of the penalty's."""

    def check_convex(self) -> None:
        """Raise a ValueError if the penalty, in terms of this design's weights, is not convex."""

    def gram_for_steps(
        self, weight: Vector, centre: Slope | None = None, summed: Slope | None = None
    ) -> Matrix:
        """`weighted_gram`, which designs with sums over rows have; left where it can be factorised best."""
        found: Matrix = self.weighted_gram(weight, centre, summed)  # type: ignore[attr-defined]
        return found

    def cholesky(self, hessian: Matrix) -> Any | None:
        """What solves systems with a Hessian that is not in memory, since `gram_for_steps` is not; None where
        rounding has cost it its definiteness."""
        raise NotImplementedError

    def risk(self, risk: "Risk", w: Slope, b: Vector) -> tuple[float, Vector | None]:
        """R(A w, b) and A w. A design with very many scores may add it up over parts of them: None then."""
        scores = self.scores(w)
        return risk.value_and_subgradient(scores, b)[0], scores

    def look(self, risk: "Risk", w: Slope, b: Vector, *, rough: bool = False) -> tuple[float, Slope, Vector]:
        """R(A w, b) and one subgradient: in w, and in b; for designs that can have them in one pass. `rough`
        allows single precision, where that is quicker: for steps, not for bounds."""
        del rough
        value, u, e = risk.value_and_subgradient(self.scores(w), b)
        return value, self.adjoint(u), e

    def inner(self, a: Slope, w: Slope) -> float:
        """<a, w>, for slopes and weights alike."""
        return float(a @ w)

    def risk_above(self, risk: "Risk", w: Slope, b: Vector, stray: float) -> Estimate:
        """R(A w, b) and its error, scores being astray by so much beside their rounding."""
        scores = self.scores(w)
        return risk.value_above(scores, np.zeros_like(scores), b, self.slack(w) + stray)

    # -- rounding -------------------------------------------------------------------------------------

    @cached_property
    def depth(self) -> tuple[int, int]:
        """How many additions a score and a coordinate of a slope are made of, at most."""
        return self.shape[1], self.shape[0]

    @cached_property
    def row_sizes(self) -> Vector:
        """The Euclidean length of each row of A, or a bound of it."""
        return np.full(self.shape[0], self.largest * np.sqrt(self.shape[1]) * (1 + 4 * EPS))

    def length(self, w: Slope) -> float:
        """What the terms of a score add up to in absolute values, for a row of length one."""
        return length(w)

    def slack(self, w: Slope) -> Vector:
        """How far each computed score can be from the exact one."""
        return self.row_sizes * (gamma(self.depth[0] + 4) * self.length(w)) + self.shape[1] * TINY

    def slack_of_sum(self, shares: Sequence[float], lengths: Sequence[float], moved: float) -> Vector:
        """How far a sum of computed scores, in these shares, can be from the scores of the same sum of
        weights, which have these lengths, moved by so much. Both sums are rounded, too."""
        size = sum(abs(share) * length for share, length in zip(shares, lengths, strict=True))
        once = gamma(self.depth[0] + 4 * len(shares) + 16) * size + moved
        return self.row_sizes * once + len(shares) * self.shape[1] * TINY * (1 + max(map(abs, shares)))

    def inner_error(self, a: Slope, w: Slope) -> float:
        """How far `inner` can be from <a, w>."""
        return gamma(w.size + 8) * self.length(a) * self.length(w)

    def reach(self, u: Vector) -> float:
        """A bound on the length of A'u' for all |u'| <= |u|: sum of |u_i| times the size of row i."""
        return float(np.abs(u) @ self.row_sizes) * (1 + gamma(u.size + 8))

    def spread(self, u: Vector) -> float:
        """How far the computed A'u can be from the exact one, in length."""
        return gamma(self.depth[1] + 4) * self.reach(u) + self.shape[1] * TINY

    def precise_scores(self, w: Slope) -> "Precise | None":
        """A w with twice the digits, where the design knows how."""
        return None

    def precise_adjoint(self, u: Vector) -> "Precise | None":
        """A'u with twice the digits, where the design knows how."""
        return None

    @property
    def cost(self) -> Cost | None:
        """What passes over the data have cost so far, where these are not in memory."""
        return None

    def digest(self) -> str:
        """What the data are, by their bytes. By default all that it holds, but for cached properties."""
        return fingerprint(self)

    def state(self) -> Any:
        """What it remembers of earlier products, where that changes the last bits of later ones."""
        return None

    def restore(self, state: Any) -> None:
        """Remember that."""

    def penalty(self, penalty: "Penalty") -> "Penalty":
        """The penalty in terms of this design's weights."""
        return penalty
