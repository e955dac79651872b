"""Shares of classes and the softmax risk of all samples at once, against sixty digits."""

import numpy as np
import pytest
from mpmath import mp

from gapfit.compiled import small_classes
from gapfit.compiled.exponentials import LEFT_OUT, ROUNDINGS
from gapfit.compiled.rows import as_rows
from gapfit.compiled.small_curved import CLASSES, Curved
from kernels import entry

answer_classes = entry(small_classes.answer_classes)
UNIT = 2.0**-53


@pytest.mark.parametrize("seed", range(30))
def test_shares_and_risk(seed):
    rng = np.random.default_rng([83, seed])
    n, K = int(rng.integers(1, 12)), int(rng.integers(2, 9))
    F, b = rng.normal(size=(n, K)) * 10.0 ** rng.uniform(-8, 2), rng.normal(size=K)
    y, p = rng.integers(0, K, n).astype(float), rng.random(n) + 0.01
    p /= p.sum()
    task = Curved(
        as_rows(*(np.zeros(n), np.zeros(0, np.int32), np.arange(n + 1))), CLASSES, 1, y, p, 1.0, True
    )
    answers = np.empty((n, K))
    risk = answer_classes(task, F, b, answers, np.empty(n))
    exact, size = mp.mpf(0), float(np.abs(F).max() + np.abs(b).max())
    with mp.workdps(60):
        for i in range(n):
            powers = [
                mp.exp(mp.mpf(F[i, k]) + mp.mpf(b[k]) - F[i, int(y[i])] - b[int(y[i])]) for k in range(K)
            ]
            exact += mp.mpf(p[i]) * mp.log(sum(powers))
            for k in range(K):
                share = powers[k] / sum(powers)
                off = (2 * ROUNDINGS + 16 * size + K) * UNIT
                assert abs(answers[i, k] - share) <= off * share + LEFT_OUT
        assert abs(risk - exact) <= (ROUNDINGS + n + K) * UNIT * exact + 16 * size * UNIT + K * LEFT_OUT
