"""A digest of many words at the speed of memory, in which no change of a single word can get lost.

Every word enters two chains, ``state -> rotate((state ^ word) * odd)``. For a given state that is a bijection
of the word, and for a given word one of the state: two inputs that differ in one word of a chain end in
different states, always, and others with odds of 1 to 2^128. Four pairs of chains keep the processor busy.
"""

import numpy as np

from gapfit.compiled._jit import jit

LANES = 4
_ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC4CEB9FE1A85EC53))
_LEFT, _RIGHT = np.uint64(29), np.uint64(35)


@jit(inline=True)
def _enter(state, word, odd):
    mixed = (state ^ word) * odd
    return (mixed << _LEFT) | (mixed >> _RIGHT)


@jit
def mix(words, seed, out):
    """The states of all chains after these words (uint64), four at a time; what is left over goes to the
    first ones."""
    a0 = a1 = a2 = a3 = np.uint64(seed)
    b0 = b1 = b2 = b3 = ~np.uint64(seed)
    whole = len(words) // LANES * LANES
    for k in range(0, whole, LANES):
        a0, b0 = _enter(a0, words[k], _ODD[0]), _enter(b0, words[k], _ODD[1])
        a1, b1 = _enter(a1, words[k + 1], _ODD[0]), _enter(b1, words[k + 1], _ODD[1])
        a2, b2 = _enter(a2, words[k + 2], _ODD[0]), _enter(b2, words[k + 2], _ODD[1])
        a3, b3 = _enter(a3, words[k + 3], _ODD[0]), _enter(b3, words[k + 3], _ODD[1])
    out[0], out[1], out[2], out[3] = a0, a1, a2, a3
    out[4], out[5], out[6], out[7] = b0, b1, b2, b3
    for k in range(whole, len(words)):
        lane = k - whole
        out[lane] = _enter(out[lane], words[k], _ODD[0])
        out[lane + LANES] = _enter(out[lane + LANES], words[k], _ODD[1])
