"""Losses of the contingency table: the largest, over all labellings, of Delta plus what the scores say.

Whole weights are copies, and then all tables (tp, fp) are looked at. Samples of other weights are divisible:
Delta of the two ratios is convex in tp and concave in fp, so that the best tp ends a sample, and the best fp
does so too or is where the derivative vanishes.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp

from soak.exact.numbers import number, total


class Side(NamedTuple):
    """One class by descending score: how much has been taken, and what it scores."""

    mass: list[Any]
    moment: list[Any]

    @classmethod
    def of(cls, scores: list[Any], weight: list[Any], copies: bool) -> "Side":
        mass, moment = [mp.mpf(0)], [mp.mpf(0)]
        for score, amount in sorted(zip(scores, weight, strict=True), key=lambda pair: -pair[0]):
            for part in [mp.mpf(1)] * int(amount) if copies else [amount]:
                mass.append(mass[-1] + part)
                moment.append(moment[-1] + part * score)
        return cls(mass, moment)


class Ratio(NamedTuple):
    """Delta = 1 - c tp / (x tp + fp + d)."""

    c: Any
    x: Any
    d: Any

    def __call__(self, tp: Any, fp: Any) -> Any:
        return 1 - self.c * tp / (self.x * tp + fp + self.d)


def ratio(name: str, params: dict[str, Any], P: Any) -> Ratio:
    """F_beta or Jaccard."""
    if name == "jaccard":
        return Ratio(mp.mpf(1), mp.mpf(0), P)
    square = number(params.get("beta", 1.0)) ** 2
    return Ratio(1 + square, mp.mpf(1), square * P)


def _matthews(tp: Any, fp: Any, P: Any, N: Any) -> Any:
    fn, tn = P - tp, N - fp
    norm = mp.sqrt(P * N * (tp + fp) * (fn + tn))
    return 1 - (tp * tn - fp * fn) / norm if norm else mp.mpf(1)


def _precision_at_recall(tp: Any, fp: Any, P: Any, N: Any, floor: float) -> Any:
    return 1 - tp / (tp + fp) if tp >= number(floor) * P else mp.mpf(1)


def _recall_at_precision(tp: Any, fp: Any, P: Any, N: Any, floor: float) -> Any:
    return 1 - tp / P if tp >= number(floor) * (tp + fp) else mp.mpf(1)


def _any_table(tp: Any, fp: Any, P: Any, N: Any, f: Callable[..., Any], structure: Any = None) -> Any:
    table = (np.array([float(v)]) for v in (tp, fp, P - tp, N - fp))
    return number(np.asarray(f(*table))[0])


_TABLES: dict[str, Callable[..., Any]] = {
    "matthews": _matthews,
    "precision_at_recall": _precision_at_recall,
    "recall_at_precision": _recall_at_precision,
    "contingency": _any_table,
}
RATIOS = ("f_beta", "jaccard")


def largest(
    name: str, params: dict[str, Any], y: list[Any], weight: list[Any], f: list[Any], b: list[Any]
) -> Any:
    """max over labellings of Delta(y, ybar) + (1 / n) sum_i c_i f_i (ybar_i - y_i)."""
    shift = b[0] if b else mp.mpf(0)
    rest = {key: value for key, value in params.items() if key != "score_weight"}
    copies = all(w == int(w) for w in weight)
    sides = [
        Side.of(*_chosen(y, sign, [s + shift for s in f], weight), copies) for sign in (1, -1)
    ]  # fmt: skip
    P, N = (side.mass[-1] for side in sides)
    of_positive = 2 * number(params.get("score_weight", 1.0)) / (P + N)
    of_negative = 2 / (P + N)
    left_out = of_positive * sides[0].moment[-1]
    if name in RATIOS:
        delta = ratio(name, rest, P)
        tables = _tables(sides) if copies else _best_tables(sides, delta, of_negative)
        values = (
            delta(tp, fp) + of_positive * gained + of_negative * lost for tp, gained, fp, lost in tables
        )
    else:
        values = (
            _TABLES[name](tp, fp, P, N, **rest) + of_positive * gained + of_negative * lost
            for tp, gained, fp, lost in _tables(sides)
        )
    return max(values) - left_out


def _chosen(y: list[Any], sign: int, f: list[Any], weight: list[Any]) -> tuple[list[Any], list[Any]]:
    rows = [i for i, t in enumerate(y) if t == sign]
    return [f[i] for i in rows], [weight[i] for i in rows]


def _tables(sides: list[Side]) -> Iterator[tuple[Any, Any, Any, Any]]:
    positive, negative = sides
    for tp, gained in zip(positive.mass, positive.moment, strict=True):
        for fp, lost in zip(negative.mass, negative.moment, strict=True):
            yield tp, gained, fp, lost


def _best_tables(sides: list[Side], delta: Ratio, scale: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
    """All ends of samples, and inside a negative the zero of c tp / (x tp + fp + d)^2 + scale * score."""
    yield from _tables(sides)
    positive, negative = sides
    for tp, gained in zip(positive.mass, positive.moment, strict=True):
        for k in range(len(negative.mass) - 1):
            start, end = negative.mass[k], negative.mass[k + 1]
            score = (negative.moment[k + 1] - negative.moment[k]) / (end - start)
            if score < 0 < tp:
                fp = mp.sqrt(delta.c * tp / (-scale * score)) - delta.x * tp - delta.d
                if start < fp < end:
                    yield tp, gained, fp, negative.moment[k] + (fp - start) * score


def linear(
    name: str, params: dict[str, Any], y: list[Any], weight: list[Any], f: list[Any], b: list[Any]
) -> Any:
    """The same for Delta = base + miss fn + alarm fp: each unit of weight is chosen for its gain."""
    shift = b[0] if b else mp.mpf(0)
    P = total(w for w, t in zip(weight, y, strict=True) if t > 0)
    N = total(w for w, t in zip(weight, y, strict=True) if t < 0)
    base, miss, alarm, chosen = _prices(name, params, P, N)
    c = number(params.get("score_weight", 1.0))
    value, gains = base + miss * P, []
    for w, t, s in zip(weight, y, f, strict=True):
        s = s + shift
        if t > 0:
            value -= 2 * c * w * s / (P + N)
        gains.append((-miss + 2 * c * s / (P + N) if t > 0 else alarm + 2 * s / (P + N), w))
    room = chosen
    for gain, w in sorted(gains, key=lambda pair: -pair[0]):
        if room is None:
            value += w * max(gain, mp.mpf(0))
        else:
            value += min(w, room) * gain
            room -= min(w, room)
    return value


def _prices(name: str, params: dict[str, Any], P: Any, N: Any) -> tuple[Any, Any, Any, Any]:
    k, zero = number(params.get("k", 1.0)), mp.mpf(0)
    return {
        "error_rate": (zero, 1 / (P + N), 1 / (P + N), None),
        "balanced_accuracy": (zero, 1 / (2 * P), 1 / (2 * N), None),
        "precision_at_k": (1 - P / k, 1 / k, zero, k),
        "recall_at_k": (zero, 1 / P, zero, k),
        "lift": ((min(k, P) - P) * (P + N) / (P * k), (P + N) / (P * k), zero, k),
        "break_even": (zero, 1 / P, zero, P),
    }[name]


LINEAR = ("error_rate", "balanced_accuracy", "precision_at_k", "recall_at_k", "lift", "break_even")
