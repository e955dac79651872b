"""A penalty under linear constraints A w <= b.

The conjugate has multipliers of the constraints in it,

    Omega_C*(mu) = min over x >= 0 of  <b, x> + Omega*(mu - A'x),

and any x >= 0 gives an upper bound of it: lower bounds of J hold whatever multipliers were found. Points are
drawn towards one that is well inside, by no more than rounding needs, so that every w that is returned
satisfies all constraints exactly.
"""

from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import linprog, nnls

from gapfit._types import Data, Indices, Matrix, Slope, Vector
from gapfit.errors import as_numbers
from gapfit.penalties.base import Penalty
from gapfit.rounding import EPS, TINY, Estimate, exact_dot, gamma, length, plain_sum

_ROOM = 1e-9  # of the size of b and w: what is less is no room to round in
_RIDGE = 1e-13  # of the largest curvature: multipliers need not be unique
_WIDER = 4  # times as far from the constraints as a w that is allowed are those that are made


class Program:
    """Minimise <g, x> + x'Hx / 2 over x >= 0, for many g."""

    def __init__(self, H: Matrix) -> None:
        self.H, ridge = H, _RIDGE * float(H.diagonal().max(initial=0.0)) or 1.0
        while True:
            try:
                self.root = cholesky(H + ridge * np.eye(len(H)), lower=True, check_finite=False)
                return
            except np.linalg.LinAlgError:
                ridge *= 10

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and np.array_equal(self.H, other.H)

    __hash__ = None  # type: ignore[assignment]

    def minimiser(self, g: Vector) -> Vector:
        """Nearly; by non-negative least squares, then by the equations of the multipliers in use."""
        if not (g < 0).any():
            return np.zeros_like(g)
        target = solve_triangular(self.root, -g, lower=True, check_finite=False)
        x = np.asarray(nnls(self.root.T, target, maxiter=30 * len(g) + 100)[0])
        some = np.flatnonzero(x)
        if len(some):
            finer = np.linalg.lstsq(self.H[np.ix_(some, some)], -g[some], rcond=1e-13)[0]
            if (finer >= 0).all():
                x[some] = finer
        return x


class Constrained(Penalty):
    """A penalty restricted to the w with A w <= b.

    Parameters
    ----------
    penalty : L2() or QuadraticForm(Q).
    A : the constraints' slopes, (m, d); losses of several scores a sample have a weight for each feature and
        score, feature by feature.
    b : their bounds, (m,). Some w must satisfy all of them with room to spare; where A w = b is meant, leave
        a little room on both sides.
    """

    def __init__(self, penalty: Penalty, A: Any, b: Any) -> None:
        if not isinstance(penalty, Penalty) or isinstance(penalty, Constrained):
            raise TypeError(f"Constrained needs a penalty without constraints of this kind, got {penalty!r}")
        if not penalty.quadratic:
            raise ValueError(f"Constrained needs a quadratic penalty, L2 or QuadraticForm, got {penalty!r}")
        self.penalty, self.A, self.b = penalty, as_numbers("A", A), as_numbers("b", b)
        if self.A.ndim != 2 or not np.isfinite(self.A).all():
            raise ValueError(f"A must be a finite matrix (m, d), got the shape {self.A.shape}")
        if self.b.shape != (len(self.A),) or not np.isfinite(self.b).all():
            raise ValueError(
                f"b must have a finite bound for each of {len(self.A)} rows of A, got {self.b!r}"
            )
        self._inside, self._sizes = _inside(self.A, self.b, penalty), np.abs(self.A)
        self._program = Program(penalty.curvature(np.ones(self.A.shape[1]), self.A.T))
        self.modulus, self.stretch = penalty.modulus, penalty.stretch
        self.inner_product = penalty.inner_product
        self.least_is_zero = penalty.least_is_zero and self._allows(penalty.argmax(np.zeros(self.A.shape[1])))

    def value(self, w: Slope) -> float:
        return self.penalty.value(w) if self._allows(w) else np.inf

    def value_above(self, w: Slope, *, exact: bool = False) -> Estimate:
        return self.penalty.value_above(w, exact=exact) if self._allows(w) else Estimate(np.inf, 0.0)

    def _rounding(self, w: Slope) -> Vector:
        """What rounding can do to A w."""
        return gamma(len(w) + 8) * (self._sizes @ np.abs(w) + np.abs(self.b)) + len(w) * TINY

    def _allows(self, w: Slope, wider: float = 1.0) -> bool:
        """Does w satisfy the constraints, whatever rounding did?"""
        return bool((self.A @ w + wider * self._rounding(w) <= self.b).all())

    def _drawn(self, w: Slope) -> Slope:
        """w, drawn inside as far as rounding needs."""
        if self._allows(w, _WIDER) or not np.isfinite(w).all():
            return w
        beyond = self.A @ w + 2 * _WIDER * self._rounding(w) - self.b
        room = self.b - self.A @ self._inside
        share = float((beyond / (np.maximum(beyond, 0.0) + room)).max())
        while share < 1:
            trial = w + share * (self._inside - w)
            if self._allows(trial, _WIDER):
                return np.asarray(trial)
            share = 2 * share + EPS
        return self._inside.copy()

    def _multipliers(self, mu: Slope) -> Vector:
        return self._program.minimiser(self.b - self.A @ self.penalty.argmax(mu))

    def argmax(self, mu: Slope) -> Slope:
        return self._drawn(self.penalty.argmax(mu - self._multipliers(mu) @ self.A))

    def conjugate(self, mu: Slope) -> float:
        x = self._multipliers(mu)
        return float(self.b @ x) + self.penalty.conjugate(mu - x @ self.A)

    def conjugate_above(self, mu: Slope, slack: float, *, exact: bool = False) -> Estimate:
        """With multipliers that need not be the best ones."""
        x = self._multipliers(mu)
        first = exact_dot(self.b, x)
        lost = length(gamma(len(x) + 4) * (np.abs(mu) + x @ self._sizes)) + mu.size * TINY
        rest = self.penalty.conjugate_above(mu - x @ self.A, slack + lost, exact=exact)
        value = first.value + rest.value
        return Estimate(value, first.error + rest.error + EPS * (abs(first.value) + abs(rest.value)))

    def argmax_error(self, mu: Slope, slack: float) -> float:
        """By what the maximiser lacks of the conjugate, at least modulus / 2 times its distance squared."""
        w = self.argmax(mu)
        pairing = plain_sum(mu * w)
        short = self.conjugate_above(mu, 0.0).above + self.value_above(w).above - pairing.below
        move = slack + 8 * EPS * self.length(mu)
        rest = float(np.sqrt(2 * max(short, 0.0) / self.modulus)) * (1 + 8 * EPS)
        return self.stretch * move / self.modulus + rest

    def curvature(self, mu: Slope, V: Matrix) -> Matrix:
        """That of the penalty, but for what constraints in force hold still."""
        x = self._multipliers(mu)
        held = self.A[x > 0].T
        whole = self.penalty.curvature(mu - x @ self.A, np.column_stack([V, held]))
        k = V.shape[1]
        still = np.linalg.pinv(whole[k:, k:], hermitian=True, rcond=1e-12)
        return np.asarray(whole[:k, :k] - whole[:k, k:] @ still @ whole[k:, :k])

    def subgradient(self, w: Slope) -> Slope:
        return self.penalty.subgradient(w)

    def prox(self, v: Slope, step: float) -> Slope:
        pulled = np.array([self.penalty.prox(row, step) for row in self.A])
        x = Program(step * self.A @ pulled.T).minimiser(self.b - self.A @ self.penalty.prox(v, step))
        return self._drawn(self.penalty.prox(v - step * (x @ self.A), step))

    def length(self, w: Slope) -> float:
        return self.penalty.length(w)

    def norm(self, w: Slope) -> float:
        return self.penalty.norm(w)

    def norm_below(self, w: Slope) -> float:
        return self.penalty.norm_below(w)

    def dual_norms(self, X: Data, centre: Vector) -> Vector:
        return self.penalty.dual_norms(X, centre)

    def bounds(self, d: int) -> tuple[Vector, Vector]:
        return self.penalty.bounds(d)

    def rounded(self, w: Slope, dtype: Any) -> Slope:
        """In full precision: in single precision a constraint in force would be missed."""
        return w

    def take(self, columns: Indices) -> Penalty:
        raise NotImplementedError("constraints hold for all weights together")

    def check(self, d: int) -> None:
        if self.A.shape[1] != d:
            raise ValueError(
                f"A has {self.A.shape[1]} columns but there are {d} weights "
                "(one for each column of X and score of the loss)"
            )
        self.penalty.check(d)


def _inside(A: Matrix, b: Vector, penalty: Penalty) -> Vector:
    """A w that is as far from all constraints as possible, up to a distance of one."""
    d = A.shape[1]
    norms = np.linalg.norm(A, axis=1)
    if len(never := np.flatnonzero((norms == 0) & (b < 0))):
        raise ValueError(f"no w satisfies A w <= b: row {never[0]} of A is zero, and b negative there")
    lower, upper = penalty.bounds(d)
    bounds = [*zip(lower, upper, strict=True), (None, 1.0)]
    answer = linprog(np.append(np.zeros(d), -1.0), np.column_stack([A, norms]), b, bounds=bounds)
    if answer.x is None:
        raise ValueError(f"no w satisfies A w <= b: {answer.message}")
    w, room = answer.x[:-1], float(answer.x[-1])
    scale = max(float(np.abs(w).max(initial=0.0)), 1.0)
    if room < -_ROOM * scale:
        worst = int(np.argmax(A @ w - b))
        raise ValueError(
            f"no w satisfies A w <= b: the constraints contradict each other, row {worst} among them"
        )
    if room <= _ROOM * scale:
        raise ValueError(
            "A w <= b leaves no room: some constraints can hold with equality only; widen b by a little, "
            "such as 1e-6 times its size, or leave out weights that the constraints fix"
        )
    return np.asarray(w)
