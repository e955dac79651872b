"""Sums over all labellings of a chain: log-partition functions, marginals, and dual ascent on them.

A chain of tokens lo, ..., hi - 1 gives the labelling y the score

    start[y_lo] + sum_t nodes[t, y_t] + sum_{t > lo} edges[t * stride, y_{t-1}, y_t] + end[y_{hi-1}];

stride 0 is one matrix of transitions for all tokens, stride 1 one for each. Probabilities are kept in
[0, 1] and scaled at each token. Where underflow may have lost a label that matters, the chain is done once
more by conditional probabilities, relative to the best labelling. Labels are the inner loops, over contiguous
memory.
"""

import numpy as np

from gapfit.kernels._jit import jit

_FAINT = 1e-290  # a probability below this may have lost its digits, or itself
_DEBT = 460.0  # logarithm of how far the labels that are left may fall before one that was lost could matter
_NOTHING = -45.0  # logarithm of a probability that is lost beside one
_CLOSE = 1e-9  # to one, for the sum of the marginals at a token
_REFRESH = 8  # visits, after which the transitions are looked at again
_OFF = 0.2  # by which a step may miss the best one: it then gains 96 per cent of what that would
_LOWEST = -700.0  # what is smaller than its exponential is faint anyway
_PER_LOG = 1.4426950408889634  # powers of two in a power of e
_LOG = 0.6931471805598903  # the logarithm of two, but for ...
_LOG_REST = 5.497923018708371e-14
_LOW_BITS = 6755399441055744.0  # added to a number, it leaves the nearest integer in the lowest bits


# Rows are named by their number and not passed as views: a view in a loop is counted, which takes time.


@jit
def _exp(x, size, powers):
    """x = exp(x) for the first of its entries, none of them positive, in loops that compilers vectorise.

    ``powers`` is for notes.
    """
    for k in range(size):
        v = _LOWEST if x[k] < _LOWEST else x[k]  # what is not a number stays so
        power = v * _PER_LOG + _LOW_BITS
        powers[k] = power
        power -= _LOW_BITS
        v = (v - power * _LOG) - power * _LOG_REST
        y = 1.6059043836821613e-10  # 1 / 13!, and so on down to 1
        y = y * v + 2.08767569878681e-09
        y = y * v + 2.505210838544172e-08
        y = y * v + 2.755731922398589e-07
        y = y * v + 2.755731922398589e-06
        y = y * v + 2.48015873015873e-05
        y = y * v + 0.0001984126984126984
        y = y * v + 0.001388888888888889
        y = y * v + 0.008333333333333333
        y = y * v + 0.041666666666666664
        y = y * v + 0.16666666666666666
        y = y * v + 0.5
        y = y * v + 1.0
        x[k] = y * v + 1.0
    bits = powers.view(np.int64)
    for k in range(size):
        bits[k] = (bits[k] + 1023) << 52
    for k in range(size):
        x[k] *= powers[k]


@jit
def _largest(x, t):
    """The largest entry of x[t], in four lanes."""
    a = b = c = d = -np.inf
    k = 0
    while k + 3 < x.shape[1]:
        a, b, c, d = max(a, x[t, k]), max(b, x[t, k + 1]), max(c, x[t, k + 2]), max(d, x[t, k + 3])
        k += 4
    while k < x.shape[1]:
        a = max(a, x[t, k])
        k += 1
    return max(max(a, b), max(c, d))


@jit
def _total(x, t):
    """The sum of x[t], in four lanes."""
    a = b = c = d = 0.0
    k = 0
    while k + 3 < x.shape[1]:
        a, b, c, d = a + x[t, k], b + x[t, k + 1], c + x[t, k + 2], d + x[t, k + 3]
        k += 4
    while k < x.shape[1]:
        a += x[t, k]
        k += 1
    return (a + b) + (c + d)


@jit
def _times(x, t, matrix, out, to):
    """out[to] = x[t]' matrix, four rows at a time: out is then read and written a quarter as often."""
    K = x.shape[1]
    for k in range(K):
        out[to, k] = 0.0
    i = 0
    while i + 3 < K:
        a, b, c, d = x[t, i], x[t, i + 1], x[t, i + 2], x[t, i + 3]
        for k in range(K):
            out[to, k] += (a * matrix[i, k] + b * matrix[i + 1, k]) + (
                c * matrix[i + 2, k] + d * matrix[i + 3, k]
            )
        i += 4
    while i < K:
        for k in range(K):
            out[to, k] += x[t, i] * matrix[i, k]
        i += 1


@jit
def _add_products(x, z, L, pairs):
    """pairs[0] += the sum over t of x[t - 1] z[t]', four tokens at a time."""
    K = x.shape[1]
    t = 1
    while t + 3 < L:
        for i in range(K):
            a, b, c, d = x[t - 1, i], x[t, i], x[t + 1, i], x[t + 2, i]
            for k in range(K):
                pairs[0, i, k] += (a * z[t, k] + b * z[t + 1, k]) + (c * z[t + 2, k] + d * z[t + 3, k])
        t += 4
    while t < L:
        for i in range(K):
            for k in range(K):
                pairs[0, i, k] += x[t - 1, i] * z[t, k]
        t += 1


@jit
def _transposed_exp(edges, t, back, forth):
    """forth = exp(edges[t] - shift) and its transpose; returns the shift."""
    K = edges.shape[1]
    shift = -np.inf
    for i in range(K):
        for j in range(K):
            shift = max(shift, edges[t, i, j])
    for i in range(K):
        for j in range(K):
            value = np.exp(edges[t, i, j] - shift)
            forth[i, j] = value
            back[j, i] = value
    return shift


@jit
def _scaled(s, L, edges, stride, first, forth, back, edge_shift, a, z, p, pairs):
    """Forward and backward over scores s (start and end included), in scaled probabilities.

    With stride 0, ``forth``, ``back`` and their shift are those of the edges. Writes the node marginals p and
    adds the edge marginals to ``pairs``: with stride 0 without their factor ``forth``, which is common to all
    tokens. Returns the log-partition function and whether it can be trusted.
    """
    K = s.shape[1]
    log_z = debt = 0.0
    for t in range(L):
        shift = _largest(s, t)
        if not np.isfinite(shift):
            return shift, False
        log_z += shift
        for k in range(K):
            z[t, k] = s[t, k] - shift
    _exp(z.reshape(-1), L * K, p.reshape(-1))
    for t in range(L):
        if t == 0:
            for k in range(K):
                a[0, k] = z[0, k]
        else:
            if stride:
                edge_shift = _transposed_exp(edges, first + t, back, forth)
            _times(a, t - 1, forth, a, t)
            for k in range(K):
                a[t, k] *= z[t, k]
            log_z += edge_shift
        scale = _total(a, t)
        if not scale > _FAINT:
            return log_z, False
        inverse = 1.0 / scale
        faint = 0
        for k in range(K):
            a[t, k] *= inverse
            z[t, k] *= inverse
            faint += a[t, k] <= _FAINT
        # a lost label can gain on the others no more than they lose to the largest terms at each token
        debt = 0.0 if faint == 0 else debt - np.log(scale)
        if debt > _DEBT:
            return log_z, False
        log_z += np.log(scale)
    for k in range(K):
        p[L - 1, k] = a[L - 1, k]
    for t in range(L - 1, 0, -1):
        # z becomes what token t and all after it make of each of its labels
        if stride:
            _transposed_exp(edges, first + t, back, forth)
        _times(z, t, back, p, t - 1)
        if stride:
            for i in range(K):
                for j in range(K):
                    pairs[t, i, j] += a[t - 1, i] * forth[i, j] * z[t, j]
        for i in range(K):
            z[t - 1, i] *= p[t - 1, i]
            p[t - 1, i] *= a[t - 1, i]
        total = _total(p, t - 1)
        if not abs(total - 1.0) < _CLOSE:  # on the way back something became infinite
            return log_z, False
    if not stride:
        _add_products(a, z, L, pairs)
    return log_z, True


@jit
def _by_conditionals(s, L, edges, stride, first, back, a, z, p, pairs):
    """The same for scores of any size, by the conditional probability of each label given the one before.

    a[t, i] is the score of the best way on from label i at token t, and z[t, i] the sum of all ways on,
    relative to it: between one and a power of K. Nothing overflows, and what underflows is not needed.
    """
    K = s.shape[1]
    for k in range(K):
        a[L - 1, k] = s[L - 1, k]
        z[L - 1, k] = 1.0
    for t in range(L - 1, 0, -1):
        matrix = edges[(first + t) * stride]
        if stride or t == L - 1:
            for i in range(K):
                for j in range(K):
                    back[j, i] = matrix[i, j]
        for i in range(K):
            a[t - 1, i] = -np.inf
        for j in range(K):
            for i in range(K):
                a[t - 1, i] = max(a[t - 1, i], back[j, i] + a[t, j])
        for i in range(K):
            total = 0.0
            for j in range(K):
                below = matrix[i, j] + a[t, j] - a[t - 1, i]
                if below > _NOTHING:
                    total += np.exp(below) * z[t, j]
            z[t - 1, i] = total
            a[t - 1, i] += s[t - 1, i]
    best = a[0].max()
    total = 0.0
    for k in range(K):
        p[0, k] = np.exp(a[0, k] - best) * z[0, k]
        total += p[0, k]
    log_z = best + np.log(total)
    for k in range(K):
        p[0, k] /= total
    ways = np.empty(K)
    for t in range(1, L):
        matrix = edges[(first + t) * stride]
        for k in range(K):
            p[t, k] = 0.0
        for i in range(K):
            if p[t - 1, i] > 0.0:
                onward = a[t - 1, i] - s[t - 1, i]
                total = 0.0
                for j in range(K):
                    below = matrix[i, j] + a[t, j] - onward
                    ways[j] = np.exp(below) * z[t, j] if below > _NOTHING else 0.0
                    total += ways[j]
                share = p[t - 1, i] / total
                for j in range(K):
                    pairs[t * stride, i, j] += share * ways[j]
                    p[t, j] += share * ways[j]
    return log_z


@jit
def _sum_product(s, L, edges, stride, first, forth, back, edge_shift, turned, a, z, p, pairs):
    """The log-partition function; writes node marginals to p and edge marginals (summed, if stride is 0) to
    ``pairs``."""
    K = s.shape[1]
    for t in range(L if stride else 1):
        for i in range(K):
            for j in range(K):
                pairs[t, i, j] = 0.0
    log_z, trusted = _scaled(s, L, edges, stride, first, forth, back, edge_shift, a, z, p, pairs)
    if trusted:
        if not stride:
            for i in range(K):
                for j in range(K):
                    pairs[0, i, j] *= forth[i, j]
        return log_z
    for t in range(L if stride else 1):
        for i in range(K):
            for j in range(K):
                pairs[t, i, j] = 0.0
    return _by_conditionals(s, L, edges, stride, first, turned, a, z, p, pairs)


@jit
def soft_risk(
    nodes, edges, start, end, labels, tokens, p, cost, heat, first, last, u, u_edges, u_start, u_end
):
    """Sum over chains of p_i (heat log sum_y exp((score(y) + cost(y)) / heat) - score of the labels).

    Writes its derivative in the node scores to u, adds the others to u_edges, u_start and u_end. Marginals
    alone are had with labels = -1. ``tokens[i]:tokens[i + 1]`` is chain i; chains first to last are done.
    """
    K = nodes.shape[1]
    stride = 1 if edges.shape[0] > 1 else 0
    longest = 1
    for i in range(first, last):
        longest = max(longest, tokens[i + 1] - tokens[i])
    s, a, z = np.empty((longest, K)), np.empty((longest, K)), np.empty((longest, K))
    forth, back, turned = np.empty((K, K)), np.empty((K, K)), np.empty((K, K))
    pairs = np.empty((longest if stride else 1, K, K))
    edges = edges / heat
    edge_shift = 0.0 if stride else _transposed_exp(edges, 0, back, forth)
    value = 0.0
    for i in range(first, last):
        lo, hi = tokens[i], tokens[i + 1]
        L = hi - lo
        for t in range(L):
            y = labels[lo + t]
            for k in range(K):
                s[t, k] = nodes[lo + t, k]
            if y >= 0:
                for k in range(K):
                    s[t, k] += cost[y, k]
        for k in range(K):
            s[0, k] += start[k]
            s[L - 1, k] += end[k]
        for t in range(L):
            for k in range(K):
                s[t, k] /= heat
        log_z = _sum_product(s, L, edges, stride, lo, forth, back, edge_shift, turned, a, z, u[lo:hi], pairs)
        truth = 0.0
        for t in range(L):
            y = labels[lo + t]
            if y >= 0:
                truth += nodes[lo + t, y]
                if t:
                    before = labels[lo + t - 1]
                    truth += edges[(lo + t) * stride, before, y] * heat
                    pairs[t * stride, before, y] -= 1.0
                u[lo + t, y] -= 1.0
            for k in range(K):
                u[lo + t, k] *= p[i]
        if labels[lo] >= 0:
            truth += start[labels[lo]] + end[labels[hi - 1]]
        value += p[i] * (heat * log_z - truth)
        for t in range(1 if stride else 0, L if stride else 1):
            for j in range(K):
                for k in range(K):
                    u_edges[(lo + t) * stride, j, k] += p[i] * pairs[t, j, k]
        for k in range(K):
            u_start[k] += u[lo, k]
            u_end[k] += u[hi - 1, k]
    return value


@jit(fast=True)
def _gather(data, indices, begin, stop, rows, names, w, s):
    """s += x W for the sparse x in begin:stop; the weights of feature j are rows[j]:rows[j + 1] of w, for
    the labels in ``names`` or, if that is empty, for all."""
    K = s.size
    for k in range(begin, stop):
        x = data[k]
        j = indices[k]
        if names.size == 0:
            for q in range(K):
                s[q] += x * w[j * K + q]
        else:
            for q in range(rows[j], rows[j + 1]):
                s[names[q]] += x * w[q]


@jit(fast=True)
def _scatter(data, indices, begin, stop, rows, names, change, amount, w):
    """w += amount * x' change, for the same x; returns by how much |w|^2 grew."""
    K = change.size
    grown = 0.0
    for k in range(begin, stop):
        x = amount * data[k]
        j = indices[k]
        if names.size == 0:
            for q in range(K):
                more = x * change[q]
                grown += more * (2.0 * w[j * K + q] + more)
                w[j * K + q] += more
        else:
            for q in range(rows[j], rows[j + 1]):
                more = x * change[names[q]]
                grown += more * (2.0 * w[q] + more)
                w[q] += more
    return grown


@jit(fast=True)
def ascend(
    visits, data, indices, indptr, rows, names, labels, tokens, p, cost, heat, alpha,
    w, mu, pairs, entropy, gaps, stretch,
):  # fmt: skip
    """Block ascent on the dual of alpha/2 |w|^2 + soft_risk, a chain at a time, in the order of ``visits``.

    The dual point of chain i is its node marginals mu, its summed edge marginals ``pairs[i]`` and a lower
    bound ``entropy[i]`` of the entropy they leave. It moves towards the marginals nu of the model w,

        mu + step (nu - mu),    entropy >= (1 - step) entropy + step H(nu) + step (1 - step) / 2 * spread,

    the last by concavity, which is strong in the total variation at any one token. The step maximises the
    lower bound of the dual that follows, a parabola with the curvature |A'(nu - mu)|^2. To know that costs as
    much as to step. So the step is guessed, by what the square was for |nu - mu|^2 = 1 when chain i was last
    visited, ``stretch[i]``, and taken. The square then follows from how much |w|^2 grew, and only a guess
    that was far off is corrected. w stays what the marginals imply, up to rounding. ``gaps[i]`` becomes what
    chain i contributed to the gap when it was visited.
    nu may be the marginals of transitions some visits old: it is feasible all the same, and K^2 exponentials
    a visit are much for short chains.
    """
    K = mu.shape[1]
    longest = 1
    for i in range(tokens.size - 1):
        longest = max(longest, tokens[i + 1] - tokens[i])
    f, s, a = np.empty((longest, K)), np.empty((longest, K)), np.empty((longest, K))
    z, nu = np.empty((longest, K)), np.empty((longest, K))
    forth, back, turned = np.empty((K, K)), np.empty((K, K)), np.empty((K, K))
    change, edge_shift = np.empty((K, K)), 0.0
    seen, scaled = np.empty((1, K, K)), np.empty((1, K, K))
    edges = w[w.size - K * K - 2 * K : w.size - 2 * K].reshape(K, K)
    start, end = w[w.size - 2 * K : w.size - K], w[w.size - K :]
    for visit in range(visits.size):
        i = visits[visit]
        lo, hi = tokens[i], tokens[i + 1]
        L = hi - lo
        for t in range(L):
            y = labels[lo + t]
            for k in range(K):
                f[t, k] = cost[y, k]
            _gather(data, indices, indptr[lo + t], indptr[lo + t + 1], rows, names, w, f[t])
        for k in range(K):
            f[0, k] += start[k]
            f[L - 1, k] += end[k]
        for t in range(L):
            for k in range(K):
                s[t, k] = f[t, k] / heat
        if visit % _REFRESH == 0:
            for j in range(K):
                for k in range(K):
                    scaled[0, j, k] = edges[j, k] / heat
            edge_shift = _transposed_exp(scaled, 0, back, forth)
        log_z = _sum_product(s, L, scaled, 0, 0, forth, back, edge_shift, turned, a, z, nu, seen)
        at_nu = at_mu = spread = moved_edges = along = squares = 0.0
        for t in range(L):
            moved = 0.0
            y = labels[lo + t]
            for k in range(K):
                difference = nu[t, k] - mu[lo + t, k]
                along += (f[t, k] - cost[y, k]) * difference
                squares += difference * difference
                at_nu += f[t, k] * nu[t, k]
                at_mu += f[t, k] * mu[lo + t, k]
                moved += abs(difference)
                nu[t, k] = difference
            spread = max(spread, moved * moved)
        norm = 0.0
        for j in range(K):
            for k in range(K):
                difference = seen[0, j, k] - pairs[i, j, k]
                at_nu += edges[j, k] * seen[0, j, k]
                moved_edges += (edges[j, k] - heat * scaled[0, j, k]) * seen[0, j, k]
                at_mu += edges[j, k] * pairs[i, j, k]
                change[j, k] = difference
                norm += difference * difference
        for k in range(K):
            norm += nu[0, k] * nu[0, k] + nu[L - 1, k] * nu[L - 1, k]
            along -= start[k] * nu[0, k] + end[k] * nu[L - 1, k]
        left = log_z - (at_nu - moved_edges) / heat  # the entropy of nu
        gap = max(heat * (left - entropy[i]) + at_nu - at_mu, 0.0)
        drive = gap + 0.5 * heat * spread
        curvature = p[i] * (norm + stretch[i] * squares) / alpha + heat * spread
        step = drive / curvature if drive < curvature else 1.0
        down = -step * p[i] / alpha
        grown = 0.0
        for t in range(L):
            grown += _scatter(data, indices, indptr[lo + t], indptr[lo + t + 1], rows, names, nu[t], down, w)
        moved = down * down * squares
        if moved > _FAINT and grown - 2.0 * down * along > 0.0:  # else it is lost in rounding
            stretch[i] = (grown - 2.0 * down * along) / moved
        curvature = p[i] * (norm + stretch[i] * squares) / alpha + heat * spread
        best = drive / curvature if drive < curvature else 1.0
        if abs(step - best) > _OFF * best:
            more = (step - best) * p[i] / alpha
            for t in range(L):
                _scatter(data, indices, indptr[lo + t], indptr[lo + t + 1], rows, names, nu[t], more, w)
            step = best
            down = -step * p[i] / alpha
        gaps[i] = p[i] * gap
        entropy[i] += step * (left - entropy[i]) + 0.5 * step * (1.0 - step) * spread
        for t in range(L):
            for k in range(K):
                mu[lo + t, k] += step * nu[t, k]
        for j in range(K):
            for k in range(K):
                pairs[i, j, k] += step * change[j, k]
                edges[j, k] += down * change[j, k]
        for k in range(K):
            start[k] += down * nu[0, k]
            end[k] += down * nu[L - 1, k]
