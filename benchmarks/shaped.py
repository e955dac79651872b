"""Fits with groups, constraints and several quantiles: python benchmarks/shaped.py [--seed S]."""

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from gapfit import Problem, solve
from gapfit.losses import Quantiles
from gapfit.penalties import L2, Constrained, GroupLasso

REAL = ("squared", "absolute", "quantile", "huber", "epsilon_insensitive")
LABELS = ("logistic", "hinge", "squared_hinge", "f_beta")
Fit = tuple[str, float, Problem]


def groups(rng: np.random.Generator, n: int = 2000, d: int = 200, count: int = 40) -> Iterator[Fit]:
    """Six groups of forty matter."""
    member = np.repeat(np.arange(count), d // count)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.2 * rng.normal(size=(d, d)) / np.sqrt(d))
    t = X @ np.where(member < 6, rng.normal(size=d), 0.0) + rng.normal(size=n)
    for loss in (*REAL, *LABELS):
        tol = 1e-4 if loss == "f_beta" else 1e-8
        yield f"groups, {loss}", tol, Problem(X, _target(loss, t), loss, GroupLasso(member), 0.02)


def monotone(rng: np.random.Generator, n: int = 5000, d: int = 100) -> Iterator[Fit]:
    """Weights that rise."""
    X, steps = rng.normal(size=(n, d)), np.eye(d)[:-1] - np.eye(d)[1:]
    t = X @ np.sort(rng.normal(size=d)) + rng.normal(size=n)
    penalty = Constrained(L2(), steps, np.zeros(d - 1))
    for loss in ("squared", "logistic", "hinge", "f_beta"):
        for alpha in (1e-1, 1e-3):
            yield f"monotone, {loss}, {alpha:g}", 1e-6, Problem(X, _target(loss, t), loss, penalty, alpha)


def quantiles(rng: np.random.Generator, n: int = 5000, d: int = 20) -> Iterator[Fit]:
    """Five quantiles at several prices of crossing."""
    X = rng.normal(size=(n, d))
    t = X @ rng.normal(size=d) + (0.5 + np.abs(X[:, 0])) * rng.normal(size=n)
    for crossing in (0.0, 1.0, 10.0, 100.0):
        loss = Quantiles([0.1, 0.25, 0.5, 0.75, 0.9], crossing)
        for alpha in (1e-2, 1e-4):
            yield f"quantiles, crossing {crossing:g}, {alpha:g}", 1e-4, Problem(X, t, loss, "l2", alpha)


def _target(loss: str, t: Any) -> Any:
    return np.sign(t) if loss in LABELS else t


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    rng = np.random.default_rng(parser.parse_args().seed)
    for family in (groups, monotone, quantiles):
        for name, tol, problem in family(rng):
            solve(problem, tol=0.1, max_time=10.0)  # compiles
            began = time.process_time()
            found = solve(problem, tol=tol, max_time=60.0)
            seconds, gap = time.process_time() - began, found.certificate.relative_gap
            print(f"{name:40} {seconds:7.2f} s  gap {gap:.1e} of {tol:g}  {found.status.name}", flush=True)


if __name__ == "__main__":
    main()
