"""The small quadratic program of bundle methods, by an active set with an updated factorisation.

    maximise  c'x - x'Gx / 2   over   x >= 0,  sum x = 1,   for a positive semidefinite G.

Bundles solve long sequences of these, each a little different from the one before, so each starts where the
last one ended, and the factorisation follows the support by one row at a time.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtpqrt, dtrtrs

from gapfit import limits
from gapfit._types import Indices, Matrix, Vector
from gapfit.rounding import EPS, TINY

_LARGE = 1e300  # a ridge larger than that is still a number
_DEPENDENT = 16 * EPS  # a pivot below this share of its diagonal is rounding
_LARGER = 100.0  # factorise anew for a lift that is off by so much
_PANEL = 16  # columns that LAPACK works on at once when a row is dropped


class Face:
    """A face of the simplex: some of the coordinates, and a Cholesky factor of G on them.

    The sum of x is fixed, so adding a constant to every entry of G changes only the objective's constant, and
    makes G definite wherever the maximum on the face is unique: k affinely independent cuts do, though their
    Gram matrix may be singular. That constant, the lift, is the square of the mixture's own size: a larger
    one would drown cuts that are small, a smaller one be drowned where the sum of x is to be kept.
    """

    def __init__(self, G: Matrix, members: Indices, lift: float) -> None:
        self.G = G
        self.build(members, lift)

    def build(self, members: Indices, lift: float) -> None:
        """Take these coordinates, factorised anew; a ridge at rounding level if they are not independent."""
        self.members, self.worn = members, False
        block = self.G[np.ix_(members, members)]
        self.lift = lift or 1.0
        block += self.lift
        if not np.abs(block).max() < _LARGE:
            raise OverflowError("the slopes of the risk are too large to be squared")
        ridge = np.maximum(_DEPENDENT * np.abs(block.diagonal()), TINY)  # rounding may leave less than zero
        self.R, failed = dpotrf(block)
        while failed:  # a ridge that exceeds every sum of a row is enough, and it grows
            block.flat[:: len(members) + 1] += ridge
            self.R, failed = dpotrf(block)
            ridge *= 10

    def depends(self, i: int) -> bool:
        """Is the cut of coordinate i a mixture of the others, up to rounding?"""
        return bool(self._row(i)[1] <= _DEPENDENT * (self.G[i, i] + self.lift))

    def replacement(self, i: int) -> Vector:
        """The change in the others that makes up for a unit of the coordinate i, which depends on them."""
        change = -np.asarray(dtrtrs(self.R, self._row(i)[0])[0])
        ones = dpotrs(self.R, np.ones(len(change)))[0]
        return np.asarray(change - ((change.sum() + 1.0) / ones.sum()) * ones)

    def enter(self, i: int) -> None:
        """Append coordinate i."""
        k = len(self.members)
        if k == 0:
            self.build(np.append(self.members, i), self.lift)
            return
        R = np.zeros((k + 1, k + 1), order="F")
        R[:k, :k] = self.R
        R[:k, k], rest = self._row(i)
        R[k, k] = np.sqrt(max(rest, _DEPENDENT * (self.G[i, i] + self.lift)))
        self.R, self.members, self.worn = R, np.append(self.members, i), True

    def leave(self, k: int) -> None:
        """Drop the coordinate at position k: the rows below take up what its row held."""
        R = np.asfortranarray(np.delete(np.delete(self.R, k, axis=0), k, axis=1))
        below = len(R) - k
        if below:
            R[k:, k:] = dtpqrt(0, min(_PANEL, below), R[k:, k:], self.R[k : k + 1, k + 1 :])[0]
        self.R, self.members, self.worn = R, np.delete(self.members, k), True

    def to_maximum(self, gradient: Vector) -> Vector:
        """The d with sum d = 0 that maximises g'd - d'Gd / 2."""
        sides = np.ones((len(gradient), 2), order="F")
        sides[:, 0] = gradient
        step, ones = dpotrs(self.R, sides)[0].T
        return np.asarray(step - (step.sum() / ones.sum()) * ones)

    def _row(self, i: int) -> tuple[Vector, float]:
        """What coordinate i adds to the factor: a column, and the square below it."""
        column = dtrtrs(self.R, self.G[self.members, i] + self.lift, trans=1)[0]
        return column, float(self.G[i, i] + self.lift - column @ column)


def maximise_on_simplex(G: Matrix, c: Vector, start: Vector) -> Vector:
    """maximise c'x - x'Gx / 2 over x >= 0, sum x = 1, for a positive semidefinite G.

    A primal active set: go to the maximum on the face of the current support. If a coordinate reaches zero on
    the way, stop there and drop it; on arrival let the most promising coordinate in. Every point is feasible
    and none is worse than the one before it, so ending early is safe.
    """
    x = np.maximum(start, 0.0)
    x /= x.sum()
    roots = np.sqrt(np.maximum(G.diagonal(), 0.0))  # |G_ij| <= roots_i * roots_j
    face = Face(G, np.flatnonzero(x), float(roots @ x) ** 2)
    promise = _promises(G, c, x)
    largest, before = float(np.abs(c).max()), np.inf
    for _ in range(20 * len(c) + 100):
        limits.look()
        worn = face.worn
        step = _go(x, face, face.to_maximum(promise[face.members]), 1.0)
        x /= x.sum()
        promise = _promises(G, c, x)
        size = float(roots @ x)
        lift = size * size
        if size and not lift / _LARGER <= face.lift <= lift * _LARGER:
            face.build(face.members, lift)
        if 0.0 < step < 1.0:
            continue
        entering = int(np.argmax(promise))
        if promise[entering] <= 4 * EPS * (largest + float(roots.max() * size)):
            break
        steep = np.abs(promise) / np.sqrt(roots**2 + face.lift)  # by the size of the cuts
        uneven = float(steep[face.members].max())  # zero at the maximum on the face
        if step == 0.0:  # the newcomer was turned away; if the factor is good, its promise was rounding
            if not worn:
                break
            face.build(np.union1d(face.members, [entering]), lift)
        elif uneven > 0.5 * steep[entering] and (worn or uneven <= 0.5 * before):
            before = uneven
            face.build(face.members, lift)
        elif x[entering] > 0.0:
            break
        else:
            before = np.inf
            if face.depends(entering):
                x[entering] = _exchange(G, x, face, entering, promise)
                promise = _promises(G, c, x)
            face.enter(entering)
    return x


def _promises(G: Matrix, c: Vector, x: Vector) -> Vector:
    """What each coordinate promises above the mixture: the gradient, its mean taken off."""
    gradient = c - G @ x
    return np.asarray(gradient - gradient @ x)


def _exchange(G: Matrix, x: Vector, face: Face, entering: int, promise: Vector) -> float:
    """Replace others by the entering coordinate, which depends on them, as far as that pays; its share."""
    change = face.replacement(entering)
    who, direction = np.append(face.members, entering), np.append(change, 1.0)
    slope, bend = float(promise[who] @ direction), float(direction @ G[np.ix_(who, who)] @ direction)
    return _go(x, face, change, slope / bend if bend > 0 < slope else np.inf)


def _go(x: Vector, face: Face, direction: Vector, step: float) -> float:
    """Move x on the face until a coordinate reaches zero, but no further than `step`; return how far."""
    members, inside = face.members, x[face.members]
    shrinking = np.flatnonzero(direction < 0)
    room = inside[shrinking] / -direction[shrinking]
    step = float(room.min(initial=step))
    inside += step * direction
    inside[shrinking[room <= step]] = 0.0
    x[members] = np.maximum(inside, 0.0)
    for position in np.flatnonzero(x[members] == 0)[::-1]:
        face.leave(int(position))
    return step
