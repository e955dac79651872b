"""Losses of a contingency table: how many positives and negatives are labelled positive, out of how many.

A labelling ybar of all samples together costs Delta(y, ybar), a function of the true and false positives tp
and fp (with fn = P - tp and tn = N - fp). The risk is the papers' convex upper bound of Delta(y, sign f):

    R(f) = max over ybar in {-1, +1}^n of  Delta(y, ybar) + (1 / n) sum_i c_i f_i (ybar_i - y_i),

c_i = score_weight for positives (the papers: 1) and 1 for negatives. For given tp and fp the best labelling
takes the highest scores of each class; each loss has its own way to find the best tp and fp, always exactly.

Weights are multiplicities. A whole number k equals k copies of the sample, which ybar may label differently;
n, P and N count copies. If some weight is not a whole number, samples are divisible: ybar ranges over
[-1, 1]^n, and a sample of weight v with ybar_i in between counts v (1 + ybar_i) / 2 as labelled positive.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gapfit._types import Target, Vector
from gapfit.elsewhere import finite, is_still, looped, loops_of, noted
from gapfit.errors import as_positive
from gapfit.forms import loss_form
from gapfit.losses.base import FREE, Cone, Loss, Risk
from gapfit.losses.sorting import Ranked, ranked
from gapfit.rounding import gamma
from gapfit.rowwise import is_repeated, once
from gapfit.threads import each

MOST_LABELLED = 20_000  # samples, by weight: sums over all labellings of more take too much memory
_APART = 100_000  # samples from which two threads sort the two classes


def check_labels(loss: Loss, y: Vector) -> None:
    """Raise a ValueError unless y holds -1 and +1, both."""
    if not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(f"y must hold the labels -1 and +1 for {loss!r}")
    if np.ptp(y) == 0:
        raise ValueError(f"y must hold both classes for {loss!r}, but all of it is {y[0]:+.0f}")


class ContingencyLoss(Loss):
    """A loss of the contingency table. See the module for the risk and for what weights mean."""

    target = Target.TABLE
    # does the risk stay as it is when all weights are multiplied by a number? Not if copies can be labelled
    # in more ways than samples, to some effect
    unit_free: ClassVar[bool] = False

    def __init__(self, score_weight: float = 1.0) -> None:
        self.score_weight = as_positive("score_weight", score_weight)

    def check_target(self, y: Vector) -> None:
        check_labels(self, y)


class ContingencyRisk(Risk):
    """max over ybar of Delta(y, ybar) + (1 / n) sum_i c_i (f_i + b) (ybar_i - y_i).

    Write `best_labelling`.
    """

    offsets: Cone = FREE

    def __init__(self, loss: ContingencyLoss, y: Any, weight: Vector) -> None:
        y, _ = loss.prepare(y, weight)
        self.loss: Loss = loss
        self.weight = weight
        self.positive = y > 0
        self.P, self.N = float(weight[self.positive].sum()), float(weight[~self.positive].sum())
        self.whole = bool((weight == np.rint(weight)).all())
        # what a unit of score is worth to a positive and to a negative of weight one, from ybar = -1 to +1
        self.scale = 2.0 * loss.score_weight / (self.P + self.N), 2.0 / (self.P + self.N)
        self.step = weight * np.where(self.positive, *self.scale)

    def forms(self) -> Iterator[Any]:
        if self.whole and self.P + self.N <= MOST_LABELLED and loops_of(self.weight) is None:
            yield Countable(self)

    def rise(self, slack: Vector) -> float:
        return float(self.step @ slack) * (1 + gamma(len(slack) + 8))

    def roundings(self, scores: Vector) -> int:
        """Weights are divided and multiplied, summed up in order, and differences of sums taken."""
        return 16 * scores.size + 256

    def delta(self, tp: Any, fp: Any) -> Any:
        """Delta of tables with these true and false positives; -inf where a labelling is not allowed."""
        raise TypeError(f"{self.loss!r} does not say what its contingency tables cost")

    @abstractmethod
    def best_labelling(self, scores: Vector, b: float) -> tuple[float, Vector]:
        """Delta at the maximiser, and the share (0 to 1) of each sample that it labels positive."""

    def value_and_subgradient(self, scores: Vector, b: Vector) -> tuple[float, Vector, Vector]:
        shift = float(b.sum())
        if not finite(scores) or not np.isfinite(shift):
            return float(np.abs(scores + shift).sum()), np.zeros_like(scores), np.zeros(b.shape)
        delta, share = self.best_labelling(scores, shift)
        lean = looped(slopes_of, scores)
        u, moment, total = lean(share, self.positive, self.step, scores, shift)
        return delta + moment, u, np.full(b.shape, total)


def slopes_of(
    share: Vector, positive: Vector, step: Vector, scores: Vector, b: float
) -> tuple[Vector, float, float]:
    """The slopes of a labelling, the sum of their products with the scores, and theirs."""
    u = step * (share - positive)
    return u, float(u @ (scores + b)), float(u.sum())


def labelled(positive: Vector, scores: Vector, first: float, second: float) -> Vector:
    """1 for positives with scores from the first number on, and others from the second on; 0 for the rest."""
    return np.asarray(np.where(positive, scores >= first, scores >= second), dtype=np.float64)


@loss_form("a loss of a contingency table whose labellings can be summed over")
class Countable(NamedTuple):
    """Weights are whole numbers, and samples not too many: see `gapfit.losses.smoothed.Labellings`."""

    risk: ContingencyRisk


class Classes(NamedTuple):
    """The samples of each class by descending score."""

    positive: Ranked
    negative: Ranked


class Taken(NamedTuple):
    """The samples of a class with the highest scores, up to some weight."""

    whole: int  # how many are taken as a whole
    lowest: float  # of their scores
    following: float  # score
    before: float  # the weight of these samples
    after: float  # and with one more


def taken_of(classes: Classes, amounts: tuple[float, float], unit: float | None) -> list[Taken]:
    """Of each class, up to these weights. That all samples weigh a `unit` may be of use."""
    del unit
    found = []
    for (_, scores, mass, _), amount in zip(classes, amounts, strict=True):
        n, k = len(scores), int(np.searchsorted(mass, amount, side="right")) - 1
        lowest, following = scores[k - 1] if k else np.inf, scores[k] if k < n else -np.inf
        found.append(Taken(k, float(lowest), float(following), float(mass[k]), float(mass[min(k + 1, n)])))
    return found


class Samples(NamedTuple):
    """Of which class they are, and what they weigh."""

    positive: Vector
    positives: int  # how many there are
    weight: Vector
    unit: float | None  # what each of them weighs, if it is the same
    # rows and weights of each class, where these are sorted one by one
    apart: tuple[tuple[Any, Vector], ...]


def ranked_apart(scores: Vector, samples: Samples, known: Any) -> list[Ranked]:
    """Each class by descending score. The masses that are `known` from other scores may be of use."""
    del known

    def one(k: int) -> Ranked:
        rows, weight = samples.apart[k]
        return ranked(scores[rows], weight)

    return each(one, (0, 1)) if len(scores) >= _APART else [one(0), one(1)]


class SortedRisk(ContingencyRisk):
    """A contingency risk whose maximiser is found in the scores of each class, sorted."""

    def __init__(self, loss: ContingencyLoss, y: Any, weight: Vector) -> None:
        super().__init__(loss, y, weight)
        unit = float(weight[0]) if is_repeated(once(weight)) else None
        sides = (self.positive, ~self.positive) if loops_of(weight) is None else ()
        apart = tuple((rows := np.flatnonzero(side), weight[rows]) for side in sides)
        self.samples = Samples(self.positive, int(np.count_nonzero(self.positive)), weight, unit, apart)
        self.last: tuple[Any, Classes] | None = None

    def classes(self, scores: Vector) -> Classes:
        """Both classes sorted. An intercept is sought at fixed scores, so the last ones are kept."""
        last = self.last
        if last is None or not is_still(last[0], scores):
            masses = tuple(part.mass for part in last[1]) if last else None
            parts = looped(ranked_apart, scores)(scores, self.samples, masses)
            last = self.last = noted(scores), Classes(*(Ranked(*part) for part in parts))
        return last[1]

    def label(self, scores: Vector, classes: Classes, tp: float, fp: float) -> Vector:
        """Label the highest scores positive: of positives the weight tp, of negatives the weight fp."""
        found = looped(taken_of, scores)(classes, (tp, fp), self.samples.unit)
        taken = [Taken(*one) for one in found]
        if all(one.lowest > one.following for one in taken):  # a score tells who they are
            label = looped(labelled, scores)
            share: Vector = label(self.positive, scores, *(one.lowest for one in taken))
        else:
            share = np.zeros_like(self.weight)
            for k, (part, one) in enumerate(zip(classes, taken, strict=True)):
                share[self._named(k, part.rows[: one.whole])] = 1.0
        for k, (part, one, amount) in enumerate(zip(classes, taken, (tp, fp), strict=True)):
            if one.whole < len(part.scores) and amount > one.before:
                share[self._named(k, part.rows[one.whole])] = (amount - one.before) / (one.after - one.before)
        return share

    def _named(self, k: int, places: Any) -> Any:
        """Which samples these are, if they are counted within a class."""
        return self.samples.apart[k][0][places] if self.samples.apart else places
