"""`partial_fit`: a certified fit of what is kept of data that come once."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from gapfit._types import Maybe
from gapfit.checks import as_weights
from gapfit.declaration import declared, parameter
from gapfit.estimators.fitting import all_or_nothing, warn_caller
from gapfit.estimators.linear import LinearModel
from gapfit.estimators.reservoir import Block, Reservoir
from gapfit.estimators.targets import as_labels, as_real, naming


@declared
class Stream(LinearModel):
    """An estimator of rows that also takes them block by block."""

    keep: int = parameter(
        """Rows that `partial_fit` keeps, at most; of each of k classes keep / k. While all that came are
        kept, its fits are certified as those of `fit` are. From then on the certificate speaks of a uniform
        sample of them.""",
        default=100_000,
    )

    @property
    def n_samples_seen_(self) -> int:
        """Rows that `partial_fit` was given since its first call; those of weight zero do not count."""
        return int(self._stream_so_far().seen.sum())

    @property
    def n_samples_kept_(self) -> int:
        """Those of them that were kept: what the certificate and all that is said of the optimum is about."""
        return len(self._stream_so_far().kept.y)

    def __sklearn_is_fitted__(self) -> bool:
        """Rows may have come, and no fit yet."""
        return "coef_" in self.__dict__

    def _stream_so_far(self) -> Reservoir:
        if "_stream" not in self.__dict__:
            raise AttributeError("only `partial_fit` keeps rows")
        found: Reservoir = self.__dict__["_stream"]
        return found

    def _next_block(
        self,
        X: Any,
        y: Any,
        as_target: Callable[[Any, int], NDArray[Any]],
        sample_weight: Any,
        labels: NDArray[Any] | None = None,
    ) -> Reservoir:
        """Take a block in; `labels` are those that y may hold, each with a room of its own."""
        if isinstance(self.keep, bool) or not isinstance(self.keep, Integral) or self.keep < 1:
            raise ValueError(f"keep must be a positive integer, got {self.keep!r}")
        so_far: Reservoir | None = self.__dict__.get("_stream")
        X = self._rows(X, reset=so_far is None)
        n = X.shape[0]
        y, weight = as_target(y, n), as_weights(sample_weight, n)
        group = np.zeros(n, np.intp)
        if labels is not None:
            group = np.searchsorted(labels, y).clip(0, len(labels) - 1)
            if (strange := np.unique(y[labels[group] != y])).size:
                raise ValueError(f"y holds {strange.tolist()}, which the first call's classes do not have")
        block = Block(X, y, weight, group).take(np.flatnonzero(weight))
        if so_far is None:
            labels = np.zeros(1) if labels is None else labels
            room = max(int(self.keep) // len(labels), 1)
            self._stream = Reservoir.of(block, labels, room, self._seed())
        else:
            self._stream = so_far.after(block)
        return self._stream

    def _seed(self) -> int:
        """Of the sample; None is a fixed one, as for solvers."""
        given = getattr(self, "random_state", None)
        if given is None:
            return 0
        with naming("random_state"):
            return int(check_random_state(given).randint(2**31))

    def _fit_stream(self, stream: Reservoir) -> None:
        """Fit what is kept, from the last answer on."""
        kept, usual = stream.kept, self.warm_start
        self.warm_start = True
        try:
            self._solve(self._posed(kept.X, kept.y, stream.weights, None))
        finally:
            self.warm_start = usual

    def _end_stream(self) -> None:
        """What was kept is no more of interest: `fit` begins anew."""
        self.__dict__.pop("_stream", None)


@declared
class StreamOfNumbers(Stream):
    """y holds numbers."""

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, sample_weight: Maybe = None) -> Self:
        """Take in a block of samples, and fit all that are kept, starting from the last answer.

        `keep` rows stay. Once some had to go (`n_samples_kept_ < n_samples_seen_`), the certificate speaks of
        a uniform sample of all that came. After `fit`, and in a model from a file, nothing is kept: a new
        stream begins.
        """
        stream = self._next_block(X, y, as_real, sample_weight)
        self._fit_stream(stream)
        return self


@declared
class StreamOfClasses(Stream):
    """y holds labels."""

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Maybe = None) -> Self:
        """Take in a block of samples, and fit all that are kept, starting from the last answer.

        `keep` rows stay, of each class the same number at most, weighted as all of that class that came. Once
        some had to go (`n_samples_kept_ < n_samples_seen_`), the certificate speaks of this sample. Until
        there is a row of each class nothing is fitted. After `fit`, and in a model from a file, nothing is
        kept: a new stream begins.

        classes : array of shape (k,), default=None
            All labels that y will ever hold; needed on the first call, and not later. A model that `fit` has
            made knows some already.
        """
        labels = as_classes(classes, self.__dict__.get("_stream"), self.__dict__.get("classes_"))
        stream = self._next_block(X, y, as_labels, sample_weight, labels)
        if all_have_come(stream):
            self._fit_stream(stream)
        return self


def as_classes(given: Any, so_far: Reservoir | None, fitted: Any) -> NDArray[Any]:
    """The labels that y may hold, as the first call says; or those that the model was fitted to."""
    if so_far is None:
        given = fitted if given is None else given
        if given is None:
            raise ValueError("classes must be given on the first call of partial_fit: all labels there are")
        found = np.unique(np.asarray(given))
        if len(found) < 2:
            raise ValueError(f"classes must hold two labels or more, got {given!r}")
        return found
    if given is not None and not np.array_equal(np.unique(np.asarray(given)), so_far.labels):
        raise ValueError(f"classes={given!r} differs from that of the first call, {so_far.labels.tolist()}")
    return so_far.labels


def all_have_come(stream: Reservoir) -> bool:
    """Is there a sample of each class? If not, nothing can be fitted yet, which the user is told."""
    missing = stream.labels[stream.seen == 0]
    if len(missing):
        warn_caller(
            f"no sample of {missing.tolist()} has come yet: rows are kept, and the model is fitted as soon "
            "as there is one of each class",
            UserWarning,
        )
    return not len(missing)
