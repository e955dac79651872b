"""Ordered levels, from sets that have them and from numbers cut into five: for grades and for rankings."""

import numpy as np
from sklearn import datasets as toys

from gapfit import datasets

from .sets import FAMILIES, FOLDER, half_of

FILES = {
    "abalone": "ordinal/abalone_ord.libsvm.xz",
    "california": "ordinal/californiahousing.libsvm.xz",
    "era": "ordinal/era.libsvm.xz",
    "esl": "ordinal/esl.libsvm.xz",
    "lev": "ordinal/lev.libsvm.xz",
    "machine": "ordinal/machine_ord.libsvm.xz",
    "swd": "ordinal/swd.libsvm.xz",
    "bike": "regression/bike.npz",
    "cpusmall": "regression/cpusmall.libsvm.xz",
    "housing": "regression/housing_scale.libsvm.xz",
    "pol": "regression/pol.libsvm.xz",
    "space_ga": "regression/space_ga.libsvm.xz",
    "diabetes": "scikit-learn/diabetes",
}
assert FILES.keys() <= FAMILIES.keys()


def sets(half, cuts=(0.2, 0.4, 0.6, 0.8)):
    """Name, X and levels 0, 1, ... of each set of a half; numbers are cut at these quantiles."""
    for name, file in FILES.items():
        if half_of(name) != half:
            continue
        if file.startswith("scikit-learn"):
            X, y = toys.load_diabetes(return_X_y=True)
        elif not (FOLDER / file).exists():
            print(f"{name}: {file} is not there")
            continue
        elif file.endswith(".npz"):
            with np.load(FOLDER / file) as table:
                X, y = table["X"].astype(float), table["y"]
        else:
            data = datasets.load(FOLDER / file)
            X, y = data.X.toarray(), data.y
        if not file.startswith("ordinal"):
            y = np.searchsorted(np.unique(np.quantile(y, cuts)), y)
        yield name, X, np.unique(y, return_inverse=True)[1]
