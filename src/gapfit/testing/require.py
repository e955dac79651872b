"""How a broken promise is told."""

from typing import Any

from gapfit.errors import ContractError


def require(holds: Any, culprit: object, what: str) -> None:
    """Raise one sentence that says who broke which promise, unless it holds."""
    if not holds:
        raise ContractError(f"{culprit!r}: {what}")
