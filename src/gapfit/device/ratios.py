"""The best contingency table for a ratio of linear functions, by Triton: see `compiled.contingency`.

There a pointer follows the best p from one t to the next. Here every t looks for its own, by halves, since
the gain of one more negative falls.
"""

import torch
import triton
import triton.language as tl

__all__ = ["best_table"]

_BLOCK = 256  # numbers of positives


@triton.jit
def _value(p, gain, base, moment, first, sums, score, down):
    """Of a table with p false positives, the last of which has this score."""
    more = tl.where(p > first, (p - first) * score, 0.0)
    return -gain / (base + p) + moment + down * (sums + more)


@triton.jit
def _searched(
    positive, negative, scores, numbers, out, m, n, HALVINGS: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    mass, moment = positive
    false_mass, false_moment = negative
    shift, up, down = tl.load(numbers), tl.load(numbers + 1), tl.load(numbers + 2)
    c, x, d, whole = tl.load(numbers + 3), tl.load(numbers + 4), tl.load(numbers + 5), tl.load(numbers + 6)
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = place < m
    t = tl.load(mass + place, mask=here, other=0.0)
    base, gain = x * t + d, c * t
    low, high = tl.zeros((BLOCK,), tl.int32), tl.full((BLOCK,), 0, tl.int32) + n
    for _ in range(HALVINGS):
        middle = tl.minimum((low + high) // 2, n - 1)
        total = base + tl.load(false_mass + middle + 1)
        rises = (low < high) & (gain + down * (tl.load(scores + middle) + shift) * (total * total) >= 0.0)
        high = tl.where(rises, high, tl.minimum(middle, high))
        low = tl.where(rises, middle + 1, low)
    last = tl.minimum(low, n - 1)
    first, end = tl.load(false_mass + low), tl.load(false_mass + last + 1)
    score = tl.load(scores + last) + shift
    rise = down * score
    inside = (low < n) & (gain + rise * ((base + first) * (base + first)) > 0.0)
    far = tl.sqrt(gain / tl.where(inside, -rise, 1.0)) - base
    far = tl.where(inside, tl.minimum(tl.maximum(far, first), end), first)
    part = tl.where(inside, whole, 0.0) > 0.0
    least = tl.where(part, tl.floor(far), first)
    most = tl.where(part, tl.minimum(least + 1.0, end), far)
    sums = tl.load(false_moment + low) + shift * first
    gains = up * (tl.load(moment + place, mask=here, other=0.0) + shift * t)
    fewer = _value(least, gain, base, gains, first, sums, score, down)
    more = _value(most, gain, base, gains, first, sums, score, down)
    value = tl.where(here, tl.maximum(fewer, more), float("-inf"))
    best = tl.max(value, axis=0)
    at = tl.argmax(value, axis=0)
    chosen = (tl.arange(0, BLOCK) == at) & here
    p = tl.sum(tl.where(chosen, tl.where(more > fewer, most, least), 0.0), axis=0)
    place = out + 3 * tl.program_id(0)
    tl.store(place, best)
    tl.store(place + 1, tl.sum(tl.where(chosen, t, 0.0), axis=0))
    tl.store(place + 2, p)


def best_table(
    positive: tuple[torch.Tensor, torch.Tensor], negative: tuple[torch.Tensor, torch.Tensor],
    scores: torch.Tensor, numbers: tuple[float, ...],
) -> tuple[float, float]:  # fmt: skip
    """(t, p), from prefix sums of weights and of their products with the scores, and the negatives' scores;
    the numbers are shift, scales, c, x, d and whether p must be a whole one."""
    m, n = len(positive[0]), len(scores)
    blocks = triton.cdiv(m, _BLOCK)
    out = scores.new_empty((blocks, 3))
    there = torch.tensor(numbers, dtype=torch.float64).to(scores.device, non_blocking=True)  # nobody waits
    _searched[(blocks,)](positive, negative, scores, there, out, m, n, HALVINGS=n.bit_length(), BLOCK=_BLOCK)
    _, t, p = out[out[:, 0].argmax()].tolist()
    return t, p
