"""Who else solves the very same problem. Each is tried at ever tighter settings until it is accurate enough.

A peer is a function of the task and its setting that returns w and b. What a table row leaves out (an
intercept that a peer would penalise, a loss it does not know) it is not asked for.
"""

import importlib.util
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import linear_model, svm

from .objective import DELTA, EPSILON, L1_RATIO, Q

TOLS = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8)
MANY = 100_000  # iterations: the tolerance decides


class Peer(NamedTuple):
    name: str
    settings: tuple
    fit: Any  # (task, setting) -> (w, b)

    def answer(self, task, setting):
        """As ours: with how it ended, which peers do not tell."""
        return self.fit(task, setting), ""


def peers_of(task):
    """All that take the task."""
    drawn = task.drawn
    found = [*TABLE.get((drawn.loss, drawn.penalty), ())]
    return [peer for peer, when in found if when(task)]


def _always(task):
    return True


def _plain(task):
    return not task.drawn.intercept


def _dense(task):
    return not sparse.issparse(task.X)


def _answer(model):
    return np.atleast_2d(model.coef_)[0], np.ravel(model.intercept_)[0] if np.size(model.intercept_) else 0.0


def _sklearn(kind, tols=TOLS, **options):
    """A scikit-learn model by its tolerance; options may be functions of the task."""

    def fit(task, tol):
        given = {k: v(task) if callable(v) else v for k, v in options.items()}
        return _answer(kind(tol=tol, fit_intercept=task.drawn.intercept, **given).fit(task.X, task.y))

    return tols, fit


def _C(task):
    return task.C


def _alpha(task):
    return task.alpha


def _linear_svc(loss, dual, penalty="l2"):
    # the intercept is a penalised weight there: the larger its column, the less
    settings = tuple((tol, scale) for tol in TOLS for scale in (1.0, 30.0))

    def fit(task, setting):
        tol, scale = setting
        model = svm.LinearSVC(
            loss=loss, dual=dual, penalty=penalty, C=task.C, tol=tol, max_iter=MANY,
            fit_intercept=task.drawn.intercept, intercept_scaling=scale, random_state=0,
        )  # fmt: skip
        return _answer(model.fit(task.X, task.y))

    return Peer(f"LinearSVC[dual={dual}]", settings, fit), _always


def _linear_svr(loss, dual):
    settings = tuple((tol, scale) for tol in TOLS for scale in (1.0, 30.0))

    def fit(task, setting):
        tol, scale = setting
        model = svm.LinearSVR(
            loss=loss, dual=dual, C=task.C, tol=tol, max_iter=MANY, epsilon=EPSILON,
            fit_intercept=task.drawn.intercept, intercept_scaling=scale, random_state=0,
        )  # fmt: skip
        return _answer(model.fit(task.X, task.y))

    return Peer(f"LinearSVR[dual={dual}]", settings, fit), _always


def _liblinear(kind):
    """Its own package. That it wants data in a format of its own is a part of its time, as for any user."""
    if importlib.util.find_spec("liblinear") is None:
        return ()

    def fit(task, tol):
        from liblinear.liblinear import problem
        from liblinear.liblinearutil import train

        data = problem(task.y, sparse.csr_matrix(task.X))
        model = train(data, f"-s {kind} -c {task.C!r} -e {tol!r} -B -1 -q -p {EPSILON}")
        sign = 1.0 if kind >= 11 or model.get_labels()[0] == 1 else -1.0
        return sign * np.ctypeslib.as_array(model.w, (task.d,)).copy(), 0.0

    return ((Peer(f"liblinear -s {kind}", TOLS, fit), _plain),)


def _logistic(solver, ratio=0.0, when=_always):
    options = {"l1_ratio": ratio} if ratio is not None else {}
    made = _sklearn(linear_model.LogisticRegression, solver=solver, C=_C, max_iter=10_000, **options)
    return Peer(f"LogisticRegression[{solver}]", *made), when


def _without_tolerance(kind, name, **options):
    def fit(task, _):
        given = {k: v(task) if callable(v) else v for k, v in options.items()}
        return _answer(kind(fit_intercept=task.drawn.intercept, **given).fit(task.X, task.y))

    return Peer(name, (None,), fit)


def _rehline(loss):
    """Piecewise losses; it has no free intercept."""
    if importlib.util.find_spec("rehline") is None:
        return ()

    def fit(task, tol):
        from rehline import plq_Ridge_Classifier, plq_Ridge_Regressor

        kind = plq_Ridge_Classifier if loss["name"] in ("svm", "sSVM", "squared SVM") else plq_Ridge_Regressor
        model = kind(loss=loss, C=task.C, fit_intercept=False, tol=tol, max_iter=MANY).fit(task.X, task.y)
        return np.ravel(model.coef_), 0.0

    return ((Peer("ReHLine", TOLS, fit), lambda task: _plain(task) and _dense(task)),)


def _skglm(name):
    if importlib.util.find_spec("skglm") is None:
        return ()

    def fit(task, tol):
        from skglm import GeneralizedLinearEstimator, datafits, estimators, penalties, solvers

        here = task.drawn.intercept
        if name in ("Lasso", "ElasticNet", "SparseLogisticRegression"):
            options = {"l1_ratio": L1_RATIO} if name == "ElasticNet" else {}
            model = getattr(estimators, name)(alpha=task.alpha, fit_intercept=here, tol=tol, **options)
        else:
            datafit = datafits.Huber(DELTA) if name == "Huber" else datafits.Poisson()
            inner = solvers.AndersonCD if name == "Huber" else solvers.ProxNewton
            solver = inner(tol=tol, fit_intercept=here, max_iter=200)
            model = GeneralizedLinearEstimator(datafit, penalties.L1(task.alpha), solver)
        return _answer(model.fit(task.columns, task.y))

    return ((Peer("skglm", TOLS, fit), _always),)


def _celer(name, when=_always):
    if importlib.util.find_spec("celer") is None:
        return ()

    def fit(task, tol):
        import celer

        here = task.drawn.intercept
        if name == "LogisticRegression":
            model = celer.LogisticRegression(C=task.C, fit_intercept=False, tol=tol)
        else:
            options = {"l1_ratio": L1_RATIO} if name == "ElasticNet" else {}
            model = getattr(celer, name)(task.alpha, fit_intercept=here, tol=tol, **options)
        return _answer(model.fit(task.columns, task.y))

    return ((Peer("celer", TOLS, fit), when),)


def _quantile():
    # its penalty is L1
    model = linear_model.QuantileRegressor
    made = _without_tolerance(model, "QuantileRegressor", quantile=Q, alpha=_alpha, solver="highs")
    return made, lambda task: task.n * task.d < 1e6


def _classes(kind, name, **options):
    def fit(task, tol):
        given = {k: v(task) if callable(v) else v for k, v in options.items()}
        model = kind(tol=tol, fit_intercept=task.drawn.intercept, **given).fit(task.X, task.y)
        return model.coef_, model.intercept_ if task.drawn.intercept else 0.0

    return Peer(name, TOLS, fit)


def _mord():
    if importlib.util.find_spec("mord") is None:
        return ()

    def fit(task, steps):
        from mord import LogisticAT

        model = LogisticAT(alpha=task.alpha * task.n, max_iter=steps).fit(task.X, task.y)
        return model.coef_, model.theta_

    return ((Peer("mord", (10, 30, 100, 1000), fit), _always),)


def _machine(kind, **options):
    """libsvm; the Gram matrix is its business."""

    def fit(task, tol):
        given = {k: v(task) if callable(v) else v for k, v in options.items()}
        return kind(tol=tol, cache_size=500, **given).fit(task.X, task.y)

    return ((Peer(kind.__name__, TOLS, fit), _always),)


def _penalised_logistic(task):
    return _plain(task)


_HUBER = {"name": "huber", "tau": DELTA}
TABLE = {
    ("hinge", "l2"): (_linear_svc("hinge", True), *_liblinear(3), *_rehline({"name": "svm"})),
    ("squared_hinge", "l2"): (
        _linear_svc("squared_hinge", True), _linear_svc("squared_hinge", False),
        *_liblinear(1), *_liblinear(2),
    ),
    ("logistic", "l2"): (
        *(_logistic(solver) for solver in ("lbfgs", "newton-cg")),
        _logistic("newton-cholesky", when=lambda task: task.d <= 3000),
        _logistic("liblinear", when=_plain), _logistic("sag"), *_liblinear(0), *_liblinear(7),
    ),
    ("squared", "l2"): tuple(
        (_without_tolerance(linear_model.Ridge, f"Ridge[{solver}]", alpha=lambda task: task.alpha * task.n,
                            solver=solver, tol=1e-8), when)
        for solver, when in (
            ("auto", _always), ("cholesky", _dense), ("sparse_cg", _always), ("lsqr", _always),
        )
    ),
    ("absolute", "l2"): (*_rehline({"name": "MAE"}),),
    ("quantile", "l2"): (*_rehline({"name": "QR", "qt": Q}),),
    ("epsilon_insensitive", "l2"): (
        _linear_svr("epsilon_insensitive", True), *_liblinear(13),
        *_rehline({"name": "SVR", "epsilon": EPSILON}),
    ),
    ("squared_epsilon_insensitive", "l2"): (
        _linear_svr("squared_epsilon_insensitive", True), _linear_svr("squared_epsilon_insensitive", False),
        *_liblinear(11), *_liblinear(12),
    ),
    ("huber", "l2"): (*_rehline(_HUBER),),
    ("poisson", "l2"): tuple(
        (Peer(f"PoissonRegressor[{solver}]",
              *_sklearn(linear_model.PoissonRegressor, alpha=_alpha, solver=solver, max_iter=10_000)), when)
        for solver, when in (("lbfgs", _always), ("newton-cholesky", lambda task: task.d <= 3000))
    ),
    ("squared", "l1"): (
        (Peer("Lasso", *_sklearn(linear_model.Lasso, alpha=_alpha, max_iter=MANY)), _always),
        *_celer("Lasso"), *_skglm("Lasso"),
    ),
    ("squared", "elastic_net"): (
        (Peer("ElasticNet", *_sklearn(
            linear_model.ElasticNet, alpha=_alpha, l1_ratio=L1_RATIO, max_iter=MANY)), _always),
        *_celer("ElasticNet"), *_skglm("ElasticNet"),
    ),
    ("logistic", "l1"): (
        _logistic("liblinear", 1.0, _plain), _logistic("saga", 1.0), *_liblinear(6),
        *_celer("LogisticRegression", _plain), *_skglm("SparseLogisticRegression"),
    ),
    ("logistic", "elastic_net"): (_logistic("saga", L1_RATIO),),
    ("squared_hinge", "l1"): (_linear_svc("squared_hinge", False, "l1"), *_liblinear(5)),
    ("quantile", "l1"): (_quantile(),),
    ("huber", "l1"): (*_skglm("Huber"),),
    ("poisson", "l1"): (*_skglm("Poisson"),),
    ("softmax", "l2"): (
        (_classes(linear_model.LogisticRegression, "LogisticRegression[lbfgs]", C=_C,
                  max_iter=10_000), _always),
        (_classes(linear_model.LogisticRegression, "LogisticRegression[newton-cg]", C=_C, solver="newton-cg",
                  max_iter=10_000), _always),
    ),
    ("crammer_singer", "l2"): (
        (_classes(svm.LinearSVC, "LinearSVC", multi_class="crammer_singer", C=_C, max_iter=MANY), _always),
    ),
    ("one_vs_rest", "l2"): (
        (_classes(svm.LinearSVC, "LinearSVC[dual=True]", C=_C, dual=True, max_iter=MANY), _always),
        (_classes(svm.LinearSVC, "LinearSVC[dual=False]", C=_C, dual=False, max_iter=MANY), _always),
    ),
    ("ordinal", "l2"): _mord(),
    ("svc", "kernel"): _machine(svm.SVC, C=_C),
    ("multiclass_svc", "kernel"): _machine(svm.SVC, C=_C),
    ("nu_svc", "kernel"): _machine(svm.NuSVC, nu=lambda task: task.nu),
    ("svr", "kernel"): _machine(svm.SVR, C=_C, epsilon=EPSILON),
    ("one_class", "kernel"): _machine(svm.OneClassSVM, nu=lambda task: task.nu),
}  # fmt: skip
