"""A design held in memory: scores X w for a NumPy array or a SciPy CSR matrix.

float32 data are kept as they are and every product is taken in float64, a block of rows at a time: bounds
that are to be trusted must not be summed in single precision, and X must not be copied either. Products with
a large X are shared among threads.
"""

from collections.abc import Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from gapfit import limits, threads
from gapfit._types import Data, Matrix, Slope, Vector
from gapfit.design.base import Design, Precise
from gapfit.design.elsewhere import as_device, as_parted, is_collection, is_tensor
from gapfit.design.forms import Columns, Plain, Rows
from gapfit.design.row_range import RowRange
from gapfit.design.rows import in_order, row_norms, take_rows
from gapfit.design.sparse_indices import check_sparse_indices
from gapfit.rounding import TINY, UNIT, gamma

if TYPE_CHECKING:
    from gapfit.penalties.base import Penalty

_GRAM_ELEMENTS = 2**17  # of X in a block whose Gram matrix is taken: they stay in the cache
_FEW = 32  # times as many columns of a dense X are read in the time that it takes to pick some out
_CANCELLED = 1e-9  # of a squared distance may be rounding


class MemoryDesign(Design):
    """The map w -> X w and its adjoint; w and u may also have several columns."""

    def __init__(self, X: Data) -> None:
        is_sparse = type(X) is not np.ndarray and sparse.issparse(X)
        self.X = X = in_order(X) if is_sparse else X
        self.shape = X.shape
        self.dtype = X.dtype
        self.size = int(X.nnz if is_sparse else X.size)  # stored entries

    def forms(self) -> Iterator[Any]:
        yield Rows(self)
        yield Plain()
        yield Columns(self._scaled)

    def scores(self, w: Slope) -> Vector:
        """X w."""
        limits.look()
        if not w.any():
            return np.zeros((self.shape[0], *w.shape[1:]))  # where every fit starts
        if self.size > threads.PAYS and not sparse.issparse(self.X):
            used = np.flatnonzero(w.any(axis=1) if w.ndim > 1 else w)
            if _FEW * len(used) < self.shape[1]:
                return np.asarray(self.X[:, used].astype(np.float64, copy=False) @ w[used])
        if len(self._parts) == 1:
            return self._parts[0].scores(w)
        scores = np.empty((self.shape[0], *w.shape[1:]))
        narrow = w.ndim == 1 and sparse.issparse(self.X) and self.dtype != np.float64  # SciPy would copy it
        threads.each(partial(self._put_narrow if narrow else self._put, w, scores), self._parts)
        return scores

    def _scaled(self, sizes: Vector) -> "MemoryDesign":
        sizes = sizes.astype(self.dtype)
        if sparse.issparse(self.X):
            return MemoryDesign(sparse.csr_array(self.X.multiply(sizes[None, :])))
        return MemoryDesign(self.X * sizes)

    def _put(self, w: Slope, scores: Vector, part: "RowRange") -> None:
        scores[part.rows] = part.scores(w)

    def _put_narrow(self, w: Slope, scores: Vector, part: "RowRange") -> None:
        from gapfit.compiled.products import put_scores

        put_scores(self.stored, w, part.rows.start, part.rows.stop, scores)

    def adjoint(self, u: Vector) -> Slope:
        """X'u."""
        if self.size > threads.PAYS:
            return self.adjoints(u)[0]
        limits.look()
        return self._adjoint_parts[0].adjoint(u)

    def adjoints(self, *vectors: Vector) -> list[Slope]:
        """X'u for one or two u, in one pass over X; by compiled code where X is sparse, whatever its size."""
        if vectors[0].ndim > 1 or not sparse.issparse(self.X):
            return [threads.total(partial(RowRange.adjoint, u=u), self._adjoint_parts) for u in vectors]
        rows = [part.rows for part in self._adjoint_parts]
        return list(threads.total(partial(self._partial_adjoints, vectors), rows))

    def _partial_adjoints(self, vectors: tuple[Vector, ...], rows: slice) -> Matrix:
        """Products over some rows of a sparse X; most of u may be zero."""
        from gapfit.compiled import products  # compiled code is loaded only when it is to run

        slopes = np.zeros((len(vectors), self.shape[1]))
        if len(vectors) == 1:
            products.add_adjoint(self.stored, *vectors, rows.start, rows.stop, slopes[0])
        else:
            products.add_adjoints(self.stored, *vectors, rows.start, rows.stop, slopes)
        return slopes

    def weighted_gram(
        self, weight: Vector, centre: Slope | None = None, summed: Slope | None = None
    ) -> Matrix:
        """The lower triangle of sum of weight_i (x_i - centre)(x_i - centre)', dense; what is above it means
        nothing. Rows of weight zero cost nothing. ``summed`` is X'weight, if it is known."""
        d = self.shape[1]
        centre = np.zeros(d) if centre is None else centre
        density = self.size / max(self.shape[0] * d, 1)
        touched = np.count_nonzero(weight) * d * d * density**2
        parts = threads.parts(self.shape[0], touched, summed=16 * d * d)
        gram = threads.total(partial(self._partial_gram, weight, centre), parts)
        if sparse.issparse(self.X) and centre.any():
            # expanded: sparse columns have no large means, so nothing cancels
            summed = self.adjoint(weight) if summed is None else summed
            cross = np.outer(centre, summed - 0.5 * float(weight.sum()) * centre)
            gram -= cross + cross.T
        return gram

    def _partial_gram(self, weight: Vector, centre: Slope, rows: slice) -> Matrix:
        """The Gram matrix of some rows; if they are sparse, below the diagonal and not yet centred."""
        d = self.shape[1]
        if not sparse.issparse(self.X):
            gram, step = np.zeros((d, d)), max(1, _GRAM_ELEMENTS // d)
            for first in range(rows.start, rows.stop, step):
                limits.look()
                some = slice(first, min(first + step, rows.stop))
                for sign in (1.0, -1.0):  # a product with its own transpose costs half
                    chosen = sign * weight[some] > 0
                    if chosen.any():
                        block = self.X[some] if chosen.all() else self.X[some][chosen]
                        block = np.subtract(block, centre, dtype=np.float64)
                        block *= np.sqrt(np.abs(weight[some][chosen]))[:, None]
                        gram += sign * (block.T @ block)
            return gram
        from gapfit.compiled.products import add_weighted_gram

        gram, step = np.zeros((d, d)), max(1, _GRAM_ELEMENTS * self.shape[0] // max(self.size, 1))
        for first in range(rows.start, rows.stop, step):
            limits.look()
            last = min(first + step, rows.stop)
            add_weighted_gram(self.stored, weight, first, last, gram)
        return gram

    def squares(self, weight: Vector) -> Slope:
        """The sum of weight_i x_ij^2 for each column j."""
        if sparse.issparse(self.X):
            squares = np.square(self.X.data, dtype=np.float64)
            squared = sparse.csr_array((squares, self.X.indices, self.X.indptr), self.shape)
            return np.asarray(squared.T @ weight)
        return threads.total(
            lambda part: sum(weight[part.rows][rows] @ np.square(block) for rows, block in part.blocks()),
            self._parts,
        )

    def bend(self, weight: Vector, v: Slope, shift: float) -> tuple[Vector, Slope]:
        """The scores f = X v - shift, and X'(weight f)."""
        scores = self.scores(v) - shift
        return scores, self.adjoints(weight * scores)[0]

    def dense(self) -> Matrix:
        """A copy of X, dense and in float64: for small data."""
        return np.array(self.X.toarray() if sparse.issparse(self.X) else self.X, dtype=np.float64)

    def distances(self, penalty: "Penalty", centre: Slope) -> Vector:
        if penalty.euclidean and not centre.any():
            return self.row_sizes
        if penalty.euclidean and "row_sizes" in vars(self) and not sparse.issparse(self.X):
            near = self._by_lengths(centre)
            if near is not None:
                return near
        return penalty.dual_norms(self.X, centre)

    def _by_lengths(self, centre: Slope) -> Vector | None:
        """|x - centre| by |x|^2 - 2 <x, centre> + |centre|^2, where too little of that cancels to matter."""
        length = self.length(centre)
        squares = self.row_sizes**2 - 2 * self.scores(centre) + length * length
        room = gamma(4 * centre.size + 32) * (self.row_sizes + length) ** 2
        return np.asarray(np.sqrt(squares + room)) if (room <= _CANCELLED * squares).all() else None

    def take(self, rows: Any) -> "MemoryDesign":
        """The design of some of the rows."""
        large = sparse.issparse(self.X) and self.size > threads.PAYS
        return MemoryDesign(take_rows(self.X, rows, self.stored if large else None))

    @cached_property
    def largest(self) -> float:
        """The largest absolute entry."""
        entries = self.X.data if sparse.issparse(self.X) else self.X

        def of(part: slice) -> float:
            some = entries[part]
            return float(max(some.max(initial=0.0), -some.min(initial=0.0)))

        return max(threads.each(of, threads.parts(len(entries), self.size)))

    @cached_property
    def depth(self) -> tuple[int, int]:
        """Sums over the rows are taken part by part, and block by block if X is in single precision."""
        parts = [part.rows.stop - part.rows.start for part in self._adjoint_parts]
        longest = max(parts, default=0)
        if sparse.issparse(self.X):
            indptr = self.X.indptr
            return int(np.diff(indptr).max(initial=0)) + 4, longest + len(parts)
        return self.shape[1], longest + len(parts)

    @cached_property
    def row_sizes(self) -> Vector:
        return row_norms(self.X, np.zeros(self.shape[1]))

    def precise_scores(self, w: Slope) -> Precise | None:
        from gapfit.compiled import precise

        if not self._splittable(w):
            return None
        n, d = self.shape
        high, low, size = np.empty((3, n))
        threads.each(
            lambda rows: precise.scores(self.stored, w, rows.start, rows.stop, high, low, size),
            threads.parts(n, 10 * self.size),
        )
        return Precise(high, low, gamma(d + 4) ** 2 * size + UNIT**2 * np.abs(high) + d * TINY)

    def precise_adjoint(self, u: Vector) -> Precise | None:
        from gapfit.compiled import precise

        if not self._splittable(u):
            return None
        n, d = self.shape
        high, low, size = np.zeros((3, d))
        precise.add_adjoint(self.stored, u, high, low, size)
        return Precise(high, low, gamma(n + 4) ** 2 * size + n * TINY)

    def _splittable(self, vector: Vector) -> bool:
        """Can products with X be split into halves without overflow?"""
        return vector.ndim == 1 and max(self.largest, float(np.abs(vector).max(initial=0.0))) < 1e150

    def rows(self) -> tuple[Any, Any, Any]:
        """(data, indices, indptr): the rows one after another; indices are empty when X is dense."""
        if sparse.issparse(self.X):
            return self.X.data, self.X.indices, self.X.indptr.astype(np.int64, copy=False)
        n, d = self.shape
        return np.ascontiguousarray(self.X).reshape(-1), np.empty(0, np.int32), np.arange(n + 1) * d

    @cached_property
    def stored(self) -> Any:
        """The rows as compiled code wants them."""
        from gapfit.compiled.rows import as_rows, dense_rows

        return dense_rows(self.X) if type(self.X) is np.ndarray else as_rows(*self.rows())

    @cached_property
    def _parts(self) -> list["RowRange"]:
        return [RowRange(self.X, rows) for rows in threads.parts(self.shape[0], self.size)]

    @cached_property
    def _adjoint_parts(self) -> list["RowRange"]:
        """Fewer of them where X is so wide that adding up their slopes would cost more than it saves."""
        parts = threads.parts(self.shape[0], self.size, summed=self.shape[1])
        return [RowRange(self.X, rows) for rows in parts]


def design_of(X: Data | Design) -> Design:
    """The design of a matrix that is as it should be; a design is one already."""
    return MemoryDesign(X) if type(X) is np.ndarray or not isinstance(X, Design) else X


def as_design(X: Any) -> Design:
    """A validated design: finite numbers, float32 or float64, C-ordered or CSR with indices in range."""
    if isinstance(X, Design):
        return X
    if is_collection(X) or is_tensor(X):
        found: Design = as_parted(X) if is_collection(X) else as_device(X)
        return found
    if sparse.issparse(X):
        check_sparse_indices(X)
    X = check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True,
        ensure_min_samples=1, ensure_min_features=1, input_name="X",
    )  # fmt: skip
    return MemoryDesign(X)
