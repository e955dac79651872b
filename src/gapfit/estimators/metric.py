"""Linear classifiers for the measure you report."""

from collections.abc import Mapping, Sequence
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
from gapfit.errors import as_number, as_numbers
from gapfit.estimators.blocks import by_blocks
from gapfit.estimators.classes import Classes
from gapfit.estimators.fitting import Fitting, all_or_nothing, overall_status, warn_caller
from gapfit.estimators.linear import WithIntercept, products
from gapfit.estimators.pool import recipes, splits
from gapfit.estimators.pool.adaptive import choose
from gapfit.estimators.pool.collapse import warn_of_collapse
from gapfit.estimators.pool.cut import threshold_of
from gapfit.estimators.pool.folds import CrossValidation, Result
from gapfit.estimators.pool.members import Done, Fitted, Member, Settings, Surrogate, TwoClasses
from gapfit.estimators.probabilities import Probabilities
from gapfit.estimators.targets import as_labels
from gapfit.metrics import as_metric, best_threshold
from gapfit.persistence.fits import TRIED
from gapfit.persistence.objects import METRIC
from gapfit.persistence.values import NUMBER, ONE_OR_SEVERAL, TEXT, floats
from gapfit.reductions import Labels
from gapfit.registry import as_penalty, is_auto
from gapfit.solution import Status

STRATEGIES = ("auto", "surrogate", "cost_path", "pool")
ALPHAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
_PATH = tuple(np.geomspace(1.0, 1e-5, 11).tolist())
_ALONE = 1e-4  # alpha of a single surrogate, unless given
_ROUGH = 1e-3  # tolerance of fits that are only looked at,
_COARSE = 1e-2  # and of surrogates among them
_AVERAGED = 10  # members
_SEARCH = 0.8  # share of max_time after which no more members are tried


@declared
class MetricClassifier(ClassifierMixin, Probabilities, WithIntercept, Classes, Fitting):
    """A linear classifier for a measure of the contingency table: F1, Matthews, precision at k, your own.

    Two classes; the second of `classes_` is the positive one. TwoClasses with x'coef_ + intercept_ > 0 are
    labelled positive, and the intercept is chosen for the measure. `strategy` says how w is found:

    - "surrogate" minimises alpha * Omega(w) + R(X w + b), R being the convex upper bound of 1 - the measure
      (see `gapfit.losses`), in which the scores of the positives are multiplied by `score_weight`. One fit
      with a certificate; the threshold is the best one for the training data, exactly. If w = 0 is optimal,
      as it is for F1 where classes overlap much, a warning says so.
    - "cost_path" minimises alpha * Omega(w) + weighted mean of the logistic loss, or the squared hinge, with
      weights 2 - t on positives and t on negatives, for t from plain (1) to balanced; only balanced for areas
      and balanced accuracy; at k < P, only prices of a positive, (2 - t) / t, of k / P and 1. Loss, t, alpha
      and the threshold are chosen by cross-validation on the measure.
    - "auto" adds to this pool local searches that bend the best logistic models towards the measure itself,
      unless features outnumber samples; and surrogates for measures that have no derivatives. It takes the
      best of all, or the average of the ten best scores if that does better.

    The threshold that cross-validation chooses is the best one for the mean over folds of the measure,
    averaged over neighbouring thresholds: those that label a tenth of the errors more or fewer.

    Weights count copies, in the losses as in the measure: weight k equals k copies, 0 is absence. Among up to
    10,000 samples equal ones are taken as one with a weight, so that copies are never in two folds.

    Notes
    -----
    `certificates_` are of the convex problems that were solved on all samples for this model; for a local
    search it is that of the logistic model where it began. Nothing is proved of a local search or of an
    average: `dual_objective_` is -inf, `dual_gap_` inf, `converged_` False, and `status_` is `Status.LOCAL`
    if all convex parts are certified. `alpha_` is that of the best member.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MetricClassifier(metric="f1", strategy="cost_path", alpha=1e-2, cv=3).fit(X / 16, y == 8)
    >>> model.strategy_, model.converged_
    ('cost_path', True)
    >>> bool(model.score(X / 16, y == 8) > 0.8)
    True
    """

    metric: Any = parameter(
        """What to maximise: "f1", "jaccard", "matthews", "accuracy", "balanced_accuracy", "break_even" or
        "roc_area"; a loss such as `losses.FBeta(2)`, `losses.PrecisionAtK(50)`,
        `losses.PrecisionAtRecall(0.8)` or `losses.PartialRocArea(0.1)`; or a function f(tp, fp, fn, tn) of
        four arrays. See `gapfit.metrics`.""",
        "str, Loss or function", default="f1", form=METRIC,
    )  # fmt: skip
    strategy: str = parameter("How w is found, see above.", default="auto", choices=STRATEGIES)
    score_weight: float = parameter(
        'For strategy="surrogate": how much the scores of positives weigh.', default=1.0
    )
    alpha: Any = parameter(
        """Multiplies the penalty. Of several numbers, cross-validation chooses one. None is 1e-4 for
        strategy="surrogate", and 1e-1, 1e-2, ..., 1e-5 for the others.""",
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

    coef_: NDArray[Any] = attribute(floats(2), "array of shape (1, d)", "w.")
    intercept_: NDArray[Any] = attribute(floats(1), "array of shape (1,)", "Minus the threshold.")
    strategy_: str = attribute(
        TEXT, "",
        'What the model is: "surrogate", "cost_path", "tilt" (the result of a local search) or "average".',
    )  # fmt: skip
    score_: float = attribute(
        NUMBER, "",
        "The measure in cross-validation, about the threshold; for a single fit, on the training data.",
    )  # fmt: skip
    cv_results_: dict[str, list[Any]] = attribute(
        TRIED, "dict of lists",
        """"member" (its description), "strategy", "score", "spread" (standard deviation over folds),
        "threshold" and "gap" (the largest relative gap of its convex fits), for each member that was
        tried.""",
    )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @property
    def score_bounds(self) -> Any:
        """There are none: the threshold is chosen on data, and no gap bounds what it would be elsewhere."""
        raise AttributeError("MetricClassifier has no score_bounds: its threshold is chosen on data")

    @all_or_nothing
    def fit(self, X: Any, y: Maybe = None, sample_weight: Maybe = None) -> "MetricClassifier":
        """y : labels of shape (n,), of two kinds; the second, in order, is the positive one"""
        began = perf_counter()
        metric, alphas = as_metric(self.metric), _as_alphas(self.alpha, self.strategy)
        tol = as_tolerance(self.tol)
        if not 0 < as_number("score_weight", self.score_weight) < np.inf:
            raise ValueError(f"score_weight must be positive and finite, got {self.score_weight!r}")
        given = self._samples(X, y, as_labels, sample_weight)
        labels = Labels.of(given.y)
        if len(labels.classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. y holds {len(labels.classes)} classes; "
                "sklearn.multiclass.OneVsRestClassifier fits one model for each"
            )
        self.classes_ = labels.classes
        weight = np.ascontiguousarray(given.weight)
        samples = TwoClasses(design_of(given.X), labels.apply(given.y)[0], weight)
        penalty = as_penalty(self.penalty)
        with self._session(lambda: (samples.design, samples.y, samples.weight), parts=0) as session:
            until = began + session.max_time
            settings = Settings(
                metric, penalty, session.solver, tol, self.max_iter, until, session.checkpoint
            )
            if self.strategy == "surrogate" and len(alphas) == 1:
                self._fit_one(Surrogate(float(self.score_weight), alphas[0]), samples, settings)
            else:
                folds = splits.stratified(samples, self.cv, self.random_state)
                if folds is None:
                    folds = splits.given(samples, self.cv, given.given_y, given.given_weight, given.origin)
                rough = settings._replace(tol=max(settings.tol, _ROUGH), coarse=_COARSE)
                search = CrossValidation(folds, rough)
                search.until = began + _SEARCH * session.max_time
                if self.strategy == "auto":
                    self._fit_adaptive(folds, samples, settings, alphas)
                else:
                    self._fit_pool(search, samples, settings, alphas)
        if self.status_ not in (Status.CERTIFIED, Status.LOCAL):
            warn_caller(
                f"{self.status_.value}. A convex fit behind this model has a larger gap than "
                f"tol={self.tol:.3g}; see certificates_. Next: raise max_iter, max_time or tol, or scale the "
                "features.",
                ConvergenceWarning,
            )
        self._calibrate({"X": X, "y": y, "sample_weight": sample_weight})
        return self

    def _again(self, given: Mapping[str, Any]) -> "MetricClassifier":
        return clone(self).set_params(calibrate=None).fit(**given)

    def _to_calibrate(self, X: Any) -> Vector:
        """On other samples another member may win, with scores of another size, which means nothing."""
        return self._scores(X) / (float(np.linalg.norm(self.coef_)) or 1.0)

    def _fit_one(self, member: Surrogate, samples: TwoClasses, settings: Settings) -> None:
        """A single fit, cut where that is best for its own samples, exactly."""
        fitted = member.fit(samples, settings, {})
        scores = products(samples.design, fitted.w[None, :])[:, 0]  # to the last bit those of `predict`
        threshold, score = best_threshold(settings.metric, scores, samples.positive, samples.weight)
        result = Result(score, 0.0, threshold, fitted.certificate.relative_gap)
        self._take_over(fitted._replace(b=-threshold), [fitted], score, member, samples)
        self.cv_results_ = _table({member: result})
        warn_of_collapse(member, fitted, samples, settings)

    def _fit_adaptive(self, folds: Any, samples: TwoClasses, settings: Settings, alphas: Any) -> None:
        """Choose by log loss, fit what was chosen on all samples, and cut it for the measure."""
        rough = settings._replace(tol=max(settings.tol, _ROUGH))
        found = choose(folds, rough, alphas)
        threshold, score = threshold_of(settings.metric, found.seen)
        done: Done = {}
        fitted = found.recipe.fit(samples, settings, done)
        model = fitted._replace(b=fitted.b - threshold)
        self._take_over(model, [fitted, *done.values()], score, found.recipe, samples)
        self.cv_results_ = _table(found.results)

    def _fit_pool(
        self, search: CrossValidation, samples: TwoClasses, settings: Settings, alphas: tuple[float, ...]
    ) -> None:
        """Choose by cross-validation, and fit what was chosen on all samples."""
        if self.strategy == "surrogate":
            search.add([Surrogate(float(self.score_weight), alpha) for alpha in alphas])
        else:
            search.add(recipes.costs(samples, settings, alphas))
        if self.strategy == "pool":
            if is_auto(self.solver):
                search.add(recipes.surrogates(samples, settings, alphas))
            search.add(recipes.tilts(samples, settings, search.best()))
        (winner,) = search.best(1)
        members, result = [winner], search.results[winner]
        if self.strategy == "pool" and len(search.results) > 1:
            several = search.best(_AVERAGED)
            together = search.judge_average(several)
            if together.score > result.score:
                members, result = several, together
        done: Done = {}
        for member in members:
            done[member] = member.fit(samples, settings, done)
        fitted = done[winner] if len(members) == 1 else search.average(members, samples, done)
        model = fitted._replace(b=fitted.b - result.threshold)
        self._take_over(model, [done[member] for member in members], result.score, winner, samples)
        self.cv_results_ = _table(search.results)
        if self.strategy == "surrogate" and isinstance(winner, Surrogate):
            warn_of_collapse(winner, fitted, samples, settings)

    def _take_over(
        self, model: Fitted, fits: Sequence[Fitted], score: float, best: Member, samples: TwoClasses
    ) -> None:
        """Set the fitted attributes of the best member, or of the average of several fits."""
        self.coef_, self.intercept_ = model.w[None, :].copy(), np.array([model.b])
        self.strategy_ = best.strategy if len(fits) == 1 or best.strategy == "adaptive" else "average"
        self.score_ = score
        self.certificates_ = [fit.certificate for fit in fits]
        proved = self.strategy_ in ("surrogate", "cost_path", "logistic", "adaptive")
        status = overall_status([fit.status for fit in fits])
        self.status_ = status if proved or status is not Status.CERTIFIED else Status.LOCAL
        self.converged_ = self.status_ is Status.CERTIFIED
        self.n_iter_ = max(1, *(fit.n_iter for fit in fits))
        self.objective_ = float(np.mean([fit.objective for fit in fits]))
        self.dual_objective_ = fits[0].certificate.dual if proved else -np.inf
        self.dual_gap_ = fits[0].certificate.gap if proved else np.inf
        self.alpha_ = best.alpha
        self.C_ = 1.0 / best.alpha / float(samples.weight.sum())

    @by_blocks
    def decision_function(self, X: Any) -> Vector:
        """Scores of shape (n,), positive for the second class."""
        return self._scores(X)

    @by_blocks
    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X."""
        scores = self.decision_function(X)
        return Labels(self.classes_).invert(scores)

    def score(self, X: Any, y: ArrayLike, sample_weight: Maybe = None) -> float:
        """The measure on these samples; measures at k look at the k highest scores of them."""
        scores = self.decision_function(X)
        positive = as_labels(y, len(scores)) == self.classes_[1]
        return as_metric(self.metric).value(scores, positive, as_weights(sample_weight, len(scores)))


def _as_alphas(alpha: Any, strategy: str) -> tuple[float, ...]:
    """The alphas to try, from large to small."""
    if alpha is None:
        return {"surrogate": (_ALONE,), "auto": _PATH}.get(strategy, ALPHAS)
    alphas = np.unique(np.atleast_1d(as_numbers("alpha", alpha)))[::-1]
    if alphas.ndim != 1 or not len(alphas) or not ((alphas > 0) & np.isfinite(alphas)).all():
        raise ValueError(f"alpha must be positive and finite, got {alpha!r}")
    return tuple(alphas.tolist())


def _table(results: dict[Member, Result]) -> dict[str, list[Any]]:
    return {
        "member": [str(member) for member in results],
        "strategy": [member.strategy for member in results],
        **{name: [getattr(result, name) for result in results.values()] for name in Result._fields},
    }
