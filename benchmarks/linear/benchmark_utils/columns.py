"""A bias as one more column of X."""

import numpy as np
from scipy import sparse


def with_ones(X):
    """X with a column of ones at its end: its weight is an intercept, and penalised like the others."""
    ones = np.ones((X.shape[0], 1))
    return sparse.csr_matrix(sparse.hstack([X, ones])) if sparse.issparse(X) else np.hstack([X, ones])
