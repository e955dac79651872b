"""What is asked about a problem before a solver is chosen."""

from math import isfinite

import numpy as np

from gapfit.losses.atoms import Atoms
from gapfit.losses.forms import Pairs
from gapfit.problem import Problem

CHEAP = 24  # flops of dense algebra take the time of an entry of X in a pass
LITTLE = 4e6  # multiply-adds, up to which a Hessian and its factor need no BLAS
SHORT = 8192  # samples, up to which loops over them need no vector instructions
PAIRS = 15  # for each sample: with more, cuts are quicker
PAIRS_OF_WIDE = 50  # the same, where features are more than samples: a bundle needs hundreds of steps then
A_FEW_PAIRS = 20_000  # beside: calls of NumPy are all of the time then
LOOSE = 0.5  # alpha times the samples, below which they hold each other up in block methods
KEPT = 2**23  # numbers, at most, in one plane for each sample


def is_small(problem: Problem) -> bool:
    """Does it take longer to call NumPy than to compute? With fewer samples than features, and weights that
    may be zero, steps are many."""
    n, d = problem.design.shape
    return is_small_shape(n, d) and (problem.penalty.smooth or n >= 2 * d)


def is_small_shape(n: int, d: int) -> bool:
    """The same, of so many samples and features, where no weight will be zero."""
    return n <= SHORT and (n + d) * d**2 <= LITTLE


def has_few_pairs(problem: Problem) -> bool:
    """Is the loss one of pairs, so few that a dual variable for each is less work than sorting scores again
    and again? Where features are more than samples, sorts are very many."""
    if not problem.risk.has(Pairs):
        return False
    n, d = problem.design.shape
    return problem.form(Pairs).number() <= A_FEW_PAIRS + (PAIRS_OF_WIDE if d > n else PAIRS) * n


def passes_of_a_hessian(problem: Problem) -> float:
    """What it costs to set up and to factorise, in the time of passes over X."""
    n, d = problem.design.shape
    size = max(problem.design.size, 1)
    return min(0.2 * size / n, d / CHEAP) + d**3 / (3 * CHEAP * size)


def mixes_well(problem: Problem) -> bool:
    """Do samples pull on weights of their own, and can planes be kept for all of them?"""
    n, d = problem.design.n_samples, problem.design.shape[1]
    return problem.alpha * n >= LOOSE and n * d <= KEPT


def has_lines(problem: Problem) -> bool:
    """Has the loss lines besides parabolas? Newton's method gets lost on lines."""
    atoms = problem.risk.form(Atoms)
    if atoms is None:
        return False
    return any(bool((np.isfinite(bound) & (bound != 0)).any()) for bound in (atoms.lo, atoms.hi))


def is_parabola(problem: Problem) -> bool:
    """Is the loss of each sample one parabola, for which one step of Newton's method is enough?"""
    atoms = problem.risk.form(Atoms)
    if atoms is None or isfinite(atoms.lo[0]):
        return False
    return bool(np.isinf(atoms.lo).all() and np.isinf(atoms.hi).all() and not atoms.kink.any())
