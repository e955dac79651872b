"""What a tensor holds, as a number that any change of its bytes changes: one pass where it is.

Each word is mixed with its place and multiplied until every bit has moved every other; the words are then
added up. So places count, and two words that change do not cancel but by a chance of 2^-64; two such sums
with different multipliers make a mark.
"""

import torch

from gapfit.device.formulas import fused, in_tiles
from gapfit.device.rows import Rows

__all__ = ["mark_of"]

_BLOCK = 2**27  # words at a time
_ODD = (-7046029254386353131, -4417276706812531889, -8663945395140668459, 4768777513237032717)


@fused
def _mixed(words: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    place = torch.arange(words.numel(), device=words.device) + start
    x = words ^ (place * _ODD[0])
    x = (x ^ (x >> 31)) * _ODD[1]
    x = (x ^ (x >> 29)) * _ODD[2]
    return in_tiles(x, (x ^ (x >> 32)) * _ODD[3])


def mark_of(rows: Rows) -> list[int]:
    """Of the stored entries, and of where they are."""
    return [number for tensor in rows.parts() for number in tensor_mark(tensor)]


def tensor_mark(tensor: torch.Tensor) -> list[int]:
    """Two numbers for all of a tensor's bytes."""
    raw = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    if raw.storage_offset() % 8 or raw.data_ptr() % 8:  # a slice may begin anywhere
        raw = raw.clone()
    whole = raw.numel() // 8 * 8
    words, total = raw[:whole].view(torch.int64), torch.zeros(2, dtype=torch.int64)
    for first in range(0, words.numel(), _BLOCK):
        total = total + _mixed(words[first : first + _BLOCK], torch.tensor(first)).sum(1).cpu()
    return [*total.tolist(), *raw[whole:].tolist(), raw.numel()]
