"""The folds of a cross-validation, as problems on training samples and measures on those left out."""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from gapfit._types import Indices, Target, Vector
from gapfit.checks import as_weights
from gapfit.design.base import Design
from gapfit.design.memory import as_design
from gapfit.estimators.classification import JOINT, LinearClassifier
from gapfit.estimators.linear_parts import LinearParts
from gapfit.estimators.regression import LinearRegressor
from gapfit.estimators.samples import indexable
from gapfit.estimators.targets import as_labels, as_real, target_of
from gapfit.selection import Fold, measure_of

_TAKES = (LinearClassifier, LinearRegressor)


def model_of(estimator: Any) -> Any:
    """The linear model that an estimator is, or that a pipeline ends with."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(model, _TAKES):
        raise TypeError(
            f"estimator must be a LinearClassifier or a LinearRegressor, or a Pipeline that ends with one, "
            f"got {estimator!r}"
        )
    if model.C is not None:
        raise ValueError(f"the search chooses alpha, and C={model.C!r} says what it is; leave C out")
    loss = model._loss() if isinstance(model, LinearClassifier) else model.loss
    if target_of(loss) & JOINT:
        raise ValueError(
            f"{model!r} fits several scores at once, of which too little is known between alphas"
        )
    return model


def named_alpha(estimator: Any) -> str:
    """How the estimator's alpha is called among its parameters."""
    return f"{estimator.steps[-1][0]}__alpha" if isinstance(estimator, Pipeline) else "alpha"


def folds_of(estimator: Any, X: Any, y: Any, sample_weight: Any, cv: Any, scoring: str) -> list[Fold]:
    """One fold for each split, as the estimator would fit it."""
    classes: Any = None
    X = X if isinstance(X, Design) else indexable(X)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    weight = None if sample_weight is None else as_weights(sample_weight, n)
    if is_classifier(estimator):
        y = as_labels(y, n)
        classes = np.unique(y)
    else:
        y = as_real(y, n)
    rows = np.zeros((n, 1)) if isinstance(X, Design) else X  # splitters ask how many there are
    splits = check_cv(cv, y, classifier=classes is not None).split(rows, y)
    return [_fold(estimator, X, y, weight, (train, test, classes, scoring)) for train, test in splits]


def _fold(
    estimator: Any, X: Any, y: Any, weight: Vector | None, split: tuple[Indices, Indices, Any, str]
) -> Fold:
    train, test, classes, scoring = split
    before = clone(estimator[:-1]) if isinstance(estimator, Pipeline) and len(estimator) > 1 else None
    model = clone(model_of(estimator))
    if isinstance(X, Design):
        seen, held_out = X.keeping(train), X.keeping(test)  # where they are: parts are shared by all folds
    else:
        seen, held_out = _safe_indexing(X, train), _safe_indexing(X, test)
    if before is not None:
        seen, held_out = before.fit_transform(seen, y[train]), before.transform(held_out)
    posed = model._posed(seen, y[train], None if weight is None else weight[train], None)
    parts = LinearParts(model, posed)
    if classes is not None:
        if len(model.classes_) != len(classes):
            raise ValueError(f"a training fold lacks one of the classes {classes.tolist()}; take fewer folds")
        target = np.searchsorted(classes, y[test])
    else:
        target = y[test]
    measure = measure_of(
        scoring, target, 0 if classes is None else len(classes), getattr(posed.loss, "q", 0.5)
    )
    problems = [parts.problem(k) for k in range(parts.count)]
    counts = classes is None and Target.COUNTS in target_of(posed.loss)
    rows = held_out if isinstance(held_out, Design) else as_design(model._rows(held_out, reset=False))
    fold = Fold(problems, rows, measure, np.exp) if counts else Fold(problems, rows, measure)
    if not fold.possible:
        raise ValueError(
            f"penalty must be 'l2' or a QuadraticForm, of which more is known between alphas than of "
            f"{model.penalty!r}{' with positive=True' if model.positive else ''}"
        )
    return fold
