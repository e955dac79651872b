"""What a design may be beside its products. Kernels and chains have their own: `Gram`, `ChainRows`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from gapfit.forms import design_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from gapfit._types import Vector
    from gapfit.design.base import Design
    from gapfit.design.differences import DifferenceDesign
    from gapfit.design.memory import MemoryDesign
    from gapfit.design.parted import PartedDesign
    from gapfit.device.design import DeviceDesign


@design_form("weights that are a plain vector")
@dataclass(frozen=True)
class Plain:
    """`inner` is the inner product of the vectors themselves."""


@design_form("the rows of X, one score each")
class Rows(NamedTuple):
    """The map is w -> X w."""

    matrix: "MemoryDesign"


@design_form("columns that can be multiplied")
class Columns(NamedTuple):
    """The map is w -> X w, and there is room for a copy of X: `scaled(sizes)` is that of w -> X (sizes * w),
    up to the rounding of its entries."""

    scaled: "Callable[[Vector], Design]"


@design_form("sums over the rows of X, one score each")
class RowSums(NamedTuple):
    """The map is w -> X w, and sums over the rows of X are to be had, wherever the rows are."""

    matrix: "MemoryDesign | PartedDesign | DeviceDesign | DifferenceDesign"


@design_form("the rows of X, several scores each")
class WideRows(NamedTuple):
    """The map is w -> X W, flat, W the (features, outputs) matrix of w."""

    matrix: "MemoryDesign"
    outputs: int


@design_form("the rows of X, part by part")
class PartRows(NamedTuple):
    """The map is w -> X w, and this process can have the rows of one part after the other."""

    design: "PartedDesign"


@design_form("sums over the rows of X, several scores each")
class WideSums(NamedTuple):
    """The map is that of `WideRows`, and sums over the rows of X are to be had, wherever the rows are."""

    matrix: "MemoryDesign | PartedDesign | DeviceDesign | DifferenceDesign"
    outputs: int
