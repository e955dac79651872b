"""Sets of two unequal classes, made of real ones, in families of one origin; half of these are for reporting.

A family is what was collected once: sets that are made of it are relatives, not evidence each. Families of
each folder are put in the order of the hashes of their names, and belong to the halves by turns. Choices are
made on the tuning half; the reporting half is looked at when they are made.

Of each family, training sets of 100 to 100,000 rows are drawn, with 15 to 5,000 positives: class against rest
(of one class, or the upper tenth of a number), as many positives as a share takes, and the same share in the
test set. The share is drawn by the hash of family and size, as the class is.
"""

import os
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn import datasets as toys
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from gapfit import datasets

FOLDER = Path(os.environ.get("GAPFIT_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3)
FEWEST, MOST = 15, 5_000  # positives to train on
TAKEN = 0.65  # of a class, at most, to train on
TESTED = 20_000  # rows, at most
WIDE = 300  # columns: beyond that, sets of up to 3,000 rows

# files of each family; what they hold is said by the folder
FAMILIES = {
    "adult": ("binary/a9a.libsvm.xz", "imbalanced/ada.libsvm.xz"),
    "australian": ("binary/australian.libsvm.xz",),
    "breast": ("binary/breast-cancer.libsvm.xz",),
    "german": ("binary/german.numer.libsvm.xz",),
    "heart": ("binary/heart_scale.libsvm.xz",),
    "ionosphere": ("binary/ionosphere.libsvm.xz",),
    "sonar": ("binary/sonar.libsvm.xz",),
    "spambase": ("binary/spambase.libsvm.xz",),
    "splice": ("binary/splice.libsvm.xz",),
    "svmguide1": ("binary/svmguide1_all.libsvm.xz",),
    "twonorm": ("binary/twonorm.libsvm.xz",),
    "w8a": ("binary/w8a.libsvm.xz",),
    "campaign": ("imbalanced/adbench_campaign.npz",),
    "shuttle": ("imbalanced/adbench_shuttle.npz",),
    "mammography": ("imbalanced/mammography.npz",),
    "covertype": ("imbalanced/adbench_cover.npz", "multiclass/covtype.libsvm.xz"),
    "letter": ("multiclass/letter.scale.libsvm.xz",),
    "mnist": ("multiclass/mnist.test.npz",),
    "pendigits": ("multiclass/pendigits.libsvm.xz",),
    "satimage": ("multiclass/satimage.scale.libsvm.xz",),
    "ocr": ("sequence/ocr_letters.npz",),
    "bibtex": ("multilabel/bibtex.train.libsvm.xz",),
    "emotions": ("multilabel/emotions.train.libsvm.xz",),
    "scene": ("multilabel/scene.train.libsvm.xz",),
    "yeast": ("multilabel/yeast.train.libsvm.xz",),
    "news20": ("text/news20.libsvm.xz",),
    "imdb": ("text/imdb.train.libsvm.xz",),
    "reuters": ("text/reuters21578.train.libsvm.xz",),
    "abalone": ("regression/abalone.libsvm.xz",),
    "bike": ("regression/bike.npz",),
    "california": ("regression/cadata.libsvm.xz",),
    "cpusmall": ("regression/cpusmall.libsvm.xz",),
    "housing": ("regression/housing_scale.libsvm.xz",),
    "pol": ("regression/pol.libsvm.xz",),
    "space_ga": ("regression/space_ga.libsvm.xz",),
    "era": ("ordinal/era.libsvm.xz",),
    "esl": ("ordinal/esl.libsvm.xz",),
    "lev": ("ordinal/lev.libsvm.xz",),
    "machine": ("ordinal/machine_ord.libsvm.xz",),
    "swd": ("ordinal/swd.libsvm.xz",),
    "digits": ("scikit-learn/digits",),
    "wdbc": ("scikit-learn/breast_cancer",),
    "wine": ("scikit-learn/wine",),
    "diabetes": ("scikit-learn/diabetes",),
}


def hashed(*words):
    return int.from_bytes(sha256("/".join(map(str, words)).encode()).digest()[:8], "big")


def half_of(family, files=FAMILIES):
    """By turns among those of its folder, in the order of the hashes of names."""
    folder = files[family][0].split("/")[0]
    alike = sorted((name for name in files if files[name][0].split("/")[0] == folder), key=hashed)
    return ("tuning", "reporting")[(alike.index(family) + hashed(folder)) % 2]


class Source(NamedTuple):
    X: object
    masks: list  # of the positives, one for each class that may be

    @classmethod
    def read(cls, name):
        folder, file = name.split("/")
        if folder == "scikit-learn":
            X, y = getattr(toys, f"load_{file}")(return_X_y=True)
        elif file.endswith(".npz"):
            with np.load(FOLDER / name) as table:
                X, y = table["X"], table["y"]
            X = np.unpackbits(X, axis=1)[:, :128] if folder == "sequence" else X
        else:
            several = folder == "multilabel" or file.startswith("reuters")
            data = datasets.load(FOLDER / name, **({"multilabel": True} if several else {}))
            X, y = data.X, data.y
        if folder == "text":
            X = TfidfTransformer(sublinear_tf=True).fit_transform(X).astype(np.float64)
        elif not sparse.issparse(X) or X.nnz > 0.2 * X.shape[0] * X.shape[1]:
            X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        if file.startswith("breast-cancer"):
            X = X[:, 1:]  # the first column is the number of the sample
        return cls(X, _masks(y, folder in ("regression", "ordinal") or file == "diabetes"))


def _masks(y, ordered):
    if sparse.issparse(y):
        y = y.tocsc()
        often = np.argsort(-np.diff(y.indptr), kind="stable")[:20]
        return [np.asarray(y[:, [label]].toarray()).ravel() > 0 for label in often]
    if ordered:  # the upper tenth, about
        return [y > np.quantile(y, 0.9)] if (y > np.quantile(y, 0.9)).any() else [y == y.max()]
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) == 2:
        return [y == labels[counts.argmin()]]
    return [y == label for label in labels]


class Task(NamedTuple):
    """A training size and share of positives, of one source."""

    family: str
    file: str
    rows: int
    positives: int
    label: int

    @property
    def name(self):
        return f"{self.family}-{self.rows}-{self.positives}"

    @property
    def key(self):
        return self.family, self.name, self.rows, self.positives

    def split(self, source, seed):
        """Train and test, scaled by what is trained on."""
        chance = np.random.default_rng([hashed(self.name) % 2**32, seed])
        mask = source.masks[self.label]
        positive, negative = (chance.permutation(np.flatnonzero(of)) for of in (mask, ~mask))
        P, N = self.positives, self.rows - self.positives
        train = chance.permutation(np.r_[positive[:P], negative[:N]])
        scale = min((len(positive) - P) / P, (len(negative) - N) / N, TESTED / self.rows)
        test = np.r_[positive[P : P + int(scale * P)], negative[N : N + int(scale * N)]]
        A, B = source.X[train], source.X[test]
        if not self.file.startswith("text/"):
            scaler = MaxAbsScaler() if sparse.issparse(A) else StandardScaler()
            A, B = scaler.fit_transform(A), scaler.transform(B)
        return A, mask[train].astype(int), B, mask[test].astype(int)


def tasks_of(family, sources):
    """One for each size for which there are rows enough."""
    made = []
    for rows in SIZES:
        draw = hashed(family, rows)
        ways = [
            (file, label, round(rows * share))
            for file in _turned(FAMILIES[family], draw)
            for label in _turned(range(len(sources[file].masks)), draw // 7)
            for share in _turned(SHARES, draw // 1_009)
        ]
        possible = (way for way in ways if _enough(sources[way[0]], rows, *way[1:]))
        made += [Task(family, file, rows, P, label) for file, label, P in [*possible][:1]]
    return made


def _turned(things, by):
    by %= len(things)
    return [*things[by:], *things[:by]]


def _enough(source, rows, label, P):
    """Are there rows for this, and some left to test on?"""
    mask = source.masks[label]
    if not FEWEST <= P <= MOST or (rows > 3_000 and source.X.shape[1] > WIDE):
        return False
    return TAKEN * mask.sum() >= P and rows - P <= TAKEN * (~mask).sum()


def families(half, some=None):
    """The tasks of each family of a half, and the sources; families whose files are absent are named."""
    for family, files in FAMILIES.items():
        if half_of(family) != half or (some and family not in some):
            continue
        absent = [f for f in files if not f.startswith("scikit") and not (FOLDER / f).exists()]
        if absent:
            print(f"{family}: {', '.join(absent)} is not there")
            continue
        sources = {file: Source.read(file) for file in files}
        yield family, tasks_of(family, sources), sources
