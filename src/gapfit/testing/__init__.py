"""The contracts, as checks that anyone can run on a loss, a penalty, a design or a solver of their own.

    from gapfit.testing import check_loss
    check_loss(MyLoss(), y)

Each raises `ContractError`, naming the promise that was broken and by how much, or returns silently.
"""

from gapfit.testing.designs import check_design
from gapfit.testing.losses import check_loss
from gapfit.testing.penalties import check_penalty
from gapfit.testing.solvers import check_solver

__all__ = ["check_design", "check_loss", "check_penalty", "check_solver"]
