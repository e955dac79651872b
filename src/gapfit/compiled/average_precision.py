"""The worst ranking of each query for a bound of average precision."""

from gapfit.compiled._jit import jit


@jit
def worst_rankings(values, starts, u):
    """Sum over queries of the highest plane, its slopes written to u; returns what it adds to <u, values>.

    Each query has two runs in `starts`, the relevant and the other documents, each by descending score. Where
    the j-th other document goes is decided by itself: above the relevant ones from some place on. The greater
    j, the further down that is, because both what the loss gains and the score fall with j.
    """
    constant = 0.0
    for query in range((len(starts) - 1) // 2):
        first, middle, last = starts[2 * query], starts[2 * query + 1], starts[2 * query + 2]
        P, N = middle - first, last - middle
        u[first:last] = 0.0
        if P == 0 or N == 0:
            continue
        pair = 2.0 / (P * N)
        above = 1  # the first relevant document that the one before has overtaken
        for j in range(1, N + 1):
            score = values[middle + j - 1]
            total, lost = 0.0, 0.0
            best, best_lost, best_above = 0.0, 0.0, P + 1
            for i in range(P, above - 1, -1):
                loss = i / ((i + j - 1.0) * (i + j)) / P
                lost += loss
                total += loss - pair * (values[first + i - 1] - score)
                if total > best:
                    best, best_lost, best_above = total, lost, i
            above = best_above
            if above > P:
                break  # those below it overtake none either
            constant += best_lost
            u[middle + j - 1] = pair * (P - above + 1)
            u[first + above - 1] -= pair  # from here on; summed up below
        for i in range(first + 1, middle):
            u[i] += u[i - 1]
    return constant
