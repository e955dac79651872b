"""A design whose rows are a tensor, on a card or in memory: w goes down, slopes come up.

Scores and all other vectors of samples stay where the rows are, if the loss can work with them there
(`Loss.anywhere`); else they are fetched, and only products run on the device. Either way there is one set of
losses, solvers and proofs: products are in double precision, whatever X is, and their rounding is counted as
in memory.
"""

import logging
from collections.abc import Iterator
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gapfit import limits
from gapfit._types import Matrix, Slope, Vector
from gapfit.design.base import Design
from gapfit.design.forms import Columns, Plain, RowSums
from gapfit.design.memory import MemoryDesign
from gapfit.device.array import DeviceArray
from gapfit.device.costs import hessian_in_passes
from gapfit.device.factor import Factor, factor_of
from gapfit.device.gram import weighted_gram
from gapfit.device.marks import mark_of
from gapfit.device.room import check_room, free
from gapfit.device.rows import DenseRows, Rows, rows_of
from gapfit.device.streamed import PartedRows
from gapfit.errors import TooLarge
from gapfit.fingerprint import fingerprint
from gapfit.rounding import EPS, TINY, gamma

if TYPE_CHECKING:
    from gapfit.losses.base import Risk
    from gapfit.penalties.base import Penalty

__all__ = ["DeviceDesign"]

logger = logging.getLogger("gapfit")

_DTYPES = (torch.float32, torch.bfloat16, torch.float64)
_FEW_ROWS = 4  # times less than all are picked
_GRAM = 2**27  # entries of X in a block whose Gram matrix is taken
_LARGE = 256  # features: a smaller Hessian is factorised in memory before kernels would have been launched
_FEW = 16384  # features: tensor cores and Cholesky's method take milliseconds for a Hessian of dense rows
_FETCH = 2**24  # entries of X that are fetched at a time
_SHARE = 0.5  # of the free memory: a block may take that


class DeviceDesign(Design):
    """The map w -> X w and its adjoint.

    Parameters
    ----------
    X : dense or CSR tensor (n, d) of float32, bfloat16 or float64 numbers, all finite; on any device. Or a
        list of dense ones, whose rows follow each other: in memory, and on one card or several.
    fetched : are vectors of samples NumPy's, in memory?
    """

    def __init__(self, X: Any, *, fetched: bool = False) -> None:
        if isinstance(X, torch.Tensor):
            if X.ndim != 2 or 0 in X.shape:
                raise ValueError(f"X must have rows and columns, got shape {tuple(X.shape)}")
            if X.dtype not in _DTYPES:
                raise TypeError(f"X holds {X.dtype}; float32, bfloat16 and float64 are known: X.float()")
        elif not isinstance(X, Rows):
            X = PartedRows(X)
        self.rows: Rows = rows_of(X.detach()) if isinstance(X, torch.Tensor) else X
        self.fetched = fetched
        # a solver and its judge ask for the same scores
        self._last: tuple[Slope, torch.Tensor, Any] | None = None
        self._formula: tuple[Risk, tuple[Any, float]] | None = None
        self.shape, self.size = self.rows.shape, self.rows.entries
        self.dtype = np.dtype(np.float64 if self.rows.values.dtype == torch.float64 else np.float32)

    def __repr__(self) -> str:
        n, d = self.shape
        return f"DeviceDesign({n} x {d}, {self.rows.values.dtype}, {self.rows.device})"

    def forms(self) -> Iterator[Any]:
        yield RowSums(self)
        yield Plain()
        yield Columns(self._scaled)

    @cached_property
    def few_features(self) -> int:  # type: ignore[override]
        dense, needed = isinstance(self.rows, DenseRows), 64 * min(self.shape[1], _FEW) ** 2
        return _FEW if dense and free(self.rows.device) > needed else super().few_features

    @cached_property
    def hessian_in_passes(self) -> float:  # type: ignore[override]
        return hessian_in_passes(self.rows)

    # -- where vectors are --------------------------------------------------------------------------------

    def with_vectors(self, *, anywhere: bool) -> "DeviceDesign":
        return self if anywhere != self.fetched else DeviceDesign(self.rows, fetched=not anywhere)

    def given(self, values: Any) -> Any:
        if self.fetched or not isinstance(values, (torch.Tensor, DeviceArray)):
            return super().given(values)
        tensor = values.tensor if isinstance(values, DeviceArray) else values
        return DeviceArray(tensor.to(self.rows.device, torch.float64))

    def held(self, vector: Any) -> Any:
        if self.fetched or isinstance(vector, DeviceArray):
            return vector
        return DeviceArray(torch.as_tensor(vector, dtype=torch.float64).to(self.rows.device))

    def zeros(self) -> Any:
        if self.fetched:
            return super().zeros()
        return DeviceArray(torch.zeros(self.shape[0], dtype=torch.float64, device=self.rows.device))

    def _down(self, x: Any) -> torch.Tensor:
        """A tensor where the rows are."""
        return x.tensor if isinstance(x, DeviceArray) else torch.as_tensor(x).to(self.rows.device)

    def _vector(self, x: torch.Tensor) -> Any:
        return x.cpu().numpy() if self.fetched else DeviceArray(x)

    # -- products -----------------------------------------------------------------------------------------

    def scores(self, w: Slope) -> Vector:
        limits.look()
        if not w.any():
            found = torch.zeros((self.shape[0], *w.shape[1:]), dtype=torch.float64, device=self.rows.device)
        elif self._is_known(w):
            found = self._last[1].clone()  # type: ignore[index]
        else:
            found = self.rows.scores(self._down(w.astype(np.float64, copy=False)))
            # who asks may write to what he gets; to NumPy's arrays without being noticed
            kept = found.clone() if self.fetched else found
            self._last = w.copy(), kept, (kept._version, self.rows.version)
        scores: Vector = self._vector(found)
        return scores

    def _is_known(self, w: Slope) -> bool:
        """Are these the last scores, and has nobody written to them or to the rows since?"""
        if self._last is None:
            return False
        last, scores, versions = self._last
        return versions == (scores._version, self.rows.version) and np.array_equal(last, w)

    def look(self, risk: "Risk", w: Slope, b: Vector, *, rough: bool = False) -> tuple[float, Slope, Vector]:
        """One pass, for losses whose formula is known there."""
        shift, (losses, total) = float(b.sum()), self._formula_of(risk)
        there = torch.as_tensor(w)
        found = None if losses is None else self.rows.through(there, shift, losses, single=rough)
        if found is None:
            return super().look(risk, w, b)
        *slope, value, leaning = found[0].cpu().numpy()
        return value + total * shift, np.array(slope), np.full(b.shape, leaning + total)

    def _formula_of(self, risk: "Risk") -> tuple[Any, float]:
        """The risk as passes want it, and its slope in b that no sample carries; the last one is kept."""
        if self._formula is None or self._formula[0] is not risk:
            formula, losses = risk.formula(), None
            if formula is not None:
                losses = self.rows.prepared(formula.name, tuple(map(self._down, formula.numbers)))
            self._formula = risk, (losses, 0.0 if formula is None else formula.total)
        return self._formula[1]

    def adjoint(self, u: Vector) -> Slope:
        return self.adjoints(u)[0]

    def adjoints(self, *vectors: Vector) -> list[Slope]:
        limits.look()
        return list(self.rows.adjoint(*map(self._down, vectors)).cpu().numpy())

    def adjoints_of_few(self, *vectors: Vector) -> list[Slope]:
        """The same, of vectors that may be zero but for few rows: these are picked on the way."""
        if isinstance(self.rows, DenseRows):
            limits.look()
            tensors = [self._down(u) for u in vectors]
            picked = torch.nonzero(reduce(torch.logical_or, tensors)).ravel()
            if _FEW_ROWS * len(picked) < self.shape[0]:
                return list(self.rows.adjoint_of(picked, *tensors).cpu().numpy())
        return self.adjoints(*vectors)

    def weighted_gram(
        self, weight: Vector, centre: Slope | None = None, summed: Slope | None = None
    ) -> Matrix:
        """As of a `MemoryDesign`, in single precision: a step need not be exact."""
        return np.asarray(self._gram(weight, centre, summed).cpu().numpy())

    def gram_for_steps(
        self, weight: Vector, centre: Slope | None = None, summed: Slope | None = None
    ) -> Matrix:
        gram = self._gram(weight, centre, summed)
        found: Matrix = gram.cpu().numpy() if len(gram) < _LARGE else DeviceArray(gram)  # type: ignore[assignment]
        return found

    def _gram(self, weight: Vector, centre: Slope | None, summed: Slope | None) -> torch.Tensor:
        del summed
        d = self.shape[1]
        middle = self._down(np.zeros(d) if centre is None else centre)
        return weighted_gram(self.rows, self._down(weight), middle, partial(self._room_for, d))

    def cholesky(self, hessian: Matrix) -> Factor | None:
        return factor_of(hessian.tensor)  # type: ignore[attr-defined]

    def _room_for(self, d: int) -> int:
        """Rows of a block."""
        if self.rows.device.type != "cuda":
            return max(1, _GRAM // (16 * d))
        free = torch.cuda.mem_get_info(self.rows.device)[0]
        if free * _SHARE < 16 * d * d:
            need = f"a Hessian of {d} features needs {16 * d * d / 1e9:.1f} GB of the device"
            raise TooLarge(f"{need}, where {free / 1e9:.1f} are free: solver='lbfgs' needs none")
        return int(max(1, min(_GRAM, _SHARE * free / 16) // d))

    def squares(self, weight: Vector) -> Slope:
        """The sum of weight_i x_ij^2 for each column j."""
        return np.asarray(self.rows.squares(self._down(weight)).cpu().numpy())

    def bend(self, weight: Vector, v: Slope, shift: float) -> tuple[Vector, Slope]:
        """The scores f = X v - shift, and X'(weight f), in one pass where there is one."""
        losses = self.rows.prepared("parabola", (self._down(weight),))
        found = None if losses is None else self.rows.through(torch.as_tensor(v), -shift, losses, kept=True)
        if found is not None:
            return self._vector(found[1]), found[0][:-2].cpu().numpy()
        scores = self.scores(v) - shift
        return scores, self.adjoint(weight * scores)

    def distances(self, penalty: "Penalty", centre: Slope) -> Vector:
        if penalty.euclidean and not centre.any():
            return self.row_sizes
        step = max(1, _FETCH // self.shape[1])
        found = [
            penalty.dual_norms(self._fetch(first, step), centre) for first in range(0, self.shape[0], step)
        ]
        distances: Vector = self.held(np.concatenate(found))
        return distances

    def _fetch(self, first: int, step: int) -> Matrix:
        """Some rows, in memory."""
        return self.rows.block(first, min(first + step, self.shape[0])).double().cpu().numpy()

    def in_memory(self) -> MemoryDesign:
        return MemoryDesign(self.rows.in_memory())

    @property
    def picks(self) -> bool:
        return isinstance(self.rows, DenseRows)

    def take(self, rows: Any) -> "DeviceDesign":
        if not isinstance(rows, DeviceArray):
            rows = np.flatnonzero(rows) if np.asarray(rows).dtype == bool else np.asarray(rows)
        found = DeviceDesign(self.rows.take(self._down(rows)), fetched=self.fetched)
        if "largest" in vars(self):  # a bound, which need not be looked for
            found.largest = self.largest
        return found

    def keeping(self, rows: Any) -> "DeviceDesign":
        kept = np.count_nonzero(rows) if rows.dtype == bool else len(rows)
        needed = self.size / self.shape[0] * kept * self.rows.values.element_size()
        check_room(self.rows.device, needed, f"copies of {kept} rows of {self.shape[1]} features")
        return self.take(rows)

    def _scaled(self, sizes: Vector) -> "DeviceDesign":
        return DeviceDesign(self.rows.scaled(self._down(sizes)), fetched=self.fetched)

    # -- rounding -----------------------------------------------------------------------------------------

    @cached_property
    def largest(self) -> float:
        low, high = self.rows.extremes()
        largest = max(high, -low)
        if not np.isfinite(largest):  # torch's extremes pass NaN on
            raise ValueError("X must hold finite numbers: it contains NaN or infinity")
        return largest

    @cached_property
    def depth(self) -> tuple[int, int]:
        return self.rows.depth

    @cached_property
    def row_sizes(self) -> Vector:
        found = torch.sqrt(self.rows.square_sums()) * (1 + gamma(self.shape[1] + 8) + 4 * EPS)
        sizes: Vector = self._vector(found + (self.shape[1] * TINY) ** 0.5)  # squares may have underflowed
        return sizes

    def digest(self) -> str:
        return fingerprint(self.shape, str(self.rows.values.dtype), mark_of(self.rows))
