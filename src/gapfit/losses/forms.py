"""What a risk may be beside its values and subgradients. Losses with data of their own have theirs beside
them: `Atoms`, `Simplices`, `Chains`, `TwoSums`, `Countable`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gapfit._types import Indices, Matrix, Slope, Vector
from gapfit.forms import loss_form

if TYPE_CHECKING:
    from gapfit.losses.atoms import Atoms


@loss_form("a differentiable loss")
@dataclass(frozen=True)
class Smooth:
    """R is differentiable: what `value_and_subgradient` returns are gradients."""


@loss_form("a loss with second derivatives")
class Curvature(NamedTuple):
    """R has second derivatives, and the scores do not interact."""

    at: Callable[[Vector, Vector], Vector]  # the second derivative in each score, at (scores, b)


@loss_form("a loss that is logistic in the scores of one class")
class Conditional(NamedTuple):
    """In one score of each sample, the others as they are, R is the logistic loss but for a constant."""

    labels: Callable[[int], Vector]  # +1 for samples of that class, -1 for others
    offset: Callable[[Matrix, int], Vector]  # what is to be added to the score of the class, at these scores


@loss_form("a loss of lines and parabolas of sums of a sample's scores")
class Combined(NamedTuple):
    """R is a mean over samples of functions of one number each, of sums of a sample's scores with offsets."""

    # (functions, scores): by which the scores of a sample are multiplied; first by the identity
    sums: Matrix
    atoms: Callable[[], "Atoms"]  # the functions, those of a sample side by side
    shares: Vector  # of the samples in the mean


@loss_form("a loss of thresholds with second derivatives")
class ThresholdCurvature(NamedTuple):
    """R is a sum over samples and offsets of functions of score minus offset, with second derivatives."""

    at: Callable[[Vector, Vector], Matrix]  # of shape (samples, offsets), at (scores, b)


@loss_form("a loss of bounded curvature")
class Bent(NamedTuple):
    """The slope in each score rises no faster than so: a smooth loss, and its dual is strongly concave."""

    most: Callable[[], Vector]


@loss_form("a loss whose curvature changes slowly")
class SlowCurvature(NamedTuple):
    """|phi'''| <= rate * phi'' for the loss of every sample, so that along a line the curvature changes by a
    factor of at most exp(rate * change of the score). Logistic, exponential and Poisson: 1; squared: 0."""

    rate: float
    at: Callable[[Vector, Vector], Vector]  # the second derivative in each score, at (scores, b)
    centre: Callable[[], Vector]  # what is taken from each score first, and rounded


@loss_form("the squared loss")
class Parabola(NamedTuple):
    """R(f, b) = sum_i weight_i (f_i + b - target_i)^2 / 2, without anything else in b."""

    target: Vector
    weight: Vector


class Projection(Protocol):
    """How dual points are made feasible."""

    def __call__(self, u: Vector, *, balanced: bool) -> Vector: ...


@loss_form("a loss with a conjugate")
class Conjugate(NamedTuple):
    """The conjugate sup over f of <u, f> - R(f, 0) is known, so that dual points give lower bounds.

    Its rounding is what the risk's `conjugate_above` and `dual_error` say.
    """

    value: Callable[[Vector], float]  # at u in the domain
    project: Projection  # a near point of the domain, with e = 0 if `balanced`


@loss_form("the logistic loss")
class BinaryEntropy(NamedTuple):
    """The conjugate at u = -v is an entropy, for v between bounds:

    sum_i range_i (a_i log a_i + (1 - a_i) log(1 - a_i)),   v = lower + range a,   range = upper - lower.
    """

    bounds: Callable[..., tuple[Vector, Vector]]  # lower and upper; of some samples only, if rows are given


@loss_form("a loss of structures")
class Planes(NamedTuple):
    """R(w) = sum_i p_i phi_i(w), each phi_i a maximum of planes <a, w> + c, one of which is zero."""

    p: Vector
    highest: Callable[[int, Slope], tuple[Slope, float]]  # a and c of the highest plane of phi_i at w


class PairList(NamedTuple):
    """Who should be above whom, and what each pair counts."""

    above: Indices
    below: Indices
    weight: Vector  # positive


@loss_form("a mean over pairs of samples")
class Pairs(NamedTuple):
    """R(f) = sum over pairs of  weight max(0, 1 - (f[above] - f[below])).

    There may be far more of them than samples: they are counted before they are made.
    """

    number: Callable[[], int]  # none is left out that has a weight
    made: Callable[[], PairList]
