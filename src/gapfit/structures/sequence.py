"""Sequences of labels, with terms for labels that follow each other: max-margin Markov networks."""

from typing import Any

import numpy as np

from gapfit._types import Matrix, Vector
from gapfit.losses.chain import best_labels
from gapfit.structures.base import Structure


class LabelSequence(Structure):
    """x is an array (L, d), a row for each token, and y holds a label 0, ..., K - 1 for each.

    The joint features are those of `SequenceLabeler`: the sum of x over the tokens of each label (K for each
    feature), how often each label follows each other, the first label and the last one. The loss is the
    number of wrong labels.
    """

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels

    def joint_features(self, x: Any, y: Any) -> Vector:
        x, y, K = np.asarray(x, np.float64), np.asarray(y), self.n_labels
        nodes, edges, ends = np.zeros((x.shape[1], K)), np.zeros((K, K)), np.zeros((2, K))
        np.add.at(nodes.T, y, x)
        np.add.at(edges, (y[:-1], y[1:]), 1.0)
        ends[0, y[0]] = ends[1, y[-1]] = 1.0
        return np.concatenate([nodes.ravel(), edges.ravel(), ends.ravel()])

    def loss_augmented_argmax(self, x: Any, y: Any, w: Vector) -> Any:
        gain = np.ones((len(y), self.n_labels))
        gain[np.arange(len(y)), np.asarray(y)] = 0.0
        return self._best(np.asarray(x), w, gain)

    def argmax(self, x: Any, w: Vector) -> Any:
        return self._best(np.asarray(x), w, np.zeros((len(x), self.n_labels)))

    def _best(self, x: Matrix, w: Vector, gain: Matrix) -> Any:
        own = x.shape[1] * self.n_labels
        nodes = x @ w[:own].reshape(-1, self.n_labels) + gain
        scores = np.concatenate([nodes.ravel(), w[own:]])
        return best_labels(scores, np.array([0, len(x)]), self.n_labels)
