"""Weights of which most are zero, stored as such."""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from gapfit.elsewhere import fetched


class SparseWeights:
    """A linear model whose `coef_` may be a sparse matrix."""

    coef_: Any

    def sparsify(self) -> Self:
        """Make `coef_` a sparse matrix, for models most of whose weights are zero; it predicts as before.

        As in scikit-learn, except that there is always a row: (1, d) where `coef_` has shape (d,).
        """
        check_is_fitted(self)
        if not sparse.issparse(self.coef_):
            self._dense_shape = tuple(self.coef_.shape)
            self.coef_ = sparse.csr_array(self._dense_coef())
        return self

    def densify(self) -> Self:
        """Make `coef_` an array of NumPy's again, as files hold it."""
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            self.coef_ = self.coef_.toarray().reshape(self._dense_shape)
        return self

    def _dense_coef(self) -> Any:
        """The weights as an array in memory, (rows, d)."""
        return self.coef_.toarray() if sparse.issparse(self.coef_) else np.atleast_2d(fetched(self.coef_))
