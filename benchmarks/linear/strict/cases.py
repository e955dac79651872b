"""What is compared with what: the sections of the table."""

from typing import NamedTuple

from linear.strict.components import Component, Task, component

OURS = component("gapfit", solver="auto")
LIBLINEAR = [component("liblinear", dual=True), component("liblinear", dual=False)]
SKLEARN = [component("sklearn_logistic", solver=name) for name in ("lbfgs", "newton-cg", "newton-cholesky")]
SINGLE = {  # by loss; the others do not take it, or are never the fastest
    "hinge": ("dual_cd", "semismooth_newton", "bundle"),
    "squared_hinge": ("dual_cd", "semismooth_newton", "newton", "lbfgs"),
    "logistic": ("dual_cd", "newton", "lbfgs"),
}
MORE_HINGE = {
    "snapml": [component("snapml")],
    "SGD": [component("sklearn_sgd", average=False), component("sklearn_sgd", average=True)],
    "liblinear-official": [component("liblinear_official", dual=True)],
    "skglm": [component("skglm")],
}

SECTIONS = {
    1: "Hinge without intercept",
    2: "Squared hinge and logistic without intercept",
    3: "The unpenalised intercept (hinge)",
    4: "Quantile regression, q = 0.9",
    5: "Lasso and sparse logistic regression (L1)",
    6: "`auto` against the best single solver of ours",
}

ALPHAS = {  # the last is the papers'
    "a9a": (1e-4, 1e-5, 2.0**-18),
    "w8a": (1e-4, 1e-5, 2.0**-17),
    "imdb": (1e-4, 1e-5, 2.0**-17),
    "covtype": (1e-4, 1e-5, 2.0**-17),
    "news20": (1e-4, 1e-5, 2.0**-14),
}


class Comparison(NamedTuple):
    """Ours against a peer, each to its own task's optimum within `tol`.

    Of the comparisons that share all but the peer, the table shows the fastest peer of each column.
    """

    section: int
    task: Task
    tol: float
    column: str = ""
    peer: Component | None = None  # None: only ours is timed
    peer_task: Task | None = None  # if it is not the same

    def key(self):
        theirs = self.peer_task or self.task
        return (
            f"{self.section} | {self.task} | {self.tol:g} | {self.column} | {self.peer} | {theirs.intercept}"
        )


def comparisons(available, more=False, tols=(1e-3, 1e-6)):
    """All of them, for the names of the data sets that are there; those of one data set in a row."""
    alphas = {component(name): ALPHAS[name] for name in ALPHAS if name in available}
    sparse = [data for data in alphas if data.file in ("imdb", "news20")]
    if not alphas:  # generated data need no files
        generated = component("simulated", n_samples=5000, n_features=200, density=0.1)
        alphas, sparse = {generated: (1e-4, 1e-5)}, [generated]
    loose = max(tols)
    for data in alphas:
        for alpha in alphas[data]:
            yield from _hinge(data, alpha, tols, more)
            yield from _smooth(data, alpha, loose)
            yield from _intercept(data, alpha, loose)
            yield from _single(data, alpha, loose, SINGLE)
        if data in sparse:
            yield from _sparse(data, (10, 100, 300), tols)
    yield from _quantile(20_000, 1_000_000, loose)


def quick(available, tol=1e-3):
    """A taste of each section, on the smallest file or on generated data."""
    generated = component("simulated", n_samples=5000, n_features=200, density=0.1)
    data = component("a9a") if "a9a" in available else generated
    yield from _hinge(data, 1e-5, (tol,), more=False)
    yield from _columns(2, Task(data, "logistic", 1e-5), tol, {"liblinear, primal or dual": LIBLINEAR})
    yield from _intercept(data, 1e-5, tol)
    lasso = Task(data, "squared", "max/10", "l1")
    yield from _columns(5, lasso, tol, {"celer": [component("celer")]})
    yield from _single(data, 1e-5, tol, {"hinge": SINGLE["hinge"][:2]})
    yield from _quantile(2_000, 50_000, tol)


def _hinge(data, alpha, tols, more):
    task = Task(data, "hinge", alpha)
    columns = {"liblinear": LIBLINEAR[:1], "ReHLine": [component("rehline")]}
    for tol in tols:
        yield from _columns(1, task, tol, columns | (MORE_HINGE if more else {}))


def _smooth(data, alpha, tol):
    for loss in ("squared_hinge", "logistic"):
        columns = {"liblinear, primal or dual": LIBLINEAR}
        if loss == "logistic":
            columns["scikit-learn's best"] = SKLEARN
        yield from _columns(2, Task(data, loss, alpha), tol, columns)


def _intercept(data, alpha, tol):
    free, none, column = (
        Task(data, "hinge", alpha, intercept=kind) for kind in ("free", "none", "penalised")
    )
    yield Comparison(3, free, tol, "ours, no intercept", OURS, none)
    yield Comparison(3, free, tol, "ours, column of ones", OURS, column)
    yield Comparison(3, free, tol, "liblinear -B 1", LIBLINEAR[0], column)


def _single(data, alpha, tol, solvers):
    for loss, names in solvers.items():
        ours = [component("gapfit", solver=name) for name in names]
        yield from _columns(6, Task(data, loss, alpha), tol, {"best single solver": ours})


def _sparse(data, shares, tols):
    for share in shares:
        for tol in tols:
            lasso = {"celer": "celer", "skglm": "skglm", "scikit-learn": "sklearn_lasso"}
            logistic = {"celer": "celer", "skglm": "skglm"}
            for loss, peers in (("squared", lasso), ("logistic", logistic)):
                columns = {name: [component(file)] for name, file in peers.items()}
                if loss == "logistic":
                    columns["liblinear -s 6"] = LIBLINEAR[1:]
                yield from _columns(5, Task(data, loss, f"max/{share}", "l1"), tol, columns)


def _quantile(few, many, tol):
    def rows(n):
        return component("simulated", n_samples=n, n_features=50, density=1.0, task="regression")

    lp = Task(rows(few), "quantile", 1e-3, "l1", "free")  # QuantileRegressor's penalty is L1: so is ours here
    yield Comparison(4, lp, tol, "QuantileRegressor (HiGHS)", component("sklearn_quantile"))
    yield Comparison(4, lp, tol, "Clarabel (CVXPY)", component("clarabel"))
    yield Comparison(4, Task(rows(few), "quantile", 1e-4), tol, "ReHLine", component("rehline"))
    yield Comparison(4, Task(rows(many), "quantile", 1e-4, intercept="free"), tol)


def _columns(section, task, tol, columns):
    for column, peers in columns.items():
        for peer in peers:
            yield Comparison(section, task, tol, column, peer)
