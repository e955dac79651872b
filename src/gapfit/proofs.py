"""The arithmetic of proofs: what is added up to a bound, and what rounding may have done to each part of it.

`Objective` and `Problem` do it with numbers; arrays that have an entry for each of many problems do as well.
Compiled code has it in words of its own (`compiled.bounds`). docs/decisions/023-rounding.md derives it.
"""

from typing import Any

from gapfit.rounding import EPS, SUM, UNIT, Estimate, gamma

WEIGHTS = 2 * SUM  # roundings of the samples' shares in the mean: J changes by no more, relatively
_SHARES = gamma(WEIGHTS)


def attained(alpha: Any, omega: Estimate, risk: Estimate) -> Estimate:
    """J = alpha Omega + R."""
    first = alpha * omega.value
    error = alpha * omega.error + risk.error + _SHARES * (abs(first) + abs(risk.value))
    return Estimate(first + risk.value, error)


def bounded(alpha: Any, c: Estimate, conjugate: Estimate) -> Estimate:
    """c - alpha Omega*: a lower bound of J."""
    second = alpha * conjugate.value
    error = c.error + alpha * conjugate.error + _SHARES * (abs(c.value) + abs(second))
    return Estimate(c.value - second, error)


def balanced(height: Any, at: Any, mixed: Any) -> Any:
    """What rounding may do to a height c, and there where tangents were mixed in."""
    return 8 * UNIT * (abs(height) + abs(at) + abs(mixed))


def left_over(e: Any, before: Any, error: Any) -> Any:
    """What is left of a slope in b, at most: e of what was `before`, known up to an error."""
    return abs(e) + 8 * UNIT * abs(before) + error


def taken_away(share: Any, height: Any, highest: Any, size: Any, reach: Any) -> tuple[Any, Any]:
    """What it costs in height, and in length of a slope of this size, to mix in a share of tangents that are
    this high at most and whose slopes reach so far."""
    return share * (abs(height) + 2 * highest), share * (size + reach)


def square(dot: Any, size: Any, slack: Any, terms: int) -> Estimate:
    """1/2 w'Kw from <w, Kw>, <|w|, |Kw|> and <|w|, slack of Kw>."""
    error = (slack + gamma(terms + 8) * size) * (1 + gamma(terms + 8))
    return Estimate(0.5 * dot, 0.5 * error)


def near_square(here: Estimate, length: Any, slack: Any) -> Estimate:
    """1/2 |mu|^2 where mu, of this length at most in its terms, may have moved by the slack."""
    move = slack + 4 * EPS * length
    return Estimate(here.value, here.error + move * ((2 * abs(here.above)) ** 0.5 + 0.5 * move))
