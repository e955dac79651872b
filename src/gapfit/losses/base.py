"""What a loss is, and the two ways to write one.

A `Loss` holds parameters only (`Quantile(0.9)`); `bind` joins it to targets and weights and gives a `Risk`,
a convex function of *all* scores at once. Most losses are means over samples,

    R(f, b) = sum_i p_i phi(y_i, f_i + b),      p_i = weight_i / sum of weights,

and there are two base classes for them:

* `PointwiseLoss`: write `value_and_slope`, the value and one derivative of phi at each sample. That is all
  the bundle solvers need. With `conjugate` and `slope_range`, dual points give lower bounds as well.
* `PiecewiseLoss`: for a phi made of lines and parabolas write `atoms`, six numbers per sample; value,
  derivative, conjugate and best offset follow, and the coordinate solvers read the same numbers.

Weights, their normalisation and the offset b are dealt with here, once.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Matrix, Parametric, Target, Vector
from gapfit.checks import as_column
from gapfit.elsewhere import as_floats
from gapfit.forms import HasForms
from gapfit.losses.forms import Conjugate
from gapfit.losses.leaning import Leaning
from gapfit.records import storable
from gapfit.rounding import SUM, UNIT, Estimate, exact_sum, gamma
from gapfit.rowwise import shares


class Cone(NamedTuple):
    """Where the unpenalised offsets b live: R^size, or its part with b_1 <= b_2 <= ... if `ordered`."""

    size: int
    ordered: bool = False

    def contains(self, b: Vector) -> bool:
        """Is b in it?"""
        return not self.ordered or bool((np.diff(b) >= 0).all())

    def harmless(self, e: Vector, rounding: float) -> bool:
        """Is <e, b> >= 0 for all its b, up to rounding of e, so that a slope e may be taken for zero?"""
        slope = self.slopes(e)
        walled = np.isfinite(self.floor)
        return bool((slope >= -rounding).all() and (slope[~walled] <= rounding).all())

    def wrong(self, e: Vector) -> Vector:
        """What must be taken away from a slope e before it is harmless."""
        slope = self.slopes(e)
        wrong = np.where(np.isfinite(self.floor), np.minimum(slope, 0.0), slope)
        return np.asarray(wrong - np.append(wrong[1:], 0.0) if self.ordered else wrong)

    # its coordinates: b itself; if ordered, b_1 and the steps from each to the next

    @property
    def floor(self) -> Vector:
        """The least value of each coordinate."""
        return np.where(self.ordered & (np.arange(self.size) > 0), 0.0, -np.inf)

    def coordinates(self, b: Vector) -> Vector:
        """Of b, moved up to the cone where it is outside."""
        return np.maximum(np.diff(b, prepend=0.0), self.floor) if self.ordered else b.copy()

    def offsets(self, coordinates: Vector) -> Vector:
        """The b that has these coordinates."""
        return np.cumsum(coordinates) if self.ordered else coordinates

    def slopes(self, e: Vector) -> Vector:
        """The slopes in the coordinates, from those in b."""
        return np.cumsum(e[::-1])[::-1] if self.ordered else e


@storable
class Rest(NamedTuple):
    """What rounding has left of slopes in b that should vanish, and how well that is known."""

    e: Vector
    error: Vector

    def any(self) -> bool:
        return bool(self.e.any() or self.error.any())


class OffsetParts(Protocol):
    """A risk whose offsets separate: R(f, b) = sum over k of R_k(f, b_k).

    Each R_k, and so every sum of them, is a function of the score and offset of *entries*, each of which
    belongs to a sample; its minimiser rises with the scores.
    """

    def pooled(self, scores: Vector, first: int, last: int) -> tuple["Risk", Vector]:
        """The sum of R_k for first <= k < last as a risk of one offset, and the scores of its entries."""

    def gather(self, u: Vector) -> tuple[Vector, Vector]:
        """A subgradient in the samples' scores and in b, from one in the scores of all entries."""

    def exact_slopes(self, u: Vector) -> Vector:
        """The latter, summed up nearly exactly."""


class Formula(NamedTuple):
    """R(f, b) = total b + sum_i phi(f_i + b), phi a formula of the score and some numbers of the sample.

    Devices know it by name, so that they read X once for scores and slopes: `gapfit.device.oracle`.
    """

    name: str
    numbers: tuple[Vector, ...]
    total: float = 0.0


class Certain(NamedTuple):
    """For which scores a derivative is certainly zero, one of its extremes other than zero, or not zero."""

    zero: NDArray[np.bool_]
    bound: NDArray[np.bool_]
    support: NDArray[np.bool_]


NONE = Cone(0)
FREE = Cone(1)


class Risk(HasForms, ABC):
    """A loss bound to its data: R(f, b), convex in all the scores f and the offsets b together.

    What else it is, algorithms ask it by `form`: see `gapfit.losses.forms`.
    """

    loss: "Loss"
    outputs: int = 1  # scores of a sample, which stand side by side
    offsets: Cone = NONE  # the offsets this risk can have; a Problem may fix them at zero
    infimum: float = -np.inf  # a lower bound of R
    separable: bool = False  # a sum over the samples, but for the offset?
    farthest: float = 0.0  # score at which a sample's loss turns, for losses of targets
    never_flat: bool = False  # is no derivative in a score ever zero, nor one of its extremes?
    spare: bool = False  # may samples be very many? Then `Spared` vectors are made anew each time

    @abstractmethod
    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        """R(f, b) and one subgradient: u in f, e in b."""

    def best_offset(self, scores: Vector) -> tuple[float, float] | None:
        """The smallest and largest minimiser over a single b, where a formula is known."""
        return None

    def affine_offset(self) -> tuple[Vector, Estimate] | None:
        """Shares s of the scores and a number, if every minimiser over a single b is that less <s, f>."""
        return None

    def certain(self, lowest: Vector, highest: Vector) -> Certain:
        """What is certain of the derivative in each score that is between these; by default nothing."""
        never = np.zeros(len(lowest), dtype=bool)
        return Certain(never, never, never)

    def formula(self) -> Formula | None:
        """The risk as a formula that devices know, if it is one."""
        return None

    def offset_parts(self) -> OffsetParts | None:
        """The parts that several offsets separate into, if they do."""
        return None

    def first_offsets(self) -> Vector:
        """Several offsets to begin with where nothing is known; best those for scores of zero."""
        return np.zeros(self.offsets.size)

    def leaning(self, scores: Vector, b: Vector) -> Leaning | None:
        """Tangents that lean in every direction of the offsets, where they are known without a search."""
        return None

    def offset_hessian(self, scores: Vector, b: Vector) -> Matrix | None:
        """The second derivatives in several offsets, where there are any: a quick way to their minimum."""
        return None

    def unattained(self) -> str | None:
        """Why no offset attains the minimum on these data, if that is so."""
        return None

    # -- what is proved, rounding counted ---------------------------------------------------------------

    def rise(self, slack: Vector) -> float | None:
        """By how much R can rise where each score moves by at most its slack; None where that is unknown."""
        return None

    def roundings(self, scores: Vector) -> int:
        """How many operations a score may go through on its way into R."""
        return 4 * scores.size

    def constants(self, u: Vector) -> float:
        """What is added up to a plane of slope u beside its products with scores: margins and costs of about
        one for each unit of slope, and one for the plane."""
        return 1.0 + float(np.abs(u).sum())

    def value_above(self, scores: Vector, low: Vector, b: Vector, slack: Vector) -> Estimate:
        """R(scores + low, b), with an error that covers every f within `slack` of these scores as well.

        `low` is what the scores have beyond double precision. Where nothing is known of the slopes elsewhere,
        twice those at the scores are taken for them.
        """
        value, u, _ = self.value_and_subgradient(scores + low, b)
        if not np.isfinite(value):
            return Estimate(np.inf, 0.0)
        largest = float(np.abs(scores).max(initial=0.0)) + float(np.abs(b).max(initial=0.0))
        slack = slack + UNIT * (np.abs(scores) + largest)
        rise = self.rise(slack)
        if rise is None:
            rise = 2 * float(np.abs(u) @ slack)
        size = abs(value) + self.made_of(u, np.full_like(scores, largest)) + self.constants(u)
        return Estimate(value, rise + gamma(SUM + self.roundings(scores)) * size)

    def made_of(self, u: Vector, sizes: Vector) -> float:
        """The size of what is added up to the product of a slope u with scores of these sizes.

        Where R says how far it can rise, u may be a difference of sums. It may vanish, or should: it is off
        in proportion to those sums, not to itself, and so is the product.
        """
        return max(float(np.abs(u) @ sizes), self.rise(sizes) or 0.0)

    def dual_error(self, u: Vector) -> Vector | None:
        """How far a point of the domain, at which the conjugate is as `conjugate_above` says, may be from u,
        score by score; None where u is such a point itself."""
        return None

    def left(self, scores: Vector, b: Vector, e: Vector) -> Rest:
        """What is left of the slopes in several offsets, computed to be e, where they should vanish."""
        _, u, _ = self.value_and_subgradient(scores, b)
        return Rest(e, np.full_like(e, gamma(SUM + len(u)) * float(np.abs(u).sum())))

    def imbalance(self, u: Vector) -> Rest:
        """What is left of the slopes in b at a dual point that should be balanced: a sum over the scores for
        one offset, what `minimise_offsets` lets pass for several."""
        size = self.offsets.size
        if size > 1:
            return Rest(np.zeros(size), np.full(size, gamma(2 * SUM) * float(np.abs(u).sum())))
        rest = exact_sum(u)
        return Rest(np.array([rest.value]), np.array([rest.error]))

    def conjugate_above(self, u: Vector, *, exact: bool) -> Estimate:
        """The conjugate at a point of the domain; `exact` asks for sums that keep what each addition loses.

        Domains are those of the weights p_i as they are stored: to change them by a unit in the last place
        changes R by no more, which whoever asks allows for.
        """
        conjugate = self.form(Conjugate)
        if conjugate is None:
            raise TypeError(f"{self.loss!r} has no conjugate")
        value = conjugate.value(u)
        return Estimate(value, gamma(SUM + 16) * (abs(value) + float(np.abs(u).sum())))


class Loss(Parametric, ABC):
    """The parameters of a loss."""

    target: ClassVar[Target | None] = None  # what y holds; None: whatever the estimator has
    unit_free: ClassVar[bool] = True  # does multiplying all weights by a number change nothing?
    likelihood: ClassVar[bool] = False  # is it -log of y's probability, by logistic function or softmax?
    relative: ClassVar[bool] = False  # of scores of labels: do only their differences within a sample count?
    anywhere: ClassVar[bool] = False  # is it written in NumPy's functions alone, which devices have as well?
    one_query: ClassVar[bool] = False  # of rankings: are all samples compared, whatever their groups?

    @abstractmethod
    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        """Join targets and positive weights; `groups` are queries, for losses that rank within them."""

    def as_target(self, y: Any, n: int) -> Any:
        """The targets of n samples, checked as far as no weights are needed: here a number for each."""
        return as_column("y", y, n)

    def prepare(self, y: Any, weight: Vector) -> tuple[Vector, Vector]:
        """The targets, checked, and the weights divided by their sum: what a mean over samples needs."""
        y = as_floats(y)
        self.check_target(y)
        return y, shares(weight)

    def check_target(self, y: Vector) -> None:
        """Raise a ValueError that names `y` where it is outside the loss's domain."""

    def unattained(self, y: Vector) -> str | None:
        """Why no intercept attains the minimum for these targets, if that is so."""
        return None
