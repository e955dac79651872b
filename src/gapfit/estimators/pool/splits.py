"""The folds of a cross-validation: ours are of the different samples, a splitter's of the rows as given.

The y of samples may be two signs or the numbers of several classes.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_random_state

from gapfit._types import Indices, Vector
from gapfit.estimators.pool.folds import Fold, fold_of
from gapfit.estimators.pool.members import TwoClasses
from gapfit.estimators.targets import naming
from gapfit.reductions import Multiset


def one_against_rest(samples: TwoClasses, k: int) -> TwoClasses:
    """Samples of several classes, as those of one class and of all others."""
    return samples._replace(y=np.where(samples.y == k, 1.0, -1.0))


def against_rest(fold: Fold, k: int) -> Fold:
    """The same fold, of one class and all others, of which nothing is fitted yet."""
    return Fold(one_against_rest(fold.train, k), one_against_rest(fold.test, k), {})


def stratified(samples: TwoClasses, cv: Any, random_state: Any) -> list[Fold] | None:
    """As many as `cv` says, or fewer if a class has fewer different samples; None if it is no number.

    With a single sample there is nothing to leave out: then one fold looks at what it was fitted on.
    """
    if not isinstance(cv, Integral) or isinstance(cv, bool):
        return None
    if cv < 2:
        raise ValueError(f"cv must be at least 2, got {cv!r}")
    return [fold_of(samples, *rows) for rows in _rows(samples.y, int(cv), random_state)]


def given(samples: TwoClasses, cv: Any, y: Any, weight: Vector, origin: Multiset) -> list[Fold]:
    """Those of a splitter, or of a list of pairs of rows; y and weight are those of the rows as given."""
    with naming("cv"):
        splits = list(check_cv(cv).split(np.zeros((len(y), 1)), y))  # splitters ask for the number of rows
    if not splits:
        raise ValueError("cv must make one fold at least")

    def part(rows: Any) -> TwoClasses:
        place = origin.place[rows]
        there = place >= 0
        mass = np.bincount(place[there], weight[rows][there], len(samples.y))
        some = samples.take(np.flatnonzero(mass), mass[mass > 0].astype(np.float64))
        if len(np.unique(some.y)) < len(np.unique(samples.y)):
            raise ValueError("cv must leave both classes, or all of several, in every part of every fold")
        return some

    return [Fold(part(train), part(test), {}) for train, test in splits]


def _rows(y: Vector, cv: int, random_state: Any) -> list[tuple[Indices, Indices]]:
    count = min(cv, int(np.unique(y, return_counts=True)[1].min()))
    if count < 2:
        return [(np.arange(len(y)), np.arange(len(y)))]
    with naming("random_state"):
        seed = 0 if random_state is None else check_random_state(random_state)
    folds = StratifiedKFold(count, shuffle=True, random_state=seed)
    return list(folds.split(np.zeros(len(y)), y))
