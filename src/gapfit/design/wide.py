"""Several scores a sample: A w = X W for a matrix W of weights with one column for each output.

Both are kept flat, row by row: the scores of a sample stand side by side, and so do the weights of a feature.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from gapfit._types import Slope, Vector
from gapfit.design.base import Design, Precise
from gapfit.design.forms import Plain, Rows, RowSums, WideRows, WideSums
from gapfit.elsewhere import loops_of
from gapfit.fingerprint import fingerprint
from gapfit.solution import Cost

if TYPE_CHECKING:
    from gapfit.penalties.base import Penalty


class WideDesign(Design):
    """The map w -> X W, W the (features, outputs) matrix of w."""

    def __init__(self, narrow: Design, outputs: int) -> None:
        n, d = narrow.shape
        self.narrow, self.outputs = narrow, outputs
        self.shape = (n * outputs, d * outputs)
        self.dtype = narrow.dtype
        self.size = narrow.size * outputs
        self.few_features = narrow.few_features

    def forms(self) -> Iterator[Any]:
        yield Plain()
        if (rows := self.narrow.form(Rows)) is not None:
            yield WideRows(rows.matrix, self.outputs)
        if (sums := self.narrow.form(RowSums)) is not None:
            yield WideSums(sums.matrix, self.outputs)

    def digest(self) -> str:
        return fingerprint(self.narrow.digest(), self.outputs)

    @property
    def cost(self) -> Cost | None:
        return self.narrow.cost

    @property
    def n_samples(self) -> int:
        return self.narrow.shape[0]

    @property
    def largest(self) -> float:
        return self.narrow.largest

    def zeros(self) -> Any:
        narrow = self.narrow.zeros()
        return np.zeros(self.shape[0]) if loops_of(narrow) is None else np.repeat(narrow, self.outputs)

    def held(self, vector: Any) -> Any:
        return self.narrow.held(vector)

    def in_memory(self) -> "WideDesign":
        return WideDesign(self.narrow.in_memory(), self.outputs)

    def widened(self, outputs: int) -> "Design":
        return self if outputs == self.outputs else super().widened(outputs)

    def scores(self, w: Slope) -> Vector:
        """X W, flat."""
        if not w.any():
            nothing: Vector = self.zeros()  # where every fit starts
            return nothing
        if (sums := self.narrow.form(RowSums)) is not None:
            return sums.matrix.scores(w.reshape(-1, self.outputs)).ravel()
        return self._each(self.narrow.scores, w)

    def adjoint(self, u: Vector) -> Slope:
        """X'U, flat."""
        if (sums := self.narrow.form(RowSums)) is not None:
            return sums.matrix.adjoint(u.reshape(-1, self.outputs)).ravel()
        return self._each(self.narrow.adjoint, u)

    def _each(self, product: Callable[[Vector], Vector], flat: Vector) -> Vector:
        """One column at a time."""
        return np.stack([product(column) for column in self._columns(flat)], axis=1).ravel()

    @cached_property
    def depth(self) -> tuple[int, int]:
        return self.narrow.depth

    @cached_property
    def row_sizes(self) -> Vector:
        return np.repeat(self.narrow.row_sizes, self.outputs)

    def precise_scores(self, w: Slope) -> Precise | None:
        return _side_by_side([self.narrow.precise_scores(column) for column in self._columns(w)])

    def precise_adjoint(self, u: Vector) -> Precise | None:
        return _side_by_side([self.narrow.precise_adjoint(column) for column in self._columns(u)])

    def _columns(self, flat: Vector) -> Iterable[Vector]:
        return (np.ascontiguousarray(column) for column in flat.reshape(-1, self.outputs).T)

    def take(self, rows: Any) -> "WideDesign":
        return WideDesign(self.narrow.take(rows), self.outputs)

    def keeping(self, rows: Any) -> "WideDesign":
        return WideDesign(self.narrow.keeping(rows), self.outputs)

    def distances(self, penalty: "Penalty", centre: Slope) -> Vector:
        shared = dict(penalty=penalty, centre=centre, outputs=self.outputs)
        return np.concatenate(self.narrow.over(_distances, **shared))


def _distances(narrow: Design, penalty: "Penalty", centre: Slope, outputs: int) -> Vector:
    if penalty.euclidean:
        columns = [narrow.distances(penalty, column) for column in centre.reshape(-1, outputs).T]
        return np.stack(columns, axis=1).ravel()
    rows = narrow.form(Rows)
    if rows is None:
        raise TypeError(f"{narrow!r} knows the distances of several scores in the L2 norm only")
    X = sparse.kron(sparse.csr_array(rows.matrix.X), sparse.eye_array(outputs), format="csr")
    return penalty.dual_norms(X, centre)


def _side_by_side(columns: list[Precise | None]) -> Precise | None:
    known = [column for column in columns if column is not None]
    if len(known) < len(columns):
        return None
    return Precise(*(np.stack(part, axis=1).ravel() for part in zip(*known, strict=True)))
