"""A loss of your own: copy this file, rename the class, and replace the formula.

`python loss.py` checks it. What a loss is, and what else it can offer: see "Add a loss" in the documentation.
"""

import numpy as np

from gapfit import Problem, solve
from gapfit.losses import PointwiseLoss
from gapfit.testing import check_loss


class MyLoss(PointwiseLoss):
    """sqrt(delta^2 + r^2) - delta for the residual r = f - y: quadratic near zero, linear far away."""

    smooth = True  # has a derivative everywhere; leave it out for a loss with kinks
    infimum = 0.0  # no value is below this; -np.inf if there is no such number

    def __init__(self, delta: float = 1.0) -> None:
        if not delta > 0:
            raise ValueError(f"delta must be positive, got {delta!r}")
        self.delta = delta  # parameters only; data come in below

    def check_target(self, y):
        """Optional: raise a ValueError that names y where it is outside the loss's domain."""

    def value_and_slope(self, f, y):
        """The loss of each score f for its target y, convex in f, and one derivative in f."""
        r = f - y
        root = np.hypot(self.delta, r)
        value = r * r / (root + self.delta)  # root - delta, without cancellation
        return value, r / root


def main():
    """Check the loss, and fit it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = X @ rng.normal(size=5) + rng.standard_t(2, size=200)
    check_loss(MyLoss(), y[:20])
    solution = solve(Problem(X, y, loss=MyLoss(), alpha=1e-3), tol=1e-8)
    assert solution.converged, solution.status.value
    return solution


if __name__ == "__main__":
    main()
