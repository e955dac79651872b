"""A loss made of lines and parabolas as data: six numbers a sample."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gapfit import threads
from gapfit._types import Vector
from gapfit.elsewhere import as_floats, fetched, loops_of
from gapfit.forms import loss_form
from gapfit.losses.base import Certain
from gapfit.rounding import UNIT
from gapfit.rowwise import MANY, of_each, repeated, short, whole

Out = TypeVar("Out", bound=tuple[Any, ...])

_WORK = 8  # multiplications for a sample


@loss_form("a loss made of lines and parabolas")
class Atoms(NamedTuple):
    """A piecewise linear-quadratic function of one score per sample, as data:

    phi(f) = max over lo <= a <= hi of  (lin - sign * f) * a - kink * |a| - quad * a^2 / 2

    with sign = +-1, kink >= 0, quad >= 0 and lo <= 0 <= hi (infinite only where quad > 0). The maximiser a
    gives the derivative u = -sign * a, and -lin * a + kink * |a| + quad * a^2 / 2 is the conjugate at u.
    A number that is the same for all of many samples is stored once (`rowwise`).
    """

    sign: Vector
    lin: Vector
    kink: Vector
    quad: Vector
    lo: Vector
    hi: Vector
    total: float  # the slope in b that no sample carries: e = total + sum(u)

    @classmethod
    def each(
        cls,
        y: Vector,
        *,
        sign: ArrayLike = 1.0,
        lin: ArrayLike = 0.0,
        kink: ArrayLike = 0.0,
        quad: ArrayLike = 0.0,
        lo: ArrayLike = 0.0,
        hi: ArrayLike = 0.0,
        total: float = 0.0,
    ) -> "Atoms":
        """Atoms for the samples of y, numbers repeated where one serves all."""

        n, like = len(y), y if loops_of(y) is not None else None

        def column(x: ArrayLike) -> Vector:
            if type(x) is np.ndarray and x.ndim and x.dtype == np.float64 and x.flags.carray:
                return x
            if type(x) is float or np.ndim(x) == 0:
                return repeated(float(x), n, like)  # type: ignore[arg-type]
            if loops_of(x) is not None:
                return as_floats(x)
            return np.require(x, np.float64, ("C", "W"))  # compiled code has no version for others

        return cls(column(sign), column(lin), column(kink), column(quad), column(lo), column(hi), total)

    def weighted(self, p: Vector) -> "Atoms":
        """The atoms of p * phi."""

        def times(bound: Vector, p: Vector) -> Vector:
            return np.where(bound == 0, 0.0, bound * p)

        lo, hi = (of_each(times, bound, p) if bound.any() else bound for bound in (self.lo, self.hi))
        quad = of_each(np.divide, self.quad, p) if self.quad.any() else self.quad
        return self._replace(quad=quad, lo=lo, hi=hi)

    def take(self, rows: Any) -> "Atoms":
        """The atoms of some of the samples."""
        return self._each(lambda x: x[rows])

    def _each(self, function: Callable[[Vector], Vector]) -> "Atoms":
        """The function of each of its vectors."""
        sign, lin, kink, quad, lo, hi = map(function, self[:-1])
        return Atoms(sign, lin, kink, quad, lo, hi, self.total)

    def maximise(self, f: Vector, shift: float = 0.0) -> tuple[Vector, Vector]:
        """phi(f + shift) and its derivative u, sample by sample."""
        from gapfit.compiled.atoms import maximise  # compiled code is loaded only when it is to run

        return self._run(maximise, (f, float(shift)), (np.empty_like(f), np.empty_like(f)))

    def sums_around(self, f: Vector, low: Vector, shift: float, slack: Vector) -> tuple[float, float, float]:
        """The sum of phi(f + low + shift), that of its absolute values, and that of how much higher phi is
        anywhere within the slack."""
        from gapfit.compiled.atoms import sums_around

        value, size, rise = self._total(sums_around, (f, low, shift, slack, UNIT), len(f))
        return value, size, rise

    def conjugate_sums(self, u: Vector) -> tuple[float, float]:
        """The sum of the conjugates at u, and that of what is added up to them in absolute values."""
        from gapfit.compiled.atoms import conjugate_sums

        value, size = self._total(conjugate_sums, u, len(u))
        return value, size

    def certain(self, lowest: Vector, highest: Vector) -> Certain:
        """What is certain of the derivatives while scores are between these, in memory."""
        from gapfit.compiled.atoms import classify

        found = Certain(*np.empty((3, len(lowest)), dtype=bool))
        return self._each(fetched)._run(classify, (fetched(lowest), fetched(highest), UNIT), found)

    def _run(self, kernel: Any, given: Any, out: Out) -> Out:
        """Let compiled code, which does some samples at a time, write what it makes of all of them."""
        if (device := loops_of(out[0])) is not None:
            device(kernel, self, given, *out)
            return out
        parts = threads.parts(len(out[0]), _WORK * len(out[0]))
        atoms = self._short()
        threads.each(lambda rows: kernel(atoms, given, rows.start, rows.stop, *out), parts)
        return out

    def _total(self, kernel: Any, given: Any, n: int) -> Any:
        """The sums that compiled code makes of all samples, some at a time."""
        if (device := loops_of(self.lin)) is not None:
            return device(kernel, self, given)
        parts, atoms = threads.parts(n, _WORK * n), self._short()
        if len(parts) == 1:
            return kernel(atoms, given, 0, n)
        each = threads.each(lambda rows: kernel(atoms, given, rows.start, rows.stop), parts)
        return tuple(map(sum, zip(*each, strict=True)))

    def _short(self) -> "Atoms":
        """For compiled loops."""
        return self if len(self.sign) <= MANY else self._each(short)

    def whole(self) -> "Atoms":
        """For compiled loops that want every number."""
        return self._each(whole)
