import numpy as np
from benchopt import BaseDataset
from scipy import sparse


class Dataset(BaseDataset):
    """Generated data, the same for everybody: they need no files.

    "classification": labels of a noisy half-space; "regression": a linear function with noise that is skew
    and grows with the first feature, so that quantiles are not parallel.
    """

    name = "simulated"
    parameters = {
        "n_samples": [5000],
        "n_features": [200],
        "density": [0.1],
        "task": ["classification"],
    }
    test_config = {"n_samples": 60, "n_features": 8, "density": 1.0}

    def get_data(self):
        rng = np.random.default_rng(0)
        n, d = self.n_samples, self.n_features
        if self.density < 1:
            X = sparse.random(n, d, self.density, "csr", rng=rng, data_rvs=rng.standard_normal)
            X = sparse.csr_matrix(X)
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        else:
            X = rng.standard_normal((n, d))
        scores = X @ rng.standard_normal(d) / np.sqrt(d * self.density)
        if self.task == "classification":
            return dict(X=X, y=np.where(scores + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0))
        spread = 1 + 0.5 * np.abs(np.ravel(X[:, [0]].toarray() if sparse.issparse(X) else X[:, 0]))
        return dict(X=X, y=scores + 1 + 0.5 * spread * rng.gumbel(size=n))
