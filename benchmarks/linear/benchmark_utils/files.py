"""Data sets that are read from the folder GAPFIT_DATA, or from ../shared/data beside the repository."""

import os
from pathlib import Path

import numpy as np
from benchopt import BaseDataset
from scipy import sparse

from gapfit import datasets

BESIDE = Path(__file__).resolve().parents[4] / "shared" / "data"


def folder():
    return Path(os.environ.get("GAPFIT_DATA", BESIDE))


class FileDataset(BaseDataset):
    """One svmlight file. Where it is absent the objective is told why, and is skipped."""

    file = ""
    requirements = ["pip::gapfit"]

    def path(self):
        return folder() / self.file

    def get_data(self):
        if not self.path().is_file():
            return dict(X=None, y=None, missing=f"{self.file} is not in the folder GAPFIT_DATA")
        data = datasets.load(self.path())
        X, y = self.process(data.X, data.y)
        X = sparse.csr_matrix(X)
        # 32 bits are what all peers take; none of these files needs more
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return dict(X=X, y=y)

    def process(self, X, y):
        """Scaling, and labels -1 and +1."""
        return X, y
