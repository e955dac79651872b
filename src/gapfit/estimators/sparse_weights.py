"""Weights of which most are zero, stored as such."""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted


class SparseWeights:
    """A linear model whose `coef_` may be a sparse matrix."""

    coef_: Any

    def sparsify(self) -> Self:
        """Make `coef_` a sparse matrix, for models most of whose weights are zero; it predicts as before.

        As in scikit-learn, except that there is always a row: (1, d) where `coef_` has shape (d,).
        """
        check_is_fitted(self)
        if not sparse.issparse(self.coef_):
            self._dense_shape = np.shape(self.coef_)
            self.coef_ = sparse.csr_array(np.atleast_2d(self.coef_))
        return self

    def densify(self) -> Self:
        """Make `coef_` an array again, as a fit leaves it and files hold it."""
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            self.coef_ = self.coef_.toarray().reshape(self._dense_shape)
        return self

    def _dense_coef(self) -> Any:
        """The weights as an array, (rows, d)."""
        return self.coef_.toarray() if sparse.issparse(self.coef_) else np.atleast_2d(self.coef_)
