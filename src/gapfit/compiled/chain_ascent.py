"""Dual ascent for chains: the marginals of one chain after another, and the weights that follow from them."""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.chain_labels import transposed_exp
from gapfit.compiled.chain_sums import FAINT, Edges, notes, sum_product
from gapfit.compiled.rows import longest

_REFRESH = 8  # visits, after which the transitions are looked at again
_OFF = 0.2  # by which a step may miss the best one: it then gains 96 per cent of what that would


class Dual(NamedTuple):
    """The dual point, and what is remembered of each chain."""

    mu: Any  # node marginals
    pairs: Any  # edge marginals of each chain, summed up
    entropy: Any  # a lower bound of what these leave
    gaps: Any  # what each chain contributed to the gap when it was last visited
    stretch: Any  # see `ascend`


@jit(fast=True)
def _gather(rows, t, pairs, w, s):
    """s += x W for the sparse row t; the weights of feature j are pairs.rows[j]:pairs.rows[j + 1] of w, for
    the labels in ``pairs.names`` or, if that is empty, for all."""
    data, indices, indptr = rows
    starts, names = pairs
    K = s.size
    for k in range(indptr[t], indptr[t + 1]):
        x = data[k]
        j = indices[k]
        if names.size == 0:
            for q in range(K):
                s[q] += x * w[j * K + q]
        else:
            for q in range(starts[j], starts[j + 1]):
                s[names[q]] += x * w[q]


@jit(fast=True)
def _scatter(rows, t, pairs, change, amount, w):
    """w += amount * x' change, for the same x; returns by how much |w|^2 grew."""
    data, indices, indptr = rows
    starts, names = pairs
    K = change.size
    grown = 0.0
    for k in range(indptr[t], indptr[t + 1]):
        x = amount * data[k]
        j = indices[k]
        if names.size == 0:
            for q in range(K):
                more = x * change[q]
                grown += more * (2.0 * w[j * K + q] + more)
                w[j * K + q] += more
        else:
            for q in range(starts[j], starts[j + 1]):
                more = x * change[names[q]]
                grown += more * (2.0 * w[q] + more)
                w[q] += more
    return grown


@jit(fast=True)
def ascend(visits, rows, weighted, chains, alpha, w, dual):
    """Block ascent on the dual of alpha/2 |w|^2 + soft_risk, a chain at a time, in the order of ``visits``.

    ``weighted`` says which pairs of feature and label have weights. The dual point of chain i moves towards
    the marginals nu of the model w,

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
    labels, tokens, p, cost, heat = chains
    mu, pairs, entropy, gaps, stretch = dual
    K, size = mu.shape[1], longest(tokens, 0, tokens.size - 1)
    f, s, nu, room = np.empty((size, K)), np.empty((size, K)), np.empty((size, K)), notes(size, K)
    forth, back = np.empty((K, K)), np.empty((K, K))
    change, shift = np.empty((K, K)), 0.0
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
            _gather(rows, lo + t, weighted, w, f[t])
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
            shift = transposed_exp(scaled, 0, back, forth)
        first = np.int64(0)  # a plain 0 would be a type of its own, and everything compiled once more
        log_z = sum_product(s, L, Edges(scaled, 0, forth, back, shift), first, room, nu, seen)
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
            grown += _scatter(rows, lo + t, weighted, nu[t], down, w)
        moved = down * down * squares
        if moved > FAINT and grown - 2.0 * down * along > 0.0:  # else it is lost in rounding
            stretch[i] = (grown - 2.0 * down * along) / moved
        curvature = p[i] * (norm + stretch[i] * squares) / alpha + heat * spread
        best = drive / curvature if drive < curvature else 1.0
        if abs(step - best) > _OFF * best:
            more = (step - best) * p[i] / alpha
            for t in range(L):
                _scatter(rows, lo + t, weighted, nu[t], more, w)
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
