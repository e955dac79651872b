"""Any function of the contingency table as a loss, and how much of it must be looked at."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gapfit._types import Vector
from gapfit.losses.base import Risk
from gapfit.losses.contingency import ContingencyLoss, SortedRisk

Table = Callable[[Any, Any, Any, Any], Any]
Structure = Literal["fp", "predicted", "linear"]

_BLOCK = 1 << 18  # tables to look at together


class Contingency(ContingencyLoss):
    """Any loss of the contingency table: Delta = f(tp, fp, fn, tn).

    Parameters
    ----------
    f : function of four arrays of whole numbers (float64, of one shape), of which it makes as many losses
    structure : what is known of f, which makes the search for the best table quick
        None: nothing. All (P + 1)(N + 1) tables are looked at, though never held in memory. f may be
        -inf: such labellings are left out.
        "fp": at any fixed tp it is a concave function of fp. O(P log N) after sorting.
        "predicted": at any fixed tp + fp it is a concave function of tp. O(n log n).
        "linear": at any fixed tp + fp it is a linear function of tp, as most measures are, among them F,
        Cohen's and the Matthews coefficient, and all linear ones. f is called when data are bound, and then
        no more; O(n) after sorting.
        What is claimed is checked at some tables.
    score_weight : weight of the positives' scores

    Weights must be whole numbers: they count copies. The risk is nowhere less than f(P, 0, 0, N).
    """

    def __init__(self, f: Table, structure: Structure | None = None, score_weight: float = 1.0) -> None:
        if not callable(f):
            raise TypeError(f"f must be a function of (tp, fp, fn, tn), got {f!r}")
        if structure not in (None, "fp", "predicted", "linear"):
            raise ValueError(f"structure must be None, 'fp', 'predicted' or 'linear', got {structure!r}")
        self.f, self.structure = f, structure
        super().__init__(score_weight)

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        return TableRisk(self, self.f, self.structure, y, weight)


class Matthews(ContingencyLoss):
    """1 - the Matthews correlation coefficient, (tp tn - fp fn) / sqrt(P N (tp + fp) (fn + tn)), which
    counts as 0 where all labels are the same.

    Weights must be whole numbers: they count copies.
    """

    def bind(self, y: Any, weight: Vector, groups: Any = None) -> Risk:
        return TableRisk(self, _matthews, "linear", y, weight)


def _matthews(tp: Vector, fp: Vector, fn: Vector, tn: Vector) -> Vector:
    # roots one by one: the product of four counts is large
    norm = np.sqrt(tp + fn) * np.sqrt(fp + tn) * np.sqrt(tp + fp) * np.sqrt(fn + tn)
    return np.asarray(1.0 - (tp * tn - fp * fn) / np.where(norm > 0, norm, np.inf))


class TableRisk(SortedRisk):
    """max over all tables of f(tp, fp, fn, tn) + the highest scores of each class, summed."""

    def __init__(
        self, loss: ContingencyLoss, f: Table, structure: Structure | None, y: Any, weight: Vector
    ) -> None:
        super().__init__(loss, y, weight)
        if not self.whole:
            raise ValueError(f"sample_weight must hold whole numbers for {loss!r}: they count copies")
        self.f, self.structure = f, structure
        self.infimum = float(self.delta(np.array([self.P]), np.zeros(1))[0])
        if structure is None:
            self.search = self.anywhere
            return
        self.lines = _Lines(int(self.P), int(self.N), along_fp=structure == "fp")
        self.check_lines(structure)
        self.search = self.on_lines
        if structure == "linear":
            self.high, self.slope = self.intercepts_and_slopes()
            self.search = self.on_diagonals

    def delta(self, tp: Vector, fp: Vector) -> Vector:
        """f at these tables, checked."""
        tp, fp = np.broadcast_arrays(tp, fp)
        delta = np.asarray(self.f(tp, fp, self.P - tp, self.N - fp), dtype=np.float64)
        if delta.shape != tp.shape:
            raise ValueError(f"f must give one loss a table: it made shape {delta.shape} of {tp.shape}")
        wrong = ~np.isfinite(delta)
        if self.structure is None:
            wrong &= delta != -np.inf
        if wrong.any():
            k = np.unravel_index(np.argmax(wrong), delta.shape)
            table = f"tp={tp[k]:g}, fp={fp[k]:g}, fn={self.P - tp[k]:g}, tn={self.N - fp[k]:g}"
            raise ValueError(f"f must give finite losses, but is {delta[k]} at {table}")
        return delta

    def best_labelling(self, scores: Vector, b: float) -> tuple[float, Vector]:
        classes = self.classes(scores)
        positive, negative = (
            scale * np.repeat(part.scores + b, np.diff(part.mass).astype(np.intp))  # one entry a copy
            for part, scale in zip(classes, self.scale, strict=True)
        )
        tp, fp = self.search(positive, negative)
        delta = self.delta(np.array([tp]), np.array([fp]))
        return float(delta[0]), self.label(scores, classes, tp, fp)

    def anywhere(self, positive: Vector, negative: Vector) -> tuple[float, float]:
        """The best table of all, a block of rows at a time."""
        gain_p, gain_n = _prefix_sums(positive), _prefix_sums(negative)
        fp = np.arange(len(gain_n), dtype=np.float64)
        rows = max(1, _BLOCK // len(fp))
        best, table = -np.inf, (0.0, 0.0)
        for start in range(0, len(gain_p), rows):
            tp = np.arange(start, min(start + rows, len(gain_p)), dtype=np.float64)
            value = self.delta(tp[:, None], fp) + gain_p[start : start + rows, None] + gain_n
            k = int(value.argmax())
            if value.flat[k] > best:
                best, table = float(value.flat[k]), (float(tp[k // len(fp)]), float(k % len(fp)))
        if best == -np.inf:
            raise ValueError("f must allow some labelling, but is -inf at all tables")
        return table

    def on_lines(self, positive: Vector, negative: Vector) -> tuple[float, float]:
        """The best table on each of many lines on which the sum is concave, by bisection on all at once."""
        gain_p, gain_n = _prefix_sums(positive), _prefix_sums(negative)

        def value(k: NDArray[np.intp]) -> Vector:
            tp, fp = self.lines.table(slice(None), k)
            delta = self.delta(tp.astype(np.float64), fp.astype(np.float64))
            return np.asarray(delta + gain_p[tp] + gain_n[fp])

        lo, hi = self.lines.first, self.lines.last
        while (lo < hi).any():
            middle = (lo + hi) // 2
            after = np.minimum(middle + 1, hi)
            rises = value(after) > value(middle)
            lo, hi = np.where(rises, after, lo), np.where(rises, hi, middle)
        best = int(value(lo).argmax())
        tp, fp = self.lines.table(best, lo[best])
        return float(tp), float(fp)

    def on_diagonals(self, positive: Vector, negative: Vector) -> tuple[float, float]:
        """The best table if f is high - slope * tp where tp + fp is fixed."""
        from gapfit.compiled.contingency import linear_on_diagonals

        tp, fp = linear_on_diagonals(self.high, self.slope, positive, negative)
        return float(tp), float(fp)

    def intercepts_and_slopes(self) -> tuple[Vector, Vector]:
        """For each tp + fp, what f would be at tp = 0, and how it falls with tp."""
        lo, hi = self.lines.first.astype(np.float64), self.lines.last.astype(np.float64)
        predicted = np.arange(len(lo), dtype=np.float64)
        at_lo, at_hi = self.delta(lo, predicted - lo), self.delta(hi, predicted - hi)
        slope = (at_lo - at_hi) / np.maximum(hi - lo, 1.0)
        return at_lo + slope * lo, slope

    def check_lines(self, structure: Structure) -> None:
        """Look at nine tables on each of some lines: between two others, f must not lie below them."""
        lines = self.lines
        chosen = np.unique(np.linspace(0, len(lines.first) - 1, 65).astype(np.intp))[:, None]
        lo, hi = lines.first[chosen], lines.last[chosen]
        k = lo + (hi - lo) * np.arange(9) // 8
        tp, fp = lines.table(chosen, k)
        delta = self.delta(tp.astype(np.float64), fp.astype(np.float64))
        before, width = np.diff(k)[:, :-1], np.maximum(k[:, 2:] - k[:, :-2], 1)
        chord = delta[:, :-2] + (delta[:, 2:] - delta[:, :-2]) * before / width
        above = delta[:, 1:-1] - chord
        noise = 1e-9 * (1.0 + np.abs(chord))
        wrong = np.abs(above) > noise if structure == "linear" else above < -noise
        if wrong.any():
            row, column = np.unravel_index(np.argmax(wrong), wrong.shape)
            table = f"tp={tp[row, column + 1]}, fp={fp[row, column + 1]}"
            what = "linear" if structure == "linear" else "concave"
            raise ValueError(f"f is not {what} at {table}, as structure={structure!r} claims")


class _Lines:
    """Lines through the tables: of equal tp, along which fp moves, or of equal tp + fp, along which tp."""

    def __init__(self, P: int, N: int, *, along_fp: bool) -> None:
        self.along_fp = along_fp
        self.number = np.arange(P + 1 if along_fp else P + N + 1)
        # the coordinate that moves, at both ends
        self.first = np.zeros_like(self.number) if along_fp else np.maximum(self.number - N, 0)
        self.last = np.full_like(self.number, N) if along_fp else np.minimum(self.number, P)

    def table(self, which: Any, k: Any) -> tuple[Any, Any]:
        """tp and fp at the place k of some lines."""
        line = self.number[which]
        return (line + 0 * k, k) if self.along_fp else (k, line - k)


def _prefix_sums(values: Vector) -> Vector:
    return np.concatenate([[0.0], np.cumsum(values)])
