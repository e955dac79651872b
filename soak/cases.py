"""A case: one problem as plain data, and the same problem as gapfit states it."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from gapfit import Problem
from gapfit.design.chain import ChainDesign
from gapfit.design.kernel import KernelDesign
from gapfit.registry import LOSSES, PENALTIES

CHAINS = ("chain_crf", "chain_margin")


@dataclass(frozen=True, eq=False)
class Case:
    """minimise alpha * Omega(w) + R(A w + offset, b); X is dense here, whatever gapfit is given."""

    X: np.ndarray
    y: np.ndarray
    loss: str = "hinge"
    loss_params: dict[str, Any] = field(default_factory=dict)
    penalty: str = "l2"
    penalty_params: dict[str, Any] = field(default_factory=dict)
    alpha: float = 1.0
    weight: np.ndarray | None = None
    intercept: bool = True
    offset: np.ndarray | None = None
    groups: np.ndarray | None = None
    layout: str = "dense"  # or "csr", "kernel" (X is the matrix K), "chain"

    def but(self, **changes: Any) -> "Case":
        """The same with some changes."""
        return replace(self, **changes)

    def problem(self) -> Problem:
        """As gapfit states it."""
        return Problem(
            self._design(),
            self.y,
            LOSSES[self.loss](**self.loss_params),
            _penalty(self.penalty, self.penalty_params),
            self.alpha,
            self.weight,
            self.intercept,
            self.offset,
            self.groups,
        )

    def _design(self) -> Any:
        if self.layout == "kernel":
            return KernelDesign(self.X)
        if self.layout == "csr":
            return sparse.csr_array(self.X)
        if self.layout == "chain":
            lengths = np.unique(self.groups, return_counts=True)[1]
            return ChainDesign(self.X, lengths, self.loss_params["labels"])
        return self.X

    def __str__(self) -> str:
        n, d = self.X.shape
        parts = [f"{self.loss}{self.loss_params or ''} + {self.penalty}", f"alpha={self.alpha:.3g}"]
        parts += [f"{n}x{d} {self.X.dtype} {self.layout}", "intercept" * self.intercept]
        parts += ["weights" * (self.weight is not None), "offset" * (self.offset is not None)]
        return ", ".join(part for part in parts if part)


def _penalty(name: str, params: dict[str, Any]) -> Any:
    if "inner" not in params:
        return PENALTIES[name](**params)
    (inner, inner_params), rest = params["inner"], {k: v for k, v in params.items() if k != "inner"}
    return PENALTIES[name](PENALTIES[inner](**inner_params), **rest)
