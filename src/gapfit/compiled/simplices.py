"""Projections onto the simplex, a row at a time."""

from gapfit.compiled._jit import jit

EPS = 2.0**-52


@jit(inline=True)
def project(v):
    """Replace v by the nearest point with entries >= 0 that add up to one.

    The nearest point is max(v - t, 0) for the t at which it adds up to one. From the entries above t the
    next t follows, which drops some of them; after at most K rounds none is dropped.
    """
    K = v.size
    top = v[0]
    for k in range(1, K):
        top = max(top, v[k])
    # entries at or below it are zero in any case; among very large numbers, one less is the same
    below = top - EPS * abs(top)
    t, count = min(top - 1.0, below), 0
    while True:
        total, above = 0.0, 0
        for k in range(K):
            if v[k] > t:
                total += v[k] - top
                above += 1
        if above == count:
            break
        count = above
        t = max(t, min(top + (total - 1.0) / above, below))
    total = 0.0
    for k in range(K):
        v[k] = max(v[k] - t, 0.0)
        total += v[k]
    for k in range(K):
        v[k] /= total


@jit
def project_rows(A, start, stop):
    """Replace the rows ``start:stop`` of A by the nearest points of the simplex."""
    for i in range(start, stop):
        project(A[i])
