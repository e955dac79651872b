"""Linear classifiers for the measure you report."""

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning

from gapfit._types import Maybe, Vector
from gapfit.checks import as_tolerance, as_weights
from gapfit.declaration import attribute, declared, parameter
from gapfit.design.memory import design_of
from gapfit.elsewhere import fetched
from gapfit.errors import as_number, as_numbers
from gapfit.estimators.blocks import by_blocks
from gapfit.estimators.classes import Classes
from gapfit.estimators.fitting import Fitting, all_or_nothing, overall_status, warn_caller
from gapfit.estimators.linear import WithIntercept
from gapfit.estimators.placed import RowsOnADevice
from gapfit.estimators.pool import recipes, splits, ways
from gapfit.estimators.pool.members import Settings, Surrogate, TwoClasses
from gapfit.estimators.pool.offsets import value_of
from gapfit.estimators.pool.ways import Outcome
from gapfit.estimators.probabilities import ALONE, Probabilities, uninterrupted
from gapfit.estimators.targets import as_labels
from gapfit.metrics import BY_CLASS, Metric, as_metric
from gapfit.persistence.fits import HISTORY, TRIED
from gapfit.persistence.objects import METRIC
from gapfit.persistence.values import NUMBER, ONE_OR_SEVERAL, TEXT, floats
from gapfit.reductions import Labels
from gapfit.registry import as_penalty, is_auto
from gapfit.solution import Status

STRATEGIES = ("auto", "surrogate", "cost_path", "pool")
_UNPROVED = ("tilt", "average")
ALPHAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
PATH = tuple(np.geomspace(1.0, 1e-5, 11).tolist())  # alphas of "auto", for whom more cost little
_ALONE = 1e-4  # alpha of a single surrogate, unless given
_ROUGH = 1e-3  # tolerance of fits that are only looked at,
_COARSE = 1e-2  # and of surrogates among them
_SEARCH = 0.8  # share of max_time after which no more members are tried


@declared
class MetricClassifier(ClassifierMixin, Probabilities, WithIntercept, Classes, RowsOnADevice, Fitting):
    """A linear classifier for a measure of the contingency table: F1, Matthews, precision at k, your own.

    Of two classes the second of `classes_` is the positive one: samples with x'coef_ + intercept_ > 0 are
    labelled so, and the intercept is chosen for the measure. `strategy` says how w is found:

    - "auto" minimises alpha * Omega(w) + the mean logistic loss for many alphas, and then once more with each
      feature multiplied by the square root of its weight in the best of these (not under other penalties than
      L2). Of all these models it takes the one with the least log loss in cross-validation. The threshold is
      the mean of two: the one that is best for the measure on the samples left out, counted, and the one that
      is best in expectation, by calibrated probabilities.
    - "cost_path" minimises alpha * Omega(w) + weighted mean of the logistic loss, or the squared hinge, with
      weights 2 - t on positives and t on negatives, for t from plain (1) to balanced; only balanced for areas
      and balanced accuracy; at k < P, only prices of a positive, (2 - t) / t, of k / P and 1. Loss, t, alpha
      and the threshold are chosen by cross-validation on the measure: the threshold is the best one for the
      mean over folds, averaged over those that label a tenth of the errors more or fewer.
    - "surrogate" minimises alpha * Omega(w) + R(X w + b), R being the convex upper bound of 1 - the measure
      (see `gapfit.losses`), in which the scores of the positives are multiplied by `score_weight`. One fit
      with a certificate; the threshold is the best one for the training data, exactly. If w = 0 is optimal,
      as it is for F1 where classes overlap much, a warning says so.

    - "pool" adds to "cost_path" local searches that bend the best logistic models towards the measure itself,
      unless features outnumber samples; and surrogates for measures that have no derivatives. It takes the
      best of all, or the average of the ten best scores if that does better. For thousands of samples that a
      linear model does not fit, at some ten times the time.

    "f1_macro", "f1_weighted", "f1_micro", "accuracy" and "balanced_accuracy" are for several classes, too,
    with strategy="auto": one class against the rest, all scores calibrated, and what is added to each is
    chosen for the measure, as a threshold is. The label is that of the highest score.

    Weights count copies, in the losses as in the measure: weight k equals k copies, 0 is absence. Among up to
    10,000 samples equal ones are taken as one with a weight, so that copies are never in two folds.

    Notes
    -----
    `certificates_` are of the convex problems that were solved on all samples for this model. What `tol` and
    the gap speak of is the last of these, with its features as they were multiplied; nothing is proved of the
    threshold, which is chosen on data. Nothing is proved of a local search or of an average either:
    `dual_objective_` is -inf, `dual_gap_` inf, `converged_` False, and `status_` is `Status.LOCAL` if all
    convex parts are certified; for a local search `certificates_` is that of the logistic model where it
    began. For several classes `objective_` is the mean over them, `dual_gap_` the largest, and `alpha_` the
    geometric mean.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MetricClassifier(metric="f1", cv=3).fit(X / 16, y == 8)
    >>> model.strategy_, model.converged_
    ('adaptive', True)
    >>> bool(model.score(X / 16, y == 8) > 0.8)
    True
    """

    metric: Any = parameter(
        """What to maximise: "f1", "jaccard", "matthews", "accuracy", "balanced_accuracy", "break_even",
        "roc_area", "f1_macro", "f1_weighted" or "f1_micro"; a loss such as `losses.FBeta(2)`,
        `losses.PrecisionAtK(50)`, `losses.PrecisionAtRecall(0.8)` or `losses.PartialRocArea(0.1)`; or a
        function f(tp, fp, fn, tn) of four arrays. See `gapfit.metrics`.""",
        "str, Loss or function", default="f1", form=METRIC,
    )  # fmt: skip
    strategy: str = parameter("How w is found, see above.", default="auto", choices=STRATEGIES)
    score_weight: float = parameter(
        'For strategy="surrogate": how much the scores of positives weigh.', default=1.0
    )
    alpha: Any = parameter(
        """Multiplies the penalty. Of several numbers, cross-validation chooses one. None is 1e-4 for
        strategy="surrogate", 1e-1, 1e-2, ..., 1e-5 for "cost_path" and "pool", and eleven from 1 to 1e-5
        for "auto".""",
        "float, sequence of floats or None", default=None, form=ONE_OR_SEVERAL,
    )  # fmt: skip
    cv: Any = parameter(
        """Folds for all choices, stratified and shuffled; fewer, if a class has fewer different samples.
        (With a single one there is nothing to leave out, and the training data decide.) A splitter, or a list
        of pairs of rows to fit on and rows to look at, is about the rows as they are given.""",
        "int, splitter or list", default=5,
    )  # fmt: skip
    tol: float = parameter(
        """The convex fits of the final model stop when the duality gap is at most tol times the objective;
        those of the cross-validation at 1e-3 (surrogates at 1e-2), if that is larger.""",
        default=1e-4,
    )
    max_iter: int = parameter("The most steps of one convex fit.", default=10_000)
    max_time: float | None = parameter(
        """The most seconds for everything, about. What was tried within four fifths of it is chosen
        from.""",
        default=None,
    )

    coef_: NDArray[Any] = attribute(floats(2), "array of shape (1, d) or (classes, d)", "w.")
    intercept_: NDArray[Any] = attribute(
        floats(1), "array of shape (1,) or (classes,)", "Minus the threshold."
    )
    strategy_: str = attribute(
        TEXT, "",
        """What the model is: "logistic", "adaptive" (logistic as well, with features in the size of their
        weights), "classes" (several of these), "cost_path", "surrogate", "tilt" (the result of a local
        search) or "average".""",
    )  # fmt: skip
    score_: float = attribute(
        NUMBER, "",
        "The measure in cross-validation, at the threshold; for a single fit, on the training data.",
    )  # fmt: skip
    history_: list[Any] = attribute(
        HISTORY, "list of Record",
        """A line for each step of the convex fit behind this model: (n_iter, time, primal, dual, gap,
        proved). Of several fits, a list for each, in the order of `certificates_`.""",
        optional=True,
    )  # fmt: skip
    cv_results_: dict[str, list[Any]] = attribute(
        TRIED, "dict of lists",
        """"member" (its description), "strategy", "score" (for "auto" minus the log loss), "spread" (standard
        deviation over folds), "threshold" (for "auto" 0) and "gap" (the largest relative gap of its convex
        fits), for each member that was tried.""",
    )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = isinstance(self.metric, str) and self.metric in BY_CLASS
        return tags

    @property
    def score_bounds(self) -> Any:
        """There are none: the threshold is chosen on data, and no gap bounds what it would be elsewhere."""
        raise AttributeError("MetricClassifier has no score_bounds: its threshold is chosen on data")

    @all_or_nothing
    def fit(self, X: Any, y: Maybe = None, sample_weight: Maybe = None) -> "MetricClassifier":
        """y : labels of shape (n,)
        Of two kinds the second, in order, is the positive one.
        """
        began = perf_counter()
        metric, alphas = as_metric(self.metric), _as_alphas(self.alpha, self.strategy)
        tol = as_tolerance(self.tol)
        if not 0 < as_number("score_weight", self.score_weight) < np.inf:
            raise ValueError(f"score_weight must be positive and finite, got {self.score_weight!r}")
        given = self._samples(X, y, as_labels, sample_weight)
        labels = Labels.of(given.y)
        self._check_classes(labels.classes, metric)
        self.classes_ = labels.classes
        target = (
            labels.apply(given.y)[0]
            if len(labels.classes) == 2
            else np.searchsorted(labels.classes, given.y).astype(np.float64)
        )
        samples = TwoClasses(design_of(given.X), target, np.ascontiguousarray(given.weight))
        penalty = as_penalty(self.penalty)
        with self._session(lambda: (samples.design, samples.y, samples.weight), parts=0) as session:
            until = began + session.max_time
            settings = Settings(
                metric, penalty, session.solver, tol, self.max_iter, until, session.checkpoint
            )
            if self.strategy == "surrogate" and len(alphas) == 1:
                found = ways.alone(Surrogate(float(self.score_weight), alphas[0]), samples, settings)
            else:
                folds = splits.stratified(samples, self.cv, self.random_state)
                if folds is None:
                    folds = splits.given(samples, self.cv, given.given_y, given.given_weight, given.origin)
                rough = settings._replace(
                    tol=max(tol, _ROUGH), coarse=_COARSE, deadline=began + _SEARCH * session.max_time
                )
                data = ways.Data(samples, folds, rough, settings)
                if self.strategy == "surrogate":
                    found = ways.best_of(data, [Surrogate(float(self.score_weight), a) for a in alphas])
                elif self.strategy == "cost_path":
                    found = ways.best_of(data, recipes.costs(samples, settings, alphas))
                elif self.strategy == "pool":
                    found = ways.pool(data, alphas, surrogates=is_auto(self.solver))
                elif len(labels.classes) == 2:
                    found = ways.two_classes(data, alphas)
                else:
                    found = ways.several_classes(data, alphas, labels.classes)
        self._take_over(found, float(samples.weight.sum()))
        if self.status_ not in (Status.CERTIFIED, Status.LOCAL):
            warn_caller(
                f"{self.status_.value}. A convex fit behind this model has a larger gap than "
                f"tol={self.tol:.3g}; see certificates_. Next: raise max_iter, max_time or tol, or scale the "
                "features.",
                ConvergenceWarning,
            )
        self._calibrate({"X": X, "y": y, "sample_weight": sample_weight})
        return self

    def _check_classes(self, classes: NDArray[Any], metric: Metric) -> None:
        if len(classes) <= 2 or (metric.several is not None and self.strategy == "auto"):
            return
        raise ValueError(
            f"Only binary classification is supported by metric={self.metric!r} and strategy="
            f"{self.strategy!r}. y holds {len(classes)} classes; strategy='auto' takes metric="
            f"{', '.join(map(repr, [*BY_CLASS, 'accuracy', 'balanced_accuracy']))}, and "
            "sklearn.multiclass.OneVsRestClassifier fits one model for each class"
        )

    def _again(self, given: Mapping[str, Any]) -> "MetricClassifier":
        return uninterrupted(clone(self).set_params(**ALONE).fit(**given))

    def _to_calibrate(self, X: Any) -> Vector:
        """On other samples another member may win, with scores of another size, which means nothing."""
        return self._scores(X) / (float(np.linalg.norm(self._dense_coef())) or 1.0)

    def _take_over(self, found: Outcome, weight: float) -> None:
        """The fitted attributes: of one model or one for each class, of the problems that these solve, and of
        all that were solved for them."""
        self.coef_ = np.array([model.w for model in found.models])
        self.intercept_ = np.array([model.b for model in found.models], dtype=np.float64)
        self.strategy_, self.score_, self.cv_results_ = found.strategy, found.score, found.tried
        self.certificates_ = [fit.certificate for fit in found.fits]
        histories = [fit.history for fit in found.fits]
        self.history_ = histories if len(histories) > 1 else histories[0]
        proved, status = found.strategy not in _UNPROVED, overall_status([fit.status for fit in found.fits])
        self.status_ = status if proved or status is not Status.CERTIFIED else Status.LOCAL
        self.converged_ = self.status_ is Status.CERTIFIED
        self.n_iter_ = max(1, *(fit.n_iter for fit in found.fits))
        self.objective_ = float(np.mean([fit.objective for fit in found.last]))
        self.dual_objective_ = float(np.mean([f.certificate.dual for f in found.last])) if proved else -np.inf
        self.dual_gap_ = max(f.certificate.gap for f in found.last) if proved else np.inf
        self.alpha_, self.C_ = found.alpha, 1.0 / found.alpha / weight

    @by_blocks
    def decision_function(self, X: Any) -> Vector:
        """Scores of shape (n,), positive for the second class; of several classes (n, k)."""
        return self._scores(X)

    @by_blocks
    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X."""
        scores = self.decision_function(X)
        return Labels(self.classes_).invert(scores)

    def score(self, X: Any, y: ArrayLike, sample_weight: Maybe = None) -> float:
        """The measure on these samples; measures at k look at the k highest scores of them."""
        scores = fetched(self.decision_function(X))
        metric, weight = as_metric(self.metric), as_weights(fetched(sample_weight), len(scores))
        given = as_labels(y, len(scores))
        if scores.ndim == 1:
            return metric.value(scores, given == self.classes_[1], weight)
        assert metric.several is not None
        return value_of(metric.several, scores, (given[:, None] == self.classes_) * weight[:, None])


def _as_alphas(alpha: Any, strategy: str) -> tuple[float, ...]:
    """The alphas to try, from large to small."""
    if alpha is None:
        return {"surrogate": (_ALONE,), "auto": PATH}.get(strategy, ALPHAS)
    alphas = np.unique(np.atleast_1d(as_numbers("alpha", alpha)))[::-1]
    if alphas.ndim != 1 or not len(alphas) or not ((alphas > 0) & np.isfinite(alphas)).all():
        raise ValueError(f"alpha must be positive and finite, got {alpha!r}")
    return tuple(alphas.tolist())
