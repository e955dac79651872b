"""The typed errors of gapfit. Bad input is an ordinary ValueError or TypeError that names the argument."""


class GapfitError(Exception):
    """Base of every error that only gapfit raises."""


class ContractError(GapfitError):
    """A loss, penalty or solver broke its promise: a lower bound exceeded an attained value."""


class UnboundedProblem(GapfitError, ValueError):
    """The objective has no minimum: it falls forever, or is approached only at infinity."""


class IncompatibleSolver(GapfitError, TypeError):
    """The solver needs something that the loss or the penalty does not offer."""
