"""Where an increasing function of one number vanishes: Newton's method within a bracket."""

from math import copysign, inf, nan


class Bracket:
    """What is known of the place, from the values met on the way there.

    A step of Newton's becomes one to the bracket's middle if the last step did not halve the value, or
    if this one would leave the bracket; while a side is open, steps of doubled length are made towards it.
    """

    def __init__(self) -> None:
        self.left, self.right = -inf, inf
        self._before, self._out = inf, 1.0

    def after(self, b: float, value: float, rate: float) -> float | None:
        """Where to look next, given the value and its derivative at b; None between neighbouring floats."""
        self.left, self.right = (self.left, b) if value > 0 else (b, self.right)
        slow, self._before = abs(value) > 0.5 * self._before, abs(value)
        new = b - value / rate if rate > 0 else nan
        if self.right - self.left < inf and (slow or not self.left < new < self.right):
            new = 0.5 * (self.left + self.right)
        elif not self.left < new < self.right:
            new, self._out = b - copysign(self._out, value), 2 * self._out
        return new if self.left < new < self.right else None
