"""Losses over pairs and lists, pair by pair: O(n^2), which is what definitions cost."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from mpmath import mp

from soak.exact.numbers import number, positive_part, total


def _hinge(above: Any, below: Any) -> Any:
    return positive_part(1 - (above - below))


def roc_area(params: dict[str, Any], y: list[Any], weight: list[Any], f: list[Any], groups: Any) -> Any:
    """The mean over positives and the worst share max_fpr of the negatives."""
    del groups
    positive = [(w, s) for w, t, s in zip(weight, y, f, strict=True) if t > 0]
    P = total(w for w, _ in positive)
    negative = [
        (w, total(v * _hinge(r, s) for v, r in positive) / P)
        for w, t, s in zip(weight, y, f, strict=True)
        if t < 0
    ]
    share = number(params.get("max_fpr", 1.0)) * total(w for w, _ in negative)
    value, room = mp.mpf(0), share
    for w, loss in sorted(negative, key=lambda pair: -pair[1]):
        value += min(w, room) * loss
        room -= min(w, room)
    return value / share


def partial_roc_area(params: dict[str, Any], *data: Any) -> Any:
    """Of the share that is asked for, a tenth by default."""
    return roc_area({"max_fpr": 0.1, **params}, *data)


def _queries(groups: Any, n: int) -> Iterator[list[int]]:
    rows = defaultdict(list)
    for i in range(n):
        rows[0 if groups is None else groups[i]].append(i)
    yield from rows.values()


def _pairs(rows: list[int], y: list[Any]) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in rows for j in rows if y[i] < y[j])


def pairwise_ranking(
    params: dict[str, Any], y: list[Any], weight: list[Any], f: list[Any], groups: Any
) -> Any:
    """The mean over all pairs, or over queries of the mean over each one's pairs."""
    sums = []
    for rows in _queries(groups, len(y)):
        pairs = list(_pairs(rows, y))
        if pairs:
            mass = total(weight[i] * weight[j] for i, j in pairs)
            sums.append((total(weight[i] * weight[j] * _hinge(f[j], f[i]) for i, j in pairs), mass))
    if params.get("mean", "pairs") == "pairs":
        return total(value for value, _ in sums) / total(mass for _, mass in sums)
    return total(value / mass for value, mass in sums) / len(sums)


def ordinal_pairs(params: dict[str, Any], y: list[Any], weight: list[Any], f: list[Any], groups: Any) -> Any:
    """The mean over pairs of cost(y_i, y_j) max(0, 1 - (f_j - f_i))."""
    del groups
    table = params.get("cost", "difference")
    pairs = list(_pairs(list(range(len(y))), y))
    value = total(
        weight[i] * weight[j] * _cost(table, y[i], y[j]) * _hinge(f[j], f[i]) for i, j in pairs
    )  # fmt: skip
    return value / total(weight[i] * weight[j] for i, j in pairs)


def _cost(table: Any, low: Any, high: Any) -> Any:
    return high - low if isinstance(table, str) else number(table[int(low)][int(high)])


def ndcg(params: dict[str, Any], y: list[Any], weight: list[Any], f: list[Any], groups: Any) -> Any:
    """The mean over queries of sum over pairs of price_j max(0, 1 - (f_j - f_i)), copy by copy."""
    values = []
    for rows in _queries(groups, len(y)):
        copies = sorted((i for i in rows for _ in range(int(weight[i]))), key=lambda i: -y[i])
        k = params.get("k", 10) or len(copies)
        gain = {i: mp.mpf(2) ** y[i] - 1 for i in rows}
        ideal = total(gain[i] * _discount(place, k) for place, i in enumerate(copies, 1))
        if not ideal:
            continue
        value = mp.mpf(0)
        for j in copies:
            first = 1 + sum(1 for i in copies if y[i] > y[j])
            lower = [i for i in copies if y[i] < y[j]]
            falls = [(_discount(first, k) - _discount(first + m, k)) / m for m in range(1, len(lower) + 1)]
            price = gain[j] / ideal * max(falls, default=mp.mpf(0))
            value += price * total(_hinge(f[j], f[i]) for i in lower)
        values.append(value)
    return total(values) / len(values)


def _discount(place: int, k: int) -> Any:
    return mp.log(2) / mp.log(1 + place) if place <= k else mp.mpf(0)


def mean_average_precision(
    params: dict[str, Any], y: list[Any], weight: list[Any], f: list[Any], groups: Any
) -> Any:
    """The mean over queries with a relevant document of the largest bound over all rankings."""
    threshold, values = number(params.get("threshold", 0.0)), []
    for rows in _queries(groups, len(y)):
        copies = [i for i in rows for _ in range(int(weight[i]))]
        relevant = sorted((f[i] for i in copies if y[i] > threshold), reverse=True)
        others = sorted((f[i] for i in copies if y[i] <= threshold), reverse=True)
        if relevant:
            values.append(_worst_ranking(relevant, others) if others else mp.mpf(0))
    return total(values) / len(values)


def _worst_ranking(relevant: list[Any], others: list[Any]) -> Any:
    """Both kinds stay in order of their scores; the r-th relevant one has k_r others above, k_1 <= k_2 ...

    best[k] is the largest sum so far in which no relevant one has more than k above it.
    """
    P, N = len(relevant), len(others)
    above = [mp.mpf(0)]
    for score in others:
        above.append(above[-1] + score)
    best = [mp.mpf(0)] * (N + 1)
    for r, score in enumerate(relevant, 1):
        ends = [
            best[k] - mp.mpf(r) / (r + k) / P + 2 * (above[k] - k * score) / (P * N) for k in range(N + 1)
        ]
        for k in range(N):
            ends[k + 1] = max(ends[k], ends[k + 1])
        best = ends
    return 1 + best[N]


RANKS: dict[str, Callable[..., Any]] = {
    "roc_area": roc_area,
    "partial_roc_area": partial_roc_area,
    "pairwise_ranking": pairwise_ranking,
    "ordinal_pairs": ordinal_pairs,
    "ndcg": ndcg,
    "mean_average_precision": mean_average_precision,
}
