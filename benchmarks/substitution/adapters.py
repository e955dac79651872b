"""gapfit in the clothes of scikit-learn's estimators: their parameters and defaults, our fits."""

import inspect
import sys
import warnings

import numpy as np
import sklearn.linear_model
import sklearn.svm
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gapfit import (
    KernelNoveltyDetector,
    KernelSVC,
    KernelSVR,
    LinearClassifier,
    LinearRegressor,
)
from gapfit.losses import (
    EpsilonInsensitive,
    Huber,
    Quantile,
    ScaledHuber,
    SmoothedHinge,
    SquaredEpsilonInsensitive,
)
from gapfit.penalties import L1, L2, ElasticNet

TOL = 1e-12  # of the duality gap: their tolerances are of something else


class Adapter(BaseEstimator):
    """An estimator that is told what scikit-learn's is told."""

    def make(self, n):
        """The estimator of gapfit that minimises the same, for n samples of weight 1."""
        raise NotImplementedError

    def fit(self, X, y=None, sample_weight=None):
        model = self.__dict__.get("model_")
        fresh = self.make(_total(X, sample_weight))
        if model is None or not getattr(self, "warm_start", False):
            model = fresh
        else:
            model.set_params(**fresh.get_params(deep=False))
        with warnings.catch_warnings():
            if not self._limited():
                warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        return self._take(model)

    def _limited(self):
        limit = getattr(self, "max_iter", None)
        return limit is not None and 0 < limit < 100

    def _take(self, model):
        self.model_ = model
        for name, value in vars(model).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        return self

    def __getattr__(self, name):
        if name.endswith("_") and not name.startswith("_") and "model_" in self.__dict__:
            return getattr(self.model_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def predict(self, X):
        check_is_fitted(self)
        return self.model_.predict(X)

    def sparsify(self):
        check_is_fitted(self)
        return self._take(self.model_.sparsify())

    def densify(self):
        check_is_fitted(self)
        return self._take(self.model_.densify())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def set_callbacks(self, *callbacks):
        self.__dict__["callbacks"] = callbacks
        return self

    def _steps(self):
        limit = getattr(self, "max_iter", -1)
        return limit if self._limited() else 10_000


def _total(X, weight):
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if weight is None:
        return float(n)
    weight = np.asarray(weight, dtype=float)
    return float(n * weight) if weight.ndim == 0 else float(weight.sum())


def _net(ratio):
    if ratio in (0, None):
        return L2()
    return L1() if ratio == 1 else ElasticNet(ratio)


class Scored:
    """What classifiers and detectors have."""

    def decision_function(self, X):
        check_is_fitted(self)
        return self.model_.decision_function(X)


def _probable(self):
    return hasattr(self.make(1.0), "predict_proba")


class Classifier(ClassifierMixin, Scored):
    @available_if(_probable)
    def predict_proba(self, X):
        check_is_fitted(self)
        return self.model_.predict_proba(X)

    @available_if(_probable)
    def predict_log_proba(self, X):
        check_is_fitted(self)
        return self.model_.predict_log_proba(X)


class Kernel(Adapter):
    def _take(self, model):
        """Coefficients are sparse if the samples are."""
        super()._take(model)
        if sparse.issparse(model.support_vectors_):
            self.dual_coef_ = sparse.csr_matrix(model.dual_coef_)
            if self.kernel == "linear":
                self.coef_ = sparse.csr_matrix(model.coef_)
        return self

    def shared(self):
        names = ("kernel", "degree", "gamma", "coef0")
        given = {name: getattr(self, name) for name in names}
        return {**given, "tol": TOL, "max_iter": self._steps(), "cache_size": max(self.cache_size, 200)}


class SVC(Classifier, Kernel):
    def make(self, n):
        same = {name: getattr(self, name) for name in ("C", "class_weight", "decision_function_shape")}
        calibrate = "sigmoid" if self.probability is True else None
        return KernelSVC(**same, **self.shared(), calibrate=calibrate)


class NuSVC(Classifier, Kernel):
    def make(self, n):
        same = {name: getattr(self, name) for name in ("nu", "class_weight", "decision_function_shape")}
        calibrate = "sigmoid" if self.probability is True else None
        return KernelSVC(**same, **self.shared(), calibrate=calibrate)


class SVR(RegressorMixin, Kernel):
    def make(self, n):
        return KernelSVR(C=self.C, epsilon=self.epsilon, **self.shared())


class NuSVR(RegressorMixin, Kernel):
    def make(self, n):
        return KernelSVR(C=self.C, nu=self.nu, **self.shared())


class OneClassSVM(OutlierMixin, Scored, Kernel):
    def make(self, n):
        return KernelNoveltyDetector(nu=self.nu, **self.shared())

    def score_samples(self, X):
        check_is_fitted(self)
        return self.model_.score_samples(X)

    def fit_predict(self, X, y=None, sample_weight=None):
        return self.fit(X, y, sample_weight).predict(X)


class Linear(Adapter):
    def shared(self):
        same = {"fit_intercept": bool(self.fit_intercept), "tol": TOL, "max_iter": self._steps()}
        return same | {"warm_start": bool(getattr(self, "warm_start", False))}


class LinearSVC(Classifier, Linear):
    def make(self, n):
        loss = "crammer_singer" if self.multi_class == "crammer_singer" else self.loss
        return LinearClassifier(
            loss=loss, penalty=self.penalty, C=self.C, class_weight=self.class_weight, **self.shared()
        )


class LinearSVR(RegressorMixin, Linear):
    def make(self, n):
        losses = {
            "epsilon_insensitive": EpsilonInsensitive,
            "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
        }
        return LinearRegressor(loss=losses[self.loss](self.epsilon), C=self.C, **self.shared())


class LogisticRegression(Classifier, Linear):
    def _take(self, model):
        super()._take(model)
        self.n_iter_ = np.array([model.n_iter_], dtype=np.int32)
        return self

    def make(self, n):
        C = self.C if np.isfinite(self.C) else 1e6
        loss = "softmax" if self.solver != "liblinear" else "logistic"
        shared = {**self.shared(), "class_weight": self.class_weight}
        ratio = {"l1": 1, "l2": 0}.get(self.penalty, self.l1_ratio)
        C = 1e6 if self.penalty is None else C
        return _Logistic(loss=loss, penalty=_net(ratio), C=C, **shared)


class _Logistic(LinearClassifier):
    """Two classes are told apart by one score, more of them by several at once."""

    def fit(self, X, y, sample_weight=None):
        if self.loss == "softmax" and len(np.unique(np.asarray(y))) == 2:
            self.loss = "logistic"
        return super().fit(X, y, sample_weight)


class QuantileRegressor(RegressorMixin, Linear):
    def make(self, n):
        shared = {"fit_intercept": self.fit_intercept, "tol": TOL, "max_iter": 10_000}
        alpha = self.alpha if self.alpha > 0 else 1e-9
        return LinearRegressor(loss=Quantile(self.quantile), penalty="l1", alpha=alpha, **shared)


class HuberRegressor(RegressorMixin, Linear):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        residuals = np.abs(np.asarray(y) - self.predict(X))
        self.scale_ = self.model_.loss.scale(residuals, sample_weight)
        self.outliers_ = residuals > self.epsilon * self.scale_
        return self

    def make(self, n):
        alpha = 2 * self.alpha / n if self.alpha > 0 else 1e-9
        return LinearRegressor(loss=ScaledHuber(self.epsilon), alpha=alpha, **self.shared())


class ElasticNetRegression(RegressorMixin, Linear):
    def make(self, n):
        ratio = 1.0 if isinstance(self, Lasso) else self.l1_ratio
        alpha = self.alpha if self.alpha > 0 else 1e-9
        shared = {**self.shared(), "positive": bool(self.positive)}
        return LinearRegressor(penalty=_net(ratio), alpha=alpha, **shared)


class Lasso(ElasticNetRegression):
    pass


class SGDClassifier(Classifier, Linear):
    def make(self, n):
        same = {"log_loss": "logistic", "hinge": "hinge", "squared_hinge": "squared_hinge"}
        rounded = self.loss == "modified_huber"  # four times the hinge whose corner has a width of two
        loss, alpha = (SmoothedHinge(2), self.alpha / 4) if rounded else (same[self.loss], self.alpha)
        ratio = {"l2": 0, "l1": 1, "elasticnet": self.l1_ratio}[self.penalty]
        shared = {**self.shared(), "max_iter": 10_000, "class_weight": self.class_weight}
        return LinearClassifier(loss=loss, penalty=_net(ratio), alpha=alpha, **shared)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        model = self.__dict__.get("model_") or self.make(1.0)
        return self._take(model.partial_fit(X, y, classes, sample_weight))


class SGDRegressor(RegressorMixin, Linear):
    def _take(self, model):
        super()._take(model)
        self.intercept_ = np.atleast_1d(model.intercept_)
        return self

    def make(self, n):
        loss = {"squared_error": "squared", "huber": Huber(self.epsilon)}.get(self.loss)
        if loss is None:
            kind = EpsilonInsensitive if self.loss == "epsilon_insensitive" else SquaredEpsilonInsensitive
            loss = kind(self.epsilon)
        ratio = {"l2": 0, "l1": 1, "elasticnet": self.l1_ratio}[self.penalty]
        shared = {**self.shared(), "max_iter": 10_000}
        return LinearRegressor(loss=loss, penalty=_net(ratio), alpha=self.alpha, **shared)

    def partial_fit(self, X, y, sample_weight=None):
        model = self.__dict__.get("model_") or self.make(1.0)
        return self._take(model.partial_fit(X, y, sample_weight))


def dressed(adapter, theirs):
    """The adapter with the constructor and the name of scikit-learn's class."""
    signature = inspect.signature(theirs.__init__)

    def make(self, *args, **kwargs):
        for name, value in signature.bind(self, *args, **kwargs).arguments.items():
            if name != "self":
                setattr(self, name, value)
        for name, one in signature.parameters.items():
            if name != "self" and name not in self.__dict__:
                setattr(self, name, one.default)

    make.__signature__ = signature
    made = type(theirs.__name__, (adapter,), {"__init__": make})
    made.__doc__, made.__module__, made.__qualname__ = theirs.__doc__, __name__, f"Dressed{theirs.__name__}"
    globals()[made.__qualname__] = made  # where pickle looks for it
    return made


SVM = {one.__name__: one for one in (SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR)}
LINEAR = {
    "LogisticRegression": LogisticRegression, "QuantileRegressor": QuantileRegressor,
    "HuberRegressor": HuberRegressor, "Lasso": Lasso, "ElasticNet": ElasticNetRegression,
    "SGDClassifier": SGDClassifier, "SGDRegressor": SGDRegressor,
}  # fmt: skip


def substitute(names):
    """Put adapters in the place of these classes, wherever scikit-learn has them. What is returned gives
    private modules their own back, once tests are imported: other estimators are made of those."""
    undone = []
    for module, table in ((sklearn.svm, SVM), (sklearn.linear_model, LINEAR)):
        for name in names & table.keys():
            theirs = getattr(module, name)
            made = dressed(table[name], theirs)
            for other in list(sys.modules.values()):
                known = getattr(other, "__name__", "")
                if known.startswith("sklearn") and vars(other).get(name) is theirs:
                    setattr(other, name, made)
                    if "._" in known:
                        undone.append((other, name, theirs))
    return lambda: [setattr(*one) for one in undone]
