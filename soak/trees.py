"""Trees, and the best labelling of one by looking at all."""

from itertools import product
from typing import Any

import numpy as np


def tree_edges(rng: np.random.Generator, T: int) -> np.ndarray:
    """T edges that connect T + 1 nodes, in any order and direction."""
    edges = np.array([[int(rng.integers(k)), k] for k in range(1, T + 1)])
    flipped = np.where(rng.random((T, 1)) < 0.5, edges[:, ::-1], edges)
    return flipped[rng.permutation(T)]


def best_labelling(tables: np.ndarray, edges: np.ndarray) -> Any:
    """max over labels of all nodes of the sum of the tables' entries."""
    T, K = tables.shape[:2]
    every = np.array(list(product(range(K), repeat=T + 1)))
    rows, columns = every[:, edges[:, 0]], every[:, edges[:, 1]]
    return tables[np.arange(T), rows, columns].sum(axis=1).max()
