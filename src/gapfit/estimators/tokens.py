"""Sequences as users have them, turned into one matrix of tokens and the lengths of the sequences."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from gapfit.design.chain import as_lengths
from gapfit.design.memory import check_sparse_indices


class Batch(NamedTuple):
    """All tokens, one sequence after another."""

    X: Any
    lengths: NDArray[np.int64]
    flat: bool  # were they given so?

    def split(self, values: NDArray[Any]) -> Any:
        """Something known of each token, in the form in which the sequences were given."""
        return values if self.flat else np.split(values, np.cumsum(self.lengths)[:-1])


def as_batch(X: Any, vectorizer: Any) -> Batch:
    """A list of sequences, or (tokens, lengths). Tokens of features by name go through the vectorizer."""
    if isinstance(X, tuple) and len(X) == 2 and not isinstance(X[0], list):
        tokens = as_tokens(X[0])
        return Batch(tokens, as_lengths(X[1], tokens.shape[0]), True)
    if isinstance(X, str | Mapping) or not hasattr(X, "__len__"):
        raise TypeError("X must be a list of sequences, or a pair (tokens, lengths)")
    if not len(X):
        raise ValueError("X holds no sequence: at least one is needed")
    if any(sequence.shape[0] == 0 if hasattr(sequence, "shape") else not len(sequence) for sequence in X):
        raise ValueError("X holds a sequence without tokens")
    if named(X):
        lengths = np.array([len(sequence) for sequence in X])
        return Batch(as_tokens(vectorizer([token for sequence in X for token in sequence])), lengths, False)
    parts = [as_tokens(sequence) for sequence in X]
    if len({part.shape[1] for part in parts}) > 1:
        raise ValueError("the sequences of X have different numbers of features")
    stack = sparse.vstack(parts, format="csr") if any(map(sparse.issparse, parts)) else np.concatenate(parts)
    return Batch(stack, np.array([part.shape[0] for part in parts]), False)


def named(X: Any) -> bool:
    """Are the features of tokens given by name?"""
    if isinstance(X, tuple):
        return False
    first = X[0]
    if hasattr(first, "shape") or not len(first):
        return False
    token = first[0]
    return isinstance(token, Mapping) or (len(token) > 0 and all(isinstance(name, str) for name in token))


def as_tokens(X: Any) -> Any:
    """A matrix with a row for each token."""
    if sparse.issparse(X):
        check_sparse_indices(X)
    return check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True,
        input_name="X",
    )  # fmt: skip


def as_labels(y: Any, batch: Batch) -> NDArray[Any]:
    """The labels of all tokens, given for each sequence or in one array."""
    if batch.flat:
        labels = np.asarray(y)
    else:
        if len(y) != len(batch.lengths):
            raise ValueError(f"y has {len(y)} sequences and X {len(batch.lengths)}")
        wrong = [i for i, (own, n) in enumerate(zip(y, batch.lengths, strict=True)) if len(own) != n]
        if wrong:
            raise ValueError(f"y and X differ in the length of sequence {wrong[0]}")
        labels = np.concatenate([np.asarray(own) for own in y])
    if labels.shape != (batch.X.shape[0],):
        raise ValueError(f"y has {labels.shape} labels and X {batch.X.shape[0]} tokens")
    if labels.dtype.kind == "f" and not (np.isfinite(labels).all() and (labels == np.floor(labels)).all()):
        raise ValueError("y must hold labels, not measurements")
    return labels


class FeatureNames:
    """Features by name, as scikit-learn's DictVectorizer: `name` for numbers, `name=value` for texts.

    A token is a dictionary, or a list of names, each of which then counts 1. Unknown ones are passed over.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.columns = {name: j for j, name in enumerate(names)}

    @classmethod
    def of(cls, tokens: Iterable[Any]) -> "FeatureNames":
        """All that occur, in alphabetical order."""
        return cls(sorted({name for token in tokens for name, _ in _entries(token)}))

    def __call__(self, tokens: list[Any]) -> Any:
        """A sparse row for each token."""
        indices: list[int] = []
        data: list[float] = []
        indptr = [0]
        for token in tokens:
            for name, value in _entries(token):
                column = self.columns.get(name)
                if column is not None:
                    indices.append(column)
                    data.append(value)
            indptr.append(len(indices))
        shape = (len(tokens), len(self.columns))
        size = np.int32 if len(indices) < 2**31 else np.int64  # of both, or SciPy makes both large
        matrix = sparse.csr_array(
            (np.array(data, np.float32), np.array(indices, size), np.array(indptr, size)), shape=shape
        )
        matrix.sum_duplicates()
        return matrix


def _entries(token: Any) -> Iterable[tuple[str, float]]:
    if isinstance(token, Mapping):
        for name, value in token.items():
            yield (f"{name}={value}", 1.0) if isinstance(value, str) else (name, float(value))
    else:
        for name in token:
            yield name, 1.0
