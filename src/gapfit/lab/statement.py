"""A statement of the papers, as a function that measures whether it holds."""

from collections.abc import Callable
from typing import NamedTuple

PAPERS = {
    "2007": "Smola, Vishwanathan, Le: Bundle Methods for Machine Learning",
    "2009": "Saha, Zhang, Vishwanathan: Lower Bounds for BMRM and Faster Rates for Training SVMs",
    "2010": "Zhang, Saha, Vishwanathan: Lower Bounds on Rate of Convergence of Cutting Plane Methods",
    "SMO": "She, Schmidt: Linear Convergence and Support Vector Identification of Sequential Minimal "
    "Optimization",
}


class Measured(NamedTuple):
    """What a check found, in words, and whether the statement held."""

    words: str
    holds: bool


class Finding(NamedTuple):
    """A statement, what was measured, and the verdict."""

    name: str
    statement: str
    measured: str
    holds: bool
    source: str  # the paper and the place
    erratum: bool  # the statement differs from what is printed there

    @property
    def verdict(self) -> str:
        """A word; one that must not be overlooked has an exclamation mark."""
        return "holds" if self.holds else "!FAILS"


class Statement(NamedTuple):
    """A statement and the function that checks it."""

    name: str
    statement: str
    source: str
    erratum: bool
    check: Callable[[], Measured]

    def run(self) -> Finding:
        """Check it."""
        words, holds = self.check()
        return Finding(self.name, self.statement, words, bool(holds), self.source, self.erratum)


class Chapter(list[Statement]):
    """Statements that belong together, in the order in which they were written."""

    def states(
        self, source: str, *, erratum: bool = False
    ) -> Callable[[Callable[[], Measured]], Callable[[], Measured]]:
        """Decorate the check of a statement: its name is the function's, its text the docstring.

        `source` begins with a paper's key, if there is one.
        """

        def register(check: Callable[[], Measured]) -> Callable[[], Measured]:
            name = check.__name__.strip("_").replace("_", "-")
            self.append(Statement(name, " ".join((check.__doc__ or "").split()), source, erratum, check))
            return check

        return register
