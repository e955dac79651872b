"""Checkpoints: what a fit knows, kept in a file from which the same call goes on with the same bytes.

`Checkpoint` is the file of a whole fit, which may have many parts; `Part` is what one call of `solve` sees of
it. A part that has ended holds its solution, one that has not the states of the driver and of the solver.
"""

from gapfit.checkpoint.fits import ENDED as ENDED
from gapfit.checkpoint.fits import as_history as as_history
from gapfit.checkpoint.fits import as_plain as as_plain
from gapfit.checkpoint.fits import as_solution as as_solution
from gapfit.checkpoint.fits import opened as opened
from gapfit.checkpoint.store import Checkpoint as Checkpoint
from gapfit.checkpoint.store import Identity as Identity
from gapfit.checkpoint.store import Part as Part
