"""Least squares under L1 at one alpha after the other, by moments."""

import numpy as np

from gapfit.compiled._jit import jit

_SWEEPS = 8  # and then a run of conjugate gradients among the coordinates that are not zero
_PRODUCTS = 20  # in such a run, at most
_ROUGH = 0.1  # of what is wrong with other coordinates may be left in those in use
_ENOUGH = 0.1  # of what sweeps may leave: a run ends when no derivative is larger


@jit(fast=True, reorder=True)
def _add(row, count, step, slopes):
    for j in range(count):
        slopes[j] += step * row[j]


@jit(fast=True, reorder=True)
def _dot(x, y, count):
    total = 0.0
    for j in range(count):
        total += x[j] * y[j]
    return total


@jit(fast=True)
def _sweep(H, count, alpha, w, slopes):
    """Minimise in one coordinate after the other; the largest change of a derivative by its own."""
    worst = 0.0
    for i in range(count):
        bend = H[i, i]
        target = bend * w[i] - slopes[i]
        beyond = target - min(max(target, -alpha), alpha)
        step = beyond / bend - w[i] if bend > 0.0 else 0.0
        if step != 0.0:
            w[i] += step
            worst = max(worst, abs(step) * bend)
            _add(H[i], count, step, slopes)
    return worst


@jit(fast=True)
def _glide(H, count, alpha, goal, w, slopes, room):
    """To the minimum among the coordinates that are not zero, by conjugate gradients, or as far as no sign
    changes."""
    left, way, image, step = room
    size = 0.0
    for i in range(count):
        free = 1.0 if w[i] != 0.0 else 0.0
        left[i] = -free * (slopes[i] + (alpha if w[i] > 0.0 else -alpha))
        way[i], step[i] = left[i], 0.0
        size += left[i] * left[i]
    for _ in range(_PRODUCTS):
        for i in range(count):
            image[i] = _dot(H[i], way, count) if w[i] != 0.0 else 0.0
        bend = _dot(way, image, count)
        if not bend > 0.0:
            break
        length, worst, before = size / bend, 0.0, size
        for i in range(count):
            step[i] += length * way[i]
            left[i] -= length * image[i]
            worst = max(worst, abs(left[i]))
        size = _dot(left, left, count)
        if worst <= goal:
            break
        for i in range(count):
            way[i] = left[i] + size / before * way[i]
    # who would change its sign stops at zero, if that is lower; else all stop where the first one does
    far, first, gain = 1.0, -1, 0.0
    for i in range(count):
        if w[i] * (w[i] + far * step[i]) < 0.0:
            far, first = -w[i] / step[i], i
    for i in range(count):
        way[i] = -w[i] if w[i] * (w[i] + step[i]) < 0.0 else step[i]
    for i in range(count):
        image[i] = _dot(H[i], way, count)
        gain += (slopes[i] + 0.5 * image[i]) * way[i] + alpha * (abs(w[i] + way[i]) - abs(w[i]))
    for i in range(count):
        change = way[i] if gain < 0.0 else -w[i] if i == first else far * step[i]
        w[i] = 0.0 if change == -w[i] else w[i] + change
        if gain < 0.0:
            slopes[i] += image[i]
        elif change != 0.0:
            _add(H[i], count, change, slopes)


@jit(fast=True)
def descend_alphas(gram, cross, alphas, fines, most, inside, active, room, H, W):
    """Write the minimisers w of  w'Gw / 2 - <cross, w> + alpha |w|_1  for falling alphas.

    Each begins with the last. Sweeps and runs of conjugate gradients go over the coordinates in use, side by
    side in H, until no derivative changes by more than `fines` times alpha, `most` sweeps at the most; then
    all others are looked at. The rest are places to work in.
    """
    d, count = cross.size, 0
    w, near, before, slopes, spare = room[0], room[1], room[2], room[3], room[4:]
    for j in range(d):
        slopes[j], inside[j] = -cross[j], 0.0
    for k in range(alphas.size):
        alpha, fine, left, searching, wrong = alphas[k], fines[k], most, True, 0.0
        for j in range(d):
            wrong = max(wrong, abs(slopes[j]) / alpha - 1.0)
        while searching:
            for i in range(count):
                row = gram[active[i]]
                w[i] = before[i] = W[k, active[i]]
                near[i] = slopes[active[i]]
                for j in range(count):
                    H[i, j] = row[active[j]]
            since, worst, goal = 0, np.inf, max(fine, _ROUGH * wrong) * alpha
            while worst > goal and left > 0:
                worst = _sweep(H, count, alpha, w, near)
                left -= 1
                since += 1
                if since == _SWEEPS and worst > goal:
                    _glide(H, count, alpha, _ENOUGH * goal, w, near, spare)
                    since = 0
            for i in range(count):
                W[k, active[i]] = w[i]
                if w[i] != before[i]:
                    _add(gram[active[i]], d, w[i] - before[i], slopes)
            # those that came to zero leave, whoever pulls harder than alpha comes in
            searching, kept = goal > fine * alpha and left > 0, 0
            wrong = 0.0
            for i in range(count):
                inside[active[i]] = 1.0 if w[i] != 0.0 else 0.0
                if w[i] != 0.0:
                    active[kept] = active[i]
                    kept += 1
            count = kept
            for j in range(d):
                if inside[j] == 0.0 and abs(slopes[j]) > (1.0 + fine) * alpha:
                    wrong = max(wrong, abs(slopes[j]) / alpha - 1.0)
                    inside[j] = 1.0
                    active[count] = j
                    count += 1
                    searching = left > 0
        if k + 1 < alphas.size:
            for i in range(count):
                W[k + 1, active[i]] = W[k, active[i]]
