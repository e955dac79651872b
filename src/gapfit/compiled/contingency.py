"""The contingency table that maximises a loss plus the highest scores of each class, in one walk over them.

`linear_fractional`: with t the true and p the false positives, the loss is 1 - c t / (x t + p + d), and the
sums of the highest positive and negative scores are concave in t and p. Hence

* at fixed p the sum is convex in t between two positives: the best t takes whole positives only;
* at fixed t it is concave in p: one stationary point, and the best whole number is next to it;
* the p that is best for t rises and then falls as t grows, since the gain of one more negative,
  c t / (x t + p + d)^2 + its score, does so at every p. A pointer follows it in O(n) steps altogether.

`linear_on_diagonals`: for a given number q of samples labelled positive the loss is linear in t, and the sum
concave. A pointer follows the best t from q to q + 1; in O(n) steps altogether if the slope is monotone in q,
or falls and then rises, since more positives are best for a larger q, by at most one, and a larger slope.
"""

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.precise import two_sum


@jit
def linear_fractional(positive, negative, scores, shift, scale, c, x, d, whole):
    """The best (t, p). `positive` and `negative` are prefix sums (weights; weights times scores).

    `scores` are those of the negatives, in descending order; all scores are to be raised by `shift`, then
    multiplied by `scale` (one for positives, one for negatives). `whole`: p must be a whole number.
    """
    mass, moment = positive
    false_mass, false_moment = negative
    up, down = scale
    n = len(scores)
    best, best_t, best_p = -np.inf, 0.0, 0.0
    j = 0  # negatives taken as a whole
    for i in range(len(mass)):
        t = mass[i]
        base = x * t + d
        gain = c * t
        while j < n and _slope(gain, base + false_mass[j + 1], down * (scores[j] + shift)) >= 0.0:
            j += 1
        while j > 0 and _slope(gain, base + false_mass[j], down * (scores[j - 1] + shift)) < 0.0:
            j -= 1
        first, last = false_mass[j], false_mass[j]
        if j < n:
            rise = down * (scores[j] + shift)
            if _slope(gain, base + first, rise) > 0.0:  # then rise < 0, and the next one is worth a part
                last = min(max(np.sqrt(gain / -rise) - base, first), false_mass[j + 1])
                if whole:
                    first = np.floor(last)
                    last = min(first + 1.0, false_mass[j + 1])
        for p in (first, last):
            sum_n = false_moment[j] + shift * false_mass[j]
            if p > false_mass[j]:
                sum_n += (p - false_mass[j]) * (scores[j] + shift)
            value = -gain / (base + p) + up * (moment[i] + shift * t) + down * sum_n
            if value > best:
                best, best_t, best_p = value, t, p
    return best_t, best_p


@jit
def _slope(gain, total, rise):
    """The derivative of -gain / total + rise * total in total."""
    return gain / (total * total) + rise


@jit
def linear_on_diagonals(high, slope, positive, negative):
    """The best (t, p) for the loss high[t + p] - slope[t + p] * t, and gains in descending order."""
    P, N = len(positive), len(negative)
    best, best_t, best_q = -np.inf, 0, 0
    t = 0
    total = 0.0  # of the gains of t positives and q - t negatives, and what rounding took from it
    lost = 0.0
    for q in range(P + N + 1):
        if q > 0:  # one more of either kind
            if q - t > N:
                t += 1
                gain = positive[t - 1]
            else:
                gain = negative[q - t - 1]
            total, lost = _add(total, lost, gain)
        price = slope[q]
        while t < P and t < q and positive[t] - negative[q - t - 1] - price > 0.0:
            total, lost = _add(total, lost, positive[t])
            total, lost = _add(total, lost, -negative[q - t - 1])
            t += 1
        while t > 0 and q - t < N and negative[q - t] - positive[t - 1] + price > 0.0:
            total, lost = _add(total, lost, negative[q - t])
            total, lost = _add(total, lost, -positive[t - 1])
            t -= 1
        value = high[q] - price * t + (total + lost)
        if value > best:
            best, best_t, best_q = value, t, q
    return best_t, best_q - best_t


@jit
def _add(total, lost, term):
    """total + term, and what has been lost to rounding so far."""
    total, less = two_sum(total, term)
    return total, lost + less
