"""How a fit in one call is made: by a Hessian, by columns, by products or by samples. See `in_one_call`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapfit.design.memory import MemoryDesign
from gapfit.penalties.forms import Net
from gapfit.solvers.choice.shapes import is_small_shape
from gapfit.solvers.choice.work import LOOKED_UP

MANY = 4_000_000  # entries of X, up to which a call is worth a try: beyond, others begin with some of them
MANY_DENSE = 20_000_000  # the same, by products alone: they pass X a few times where every sample bends
PLENTY = 2  # samples for each feature, of which no weights fit all: losses with ends keep a curvature
SWEPT = 8e6  # entries for a product and one with the transpose, up to which sweeps are worth a try
CROWD = 200  # samples for each feature: with more, sweeps are many
FEW = 64  # features, up to which a Hessian is sooner made than products where losses are round
EASY = 2.5  # times the mean square of a row is alpha n at least, where a few sweeps are all
CROWDED = 10.0  # times the mean square of a row is alpha n at least, where a few sweeps over a crowd are all
HARD = 0.3  # times the mean square of a row is alpha n at most, where sweeps are many even if weights are
HOPELESS = 0.15  # times it is alpha n at most, where sweeps come to nothing if samples are more than weights
STILL_FEW = 500_000  # entries, up to which a Hessian of few features is sooner made than what others do
NOTHING = 1e5  # entries are passed in no more time than Python takes for some calls
TINY = 1e-300  # stands for the mean square of rows of nothing
FEW_OF_LINES = 40  # features, up to which a Hessian is sooner made than products where losses are lines
FEW_OF_CORNERS = 40  # features, up to which a Hessian is sooner made than steps where weights may be zero
VERY_LITTLE = 1e6  # multiply-adds for a Hessian of which many are needed
CALLS = 1.5e7  # entries are passed in the time of the calls that others make: so much may always be tried
STEPS = 2e8  # entries are passed in the time of the steps that others make by columns: the same
SWEEPS = 16  # over all samples may be left to come, and more where CALLS allow it
VISIT = 100.0  # entries take as long as what a sample takes in a sweep beside its own
PASSES = 100.0  # over all dense columns at most, and more where STEPS allow it
PRODUCTS = 60  # with the Hessian at most, and more where CALLS allow it
DIRECT = 0.1  # products more for each row or column of a matrix that others would factorise


class Task(NamedTuple):
    """What is to be fitted, in the terms of compiled code."""

    design: MemoryDesign
    data: Any  # `small_fit.Data`
    net: Any  # `small_model.Net`
    kind: int  # of the losses: see `compiled.small_counts`
    tol: float


class Found(NamedTuple):
    """What a call has found, and whose method it is."""

    found: Any  # `small_calls.Found`
    solver: str


Method = Callable[[Task], Found | None]  # None: others are faster


def methods_for(design: MemoryDesign, net: Net) -> tuple[Method, ...]:
    """Those that make least of such a shape, one after the other until a fit is certified."""
    (n, d), entries = design.shape, design.size
    small = is_small_shape(n, d)
    if net.l1 > 0:
        if small and d <= FEW_OF_CORNERS:
            return (by_hessian,)
        few = n >= 2 * d or (n + d) * d**2 <= VERY_LITTLE  # else Hessians are many
        ways = (by_columns,) if entries <= MANY else ()
        return (*ways, by_hessian) if small and few else ways
    if small:
        return by_hessian_or_rows, by_hessian_after_rows
    if entries <= MANY:
        return by_rows, by_products_after_samples
    return (by_few_products,) if entries <= MANY_DENSE and not sparse.issparse(design.X) else ()


def _is_round(task: Task) -> bool:
    """Have all losses a curvature?"""
    return task.kind > 0 or np.count_nonzero(task.data.quad) == len(task.data.quad)


def _is_parabola(task: Task) -> bool:
    """Is each of them one parabola?"""
    data = task.data
    if task.kind or not _is_round(task) or data.kink.any():
        return False
    return bool(np.isinf(data.lo).all() and np.isinf(data.hi).all())


def by_hessian_or_rows(task: Task) -> Found | None:
    """Of few samples, or of few weights."""
    return _way_of_little(task)(task)


def by_hessian_after_rows(task: Task) -> Found | None:
    """The same, where that has come to nothing."""
    return None if _way_of_little(task) is by_hessian else by_hessian(task)


def _way_of_little(task: Task) -> Method:
    """Lines are hard for sweeps where the penalty is weak."""
    n, d = task.design.shape
    if _is_round(task):
        return by_hessian if d <= FEW else by_rows
    ease = _ease(task)
    if d > FEW_OF_LINES:
        return by_products if ease < HARD else by_samples
    return by_hessian if ease < (CROWDED if n > CROWD * d else EASY) else by_samples


def by_rows(task: Task) -> Found | None:
    """By products or by samples. Where weights are many and losses have ends, the dual has fewer numbers, and
    the more of them are at an end, the easier it is. Where sweeps would come to nothing, a Hessian is made if
    features are few, or it is left to others."""
    n, d = task.design.shape
    if _is_parabola(task) or (_is_round(task) and (task.kind or n >= d)):
        return by_products(task)
    if n >= d and _ease(task) < (CROWDED if n > CROWD * d else HOPELESS):
        return by_hessian(task) if d <= FEW_OF_LINES and n * d <= STILL_FEW else None
    return None if _passed(task.design) > SWEPT else by_samples(task)


def by_few_products(task: Task) -> Found | None:
    """Of many entries: products where they are few for certain."""
    n, d = task.design.shape
    if not _is_round(task):
        return None
    ends = not task.kind and not _is_parabola(task)
    return None if ends and n < PLENTY * d and _ease(task) < EASY else by_products(task)


def by_products_after_samples(task: Task) -> Found | None:
    """Where sweeps over samples have come to nothing: losses with ends have products as well, and lines where
    products cost next to nothing."""
    n, d = task.design.shape
    if not _is_round(task):
        return by_products(task) if _passed(task.design) <= NOTHING else None
    return by_products(task) if n < d and not task.kind and not _is_parabola(task) else None


def _ease(task: Task) -> float:
    """How much the penalty weighs beside a row."""
    return float(task.net.l2 * task.design.shape[0] / max(_mean_square(task.design), TINY))


def _mean_square(design: MemoryDesign) -> float:
    """Of the lengths of rows."""
    dense = type(design.X) is np.ndarray or not sparse.issparse(design.X)
    entries = design.X if dense else design.X.data
    return float(np.vdot(entries, entries)) / design.shape[0]


def by_hessian(task: Task) -> Found:
    """Newton's method in the weights: for few of them."""
    from gapfit.compiled.small_calls import by_corners, by_hessian  # loaded only when it is to run

    call = by_corners if task.net.l1 else by_hessian
    return Found(call(task.data, task.net, task.kind, task.tol, task.design.shape[1]), "small_newton")


def by_columns(task: Task) -> Found | None:
    """The same, column by column: where few of many weights are in use. With lines, steps are very many."""
    if not _is_round(task):
        return None
    from gapfit.compiled.small_calls import by_columns as call

    n, d = task.design.shape
    most = PASSES + STEPS / _passed(task.design)
    if sparse.issparse(task.design.X):
        most = np.inf  # others are no faster
    if n >= d and _is_parabola(task):
        most = DIRECT * d + PRODUCTS  # they need its second derivatives but once
    stored = _stored_by_columns(task.design)
    return Found(call(task.data, task.net, task.kind, task.tol, d, stored, most), "primal_cd")


def _stored_by_columns(design: MemoryDesign) -> Any:
    """X, one column after another."""
    from gapfit.compiled.columns import Columns

    (n, d), X = design.shape, design.X
    if sparse.issparse(X):
        X = X.tocsc()
        rows = X.indices.astype(np.int32, copy=False).view(np.uint32)
        return Columns(X.data, rows, X.indptr.astype(np.int64))
    return Columns(np.ravel(X, "F"), np.empty(0, np.uint32), np.arange(0, n * d + 1, n))


def by_products(task: Task) -> Found:
    """The same, by conjugate gradients: for any shape, where losses are round."""
    from gapfit.compiled.small_calls import by_products as call

    n, d = task.design.shape
    most = int(PRODUCTS + CALLS / (_passed(task.design) + n + d) + DIRECT * min(n, d))
    return Found(call(task.data, task.net, task.kind, task.tol, d, _is_parabola(task), most), "newton_cg")


def _passed(design: MemoryDesign) -> float:
    """Entries in a product with X and one with its transpose, in terms of dense ones."""
    return 2.0 * design.size * (LOOKED_UP if sparse.issparse(design.X) else 1.0)


def by_samples(task: Task) -> Found:
    """Coordinate descent in the dual: for easy problems of many weights."""
    from gapfit.compiled import small, small_calls, small_dual
    from gapfit.compiled.rows import SAMPLE
    from gapfit.compiled.small_counts import ENTROPY

    n, d = task.design.shape
    f, v, *of_losses = np.zeros((9, n))
    z, w, mean, slope, spread = np.zeros((5, d))
    space = small_dual.Space(
        small.Losses(*of_losses), np.zeros(n, SAMPLE), z, w, mean, f, v, slope, spread, np.empty((2, 2 * n)),
        np.zeros(1, np.int64), np.empty(small_dual.MOST), np.empty(small_dual.MOST), np.arange(n),
    )  # fmt: skip
    ahead = SWEEPS + CALLS / (_passed(task.design) + VISIT * n)
    b, proved = small_dual.fit(task.data, task.net, task.kind == ENTROPY, task.tol, ahead, space)
    passed = space.passed[0]
    way = space.values[:passed], space.gaps[:passed]
    return Found(small_calls.Found(w, b, v, proved, way, slope, spread), "dual_cd")
