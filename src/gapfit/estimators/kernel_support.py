"""What predictions of a kernel machine are made of."""

from functools import cached_property
from typing import Any

from gapfit._types import Data
from gapfit.design.kernel import KernelDesign


class Support:
    """The support vectors with their kernel; a design once somebody predicts."""

    def __init__(self, vectors: Data, kernel: Any) -> None:
        self.vectors, self.kernel = vectors, kernel

    @cached_property
    def design(self) -> KernelDesign | None:
        there = self.vectors.ndim == 2 and self.vectors.shape[0] and not isinstance(self.kernel, str)
        return KernelDesign(self.vectors, self.kernel, 0) if there else None
