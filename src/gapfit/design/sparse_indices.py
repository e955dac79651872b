"""Are the indices of a sparse matrix in range? Files and users may give others."""

from gapfit._types import Data


def check_sparse_indices(X: Data) -> None:
    """Refuse a sparse X whose indices point outside it: compiled code would read foreign memory."""
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional, got shape {X.shape}")
    X = X if X.format in ("csr", "csc") else X.tocoo() if X.format != "coo" else X
    if X.format == "coo":
        ranges = [(X.coords[0], X.shape[0]), (X.coords[1], X.shape[1])]
    else:
        major, minor = X.shape if X.format == "csr" else X.shape[::-1]
        indptr = X.indptr
        if (
            len(indptr) != major + 1
            or indptr[0] != 0
            or (indptr[1:] < indptr[:-1]).any()
            or (indptr[-1] > min(len(X.indices), len(X.data)))
        ):
            raise ValueError(f"X is a broken {X.format} matrix: indptr does not fit its shape and data")
        ranges = [(X.indices[: indptr[-1]], minor)]
    for indices, bound in ranges:
        if len(indices) and (indices.min() < 0 or indices.max() >= bound):
            raise ValueError(f"X is a broken {X.format} matrix: an index lies outside [0, {bound})")
