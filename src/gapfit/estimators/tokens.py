"""Sequences as users have them, turned into one matrix of tokens and the lengths of the sequences."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from gapfit.design.chain import as_lengths
from gapfit.design.sparse_indices import check_sparse_indices
from gapfit.estimators.targets import naming


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
    X = as_sequences(X)
    if isinstance(X, tuple):
        tokens = as_tokens(X[0])
        return Batch(tokens, as_lengths(X[1], tokens.shape[0]), True)
    if named(X):
        lengths = np.array([len(sequence) for sequence in X])
        return Batch(as_tokens(vectorizer([token for sequence in X for token in sequence])), lengths, False)
    parts = [as_tokens(sequence) for sequence in X]
    if len({part.shape[1] for part in parts}) > 1:
        raise ValueError("the sequences of X have different numbers of features")
    stack = sparse.vstack(parts, format="csr") if any(map(sparse.issparse, parts)) else np.concatenate(parts)
    return Batch(stack, np.array([part.shape[0] for part in parts]), False)


def as_sequences(X: Any) -> Any:
    """A list of sequences, none of them empty, or a pair (tokens, lengths)."""
    if isinstance(X, tuple) and len(X) == 2 and not isinstance(X[0], list):
        return X
    sizes = _sizes(X)
    if sizes is None or None in sizes:
        raise TypeError("X must be a list of sequences of tokens, or a pair (tokens, lengths)")
    if not sizes:
        raise ValueError("X holds no sequence: at least one is needed")
    if 0 in sizes:
        raise ValueError("X holds a sequence without tokens")
    return list(X)


def _sizes(sequences: Any) -> list[int | None] | None:
    """How many things each sequence has; None for what is no sequence."""
    return None if _size(sequences) is None or sparse.issparse(sequences) else list(map(_size, sequences))


def _size(sequence: Any) -> int | None:
    if hasattr(sequence, "shape"):
        return sequence.shape[0] if len(sequence.shape) else None
    countable = hasattr(sequence, "__len__") and hasattr(sequence, "__getitem__")
    return len(sequence) if countable and not isinstance(sequence, str | bytes | Mapping) else None


def named(X: Any) -> bool:
    """Are the features of tokens given by name?"""
    if isinstance(X, tuple) or hasattr(X[0], "shape"):
        return False
    token = X[0][0]
    if isinstance(token, Mapping):
        return True
    return isinstance(token, Collection) and len(token) > 0 and all(isinstance(name, str) for name in token)


def as_tokens(X: Any) -> Any:
    """A matrix with a row for each token."""
    if sparse.issparse(X):
        check_sparse_indices(X)
    with naming("X"):
        return check_array(
            X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True,
            input_name="X",
        )  # fmt: skip


def as_labels(y: Any, batch: Batch) -> NDArray[Any]:
    """The labels of all tokens, given for each sequence or in one array."""
    if batch.flat:
        _check_complete(y)
        labels = np.asarray(y)
    else:
        sizes = _sizes(y)
        if sizes is None or None in sizes:
            raise TypeError("y must be a list of sequences of labels, one for each of X")
        if len(sizes) != len(batch.lengths):
            raise ValueError(f"y has {len(sizes)} sequences and X {len(batch.lengths)}")
        wrong = [i for i, (own, n) in enumerate(zip(sizes, batch.lengths, strict=True)) if own != n]
        if wrong:
            raise ValueError(f"y and X differ in the length of sequence {wrong[0]}")
        for i, own in enumerate(y):
            _check_complete(own, f" of sequence {i}")
        labels = np.concatenate([np.asarray(own) for own in y])
    if labels.shape != (batch.X.shape[0],):
        raise ValueError(f"y has {labels.shape} labels and X {batch.X.shape[0]} tokens")
    if labels.dtype.kind == "f" and not (np.isfinite(labels).all() and (labels == np.floor(labels)).all()):
        raise ValueError("y must hold labels, not measurements")
    return labels


def _check_complete(labels: Any, where: str = "") -> None:
    """A chain is labelled as a whole: every token, or it says nothing."""
    if getattr(getattr(labels, "dtype", None), "kind", "O") in "iubUS":
        return
    for k, label in enumerate(labels):
        if label is None or (isinstance(label, float | np.floating) and label != label):
            raise ValueError(
                f"y holds no label for token {k}{where}: partially labelled chains are not learned from. "
                "Leave the sequence out, or cut it there"
            )


def sorted_labels(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The different labels, and the number of each token's among them."""
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"y must hold labels of one kind, which have an order: {error}") from error


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
