"""Losses of several scores a sample: over classes, over labels, and over the labellings of chains."""

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import numpy as np
from mpmath import mp

from soak.exact.numbers import number, numbers, positive_part, total
from soak.exact.tables import largest

Rows = list[list[Any]]


def crammer_singer(params: dict[str, Any], y: Any, weight: list[Any], F: Rows) -> Any:
    """max over k of cost_k + f_k - f_y, or of cost_k (1 + f_k - f_y)."""
    slack, table = params.get("rescaling", "margin") == "slack", params.get("costs")
    terms = []
    for i, (w, f) in enumerate(zip(weight, F, strict=True)):
        if np.ndim(y) == 2:
            costs = numbers(y[i])
            truth = costs.index(min(costs))
            costs = [c - costs[truth] for c in costs]
        else:
            truth = int(y[i])
            costs = [mp.mpf(k != truth) for k in range(len(f))] if table is None else numbers(table[truth])
        margins = [s - f[truth] for s in f]
        terms.append(
            w * max(c * (1 + m) if slack else c + m for c, m in zip(costs, margins, strict=True))
        )  # fmt: skip
    return total(terms) / total(weight)


def softmax(params: dict[str, Any], y: Any, weight: list[Any], F: Rows) -> Any:
    """log sum_k exp f_k - f_y."""
    del params
    terms = (w * (_log_sum(f) - f[int(t)]) for w, t, f in zip(weight, y, F, strict=True))
    return total(terms) / total(weight)


def _log_sum(values: list[Any]) -> Any:
    top = max(values)
    return top + mp.log(total(mp.exp(v - top) for v in values))


def hamming(params: dict[str, Any], y: Any, weight: list[Any], F: Rows) -> Any:
    """The mean over samples and labels of the hinge."""
    del params
    terms = (
        w * positive_part(1 - (2 * int(t) - 1) * s) / len(f)
        for w, row, f in zip(weight, y, F, strict=True)
        for t, s in zip(row, f, strict=True)
    )
    return total(terms) / total(weight)


def label_ranking(params: dict[str, Any], y: Any, weight: list[Any], F: Rows) -> Any:
    """The mean over samples of the mean over pairs of a label that is there and one that is not."""
    del params
    terms = []
    for w, row, f in zip(weight, y, F, strict=True):
        pairs = [
            (s, r) for s, t in zip(f, row, strict=True) if t for r, o in zip(f, row, strict=True) if not o
        ]
        terms += [w * positive_part(1 - (s - r)) / len(pairs) for s, r in pairs]
    return total(terms) / total(weight)


def macro_f(params: dict[str, Any], y: Any, weight: list[Any], F: Rows) -> Any:
    """The mean over labels of the bound of 1 - F_beta."""
    columns = range(len(F[0]))
    values = (
        largest("f_beta", params, [2 * int(row[k]) - 1 for row in y], weight, [f[k] for f in F], [])
        for k in columns
    )
    return total(values) / len(F[0])


def micro_f(params: dict[str, Any], y: Any, weight: list[Any], F: Rows) -> Any:
    """One bound for all decisions."""
    labels = [2 * int(t) - 1 for row in y for t in row]
    weights = [w for w, f in zip(weight, F, strict=True) for _ in f]
    return largest("f_beta", params, labels, weights, [s for f in F for s in f], [])


def quantiles(params: dict[str, Any], y: Any, weight: list[Any], F: Rows) -> Any:
    """The sum over quantiles of the pinball loss, and what crossing costs."""
    levels, crossing = numbers(params["quantiles"]), number(params["crossing"])
    terms = []
    for w, t, f in zip(weight, numbers(y), F, strict=True):
        own = total(max(q * (t - s), (q - 1) * (t - s)) for q, s in zip(levels, f, strict=True))
        terms.append(w * (own + crossing * total(positive_part(a - b) for a, b in pairwise(f))))
    return total(terms) / total(weight)


SEVERAL: dict[str, Callable[..., Any]] = {
    "crammer_singer": crammer_singer,
    "softmax": softmax,
    "hamming": hamming,
    "label_ranking": label_ranking,
    "macro_f": macro_f,
    "micro_f": micro_f,
    "quantiles": quantiles,
}


def chains(
    name: str, params: dict[str, Any], X: list[Any], y: Any, weight: list[Any], groups: Any, w: list[Any]
) -> Any:
    """The mean over chains, all labellings of each written out.

    Weights: for each feature its labels, then transitions, starts and ends.
    """
    K = params["labels"]
    nodes, rest = w[: len(X[0]) * K], w[len(X[0]) * K :]
    edges, start, end = rest[: K * K], rest[K * K : K * K + K], rest[-K:]
    table = params.get("cost")
    cost = [[mp.mpf(a != b) if table is None else number(table[a][b]) for b in range(K)] for a in range(K)]
    values, shares = [], []
    for chain in dict.fromkeys(groups):
        rows = [i for i, g in enumerate(groups) if g == chain]
        scores = [
            [total(x * nodes[j * K + k] for j, x in enumerate(X[i]) if x) for k in range(K)] for i in rows
        ]
        truth = tuple(int(y[i]) for i in rows)

        def score(labels: tuple[int, ...], scores: Rows = scores) -> Any:
            steps = (edges[a * K + b] for a, b in pairwise(labels))
            return total(
                [
                    *steps,
                    start[labels[0]],
                    end[labels[-1]],
                    *(s[k] for s, k in zip(scores, labels, strict=True)),
                ]
            )

        every, right = list(product(range(K), repeat=len(rows))), score(truth)
        if name == "chain_crf":
            value = _log_sum([score(labels) - right for labels in every])
        elif params.get("rescale") == "slack":
            value = max(_errors(truth, labels) * (1 + score(labels) - right) for labels in every)
        else:
            value = max(
                total(cost[a][b] for a, b in zip(truth, labels, strict=True)) + score(labels) - right
                for labels in every
            )
        shares.append(weight[rows[0]])
        values.append(value)
    return total(s * v for s, v in zip(shares, values, strict=True)) / total(shares)


def _errors(truth: tuple[int, ...], labels: tuple[int, ...]) -> int:
    return sum(a != b for a, b in zip(truth, labels, strict=True))
