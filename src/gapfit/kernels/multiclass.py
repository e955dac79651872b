"""Coordinate steps on simplices: all dual variables of one sample at a time.

Samples are rows as in `rows.py`. Sample i has shares a_i >= 0 of the classes that add up to one, and b_i =
p_i (e_y - a_i) is its part in the weights: W = (1 / alpha) sum_i x_i b_i', a row for each feature. With an
intercept, W stands for W - mean s' / alpha, s = sum_i b_i, whose scores are

    f_i = W'x_i - along_i s / alpha + h,     along_i = <x_i, mean>,

where h holds the intercepts and what the mean does to all samples alike.
"""

import numpy as np

from gapfit.kernels._jit import jit, prefetch

LANES = 4  # W has a multiple of that many columns, so that they can be added up side by side
AHEAD = 4  # samples are asked for from memory so many steps before their turn
LINE = 8  # numbers in a cache line
EPS = 2.0**-52
ASKED = 64  # numbers of a row that are asked for: the rest comes by itself


@jit(fast=True)
def _entries(data, indices, start, stop, values, columns):
    """Copy the entries of the row in ``start:stop`` that are not zero; returns how many."""
    count = 0
    if indices.size:
        for n in range(start, stop):
            values[count], columns[count] = data[n], indices[n]
            count += 1
    else:
        x = data[start:stop]
        for j in range(x.size):
            values[count], columns[count] = x[j], j
            count += x[j] != 0.0
    return count


@jit(fast=True)
def _scores(values, columns, W, f):
    """f += W'x."""
    for k in range(0, W.shape[1], LANES):
        s0 = s1 = s2 = s3 = 0.0
        for n in range(values.size):
            x, row = values[n], W[columns[n]]
            s0 += x * row[k]
            s1 += x * row[k + 1]
            s2 += x * row[k + 2]
            s3 += x * row[k + 3]
        f[k] += s0
        f[k + 1] += s1
        f[k + 2] += s2
        f[k + 3] += s3


@jit(fast=True)
def _add(values, columns, step, W):
    """W += x step'."""
    for k in range(0, W.shape[1], LANES):
        s0, s1, s2, s3 = step[k], step[k + 1], step[k + 2], step[k + 3]
        if s0 == 0.0 and s1 == 0.0 and s2 == 0.0 and s3 == 0.0:
            continue
        for n in range(values.size):
            x, row = values[n], W[columns[n]]
            row[k] += x * s0
            row[k + 1] += x * s1
            row[k + 2] += x * s2
            row[k + 3] += x * s3


@jit(fast=True)
def _some_scores(values, columns, W, some, f):
    """f += W'x, of some classes only."""
    for k in range(some.size):
        s0 = s1 = 0.0  # two sums keep the adders busy
        at = some[k]
        for n in range(0, values.size - 1, 2):
            s0 += values[n] * W[columns[n], at]
            s1 += values[n + 1] * W[columns[n + 1], at]
        if values.size % 2:
            s0 += values[-1] * W[columns[-1], at]
        f[k] += s0 + s1


@jit(fast=True)
def _add_some(values, columns, steps, some, W):
    """W += x step', of some classes only."""
    for k in range(some.size):
        step, at = steps[k], some[k]
        if step != 0.0:
            for n in range(values.size):
                W[columns[n], at] += values[n] * step


@jit(fast=True)
def _project(v):
    """Replace v by the nearest point of the simplex."""
    K = v.size
    top = v[0]
    for k in range(1, K):
        top = max(top, v[k])
    below = top - EPS * abs(top)  # among very large numbers, one less is the same
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


@jit(fast=True)
def _towards_margin(g, a, q, new):
    """The maximiser of <new, g> - q |new - a|^2 / 2 over the simplex; returns max g - <a, g>.

    A class can have a share only if it has one now, or if its g is within q of the largest.
    """
    best, mean = 0, 0.0
    for k in range(g.size):
        mean += a[k] * g[k]
        if g[k] > g[best]:
            best = k
    top = g[best]
    if q > 0.0:
        for k in range(g.size):
            new[k] = a[k] + (g[k] - top) / q
        _project(new)
    else:
        new[:] = 0.0
        new[best] = 1.0
    return top - mean


@jit(fast=True)
def _drop(g, a, new, some, threshold):
    """Keep in ``some`` the classes that matter to a sample, and return how many these are.

    Those that have no share, had none, and are behind all that have one by more than the threshold, do not.
    """
    least = np.inf
    for k in range(g.size):
        if new[k] > 0.0:
            least = min(least, g[k])
    count = 0
    for k in range(g.size):
        some[count] = some[k]
        if new[k] > 0.0 or a[k] > 0.0 or g[k] >= least - threshold:
            count += 1
    return count


@jit(fast=True)
def _towards_softmax(f, a, q, entropy, new, logs):
    """The maximiser of <new, f> - sum new log new - q |new - a|^2 / 2 over the simplex, by Newton's method
    in the logarithms; returns log sum exp f - <a, f> + sum a log a, and sum new log new.

    Where it is, log new_k + q new_k = f_k + q a_k + t, for the t with which the sum is one.
    """
    K = f.size
    top = f[0]
    for k in range(1, K):
        top = max(top, f[k])
    total, mean = 0.0, 0.0
    for k in range(K):
        new[k] = np.exp(f[k] - top)
        total += new[k]
        mean += a[k] * f[k]
    gap = top + np.log(total) - mean + entropy
    # between the answers for q = 0 and for q = inf, and never zero where one of them is not
    for k in range(K):
        new[k] = max((new[k] / total + q * a[k]) / (1.0 + q), 1e-300)
        logs[k] = np.log(new[k])
    for _ in range(10):
        # linearised: the step in log new_k is (r_k + t) / (1 + q new_k)
        moved, give, total = 0.0, 0.0, 0.0
        for k in range(K):
            share = new[k] / (1.0 + q * new[k])
            moved += share * (f[k] - top + q * (a[k] - new[k]) - logs[k])
            give += share
            total += new[k]
        t = (1.0 - total - moved) / give
        largest = 0.0
        total = 0.0
        for k in range(K):
            step = (f[k] - top + q * (a[k] - new[k]) - logs[k] + t) / (1.0 + q * new[k])
            step = min(step, 2.0)
            logs[k] += step
            new[k] = np.exp(logs[k])
            total += new[k]
            largest = max(largest, abs(step))  # of tiny shares, too: they make up a small gap
        if largest < 1e-3:
            break
    log_total = np.log(total)
    after = 0.0
    for k in range(K):
        new[k] /= total
        after += new[k] * (logs[k] - log_total)
    return gap, after


@jit(fast=True)
def sweep(
    data, indices, indptr, costs, rows, table, known, entropic,
    order, A, entropy, W, s, h, inv_alpha, rho, mean_sq, threshold, classes, live,
):  # fmt: skip
    """Steps on the samples of ``order``. Updates A, entropy, W, s and h.

    Row i of ``table`` holds p_i, the curvature q_i of its part of the dual, and along_i: what is read
    together lies together, since samples come in random order and memory is what a step waits for.

    Sample i looks at its first ``live[i]`` classes of ``classes[i]`` only. For margin losses those that have
    no share and are behind by more than the threshold are dropped: a sample that is left with one class has
    nothing to choose, it rests. Returns the sum of p_i times what sample i could gain, and that without p_i,
    as it was met.
    """
    K, wide = A.shape[1], W.shape[1]
    scores, a, new, logs, steps = np.zeros(wide), np.empty(K), np.empty(K), np.empty(K), np.zeros(wide)
    longest = 0
    for n in range(indptr.size - 1):
        longest = max(longest, indptr[n + 1] - indptr[n])
    all_values, all_columns = np.empty(longest + 1, data.dtype), np.empty(longest + 1, np.uint32)
    shares = A.ravel()
    gap = pulls = 0.0
    for n in range(order.size):
        if n + AHEAD < order.size:  # in place: a prefetch in a function of its own is optimised away
            i = order[n + AHEAD]
            prefetch(table, i)
            prefetch(classes, i)
            start, stop = indptr[i], min(indptr[i + 1], indptr[i] + ASKED)
            for entry in range(start, stop, LINE):
                prefetch(data, entry)
            if indices.size:
                for entry in range(start, stop, 2 * LINE):
                    prefetch(indices, entry)
            for at in range(i * K, i * K + K, LINE):
                prefetch(shares, at)
        i = order[n]
        p, q, along = table[i, 0], table[i, 1], table[i, 2]
        count = np.intp(live[i])
        some, f = classes[i, :count], scores[:count]
        cost, base, drag = costs[rows[i]], known[i % known.shape[0]], along * inv_alpha
        for m in range(count):
            k = some[m]
            f[m] = h[k] + base[k] - drag * s[k] + cost[k]
            a[m] = A[i, k]
        entries = _entries(data, indices, indptr[i], indptr[i + 1], all_values, all_columns)
        values, columns = all_values[:entries], all_columns[:entries]
        if count == K:  # in their order, then
            _scores(values, columns, W, scores)
        else:
            _some_scores(values, columns, W, some, f)
        if entropic:
            pull, entropy[i] = _towards_softmax(f, a, q, entropy[i], new, logs)
        else:
            pull = _towards_margin(f, a[:count], q, new[:count])
        gap += p * pull
        pulls += pull
        give, changes = rho - (along - mean_sq) * inv_alpha, 0
        for m in range(count):
            k = some[m]
            away = p * (a[m] - new[m])
            A[i, k] = new[m]
            s[k] += away
            h[k] += away * give
            steps[m] = away * inv_alpha
            changes += away != 0.0
        if count == K and 2 * changes > K:
            _add(values, columns, steps, W)
        elif changes > 0:
            _add_some(values, columns, steps[:count], some, W)
        if not entropic:
            live[i] = _drop(f, a[:count], new[:count], some, threshold)
    return gap, pulls


@jit
def readmit(samples, A, classes, live):
    """Let samples look at all classes again where one that was dropped has got a share from outside."""
    K = A.shape[1]
    for n in range(samples.size):
        i = samples[n]
        shares = 0
        for k in range(K):
            shares += A[i, k] != 0.0
        for m in range(live[i]):
            shares -= A[i, classes[i, m]] != 0.0
        if shares > 0:
            live[i] = K
            for k in range(K):
                classes[i, k] = k


@jit(fast=True)
def add_rows(data, indices, indptr, rows, steps, W):
    """W += x_i step' for the samples ``rows`` and the rows of ``steps``."""
    longest = 0
    for n in range(rows.size):
        longest = max(longest, indptr[rows[n] + 1] - indptr[rows[n]])
    values, columns = np.empty(longest + 1, data.dtype), np.empty(longest + 1, np.uint32)
    step = np.zeros(W.shape[1])
    for n in range(rows.size):
        i = rows[n]
        count = _entries(data, indices, indptr[i], indptr[i + 1], values, columns)
        step[: steps.shape[1]] = steps[n]
        _add(values[:count], columns[:count], step, W)
