"""What is asked about a problem before a solver is chosen."""

from math import isfinite

import numpy as np

from gapfit.losses.atoms import Atoms
from gapfit.problem import Problem

LITTLE = 4e6  # multiply-adds, up to which a Hessian and its factor need no BLAS
SHORT = 8192  # samples, up to which loops over them need no vector instructions


def is_small(problem: Problem) -> bool:
    """Does it take longer to call NumPy than to compute? With fewer samples than features, and weights that
    may be zero, steps are many."""
    n, d = problem.design.shape
    return is_small_shape(n, d) and (problem.penalty.smooth or n >= 2 * d)


def is_small_shape(n: int, d: int) -> bool:
    """The same, of so many samples and features, where no weight will be zero."""
    return n <= SHORT and (n + d) * d**2 <= LITTLE


def is_parabola(problem: Problem) -> bool:
    """Is the loss of each sample one parabola, for which one step of Newton's method is enough?"""
    atoms = problem.risk.form(Atoms)
    if atoms is None or isfinite(atoms.lo[0]):
        return False
    return bool(np.isinf(atoms.lo).all() and np.isinf(atoms.hi).all() and not atoms.kink.any())
