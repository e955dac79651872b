"""Checkpoints: what a fit knows, kept in a file from which the same call goes on with the same bytes.

`Checkpoint` is the file of a whole fit, which may have many parts; `Part` is what one call of `solve` sees of
it. A part that has ended holds its solution, one that has not the states of the driver and of the solver.
"""

from gapfit.checkpoint.fits import ENDED, as_plain, as_solution, opened
from gapfit.checkpoint.store import Checkpoint, Identity, Part

__all__ = ["ENDED", "Checkpoint", "Identity", "Part", "as_plain", "as_solution", "opened"]
