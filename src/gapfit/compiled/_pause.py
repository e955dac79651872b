"""The collector of cycles rests while numba is loaded, compiles, or fetches machine code.

All of that makes many objects that stay. Every so often the collector would go through all of them, and
through those of scikit-learn: a fifth of the time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Run without the collector of cycles, and start it again if it ran."""
    ran = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if ran and not gc.get_freeze_count():
            gc.freeze()  # all objects are old ones now: the first collection passes them by
            gc.unfreeze()
        if ran:
            gc.enable()
