"""Losses that are means over samples, sum_i p_i phi(y_i, f_i + b), and two with offsets of their own."""

from collections.abc import Callable
from typing import Any

from mpmath import mp

from soak.exact.numbers import number, positive_part, total, x_log_x


def _smoothed_hinge(y: Any, f: Any, gamma: float = 1.0) -> Any:
    margin, width = y * f, number(gamma)
    if margin < 1 - width:
        return 1 - margin - width / 2
    return positive_part(1 - margin) ** 2 / (2 * width)


def _logistic(y: Any, f: Any) -> Any:
    t = -y * f
    return positive_part(t) + mp.log1p(mp.exp(-abs(t)))


def _quantile(y: Any, f: Any, q: float = 0.5) -> Any:
    return max(number(q) * (y - f), (1 - number(q)) * (f - y))


def _huber(y: Any, f: Any, delta: float = 1.0) -> Any:
    r, width = abs(f - y), number(delta)
    return r * r / 2 if r <= width else width * r - width * width / 2


PHI: dict[str, Callable[..., Any]] = {
    "hinge": lambda y, f: positive_part(1 - y * f),
    "squared_hinge": lambda y, f: positive_part(1 - y * f) ** 2,
    "smoothed_hinge": _smoothed_hinge,
    "logistic": _logistic,
    "exponential": lambda y, f: mp.exp(-y * f),
    "squared": lambda y, f: (f - y) ** 2 / 2,
    "absolute": lambda y, f: abs(f - y),
    "quantile": _quantile,
    "epsilon_insensitive": lambda y, f, epsilon=0.1: positive_part(abs(f - y) - number(epsilon)),
    "squared_epsilon_insensitive": lambda y, f, epsilon=0.1: positive_part(abs(f - y) - number(epsilon)) ** 2,
    "huber": _huber,
    "poisson": lambda y, f: mp.exp(f) - y * f + x_log_x(y) - y,
}


def mean(name: str, params: dict[str, Any], y: list[Any], weight: list[Any], f: list[Any], b: Any) -> Any:
    """sum_i p_i phi(y_i, f_i + b)."""
    phi, shift = PHI[name], b[0] if b else mp.mpf(0)
    terms = (w * phi(t, s + shift, **params) for w, t, s in zip(weight, y, f, strict=True))
    return total(terms) / total(weight)


def novelty(params: dict[str, Any], y: list[Any], weight: list[Any], f: list[Any], b: Any) -> Any:
    """b + (1 / nu) sum_i p_i max(0, -(f_i + b))."""
    del y
    shift = b[0] if b else mp.mpf(0)
    below = total(w * positive_part(-(s + shift)) for w, s in zip(weight, f, strict=True))
    return shift + below / total(weight) / number(params.get("nu", 0.5))


def scaled_huber(params: dict[str, Any], y: list[Any], weight: list[Any], f: list[Any], b: Any) -> Any:
    """min over s of sum_i p_i (s + s H(r_i / s)): at 0, or where all up to one residual are within e s."""
    shift, e, mass = b[0] if b else mp.mpf(0), number(params.get("epsilon", 1.35)), total(weight)
    sizes = [(w / mass, abs(s + shift - t)) for w, s, t in zip(weight, f, y, strict=True)]
    found = [2 * e * total(p * r for p, r in sizes)]
    for _, mark in sizes:
        kept = total(p * r * r for p, r in sizes if r <= mark)
        room = 1 - e * e * total(p for p, r in sizes if r > mark)
        if kept > 0 and room > 0:
            s = mp.sqrt(kept / room)
            found.append(
                total(p * (s + (r * r / s if r <= e * s else e * (2 * r - e * s))) for p, r in sizes)
            )
    return min(found)


def thresholds(params: dict[str, Any], y: list[Any], weight: list[Any], f: list[Any], b: Any) -> Any:
    """sum_i p_i sum over thresholds k of phi(s_ik (f_i - b_k))."""
    levels = sorted(set(y))
    level = [levels.index(t) for t in y]
    phi, kind = PHI[params.get("base", "hinge")], params.get("kind", "all")
    b = b or [mp.mpf(0)] * (len(levels) - 1)
    terms = []
    for place, w, s in zip(level, weight, f, strict=True):
        near = range(len(b)) if kind == "all" else [k for k in (place - 1, place) if 0 <= k < len(b)]
        terms += [w * phi(mp.mpf(1 if place > k else -1), s - b[k]) for k in near]
    return total(terms) / total(weight)
