"""What a fit leaves behind besides numbers and arrays: certificates, histories, support, balls, trials."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit.calibration import Curve
from gapfit.penalties import Penalty
from gapfit.persistence.container import need
from gapfit.persistence.objects import PENALTY
from gapfit.persistence.values import (
    Kind,
    Shelf,
    fields,
    floats,
    read_plain,
    read_slices,
    read_texts,
    write_plain,
    write_sizes,
    write_texts,
)
from gapfit.solution import Certificate, Record, as_history, as_table
from gapfit.statements import Ball

_SUPPORT = ("zero", "bound", "support", "undecided")  # by their codes in a file, which are for good


def _write_support(status: NDArray[Any], shelf: Shelf) -> Any:
    """One byte for each sample, which takes 36 in memory."""
    codes = np.full(status.shape, len(_SUPPORT), dtype=np.uint8)
    for code, name in enumerate(_SUPPORT):
        codes[status == name] = code
    return shelf.put(codes)


def _read_support(value: Any, shelf: Shelf) -> NDArray[Any]:
    codes = shelf.take(value, "|u1", 1, 2)
    need((codes < len(_SUPPORT)).all(), f"a code is none of those of {', '.join(_SUPPORT)}")
    return np.asarray(np.array(_SUPPORT)[codes])


def _read_signs(value: Any, shelf: Shelf) -> NDArray[Any]:
    signs = shelf.take(value, "|i1", 1, 2)
    need((np.abs(signs.astype(int)) <= 1).all(), "a sign is none of -1, 0 and 1")
    return signs


def _read_marks(value: Any, shelf: Shelf) -> NDArray[Any]:
    marks = shelf.take(value, "|i1", 1, 2)
    need(((marks == 0) | (marks == 1)).all(), "a mark is neither 0 nor 1")
    return marks.astype(bool)


def _write_certificates(certificates: list[Certificate], shelf: Shelf) -> Any:
    bounds = np.array([(c.primal, c.dual, c.gap) for c in certificates], dtype=np.float64)
    return {"bounds": shelf.put(bounds), "evidence": write_texts([c.evidence for c in certificates], shelf)}


def _read_certificates(value: Any, shelf: Shelf) -> list[Certificate]:
    bounds, evidence = fields(value, "bounds", "evidence")
    bounds, evidence = shelf.take(bounds, "<f8", 2), read_texts(evidence, shelf)
    need(bounds.shape == (len(evidence), 3), "its parts do not fit")
    rows = zip(bounds.tolist(), evidence, strict=True)
    return [Certificate(primal, dual, gap, text) for (primal, dual, gap), text in rows]


def _write_history(history: list[Any], shelf: Shelf) -> Any:
    """All records one after another; `ends` tells the parts of a fit in several."""
    parts = history if history and isinstance(history[0], list) else None
    records = [record for part in parts for record in part] if parts else history
    ends = write_sizes(list(map(len, parts)), shelf) if parts else None
    return {"records": shelf.put(as_table(records)), "ends": ends}


def _read_history(value: Any, shelf: Shelf) -> list[Any]:
    table, ends = fields(value, "records", "ends")
    table = shelf.take(table, "<f8", 2)
    columns = len(Record._fields)
    need(table.shape[1] in (columns - 1, columns), "its records do not fit")
    steps, proved = table[:, 0], table[:, columns - 1 :]
    need(((steps >= 0) & (steps < 2**53) & (steps == np.floor(steps))).all(), "n_iter is not a count")
    need(((proved == 0) | (proved == 1)).all(), "proved is neither 0 nor 1")
    records = as_history(table)
    return records if ends is None else [records[part] for part in read_slices(ends, len(records), shelf)]


def _write_balls(balls: list[Ball | None], shelf: Shelf) -> Any:
    """All parts have one penalty; if it has no modulus, none has a ball."""
    there = [ball for ball in balls if ball is not None]
    if not there:
        return None
    try:
        penalty = PENALTY.write(there[0].penalty, shelf)
    except TypeError as error:
        raise TypeError(f"score_bounds rests on {there[0].penalty!r}, which is {error}") from error
    above = [ball.mean_above for ball in there if ball.mean_above is not None]
    kept = {
        "penalty": penalty,
        "centre": shelf.put(np.stack([ball.centre for ball in there])),
        "radius": shelf.put(np.array([ball.radius for ball in there], dtype=np.float64)),
        "mean": shelf.put(_different(np.stack([ball.mean for ball in there]))),
        "offset": shelf.put(np.array([(ball.lo, ball.hi) for ball in there], dtype=np.float64)),
    }
    if above:
        means = [ball.mean if ball.mean_above is None else ball.mean_above for ball in there]
        kept["mean_above"] = shelf.put(_different(np.stack(means)))
    return kept


def _different(rows: NDArray[Any]) -> NDArray[Any]:
    """One row where all are equal."""
    return rows[:1] if (rows == rows[0]).all() else rows


def _read_balls(value: Any, shelf: Shelf) -> list[Ball] | None:
    if value is None:
        return None
    both = isinstance(value, dict) and "mean_above" in value
    names = ["penalty", "centre", "mean", "radius", "offset", *(["mean_above"] if both else [])]
    penalty, centre, mean, radius, offset, *above = fields(value, *names)
    penalty = PENALTY.read(penalty, shelf)
    need(isinstance(penalty, Penalty), "its penalty has no parameters")
    centre, *means = (floats(2).read(array, shelf) for array in (centre, mean, *above))
    radius, offset = shelf.take(radius, "<f8", 1), shelf.take(offset, "<f8", 2)
    n, d = centre.shape
    need(all(mean.shape in ((1, d), (n, d)) for mean in means), "its parts do not fit")
    need(radius.shape == (n,) and offset.shape == (n, 2) and (radius >= 0).all(), "its parts do not fit")
    penalty.check(d)
    below, *higher = (list(mean) if len(mean) == n else [mean[0]] * n for mean in means)
    uppers = higher[0] if higher else [None] * n
    parts = zip(centre, radius.tolist(), below, offset.tolist(), uppers, strict=True)
    return [Ball(penalty, c, r, m, lo, hi, above) for c, r, m, (lo, hi), above in parts]


_TRIED = ("score", "spread", "threshold", "gap")  # numbers of each member that was tried


def _write_tried(results: dict[str, list[Any]], shelf: Shelf) -> Any:
    numbers = np.array([results[name] for name in _TRIED], dtype=np.float64).T
    texts = {name: write_texts(results[name], shelf) for name in ("member", "strategy")}
    return {**texts, "numbers": shelf.put(np.ascontiguousarray(numbers))}


def _read_tried(value: Any, shelf: Shelf) -> dict[str, list[Any]]:
    member, strategy, numbers = fields(value, "member", "strategy", "numbers")
    member, strategy = read_texts(member, shelf), read_texts(strategy, shelf)
    numbers = shelf.take(numbers, "<f8", 2)
    need(numbers.shape == (len(member), len(_TRIED)) and len(strategy) == len(member), "its parts do not fit")
    columns = dict(zip(_TRIED, numbers.T.tolist(), strict=True))
    return {"member": member, "strategy": strategy, **columns}


def _write_table(table: dict[str, list[Any]], shelf: Shelf) -> Any:
    return {name: [write_plain(value) for value in column] for name, column in table.items()}


def _read_table(value: Any, shelf: Shelf) -> dict[str, list[Any]]:
    need(
        isinstance(value, dict) and all(isinstance(column, list) for column in value.values()), "not a table"
    )
    need(len({len(column) for column in value.values()}) <= 1, "its columns have different lengths")
    return {str(name): [read_plain(one) for one in column] for name, column in value.items()}


def _write_curves(curves: list[Curve], shelf: Shelf) -> Any:
    proofs = [curve.certificate for curve in curves if curve.certificate is not None]
    held = CERTIFICATES.write(proofs, shelf) if len(proofs) == len(curves) else None
    return {
        "curves": [
            {"x": shelf.put(curve.x), "y": shelf.put(curve.y), "sigmoid": curve.sigmoid} for curve in curves
        ],
        "certificates": held,
    }


def _read_curves(value: Any, shelf: Shelf) -> list[Curve]:
    curves, proofs = fields(value, "curves", "certificates")
    need(isinstance(curves, list), "not a list of curves")
    held = [None] * len(curves) if proofs is None else CERTIFICATES.read(proofs, shelf)
    need(len(held) == len(curves), "its parts do not fit")
    return [_read_curve(curve, proof, shelf) for curve, proof in zip(curves, held, strict=True)]


def _read_curve(value: Any, proof: Certificate | None, shelf: Shelf) -> Curve:
    x, y, sigmoid = fields(value, "x", "y", "sigmoid")
    x, y = floats(1).read(x, shelf), floats(1).read(y, shelf)
    need(type(sigmoid) is bool and len(x) == len(y) > 0, "not a curve")
    need(len(x) == 1 if sigmoid else bool((np.diff(x) >= 0).all() and (np.diff(y) >= 0).all()), "not a curve")
    need(sigmoid or bool(y[0] >= 0 and y[-1] <= 1), "not a curve of probabilities")
    return Curve(x, y, sigmoid, proof)


def _write_words(columns: list[list[str]], shelf: Shelf) -> Any:
    return [write_texts(column, shelf) for column in columns]


def _read_words(value: Any, shelf: Shelf) -> list[list[str]]:
    need(isinstance(value, list), "not a list of columns")
    return [read_texts(column, shelf) for column in value]


WORDS = Kind(_write_words, _read_words)
SUPPORT = Kind(_write_support, _read_support)
SIGNS = Kind(lambda signs, shelf: shelf.put(signs.astype(np.int8)), _read_signs)
MARKS = Kind(lambda marks, shelf: shelf.put(marks.astype(np.int8)), _read_marks)
CERTIFICATES = Kind(_write_certificates, _read_certificates)
HISTORY = Kind(_write_history, _read_history)
CURVES = Kind(_write_curves, _read_curves)
TABLE = Kind(_write_table, _read_table)
TRIED = Kind(_write_tried, _read_tried)
BALLS = Kind(_write_balls, _read_balls)
