"""The arithmetic of proofs, as compiled code has it: see `gapfit.proofs`, which says what each is.

There it is done with numbers of one problem by Python; here with those of many small ones, where Python would
take longer than their sums.
"""

import math

from gapfit.compiled._jit import jit
from gapfit.compiled.small_feasible import UNIT
from gapfit.compiled.small_proof import gamma

EPS = 2.0 * UNIT
WEIGHTS = 128  # roundings of the samples' shares in the mean


@jit(inline=True)
def attained(alpha, omega, omega_error, risk, risk_error):
    """J = alpha Omega + R, and its error."""
    first = alpha * omega
    error = alpha * omega_error + risk_error + gamma(WEIGHTS) * (abs(first) + abs(risk))
    return first + risk, error


@jit(inline=True)
def bounded(alpha, height, height_error, conjugate, conjugate_error):
    """height - alpha Omega*, and its error."""
    second = alpha * conjugate
    error = height_error + alpha * conjugate_error + gamma(WEIGHTS) * (abs(height) + abs(second))
    return height - second, error


@jit(inline=True)
def square(dot, size, slack, terms):
    """1/2 w'Kw from <w, Kw>, <|w|, |Kw|> and <|w|, slack of Kw>, and its error."""
    error = (slack + gamma(terms + 8) * size) * (1.0 + gamma(terms + 8))
    return 0.5 * dot, 0.5 * error


@jit(inline=True)
def near_square(value, error, length, slack):
    """1/2 |mu|^2 where mu, of this length at most in its terms, may have moved by the slack; its error."""
    move = slack + 4.0 * EPS * length
    above = value + error * (1.0 + 4.0 * EPS) + 4.0 * EPS * abs(value)
    return value, error + move * (math.sqrt(2.0 * abs(above)) + 0.5 * move)


@jit(inline=True)
def left_over(e, error):
    """What is left of a slope e in b, at most."""
    return abs(e) + 8.0 * UNIT * abs(e) + error
