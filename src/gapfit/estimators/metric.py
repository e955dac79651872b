"""Linear classifiers for the measure you report."""

import warnings
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from gapfit import threads
from gapfit._types import Vector
from gapfit.checks import as_tolerance, as_weights
from gapfit.design.memory import MemoryDesign
from gapfit.errors import as_choice, as_number, as_numbers
from gapfit.estimators.base import LinearModel, all_or_nothing, overall_status, products, shown
from gapfit.estimators.checkpoints import kept
from gapfit.estimators.classification import check_target_labels
from gapfit.estimators.pool import recipes, splits
from gapfit.estimators.pool.collapse import warn_of_collapse
from gapfit.estimators.pool.folds import CrossValidation, Result
from gapfit.estimators.pool.members import Done, Fitted, Member, Samples, Settings, Surrogate
from gapfit.metrics import as_metric, best_threshold
from gapfit.reductions import Labels
from gapfit.registry import as_penalty, is_auto
from gapfit.solution import Status

STRATEGIES = ("auto", "surrogate", "cost_path")
ALPHAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
_ALONE = 1e-4  # alpha of a single surrogate, unless given
_ROUGH = 1e-3  # tolerance of fits that are only looked at,
_COARSE = 1e-2  # and of surrogates among them
_AVERAGED = 10  # members
_SEARCH = 0.8  # share of max_time after which no more members are tried


class MetricClassifier(ClassifierMixin, LinearModel):
    """A linear classifier for a measure of the contingency table: F1, Matthews, precision at k, your own.

    Two classes; the second of `classes_` is the positive one. Samples with x'coef_ + intercept_ > 0 are
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

    Parameters
    ----------
    metric : str, Loss or function, default="f1"
        What to maximise: "f1", "jaccard", "matthews", "accuracy", "balanced_accuracy", "break_even" or
        "roc_area"; a loss such as `losses.FBeta(2)`, `losses.PrecisionAtK(50)`,
        `losses.PrecisionAtRecall(0.8)` or `losses.PartialRocArea(0.1)`; or a function f(tp, fp, fn, tn) of
        four arrays. See `gapfit.metrics`.
    strategy : {"auto", "surrogate", "cost_path"}, default="auto"
    score_weight : float, default=1.0
        For strategy="surrogate": how much the scores of positives weigh.
    penalty : str or Penalty, default="l2"
        Omega: "l2" (1/2 |w|^2), "l1", "elastic_net", "squared_lp", "entropy", "simplex_entropy", or an object
        of `gapfit.penalties`.
    alpha : float, sequence of floats or None, default=None
        Multiplies the penalty. Of several numbers, cross-validation chooses one. None is 1e-4 for
        strategy="surrogate", and 1e-1, 1e-2, ..., 1e-5 for the others.
    cv : int, splitter or list, default=5
        Folds for all choices, stratified and shuffled; fewer, if a class has fewer different samples. (With
        a single one there is nothing to leave out, and the training data decide.) A splitter, or a list of
        pairs of rows to fit on and rows to look at, is about the rows as they are given.
    solver : str or function, default="auto"
        Of the convex fits. All reach the same optimum.
    tol : float, default=1e-4
        The convex fits of the final model stop when the duality gap is at most tol times the objective; those
        of the cross-validation at 1e-3 (surrogates at 1e-2), if that is larger.
    max_iter : int, default=10_000
        The most steps of one convex fit.
    max_time : float or None, default=None
        The most seconds for everything, about. What was tried within four fifths of it is chosen from.
    checkpoint : path or None, default=None
        A file that keeps what is known while the fit runs; the same fit goes on from it. See the page on
        checkpoints.
    random_state : int, RandomState or None, default=None
        Of the folds, and of solvers that visit samples in random order. None is a fixed seed.
    n_jobs : int, default=None
        Threads for one fit; None for as many as there are cores. The model is the same to the last bit.
    verbose : int, default=0
        1 shows the log (logger "gapfit") on stderr while fitting, 2 every step.

    Attributes
    ----------
    coef_ : array of shape (1, d)
        w.
    intercept_ : array of shape (1,)
        Minus the threshold.
    classes_ : array of shape (2,)
    strategy_ : str
        What the model is: "surrogate", "cost_path", "tilt" (the result of a local search) or "average".
    score_ : float
        The measure in cross-validation, about the threshold; for a single fit, on the training data.
    cv_results_ : dict of lists
        "member" (its description), "strategy", "score", "spread" (standard deviation over folds), "threshold"
        and "gap" (the largest relative gap of its convex fits), for each member that was tried.
    certificates_ : list of Certificate
        Of the convex problems that were solved on all samples for this model. For a local search it is that
        of the logistic model where it began.
    objective_, dual_objective_, dual_gap_ : float
        What the member minimises, a lower bound of its minimum, and the gap between them. Nothing is proved
        of a local search or of an average: dual_objective_ is -inf and dual_gap_ inf.
    converged_ : bool
        Whether tol was certified: never, for a local search or an average.
    status_ : Status
        How the fit ended, in words: `status_.value`. Of a local search or an average whose convex parts are
        all certified it is `Status.LOCAL`.
    alpha_, C_ : float
        alpha of the best member, and 1 / (alpha_ * sum of sample weights).
    n_iter_ : int
        Steps of the longest fit of the final model.
    n_features_in_ : int
    feature_names_in_ : array of str, if X had names

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

    def __init__(
        self,
        *,
        metric: Any = "f1",
        strategy: str = "auto",
        score_weight: float = 1.0,
        penalty: Any = "l2",
        alpha: Any = None,
        cv: Any = 5,
        solver: Any = "auto",
        tol: float = 1e-4,
        max_iter: int = 10_000,
        max_time: float | None = None,
        checkpoint: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.strategy = strategy
        self.score_weight = score_weight
        self.penalty = penalty
        self.alpha = alpha
        self.cv = cv
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @property
    def score_bounds(self) -> Any:
        """There are none: the threshold is chosen on data, and no gap bounds what it would be elsewhere."""
        raise AttributeError("MetricClassifier has no score_bounds: its threshold is chosen on data")

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MetricClassifier":
        """Fit the model; if that fails, the estimator stays as it was.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : labels of shape (n,), of two kinds; the second, in order, is the positive one
        sample_weight : array of shape (n,), default=None

        Returns
        -------
        self
        """
        began = perf_counter()
        metric, alphas = as_metric(self.metric), _as_alphas(self.alpha, self.strategy)
        tol = as_tolerance(self.tol)
        if not 0 < as_number("score_weight", self.score_weight) < np.inf:
            raise ValueError(f"score_weight must be positive and finite, got {self.score_weight!r}")
        given = self._samples(X, lambda n: check_target_labels(y, n), sample_weight)
        labels = Labels.of(given.y)
        if len(labels.classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. y holds {len(labels.classes)} classes; "
                "sklearn.multiclass.OneVsRestClassifier fits one model for each"
            )
        self.classes_ = labels.classes
        samples = Samples(MemoryDesign(given.X), labels.apply(given.y)[0], given.weight)
        limit = np.inf if self.max_time is None else as_number("max_time", self.max_time)
        if not limit >= 0:
            raise ValueError(f"max_time must not be negative, got {self.max_time!r}")
        settings = Settings(
            metric, as_penalty(self.penalty), self._seeded_solver(), tol, self.max_iter, began + limit
        )
        context = self._init_callback_context()
        context.call_on_fit_task_begin(estimator=self)
        data = (samples.design, samples.y, samples.weight)
        with shown(self.verbose), threads.using(self.n_jobs), kept(self, data) as checkpoint:
            settings = settings._replace(checkpoint=checkpoint)
            if self.strategy == "surrogate" and len(alphas) == 1:
                self._fit_one(Surrogate(float(self.score_weight), alphas[0]), samples, settings)
            else:
                folds = splits.stratified(samples, self.cv, self.random_state)
                if folds is None:
                    weight = as_weights(sample_weight, len(given.origin.place))
                    folds = splits.given(samples, self.cv, X, y, weight, given.origin)
                rough = settings._replace(tol=max(settings.tol, _ROUGH), coarse=_COARSE)
                search = CrossValidation(folds, rough)
                search.until = began + _SEARCH * limit
                self._fit_pool(search, samples, settings, alphas)
        context.call_on_fit_task_end(estimator=self)
        if self.status_ not in (Status.CERTIFIED, Status.LOCAL):
            _warn_of_gap(self.status_, self.tol)
        return self

    def _fit_one(self, member: Surrogate, samples: Samples, settings: Settings) -> None:
        """A single fit, cut where that is best for its own samples, exactly."""
        fitted = member.fit(samples, settings, {})
        scores = products(samples.design.X, fitted.w[None, :])[:, 0]  # to the last bit those of `predict`
        threshold, score = best_threshold(settings.metric, scores, samples.positive, samples.weight)
        result = Result(score, 0.0, threshold, fitted.certificate.relative_gap)
        self._take_over(fitted._replace(b=-threshold), [fitted], score, member, samples)
        self.cv_results_ = _table({member: result})
        warn_of_collapse(member, fitted, samples, settings)

    def _fit_pool(
        self, search: CrossValidation, samples: Samples, settings: Settings, alphas: tuple[float, ...]
    ) -> None:
        """Choose by cross-validation, and fit what was chosen on all samples."""
        if self.strategy == "surrogate":
            search.add([Surrogate(float(self.score_weight), alpha) for alpha in alphas])
        else:
            search.add(recipes.costs(samples, settings, alphas))
        if self.strategy == "auto":
            if is_auto(self.solver):
                search.add(recipes.surrogates(samples, settings, alphas))
            search.add(recipes.tilts(samples, settings, search.best(len(search.results))))
        (winner,) = search.best(1)
        members, result = [winner], search.results[winner]
        if self.strategy == "auto" and len(search.results) > 1:
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
        self, model: Fitted, fits: Sequence[Fitted], score: float, best: Member, samples: Samples
    ) -> None:
        """Set the fitted attributes of the best member, or of the average of several fits."""
        self.coef_, self.intercept_ = model.w[None, :].copy(), np.array([model.b])
        self.strategy_ = best.strategy if len(fits) == 1 else "average"
        self.score_ = score
        self.certificates_ = [fit.certificate for fit in fits]
        proved = self.strategy_ in ("surrogate", "cost_path")
        status = overall_status([fit.status for fit in fits])
        self.status_ = status if proved or status is not Status.CERTIFIED else Status.LOCAL
        self.converged_ = self.status_ is Status.CERTIFIED
        self.n_iter_ = max(1, *(fit.n_iter for fit in fits))
        self.objective_ = float(np.mean([fit.objective for fit in fits]))
        self.dual_objective_ = fits[0].certificate.dual if proved else -np.inf
        self.dual_gap_ = fits[0].certificate.gap if proved else np.inf
        self.alpha_ = best.alpha
        self.C_ = 1.0 / best.alpha / float(samples.weight.sum())

    def decision_function(self, X: Any) -> Vector:
        """Scores of shape (n,), positive for the second class."""
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X."""
        scores = self.decision_function(X)
        return Labels(self.classes_).invert(scores)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The measure on these samples; measures at k look at the k highest scores of them.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : labels of shape (n,)
        sample_weight : array of shape (n,), default=None

        Returns
        -------
        value : float
        """
        scores = self.decision_function(X)
        positive = check_target_labels(y, len(scores)) == self.classes_[1]
        return as_metric(self.metric).value(scores, positive, as_weights(sample_weight, len(scores)))


def _as_alphas(alpha: Any, strategy: Any) -> tuple[float, ...]:
    """The alphas to try, from large to small."""
    as_choice("strategy", strategy, STRATEGIES)
    if alpha is None:
        return (_ALONE,) if strategy == "surrogate" else ALPHAS
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


def _warn_of_gap(status: Status, tol: float) -> None:
    warnings.warn(
        f"{status.value}. A convex fit behind this model has a larger gap than tol={tol:.3g}; see "
        "certificates_. Next: raise max_iter, max_time or tol, or scale the features.",
        ConvergenceWarning,
        stacklevel=5,  # the line that calls fit
    )
