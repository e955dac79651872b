"""Choosing parameters by cross-validation: fits of a fold share what they know of each other.

One mechanism behind all estimators whose names end in CV. Each is its base with a grid in place of a number:
it fits the base along the grid on every fold, takes the place of the best mean score, and fits there.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import GroupKFold, KFold, check_cv

from gapfit.checkpoint import Checkpoint
from gapfit.declaration import attribute, declared, parameter
from gapfit.design.base import Design
from gapfit.design.elsewhere import is_collection
from gapfit.design.given import Given
from gapfit.errors import as_count
from gapfit.estimators.along import as_alphas
from gapfit.estimators.fitting import KEPT_IN, kept
from gapfit.estimators.linear_parts import LinearParts
from gapfit.estimators.samples import indexable, rows_of
from gapfit.fingerprint import fingerprint
from gapfit.persistence.fits import TABLE
from gapfit.persistence.values import NUMBER, ONE_OR_SEVERAL

Grid = Sequence[Mapping[str, Any]]
_LARGEST, _SMALLEST = 10.0, 1e-5  # alphas, where their number is all that is given


@declared
class Chooses(BaseEstimator):
    """An estimator that chooses parameters of its own by cross-validation."""

    cv: Any = parameter(
        """Folds: stratified for labels, whole queries for rankings; fewer if a class has fewer samples. Or a
        splitter of scikit-learn, or a list of pairs of rows to fit to and rows to look at.""",
        "int, splitter or list", default=5,
    )  # fmt: skip
    scoring: Any = parameter(
        """The score that counts, the larger the better: a name that scikit-learn knows, or a function
        (model, X, y). None is `score` of the estimator.""",
        "str or function", default=None,
    )  # fmt: skip

    best_score_: float = attribute(NUMBER, "", "The mean score over the folds of what was chosen.")
    cv_results_: dict[str, list[Any]] = attribute(
        TABLE, "dict of lists",
        """A row for each place of the grid: its parameters, "mean_score", "std_score" over the folds, and the
        score of each fold, "score_0" and so on.""",
    )  # fmt: skip

    _beside: ClassVar[tuple[str, ...]] = ()  # what a score is to be told beside X and y

    @abstractmethod
    def _grid(self) -> Grid:
        """The places to choose from; of equal scores the first one wins."""

    @contextmanager
    def _choosing(self, given: Mapping[str, Any]) -> Iterator[None]:
        """Choose, for the fit that follows in the block. One checkpoint is for both: it holds the scores of
        folds that are done, and the fits of one that is not."""
        with kept(self, lambda: self._checked_first(given)) as checkpoint:
            if checkpoint is None:
                self._checked_first(given)
            self._take(self._choose(given, checkpoint))
            if checkpoint is not None:
                setattr(self, KEPT_IN, checkpoint)
            try:
                yield
            finally:
                self.__dict__.pop(KEPT_IN, None)

    @abstractmethod
    def _checked_first(self, given: Mapping[str, Any]) -> Any:
        """What is wrong is told before anything is fitted. The data, as a checkpoint knows them."""

    @abstractmethod
    def _take(self, place: Mapping[str, Any]) -> None:
        """What was chosen."""

    def _choose(self, given: Mapping[str, Any], checkpoint: Checkpoint | None) -> Mapping[str, Any]:
        """The best place, by what `fit` was given; sets the attributes that tell of it."""
        grid, scorer = self._grid(), check_scoring(self, scoring=self.scoring)
        columns = [self._scores_of(fold, given, grid, scorer, checkpoint) for fold in self._folds(given)]
        scores = np.array(columns)
        mean = scores.mean(axis=0)
        best = int(np.nanargmax(mean)) if not np.isnan(mean).all() else 0
        table = {name: [place[name] for place in grid] for name in grid[0]}
        table |= {"mean_score": mean.tolist(), "std_score": scores.std(axis=0).tolist()}
        table |= {f"score_{k}": column.tolist() for k, column in enumerate(scores)}
        self.best_score_, self.cv_results_ = float(mean[best]), table
        return grid[best]

    def _scores_of(
        self, fold: tuple[Any, Any], given: Mapping[str, Any], grid: Grid, scorer: Any, checkpoint: Any
    ) -> list[float]:
        """Of the models of all places of the grid, on the samples that a fold leaves out."""
        name = "" if checkpoint is None else fingerprint(fold)
        before = set() if checkpoint is None else set(checkpoint.parts)
        if checkpoint is not None and (known := checkpoint.noted(name)) is not None:
            return list(known)
        seen, held_out = rows_of(given, fold[0]), rows_of(given, fold[1])
        beside = {name: held_out[name] for name in self._beside if held_out[name] is not None}
        models = clone(self)._along(seen, grid, checkpoint)  # the base's: one for each place of the grid
        scores = [float(scorer(one, held_out["X"], held_out["y"], **beside)) for one in models]
        if checkpoint is not None:
            checkpoint.note(name, scores, instead_of=set(checkpoint.parts) - before)
        return scores

    def _folds(self, given: Mapping[str, Any]) -> list[tuple[Any, Any]]:
        if isinstance(given["X"], Design | Given) or is_collection(given["X"]):
            raise TypeError(
                f"X must be in memory for {type(self).__name__}, which cuts it into folds; for rows that are "
                "elsewhere fit the base at alphas of your own"
            )
        X, y, groups = indexable(given["X"]), given["y"], given.get("qid")
        cv: Any = self.cv
        if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
            cv = as_count("cv", cv, 2)
            if "qid" in given:  # parts of a single query, whose documents may be sorted, are drawn
                cv = KFold(cv, shuffle=True, random_state=0) if groups is None else GroupKFold(cv)
            elif is_classifier(self):
                cv = min(cv, int(np.unique(np.asarray(y), return_counts=True)[1].min()))
                if cv < 2:
                    raise ValueError(
                        "y holds a class of one sample: it cannot be both fitted to and left out"
                    )
        splitter = check_cv(cv, None if y is None else np.asarray(y), classifier=is_classifier(self))
        return list(splitter.split(X, y, groups))


@declared
class ChoosesAlpha(Chooses):
    """It chooses the weight of its penalty."""

    alphas: Any = parameter(
        """What to choose from: several alphas, or how many of them, evenly spaced in their logarithms from
        1e-5 to 10. Of alphas with equal scores the largest is taken.""",
        "int or sequence of floats", default=13, form=ONE_OR_SEVERAL,
    )  # fmt: skip

    def _grid(self) -> Grid:
        if isinstance(self.alphas, int | np.integer) and not isinstance(self.alphas, bool):
            asked: NDArray[Any] = np.geomspace(_LARGEST, _SMALLEST, as_count("alphas", self.alphas, 1) or 1)
        else:
            asked = np.unique(as_alphas(self.alphas))[::-1]
        return [{"alpha": alpha} for alpha in asked.tolist()]

    def _take(self, place: Mapping[str, Any]) -> None:
        self.alpha_ = float(place["alpha"])

    def _checked_first(self, given: Mapping[str, Any]) -> Any:
        probe = clone(self)
        probe.alpha_ = self.alpha_ = 1.0  # the checks need one
        return LinearParts(probe, probe._posed(**given)).data()


def chosen(name: str) -> Any:
    """A parameter of the base that is what was chosen."""

    def get(self: Any) -> Any:
        try:
            return self.__dict__[f"{name}_"]
        except KeyError:
            raise AttributeError(f"{name} is chosen by fit: {name}_") from None

    return property(get)


def not_by_parts(name: str) -> Any:
    """What the base has for samples that come one block after the other."""

    def get(self: Any) -> Any:
        raise AttributeError(
            f"{type(self).__name__} has no {name}: to choose takes all samples at once, by fit"
        )

    return property(get)
