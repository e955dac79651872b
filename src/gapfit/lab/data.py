"""The data of the figures: files where they are, generated stand-ins where they are not.

The papers used adult, web8, covertype, news20, astro-ph and reuters-ccat. At hand are a9a (which is adult),
w8a, covtype, all words and pairs of words of the 20 newsgroups in place of news20, film reviews (imdb) in
place of astro-ph, and Reuters-21578 (the corporate topics `earn` and `acq` against all others) in place of
reuters-ccat.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapfit import datasets
from gapfit._types import Vector

CORPORATE = [1, 2]  # earn and acq, the two most frequent topics of Reuters-21578


class Split(NamedTuple):
    """Samples to learn from, and samples set aside."""

    X: Any
    y: Vector
    X_test: Any
    y_test: Vector
    generated: bool = False


class Recipe(NamedTuple):
    """How a data set is made, and the papers' lambdas for it."""

    label: str
    stands_for: str  # another data set, of the papers
    alpha: float
    make: Callable[[Path], Split]
    shape: tuple[int, int, int]  # of the stand-in: samples, features, nonzeros a sample


def default_folder() -> Path | None:
    """The folder GAPFIT_DATA, if the environment names one."""
    found = os.environ.get("GAPFIT_DATA")
    return Path(found) if found else None


def load(name: str, folder: Path | None) -> Split:
    """The data set `name` of `RECIPES`, read from the folder or generated."""
    recipe = RECIPES[name]
    if folder is not None:
        try:
            return recipe.make(folder)
        except FileNotFoundError:
            pass
    return generated(*recipe.shape)


def generated(n: int, d: int, nonzeros: int, seed: int = 0) -> Split:
    """Sparse samples of unit length, features of falling frequency, labels from a plane and some noise."""
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, d + 1) ** 0.7
    columns = rng.choice(d, size=n * nonzeros, p=frequency / frequency.sum())
    rows = np.repeat(np.arange(n), nonzeros)
    X = sparse.csr_array((np.ones(n * nonzeros), (rows, columns)), shape=(n, d))
    X = _unit_rows(X)
    scores = X @ rng.normal(size=d)
    y = np.where(scores + 0.5 * scores.std() * rng.normal(size=n) > 0, 1.0, -1.0)
    return _aside(X, y, 0.2)._replace(generated=True)


def _aside(X: Any, y: Vector, share: float) -> Split:
    """A share of the samples, drawn at random but always the same, set aside."""
    order = np.random.default_rng(0).permutation(len(y))
    cut = int(share * len(y))
    test, train = np.sort(order[:cut]), np.sort(order[cut:])
    return Split(X[train], y[train], X[test], y[test])


def _unit_rows(X: Any) -> Any:
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return _csr(sparse.diags_array(1.0 / np.where(norms > 0, norms, 1.0)) @ X)


def _csr(X: Any) -> Any:
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # as liblinear wants them
    return X


def _tf_idf(train: Any, test: Any) -> tuple[Any, Any]:
    """Counts as (1 + log count) * log(n / frequency), rows of unit length."""
    seen = np.bincount(train.indices, minlength=train.shape[1])
    weight = sparse.diags_array(np.log(train.shape[0] / np.maximum(seen, 1)))
    made = []
    for X in (train, test):
        X = X.copy()
        X.data = 1.0 + np.log(X.data)
        made.append(_unit_rows(X @ weight))
    return made[0], made[1]


def _signs(positive: Any) -> Vector:
    return np.where(positive, 1.0, -1.0)


def _both(folder: Path, train: str, test: str, **options: Any) -> tuple[datasets.Data, datasets.Data]:
    """Samples to learn from and samples set aside, where the files are two."""
    return datasets.load(folder / train, **options), datasets.load(folder / test, **options)


def _a9a(folder: Path) -> Split:
    train, test = _both(folder / "binary", "a9a.libsvm.xz", "a9a.t.libsvm.xz", n_features=123)
    return Split(_csr(train.X), _signs(train.y > 0), _csr(test.X), _signs(test.y > 0))


def _w8a(folder: Path) -> Split:
    data = datasets.load(folder / "binary" / "w8a.libsvm.xz")
    return _aside(_csr(data.X), _signs(data.y > 0), 0.1)


def _covtype(folder: Path) -> Split:
    data = datasets.load(folder / "multiclass" / "covtype.libsvm.xz")
    low, high = data.X.min(axis=0).toarray().ravel(), data.X.max(axis=0).toarray().ravel()
    X = data.X.toarray()
    X -= low
    X /= np.where(high > low, high - low, 1.0)
    return _aside(_csr(X), _signs(data.y == 2), 0.1)


def _news(folder: Path) -> Split:
    data = datasets.load(folder / "text" / "20news_binary_bigram.libsvm.xz")
    return _aside(_unit_rows(data.X), _signs(data.y > 0), 0.2)


def _imdb(folder: Path) -> Split:
    train, test = _both(folder / "text", "imdb.train.libsvm.xz", "imdb.test.libsvm.xz", n_features=47_944)
    X, X_test = _tf_idf(train.X, test.X)
    return Split(X, _signs(train.y >= 7), X_test, _signs(test.y >= 7))


def _reuters(folder: Path) -> Split:
    names = (f"reuters21578.{name}.libsvm.xz" for name in ("train", "test"))
    parts = _both(folder / "text", *names, n_features=19_927, multilabel=True)
    X, X_test = _tf_idf(*(part.X for part in parts))
    y, y_test = (_signs(part.y[:, CORPORATE].sum(axis=1) > 0) for part in parts)
    return Split(X, y, X_test, y_test)


RECIPES: dict[str, Recipe] = {
    "a9a": Recipe("a9a", "", 2.0**-18, _a9a, (8000, 123, 14)),
    "w8a": Recipe("w8a", "", 2.0**-17, _w8a, (8000, 300, 12)),
    "covtype": Recipe("covtype", "", 2.0**-17, _covtype, (20_000, 54, 12)),
    "20news": Recipe("20news bigrams", "news20", 2.0**-14, _news, (3000, 50_000, 200)),
    "imdb": Recipe("imdb", "astro-ph", 2.0**-17, _imdb, (4000, 10_000, 80)),
    "reuters": Recipe("reuters", "reuters-ccat", 2.0**-19, _reuters, (3000, 8000, 60)),
}
