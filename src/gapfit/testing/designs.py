"""What a design promises: a linear map, its adjoint, bounds of their rounding, parts, distances, forms."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from gapfit._types import Matrix, Slope, Vector
from gapfit.design.base import Design, Precise
from gapfit.design.chain import ChainRows
from gapfit.design.forms import Plain, Rows, WideRows
from gapfit.design.kernel import Gram
from gapfit.losses import Squared
from gapfit.penalties import L2
from gapfit.testing.require import require

_LOOKED_AT = 24  # rows and columns: products with them alone are compared with exact ones
_ROUNDING = 1e-12


def check_design(
    design: Design, *, other: Design | None = None, rows: Any = None, trials: int = 5, seed: int = 0
) -> None:
    """Check products, rounding, parts, distances, forms and digest of a design.

    Parameters
    ----------
    other : a design of other data, whose digest must differ
    rows : samples that `take` may take; by default every second one
    """
    rng = np.random.default_rng(seed)
    n, d = design.shape
    for name, number in (
        ("shape[0]", n),
        ("shape[1]", d),
        ("size", design.size),
        ("n_samples", design.n_samples),
    ):
        require(number == int(number) > 0, design, f"{name} is {number!r}, not a positive whole number")
    before = design.digest()
    for _ in range(trials):
        w, v, u = (rng.normal(size=k) * 10.0 ** rng.uniform(-3, 3, k) for k in (d, d, n))
        _check_linear(design, w, v)
        _check_adjoint(design, w, u)
        _check_rounding(design, rng)
        _check_forms(design, w)
    _check_sizes(design, rng)
    _check_memory(design, rng.normal(size=d))
    _check_part(design, np.arange(0, design.n_samples, 2) if rows is None else rows, rng.normal(size=d))
    if n == design.n_samples:
        _check_risk(design, rng.normal(size=d))
        if design.has(Plain):
            _check_widened(design, rng)
    require(design.digest() == before, design, "its digest changes when it is used")
    if other is not None:
        require(other.digest() != before, design, "a design of other data has the same digest")


def _check_linear(design: Design, w: Slope, v: Slope) -> None:
    n = design.shape[0]
    found = design.scores(w)
    numbers = found.shape == (n,) and found.dtype == np.float64
    require(numbers, design, f"scores(w) are not {n} float64 numbers")
    require(not design.scores(np.zeros_like(w)).any(), design, "scores(0) is not 0")
    off = np.abs(design.scores(w + 2 * v) - found - 2 * design.scores(v))
    room = design.slack(w + 2 * v) + design.slack(w) + 2 * design.slack(v)
    sizes = design.row_sizes * (design.length(w) + design.length(v))
    require((off <= room + _ROUNDING * sizes).all(), design, f"scores are not linear: off by {off.max():.3g}")


def _check_adjoint(design: Design, w: Slope, u: Vector) -> None:
    d = design.shape[1]
    a, scores = design.adjoint(u), design.scores(w)
    require(a.shape == (d,) and a.dtype == np.float64, design, f"adjoint(u) is not {d} float64 numbers")
    off = abs(design.inner(a, w) - float(u @ scores))
    room = float(np.abs(u) @ (design.slack(w) + _ROUNDING * np.abs(scores)))
    room += design.inner_error(a, w) + design.spread(u) * design.length(w)
    require(off <= room, design, f"<adjoint(u), w> is not <u, scores(w)>: off by {off:.3g}")
    for one, several in zip((a, design.adjoint(2 * u)), design.adjoints(u, 2 * u), strict=True):
        off = float(np.linalg.norm(one - several))
        require(off <= 6 * design.spread(u), design, f"adjoints differ from adjoint by {off:.3g}")


def _check_rounding(design: Design, rng: np.random.Generator) -> None:
    """Products with some columns, and with some rows, against sums without rounding."""
    n, d = design.shape
    some = rng.choice(d, min(d, _LOOKED_AT), replace=False)
    w = np.zeros(d)
    w[some] = rng.normal(size=len(some)) * 10.0 ** rng.uniform(-8, 8, len(some))
    units = [np.eye(1, d, int(k))[0] for k in some]
    columns = np.stack([design.scores(unit) for unit in units])
    shown = rng.choice(n, min(n, _LOOKED_AT), replace=False)
    unsure = np.abs(w[some]) @ np.stack([design.slack(unit) for unit in units])  # of the entries themselves
    found, exact = design.scores(w)[shown], _exact(columns[:, shown], w[some])
    _within(design, "slack", found, np.zeros_like(found), exact, (design.slack(w) + unsure)[shown])
    precise = design.precise_scores(w)
    if precise is not None:
        high, low, slack = Precise(*(part[shown] for part in precise))
        _within(design, "the slack of precise_scores", high, low, exact, slack)
    u = np.zeros(n)
    u[shown] = rng.normal(size=len(shown)) * 10.0 ** rng.uniform(-8, 8, len(shown))
    units = [np.eye(1, n, int(k))[0] for k in shown]
    lines = np.stack([design.adjoint(unit) for unit in units])[:, some]
    blur = sum(abs(u[k]) * design.spread(unit) for k, unit in zip(shown, units, strict=True))
    found, exact = design.adjoint(u)[some], _exact(lines, u[shown])
    zero = np.zeros_like(found)
    _within(design, "spread", found, zero, exact, np.full_like(found, design.spread(u) + blur))
    precise = design.precise_adjoint(u)
    if precise is not None:
        high, low, slack = Precise(*(part[some] for part in precise))
        _within(design, "the slack of precise_adjoint", high, low, exact, slack)


def _exact(lines: Matrix, weights: Vector) -> list[Fraction]:
    """The sum of weighted lines, without rounding."""
    factors = [Fraction(float(x)) for x in weights]
    return [sum(f * Fraction(float(x)) for f, x in zip(factors, line, strict=True)) for line in lines.T]  # type: ignore[misc]


def _within(
    design: Design, what: str, high: Vector, low: Vector, exact: list[Fraction], room: Vector
) -> None:
    for h, rest, true, allowed in zip(high, low, exact, room, strict=True):
        off = abs(float(Fraction(float(h)) + Fraction(float(rest)) - true))
        require(off <= allowed, design, f"{what} allows {allowed:.3g}, and a product is off by {off:.3g}")


def _check_sizes(design: Design, rng: np.random.Generator) -> None:
    """Of entries, rows and distances: bounds from above."""
    n, d = design.shape
    shown = rng.choice(n, min(n, _LOOKED_AT), replace=False)
    about = [np.zeros(d)]
    if n == design.n_samples:
        about.append(design.adjoint(np.full(n, 1.0 / n)))
    distances = [design.distances(design.penalty(L2()), centre) for centre in about]
    for k in shown:
        unit = np.eye(1, n, int(k))[0]
        line = design.adjoint(unit)
        length = _length(design, line)
        held = design.row_sizes[k]
        for name, bound in (("reach", design.reach(unit)), ("row_sizes", held)):
            require(length <= bound * (1 + 1e-9), design, f"row {k} has the length {length:.6g}, over {name}")
        for centre, reach in zip(about, distances, strict=True):
            far, bound = _length(design, line - centre), reach[k] * (1 + 1e-9) + 1e-9 * held
            require(far <= bound, design, f"row {k} is {far:.6g} away, over distances")
    entry = float(np.abs(design.scores(np.eye(1, d, int(rng.integers(d)))[0])).max())
    require(entry <= design.largest * (1 + 1e-9), design, f"an entry is {entry:.6g}, over largest")


def _length(design: Design, a: Slope) -> float:
    return float(np.sqrt(max(design.inner(a, a), 0.0)))


def _check_memory(design: Design, w: Slope) -> None:
    """What it remembers changes nothing but last bits, and these come back with its state."""
    state = design.state()
    first = design.scores(w).copy()
    design.restore(state)
    require(np.array_equal(design.scores(w), first), design, "the same product, from the same state, differs")


def _check_part(design: Design, rows: Any, w: Slope) -> None:
    part, n = design.take(rows), len(np.arange(design.n_samples)[rows])
    require(part.n_samples == n, design, f"take({n} rows) has {part.n_samples} samples")
    if n < design.n_samples:
        require(part.digest() != design.digest(), design, "a part has the digest of the whole")
    outputs, rest = divmod(design.shape[0], design.n_samples)
    if rest or part.shape[0] != outputs * n:
        return  # some scores belong to no sample
    kept = w if part.shape[1] == len(w) else w[rows]  # weights may belong to samples
    whole = w if part.shape[1] == len(w) else np.zeros_like(w)
    if whole is not w:
        whole[rows] = kept
    off = np.abs(part.scores(kept) - design.scores(whole).reshape(-1, outputs)[rows].ravel())
    room = 2 * design.slack(whole).reshape(-1, outputs)[rows].ravel()
    require((off <= room).all(), design, f"take gives other scores: off by {off.max():.3g}")


def _check_risk(design: Design, w: Slope) -> None:
    """The risk of its scores, however it is added up."""
    risk = Squared().bind(np.arange(float(design.n_samples)), np.ones(design.n_samples))
    b = np.zeros(risk.offsets.size)
    value, expected = design.risk(risk, w, b)[0], risk.value_and_subgradient(design.scores(w), b)[0]
    require(abs(value - expected) <= 1e-10 * (1 + abs(expected)), design, "risk is not that of its scores")
    above = design.risk_above(risk, w, b, 0.0)
    require(above.below <= expected <= above.above, design, "risk_above misses the risk of its scores")


def _check_widened(design: Design, rng: np.random.Generator) -> None:
    wide, W = design.widened(2), rng.normal(size=(design.shape[1], 2))
    expected = np.stack([design.scores(column) for column in W.T.copy()], axis=1).ravel()
    off = np.abs(wide.scores(W.ravel()) - expected)
    room = np.repeat(design.slack(W[:, 0]) + design.slack(W[:, 1]), 2)
    require((off <= 2 * room).all(), design, f"widened(2) gives other scores: off by {off.max():.3g}")


def _check_forms(design: Design, w: Slope) -> None:
    """Every form gives the same scores."""
    scores, slack = design.scores(w), design.slack(w)

    def same(found: Vector, name: str, some: slice = slice(None)) -> None:
        off = np.abs(found - scores[some])
        what = f"its {name} give scores that are {off.max():.3g} off"
        require((off <= 3 * slack[some]).all(), design, what)

    if design.has(Plain):
        off = abs(design.inner(w, w[::-1]) - float(w @ w[::-1]))
        room = design.inner_error(w, w[::-1])
        require(off <= room, design, f"Plain, but inner is no inner product of vectors: off by {off:.3g}")
    if (rows := design.form(Rows)) is not None:
        require(rows.matrix.shape == design.shape, design, "its Rows have another shape")
        same(rows.matrix.scores(w), "Rows")
    if (wide := design.form(WideRows)) is not None:
        same(wide.matrix.scores(w.reshape(-1, wide.outputs)).ravel(), "WideRows")
    if (gram := design.form(Gram)) is not None:
        every = np.arange(len(w))
        same(gram.tiles.tile(every, every, np.float64) @ w, "Gram")
    if (chain := design.form(ChainRows)) is not None and not len(chain.pairs.names):
        data, columns, starts = chain.compiled()
        W = w[: chain.node_weights].reshape(-1, chain.n_labels)
        lines = [data[a:b] @ W[columns[a:b]] for a, b in pairwise(starts)]
        same(np.concatenate(lines), "ChainRows", slice(len(lines) * chain.n_labels))
