"""What surrounds compilation: the collector of cycles rests, and whoever waits is told why.

The first fit of a kind compiles what it runs, once for an installation. When that has taken over a second,
the log says so (`verbose=1` and the command line show it). On a terminal that shows no log it is one line on
standard error: somebody sits there and wonders. Elsewhere a library has no business to write there.
"""

import logging
import sys
import threading
from time import perf_counter
from typing import Any

from gapfit.compiled._pause import paused

with paused():
    from numba.core.event import Listener

logger = logging.getLogger("gapfit")

_LONG = 1.0  # seconds of compilation before somebody is told
BESIDE = "gapfit-compiler"  # a thread that compiles while nobody waits
NOTICE = "compiling, once: the first fit of a kind takes some seconds longer (gapfit warmup does it ahead)"


class Watch(Listener):
    """Hears from numba when the compilation of a function begins and ends; functions of others do not count.

    numba holds its lock meanwhile, so that one thread at a time is here.
    """

    def __init__(self) -> None:
        self.depth = 0  # functions are compiled while those that call them are
        self.began = self.seconds = 0.0
        self.told = False

    def on_start(self, event: Any) -> None:
        if not (self.depth or _is_ours(event.data["dispatcher"])):
            return
        if not self.depth:
            self.began, self.rest = perf_counter(), paused()
            self.rest.__enter__()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        if not self.depth:
            return
        self.depth -= 1
        waiting = threading.current_thread().name != BESIDE
        seconds = self.seconds + perf_counter() - self.began if waiting else self.seconds
        if seconds > _LONG and waiting:
            self.tell()
        if not self.depth:
            self.seconds = seconds
            self.rest.__exit__(None, None, None)

    def tell(self) -> None:
        """Once."""
        if not self.told:
            self.told = True
            tell(NOTICE)


def _is_ours(dispatcher: Any) -> bool:
    """Methods of a class that numba compiles have no function to ask; generated ones may have no module."""
    module = getattr(getattr(dispatcher, "py_func", None), "__module__", None)
    return isinstance(module, str) and module.startswith("gapfit.")


def tell(text: str) -> None:
    """To the log, or to a terminal that shows none."""
    logger.info(text)
    if not logger.isEnabledFor(logging.INFO) and sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"gapfit: {text}\n")


watch = Watch()
