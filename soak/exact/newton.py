"""Optima of smooth problems to machine precision, by Newton's method on the definition, without gapfit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

Parts = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def _logistic(f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    s = np.exp(-np.logaddexp(0.0, y * f))
    return np.logaddexp(0.0, -y * f), -y * s, s * (1 - s)


def _exponential(f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    value = np.exp(-y * f)
    return value, -y * value, value


def _poisson(f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    mean = np.exp(f)
    return mean - y * f, mean - y, mean


def _squared(f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return 0.5 * (f - y) ** 2, f - y, np.ones_like(f)


SMOOTH: dict[str, Parts] = {
    "logistic": _logistic, "exponential": _exponential, "poisson": _poisson, "squared": _squared,
}  # fmt: skip


@dataclass(frozen=True)
class Smooth:
    """minimise alpha / 2 |w|^2 + weighted mean of phi(y, X w + offset + b)."""

    X: np.ndarray
    y: np.ndarray
    loss: str
    weight: np.ndarray
    intercept: bool
    offset: np.ndarray

    def but(self, **changes: Any) -> "Smooth":
        """The same with some changes."""
        return Smooth(**{**vars(self), **changes})

    def optimum(self, alpha: float) -> tuple[np.ndarray, float]:
        """w and b: Newton's method until the step is rounding, halved where J does not fall."""
        Z = np.hstack([self.X, np.ones((len(self.y), 1))]) if self.intercept else self.X
        ridge = np.full(Z.shape[1], alpha)
        ridge[self.X.shape[1] :] = 0.0
        p, phi, at = self.weight / self.weight.sum(), SMOOTH[self.loss], np.zeros(Z.shape[1])

        def J(point: np.ndarray) -> float:
            return float(p @ phi(Z @ point + self.offset, self.y)[0] + 0.5 * point @ (ridge * point))

        for _ in range(200):
            _, slope, curvature = phi(Z @ at + self.offset, self.y)
            g = Z.T @ (p * slope) + ridge * at
            step = np.linalg.solve((Z.T * (p * curvature)) @ Z + np.diag(ridge), g)
            if np.abs(step).max() <= 1e-14 * (1 + np.abs(at).max()):
                break
            t = 1.0
            while J(at - t * step) > J(at) + 1e-13 * abs(J(at)) and t > 1e-9:
                t /= 2
            at = at - t * step
        d = self.X.shape[1]
        return at[:d], float(at[d:].sum())


def exact_scores(case: Smooth, alpha: float, start: np.ndarray) -> list[mpmath.mpf]:
    """The scores of all rows at the optimum with sixty digits, from a start near by: data of all scales."""
    with mpmath.workdps(60):
        rows = [[mpmath.mpf(float(x)) for x in row] + [mpmath.mpf(1)] * case.intercept for row in case.X]
        Z, at = mpmath.matrix(rows), mpmath.matrix([mpmath.mpf(float(x)) for x in start])
        y, weight = ([mpmath.mpf(float(x)) for x in values] for values in (case.y, case.weight))
        p, d = [x / sum(weight) for x in weight], case.X.shape[1]
        for _ in range(100):
            f = Z * at + mpmath.matrix([mpmath.mpf(float(x)) for x in case.offset])
            slopes, curvatures = zip(*(_EXACT[case.loss](f[i], y[i]) for i in range(len(y))), strict=True)
            g = Z.T * mpmath.matrix([a * b for a, b in zip(p, slopes, strict=True)])
            bent = mpmath.diag([a * b for a, b in zip(p, curvatures, strict=True)])
            H = Z.T * bent * Z
            for j in range(d):
                g[j] += mpmath.mpf(float(alpha)) * at[j]
                H[j, j] += mpmath.mpf(float(alpha))
            step = mpmath.lu_solve(H, g)
            reach = max(abs(x) for x in Z * step)
            at = at - step * (min(mpmath.mpf(1), 4 / reach) if reach > 0 and case.loss != "squared" else 1)
            if reach < mpmath.mpf(10) ** -45:
                break
        return list(Z * at)


def _exact_logistic(f: mpmath.mpf, y: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
    s = 1 / (1 + mpmath.exp(y * f))
    return -y * s, s * (1 - s)


_EXACT: dict[str, Callable[[mpmath.mpf, mpmath.mpf], tuple[mpmath.mpf, mpmath.mpf]]] = {
    "logistic": _exact_logistic,
    "poisson": lambda f, y: (mpmath.exp(f) - y, mpmath.exp(f)),
    "squared": lambda f, y: (f - y, mpmath.mpf(1)),
}
HOSTILE = tuple(_EXACT)
