"""A live line on a terminal, fed by the log of the fit; nothing in a pipe."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class _Line(logging.Handler):
    """Rewrites one line on standard error with every step that `solve` logs."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        from rich.console import Console
        from rich.live import Live

        self.began = perf_counter()
        self.live = Live(console=Console(stderr=True), refresh_per_second=8, transient=True)

    def emit(self, record: logging.LogRecord) -> None:
        if not str(record.msg).startswith("step "):
            return
        step, primal, dual, gap = record.args  # type: ignore[misc]
        seconds = perf_counter() - self.began
        self.live.update(
            f"step {step}  objective {primal:.6g}  bound {dual:.6g}  gap {gap:.1e}  {seconds:.1f} s"
        )


@contextmanager
def progress_line(*, quiet: bool) -> Iterator[None]:
    """Show progress while the block runs, if standard error is a terminal and nobody asked for silence."""
    logger = logging.getLogger("gapfit")
    if quiet or not sys.stderr.isatty():
        yield
        return
    line, level, propagate = _Line(), logger.level, logger.propagate
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
