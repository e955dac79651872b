"""Products of rows with the weights of several scores.

These weights stand in one vector so that a row is read along: of dense rows score by score, of sparse ones
feature by feature, where all scores' weights of a feature are next to each other.
"""

from gapfit.compiled._jit import jit
from gapfit.compiled.rows import dense_dot, row_add, row_dot


@jit(inline=True)
def place(rows, d, m, j, k):
    """Where the weight of feature j for score k stands, of d features and m scores."""
    return k * d + j if rows.indices.size == 0 else j * m + k


@jit(fast=True, inner=True)
def put_scores(rows, d, z, F):
    """Write those of the weights z."""
    data, indices, indptr = rows
    m = F.shape[1]
    for i in range(len(F)):
        start, stop, scores = indptr[i], indptr[i + 1], F[i]
        if m == 1:
            scores[0] = row_dot(rows, i, z)
        elif indices.size == 0:
            row = data[start:stop]
            for k in range(m):
                scores[k] = dense_dot(row, z[k * d : (k + 1) * d])
        else:
            for k in range(m):
                scores[k] = 0.0
            for a in range(start, stop):
                x, first = data[a], m * indices[a]
                for k in range(m):
                    scores[k] += x * z[first + k]


@jit(fast=True, inner=True)
def add_slopes(rows, d, U, out):
    """Add X'U, whose numbers stand as weights do."""
    data, indices, indptr = rows
    m = U.shape[1]
    for i in range(len(U)):
        start, stop, slopes = indptr[i], indptr[i + 1], U[i]
        if m == 1:
            row_add(rows, i, slopes[0], out)
        elif indices.size == 0:
            row = data[start:stop]
            for k in range(m):
                sums, u = out[k * d : (k + 1) * d], slopes[k]
                for j in range(row.size):
                    sums[j] += u * row[j]
        else:
            for a in range(start, stop):
                x, first = data[a], m * indices[a]
                for k in range(m):
                    out[first + k] += x * slopes[k]
