"""The penalties Omega(w), from their definitions, and where each is least."""

from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp

from soak.exact.numbers import INFINITY, dot, number, numbers, total, x_log_x


def omega(name: str, params: dict[str, Any], w: Any) -> Any:
    """Omega(w), infinite outside its domain."""
    return _PENALTIES[name](numbers(w), **params)


def _elastic(w: list[Any], l1_ratio: float) -> Any:
    ratio = number(l1_ratio)
    return ratio * total(abs(x) for x in w) + (1 - ratio) / 2 * dot(w, w)


def _l1(w: list[Any]) -> Any:
    return _elastic(w, 1.0)


def _l2(w: list[Any]) -> Any:
    return _elastic(w, 0.0)


def _squared_lp(w: list[Any], p: float = 1.5) -> Any:
    order = number(p)
    return total(abs(x) ** order for x in w if x) ** (2 / order) / 2


def _quadratic_form(w: list[Any], Q: Any) -> Any:
    rows = [numbers(row) for row in np.asarray(Q)]
    return total(x * dot(row, w) for x, row in zip(w, rows, strict=True)) / 2


def _group_lasso(w: list[Any], groups: Any, weights: Any, ratio: float) -> Any:
    names = list(np.unique(groups))
    parts = [[x for x, g in zip(w, groups, strict=True) if g == name] for name in names]
    steep = numbers(np.sqrt([len(part) for part in parts]) if weights is None else weights)
    norms = total(s * mp.sqrt(dot(part, part)) for s, part in zip(steep, parts, strict=True))
    return number(ratio) * norms + (1 - number(ratio)) / 2 * dot(w, w)


def _entropy(w: list[Any]) -> Any:
    return INFINITY if min(w) < 0 else total(x_log_x(x) - x + 1 for x in w)


def _simplex_entropy(w: list[Any]) -> Any:
    """Of w scaled to the simplex, which floats can only be near to: see `attained`."""
    if min(w) < 0 or abs(total(w) - 1) > mp.mpf("1e-6"):
        return INFINITY
    return total(x_log_x(x) for x in w) + mp.log(len(w))


def _box(w: list[Any], inner: tuple[str, dict[str, Any]], lo: Any, hi: Any) -> Any:
    low, high = (np.broadcast_to(end, len(w)) for end in (lo, hi))
    inside = all(number(a) <= x <= number(b) for a, x, b in zip(low, w, high, strict=True))
    name, params = inner
    return _PENALTIES[name](w, **params) if inside else INFINITY


def _constrained(w: list[Any], inner: tuple[str, dict[str, Any]], A: Any, b: Any) -> Any:
    allowed = all(dot(numbers(row), w) <= number(end) for row, end in zip(np.asarray(A), b, strict=True))
    name, params = inner
    return _PENALTIES[name](w, **params) if allowed else INFINITY


_PENALTIES: dict[str, Callable[..., Any]] = {
    "l2": _l2,
    "l1": _l1,
    "elastic_net": _elastic,
    "squared_lp": _squared_lp,
    "quadratic_form": _quadratic_form,
    "entropy": _entropy,
    "simplex_entropy": _simplex_entropy,
    "box": _box,
    "constrained": _constrained,
    "group_lasso": _group_lasso,
}


def on_simplex(w: Any) -> list[Any]:
    """w scaled to add up to one, exactly: a point that the penalty allows."""
    exact = numbers(w)
    mass = total(exact)
    return [x / mass for x in exact]
