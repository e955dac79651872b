"""Estimators that choose their alpha, or C and gamma, by cross-validation."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from gapfit._types import Maybe
from gapfit.declaration import attribute, declared, parameter
from gapfit.errors import as_numbers
from gapfit.estimators.choosing import Chooses, ChoosesAlpha, Grid, chosen, not_by_parts
from gapfit.estimators.classification import LinearClassifier
from gapfit.estimators.fitting import KEPT_IN, all_or_nothing
from gapfit.estimators.kernel_classification import KernelSVC
from gapfit.estimators.ordinal import OrdinalClassifier
from gapfit.estimators.probabilities import ALONE, uninterrupted
from gapfit.estimators.ranking import Ranker
from gapfit.estimators.regression import LinearRegressor
from gapfit.estimators.targets import as_labels
from gapfit.persistence.values import ONE_OR_SEVERAL, PLAIN


@declared
class LinearClassifierCV(ChoosesAlpha, LinearClassifier):
    """A `LinearClassifier` that chooses its alpha by cross-validation.

    On each fold the models of all alphas are fitted along a path, which shares what it learns. The alpha of
    the best mean score is `alpha_`, and the model is fitted to all samples there, with a certificate as ever.
    `AlphaSearchCV` looks at a whole range of alphas instead of a grid, and proves that none does better.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearClassifierCV(loss="logistic").fit(scale(X), y)
    >>> bool(model.best_score_ > 0.97), model.converged_, model.alpha_ in model.cv_results_["alpha"]
    (True, True, True)
    """

    alpha: ClassVar[Any] = chosen("alpha")  # type: ignore[misc]
    C: ClassVar[None] = None  # type: ignore[misc]
    keep: ClassVar[Any] = not_by_parts("keep")  # type: ignore[misc]
    partial_fit: ClassVar[Any] = not_by_parts("partial_fit")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    @all_or_nothing
    def fit(
        self, X: Any, y: Any = None, sample_weight: Maybe = None, offset: Maybe = None, watch: Any = None
    ) -> "LinearClassifierCV":
        """offset : array of shape (n,), default=None
            Known numbers added to the scores while fitting (and not when predicting).
        watch : array or sparse matrix of shape (m, d), default=None
            Rows whose labels are to be certain, for stop_when="predictions".
        """
        with self._choosing({"X": X, "y": y, "sample_weight": sample_weight, "offset": offset}):
            super().fit(X, y, sample_weight, offset, watch)
        return self


@declared
class LinearRegressorCV(ChoosesAlpha, LinearRegressor):
    """A `LinearRegressor` that chooses its alpha by cross-validation.

    On each fold the models of all alphas are fitted along a path, which shares what it learns. The alpha of
    the best mean score is `alpha_`, and the model is fitted to all samples there, with a certificate as ever.
    The score is R^2, unless `scoring` says otherwise.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegressorCV(loss="huber", scoring="neg_mean_absolute_error").fit(scale(X), scale(y))
    >>> model.converged_, model.alpha_ in model.cv_results_["alpha"]
    (True, True)
    """

    alpha: ClassVar[Any] = chosen("alpha")  # type: ignore[misc]
    C: ClassVar[None] = None  # type: ignore[misc]
    keep: ClassVar[Any] = not_by_parts("keep")  # type: ignore[misc]
    partial_fit: ClassVar[Any] = not_by_parts("partial_fit")

    @all_or_nothing
    def fit(
        self, X: Any, y: Maybe = None, sample_weight: Maybe = None, offset: Maybe = None
    ) -> "LinearRegressorCV":
        """offset : array of shape (n,), default=None
        Known numbers added to the scores while fitting (and not when predicting).
        """
        with self._choosing({"X": X, "y": y, "sample_weight": sample_weight, "offset": offset}):
            super().fit(X, y, sample_weight, offset)
        return self


@declared
class OrdinalClassifierCV(ChoosesAlpha, OrdinalClassifier):
    """An `OrdinalClassifier` that chooses its alpha by cross-validation.

    The score is accuracy, unless `scoring` says otherwise: "neg_mean_absolute_error" counts by how many
    levels a prediction is off, if these are numbers.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> model = OrdinalClassifierCV(alphas=[1.0, 0.01], cv=3).fit(X, np.repeat([1, 2, 3, 4], 10))
    >>> model.converged_, model.alpha_ in model.cv_results_["alpha"]
    (True, True)
    """

    alpha: ClassVar[Any] = chosen("alpha")  # type: ignore[misc]
    C: ClassVar[None] = None  # type: ignore[misc]

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, sample_weight: Maybe = None) -> "OrdinalClassifierCV":
        """y : labels of shape (n,), whose sorted order is that of the levels
        Or an ordered Categorical of pandas, whose own order counts.
        """
        with self._choosing({"X": X, "y": y, "sample_weight": sample_weight}):
            super().fit(X, y, sample_weight)
        return self


@declared
class RankerCV(ChoosesAlpha, Ranker):
    """A `Ranker` that chooses its alpha by cross-validation, whole queries left out at a time.

    The score is the mean of NDCG@10 over queries, unless `scoring` says otherwise: a function
    (model, X, y, qid=...), as those of `gapfit.ranking_metrics` are.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(60, 3)), np.repeat(np.arange(12), 5)
    >>> relevance = np.digitize(X[:, 0] + 0.1 * rng.normal(size=60), [0.0, 1.0])
    >>> model = RankerCV(alphas=[1.0, 0.01], cv=3).fit(X, relevance, qid=qid)
    >>> bool(model.best_score_ > 0.9), model.converged_
    (True, True)
    """

    alpha: ClassVar[Any] = chosen("alpha")  # type: ignore[misc]
    C: ClassVar[None] = None  # type: ignore[misc]
    _beside: ClassVar[tuple[str, ...]] = ("qid",)

    @all_or_nothing
    def fit(self, X: Any, y: Maybe = None, qid: Maybe = None, sample_weight: Maybe = None) -> "RankerCV":
        """y : array of shape (n,)
            Relevance: the larger, the higher up.
        qid : array of shape (n,), default=None
            The query that each document belongs to. None: all are one query, and folds are parts of it.
        """
        with self._choosing({"X": X, "y": y, "qid": qid, "sample_weight": sample_weight}):
            super().fit(X, y, qid, sample_weight)
        return self


@declared
class KernelSVCCV(Chooses, KernelSVC):
    """A `KernelSVC` that chooses C and gamma by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelSVCCV(Cs=[0.1, 1.0, 10.0], gammas=["scale", 0.1], cv=3).fit(X, y)
    >>> bool(model.best_score_ > 0.95), len(model.cv_results_["C"])
    (True, 6)
    """

    Cs: Any = parameter(
        "Weights of the losses to choose from. Of equal scores the least C wins.",
        "sequence of floats", default=(0.1, 1.0, 10.0, 100.0), form=ONE_OR_SEVERAL,
    )  # fmt: skip
    gammas: Any = parameter(
        'Of the kernel, to choose from: "scale", "auto" or numbers.',
        "sequence", default=("scale",), form=ONE_OR_SEVERAL,
    )  # fmt: skip

    best_gamma_: Any = attribute(PLAIN, '"scale", "auto" or float', "What was chosen; `gamma_` is a number.")

    C: ClassVar[Any] = chosen("C")  # type: ignore[misc]
    gamma: ClassVar[Any] = chosen("best_gamma")  # type: ignore[misc]
    nu: ClassVar[None] = None  # type: ignore[misc]

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, sample_weight: Maybe = None) -> "KernelSVCCV":
        """X : array or sparse matrix of shape (n, d)
        y : labels of shape (n,), of any kind
        """
        if self._is_given("precomputed"):
            raise ValueError(
                "kernel='precomputed' has no gamma, and its folds have two sides: "
                "sklearn.model_selection.GridSearchCV(KernelSVC(kernel='precomputed'), ...) chooses C"
            )
        with self._choosing({"X": X, "y": y, "sample_weight": sample_weight}):
            super().fit(X, y, sample_weight)
        return self

    def _checked_first(self, given: Mapping[str, Any]) -> Any:
        probe = clone(self)
        probe._take(self._grid()[0])
        samples = probe._samples(given["X"], given["y"], as_labels, given["sample_weight"])
        samples.weighed(self.class_weight)
        return samples.X, samples.y, samples.weight

    def _take(self, place: Mapping[str, Any]) -> None:
        self.C_, self.best_gamma_ = place["C"], place["gamma"]

    def _grid(self) -> Grid:
        Cs = np.unique(as_numbers("Cs", self.Cs)).astype(np.float64).tolist()
        gammas = [self.gammas] if isinstance(self.gammas, str | float) else list(self.gammas)
        if not Cs or not gammas:
            raise ValueError("Cs and gammas must hold something to choose from")
        return [{"C": C, "gamma": gamma} for C in Cs for gamma in gammas]

    def _again(self, given: Mapping[str, Any]) -> KernelSVC:
        return self._along(given, [{"C": self.C, "gamma": self.gamma}])[0]

    def _along(self, given: Mapping[str, Any], grid: Grid, checkpoint: Any = None) -> list[KernelSVC]:
        known = {name: one for name, one in self.get_params().items() if name in _OF_KERNEL_SVC}
        base, models = KernelSVC(**known | ALONE), []
        for place in grid:
            one = clone(base).set_params(**place)
            vars(one)[KEPT_IN] = checkpoint
            models.append(uninterrupted(one.fit(**given)))
        return models


_OF_KERNEL_SVC = set(KernelSVC().get_params())
