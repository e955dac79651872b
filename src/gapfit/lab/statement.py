"""A statement of the papers, as a function that measures whether it holds."""

import logging
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import NamedTuple

from gapfit.registry import SOLVERS

logger = logging.getLogger("gapfit")


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
    seconds: float


class Statement(NamedTuple):
    """A statement and the function that checks it."""

    name: str
    statement: str
    source: str
    erratum: bool
    check: Callable[[], Measured]
    solver: str  # the name in the registry of a solver that it is about

    def run(self) -> Finding:
        """Check it."""
        began = perf_counter()
        words, holds = self.check()
        seconds = perf_counter() - began
        logger.info("lab: %s %s", self.name, "holds" if holds else "FAILS")
        return Finding(self.name, self.statement, words, bool(holds), self.source, self.erratum, seconds)


class Chapter:
    """Statements that belong together, in the order in which they were written."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.statements: list[Statement] = []

    def states(
        self, name: str, statement: str, *, source: str, erratum: bool = False, solver: str = "bundle"
    ) -> Callable[[Callable[[], Measured]], Callable[[], Measured]]:
        """Decorate the check of a statement."""

        def register(check: Callable[[], Measured]) -> Callable[[], Measured]:
            words = " ".join(statement.split())
            self.statements.append(Statement(name, words, source, erratum, check, solver))
            return check

        return register

    def __iter__(self) -> Iterator[Statement]:
        """Those whose solver this version has."""
        return (statement for statement in self.statements if statement.solver in SOLVERS)
