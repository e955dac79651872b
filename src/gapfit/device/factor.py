"""A Hessian's Cholesky factor, which stays on the device: only right-hand sides and solutions travel."""

from typing import NamedTuple

import torch

from gapfit._types import Slope
from gapfit.device.array import DeviceArray

__all__ = ["Factor", "factor_of"]


class Factor(NamedTuple):
    """The lower one."""

    matrix: DeviceArray

    def solve(self, gradient: Slope) -> Slope:
        """The solution of the system that was factorised."""
        there = torch.as_tensor(gradient).to(self.matrix.tensor.device)
        solution: Slope = torch.cholesky_solve(there[:, None], self.matrix.tensor)[:, 0].cpu().numpy()
        return solution


def factor_of(hessian: torch.Tensor) -> Factor | None:
    """The factor; None where rounding has cost the Hessian its definiteness."""
    factor, failed = torch.linalg.cholesky_ex(hessian)
    if not bool((failed == 0) & torch.isfinite(factor.diagonal()).all()):  # which is waited for once
        return None
    return Factor(DeviceArray(factor))
