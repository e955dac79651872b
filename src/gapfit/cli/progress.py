"""A live line on a terminal, fed by the log of the fit; nothing in a pipe."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from gapfit.progress import Pace


class _Line(logging.Handler):
    """Rewrites one line on standard error with every step that `solve` logs."""

    def __init__(self, tol: float | None) -> None:
        super().__init__(logging.DEBUG)
        from rich.console import Console
        from rich.live import Live

        self.began, self.pace = perf_counter(), Pace(tol)
        self.live = Live(console=Console(stderr=True), refresh_per_second=8, transient=True)

    def emit(self, record: logging.LogRecord) -> None:
        if not str(record.msg).startswith("step "):
            return
        numbers: Any = record.args
        step, primal, dual, gap = numbers
        self.live.update(self.pace.line(step, perf_counter() - self.began, primal, dual, gap))


@contextmanager
def progress_line(*, quiet: bool, tol: float | None = None) -> Iterator[None]:
    """Show progress towards a gap of tol while the block runs, if standard error is a terminal and nobody
    asked for silence."""
    logger = logging.getLogger("gapfit")
    if quiet or not sys.stderr.isatty():
        yield
        return
    line, level, propagate = _Line(tol), logger.level, logger.propagate
    logger.addHandler(line)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        with line.live:
            yield
    finally:
        logger.removeHandler(line)
        logger.setLevel(level)
        logger.propagate = propagate
