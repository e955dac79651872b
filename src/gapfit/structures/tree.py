"""Several labels at once, yes or no, with terms for pairs of them along a tree."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gapfit._types import Matrix, Vector
from gapfit.structures.base import Structure


class LabelTree(Structure):
    """y has a 0 or 1 for each of L labels; edges (i, j) of a tree or forest join labels that interact.

    The joint features are x for each label that is on, and for each edge which of its four cases holds. The
    loss is the number of wrong labels.
    """

    def __init__(self, n_labels: int, edges: Sequence[tuple[int, int]]) -> None:
        self.n_labels, self.edges = n_labels, [(int(i), int(j)) for i, j in edges]
        self.order = _outward(n_labels, self.edges)

    def joint_features(self, x: Any, y: Any) -> Vector:
        y = np.asarray(y).astype(int)
        pairs = np.zeros((len(self.edges), 2, 2))
        for e, (i, j) in enumerate(self.edges):
            pairs[e, y[i], y[j]] = 1.0
        return np.concatenate([np.outer(y, x).ravel(), pairs.ravel()])

    def loss_augmented_argmax(self, x: Any, y: Any, w: Vector) -> Any:
        nodes, pairs = self._scores(x, w)
        nodes[np.arange(self.n_labels), 1 - np.asarray(y).astype(int)] += 1.0
        return self._best(nodes, pairs)

    def argmax(self, x: Any, w: Vector) -> Any:
        return self._best(*self._scores(x, w))

    def _scores(self, x: Any, w: Vector) -> tuple[Matrix, Any]:
        own = self.n_labels * len(x)
        nodes = np.zeros((self.n_labels, 2))
        nodes[:, 1] = w[:own].reshape(self.n_labels, -1) @ np.asarray(x)
        return nodes, w[own:].reshape(-1, 2, 2)

    def _best(self, nodes: Matrix, pairs: Any) -> Any:
        """Messages from the leaves to the roots, and choices on the way back."""
        nodes, choice = nodes.copy(), {}
        for child, parent, edge in reversed(self.order):
            if parent >= 0:
                table = pairs[edge] if self.edges[edge][0] == parent else pairs[edge].T
                total = table + nodes[child]
                choice[child] = total.argmax(axis=1)
                nodes[parent] += total.max(axis=1)
        y = np.zeros(self.n_labels, int)
        for child, parent, _ in self.order:
            y[child] = nodes[child].argmax() if parent < 0 else choice[child][y[parent]]
        return y


def _outward(n: int, edges: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """(label, its parent or -1, the edge between), parents first. Circles are refused."""
    beside: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for e, (i, j) in enumerate(edges):
        if not (0 <= i < n and 0 <= j < n):
            raise ValueError(f"edge {e} joins {i} and {j}, and there are {n} labels")
        beside[i].append((j, e))
        beside[j].append((i, e))
    order: list[tuple[int, int, int]] = []
    seen: set[int] = set()
    for root in range(n):
        waiting = [(root, -1, -1)] if root not in seen else []
        while waiting:
            label, parent, edge = waiting.pop()
            if label in seen:
                raise ValueError("edges must form a tree or a forest: there is a circle")
            seen.add(label)
            order.append((label, parent, edge))
            waiting += [(other, label, e) for other, e in beside[label] if e != edge]
    return order
