"""How fast a gap falls, and one line that says how a fit is doing."""

from math import inf, isfinite, log
from typing import NamedTuple

__all__ = ["Pace"]


class _Look(NamedTuple):
    time: float
    gap: float  # in terms of the objective


class Pace:
    """The looks of a fit so far: where it is, how fast it gets on, and how long it may still take.

    `tol` is the relative gap that it goes for, if that is known.
    """

    def __init__(self, tol: float | None = None) -> None:
        self.tol = tol
        self.steps = 0
        self.looks: list[_Look] = []

    def line(self, n_iter: int, time: float, primal: float, dual: float, gap: float) -> str:
        """Take note of a look, and say all that is known in a line."""
        if n_iter < self.steps:  # another problem
            self.looks.clear()
        self.steps = n_iter
        scale = max(abs(primal), abs(dual))
        relative = gap / scale if 0 < scale < inf else inf
        self.looks.append(_Look(time, relative))
        told = f"step {n_iter}  objective {primal:.6g}  bound {dual:.6g}  gap {gap:.1e} ({relative:.1e})"
        rate = self.rate()
        if rate > 0:
            told += f"  halves in {_seconds(log(2) / rate)}"
        left = self.seconds_left()
        return told + f"  {_seconds(time)}" + (f", about {_seconds(left)} left" if left < inf else "")

    def rate(self) -> float:
        """By how much the logarithm of the gap falls in a second, over the later half of the time; 0, if that
        is not known."""
        finite = [look for look in self.looks if isfinite(look.gap) and look.gap > 0]
        if len(finite) < 2:
            return 0.0
        last, middle = finite[-1], 0.5 * (finite[0].time + finite[-1].time)
        first = [look for look in finite[:-1] if look.time <= middle][-1]
        passed = last.time - first.time
        return max(log(first.gap / last.gap) / passed, 0.0) if passed > 0 else 0.0

    def seconds_left(self) -> float:
        """Until tol is met, if the gap goes on to fall so; inf, if nothing can be said."""
        rate = self.rate()
        if self.tol is None or not self.tol > 0 or not rate > 0:
            return inf
        return max(log(self.looks[-1].gap / self.tol) / rate, 0.0)


def _seconds(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 1 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
