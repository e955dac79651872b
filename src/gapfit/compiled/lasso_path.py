"""Least squares under L1 at one alpha after the other, by moments."""

from gapfit.compiled._jit import jit


@jit(fast=True)
def descend_alphas(gram, slopes, alphas, fine, most, inside, active, before, W):
    """Write the minimisers w of  w'Gw / 2 + <slopes, w> + alpha |w|_1  for falling alphas.

    Each begins with the last. Sweeps go over the coordinates in use until no derivative changes by more than
    `fine` alpha, `most` sweeps at the most; then all others are looked at. `slopes` become derivatives at the last w.
    `inside`, `active` and `before` are places to work in, one for each coordinate, `inside` zero.
    """
    d, count = slopes.size, 0
    for k in range(alphas.size):
        alpha, w, left = alphas[k], W[k], most
        if k > 0:
            for j in range(d):
                w[j] = W[k - 1, j]
        searching = True
        while searching:
            for i in range(count):
                before[active[i]] = w[active[i]]
            moving = True
            while moving and left > 0:
                left -= 1
                worst = 0.0
                for i in range(count):
                    j = active[i]
                    bend = gram[j, j]
                    target = bend * w[j] - slopes[j]
                    beyond = target - min(max(target, -alpha), alpha)
                    step = beyond / bend - w[j] if bend > 0.0 else 0.0
                    if step != 0.0:
                        w[j] += step
                        worst = max(worst, abs(step) * bend)
                        row = gram[j]
                        for other in range(count):
                            slopes[active[other]] += step * row[active[other]]
                moving = worst > fine * alpha
            for i in range(count):
                step, row = w[active[i]] - before[active[i]], gram[active[i]]
                if step != 0.0:
                    for j in range(d):
                        slopes[j] += step * row[j] * (1.0 - inside[j])
            # those that came to zero may leave, whoever pulls harder than alpha comes in
            searching, kept = False, 0
            for i in range(count):
                j = active[i]
                if w[j] != 0.0:
                    active[kept] = j
                    kept += 1
                else:
                    inside[j] = 0.0
            count = kept
            for j in range(d):
                if inside[j] == 0.0 and abs(slopes[j]) > (1.0 + fine) * alpha:
                    inside[j] = 1.0
                    active[count] = j
                    count += 1
                    searching = left > 0
