"""Losses of the order of scores, by Triton: sorts of short keys, pairs and tables are those of memory."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="devices need torch: pip install 'gapfit[gpu]'")

import torch

KERNELS = """
import numpy as np, torch
from gapfit.compiled import contingency, rank
from gapfit.device import queries, ranks, ratios, sorting
from gapfit.losses.sorting import descending, ranked
rng = np.random.default_rng(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
def there(x):
    return torch.as_tensor(x).to(device)
def cases(n):
    yield rng.normal(size=n)
    yield np.round(1e3 * rng.normal(size=n)) / 1e3  # some are equal
    yield np.round(rng.normal(size=n), 1)  # many are
    yield np.zeros(n)
    for far in (3e6, 1e9, 1e300):  # some share a cell, many, or all
        yield np.append(rng.normal(size=n - 1), far)
for n in (2, 1500, 4000):
    for f in cases(n):
        for unit in (True, False):
            y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
            y[:2] = 1, -1
            w = np.ones(n) if unit else rng.uniform(0.5, 2, n)
            classes = [np.flatnonzero(y * sign > 0) for sign in (1, -1)]
            P, N = (w[rows].sum() for rows in classes)
            # both classes, each by descending score, the first of equal ones first
            wanted = np.concatenate([rows[descending(f[rows])[0]] for rows in classes])
            doubts = []
            for order, values, doubtful in sorting.orders(there(f), there(y > 0)):
                doubts.append(bool(doubtful))
                if not doubts[-1]:  # the next is asked for all the same: it is right as well
                    assert (order.cpu().numpy() == wanted).all() and (values.cpu().numpy() == f[wanted]).all()
            assert not doubts[-1] and doubts[0] >= (n > 2 and np.ptp(f) == 0)
            for share in (1.0, 0.3):
                signed = y * (w / np.where(y > 0, P, share * N))
                units = there(np.array([1 / P, -1 / (share * N)])) if unit else None
                u, found = np.zeros(n), there(np.full(n, np.nan))
                pairs = rank.positives_below_negatives(descending(f)[0], signed, 1.0, u)
                counted = ranks.wrong_pairs(there(f), there(signed), units, 1.0, found)
                found = found.cpu().numpy()
                # equal scores may be in any order: the plane is as high there
                assert abs(u @ f - found @ f) <= 1e-12 * max(1.0, np.abs(f).max())
                if len(np.unique(f)) == n and np.abs(f).max() < 1e5:
                    assert np.allclose(u, found, rtol=1e-10, atol=1e-15) and abs(pairs - counted) < 1e-12
            if np.abs(f).max() > 1e20:
                continue
            for beta in (1.0, 2.0):
                positive, negative = (ranked(f[rows], w[rows]) for rows in classes)
                sums = [(part.mass, part.moment) for part in (positive, negative)]
                numbers = 0.25, (2 / n, 2 / n), 1 + beta**2, 1.0, beta**2 * P, unit
                t, p = contingency.linear_fractional(*sums, negative.scores, *numbers)
                given = [tuple(map(there, part)) for part in sums]
                shift, scale, *others = numbers
                flat = (shift, *scale, *others)
                found = ratios.best_table(*given, there(negative.scores), flat)
                assert abs(t - found[0]) <= 1e-9 and abs(p - found[1]) <= 1e-6 * (1 + p)
for size in (1, 3, 50, 500):
    n = 500
    query, f = np.sort(rng.integers(0, max(n // size, 1), n)), rng.normal(size=n)
    query = np.unique(query, return_inverse=True)[1]
    level, weight, price = rng.integers(0, 4, n), rng.uniform(0.5, 2, n), rng.uniform(0.5, 2, n)
    starts = np.r_[0, np.flatnonzero(np.diff(query)) + 1, n]
    total, u = queries.pairs_within(*map(there, (f, query, starts, level, weight, price)))
    order, values = descending(f, starts)
    known = np.empty(n)
    wanted = rank.pairs_within_runs(values, starts, level[order], weight[order], price[order], known)
    assert abs(total - wanted) <= 1e-12 * max(wanted, 1.0)
    assert np.allclose(u.cpu().numpy()[order], known, rtol=1e-12, atol=1e-12)
print("passed")
"""


def test_kernels_of_orders_are_the_loops_of_memory():
    """On the card, or by Triton's interpreter, which must be chosen before Triton is loaded."""
    pytest.importorskip("triton", reason="they need triton: pip install 'gapfit[gpu]'")
    interpret = {} if torch.cuda.is_available() else {"TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KERNELS],
        env=os.environ | interpret,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "passed", done.stderr[-2000:]
