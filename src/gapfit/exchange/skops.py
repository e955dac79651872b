"""skops files: which types of gapfit a model may be made of."""

from gapfit import estimators
from gapfit.calibration import Curve
from gapfit.design.gram import CallableTiles, FunctionTiles
from gapfit.design.kept_matrix import MatrixTiles
from gapfit.design.kernel import KernelDesign
from gapfit.estimators.kernel_bounds import SupportBall
from gapfit.estimators.kernel_names import FUNCTIONS
from gapfit.estimators.kernel_support import Support
from gapfit.penalties.groups import Partition
from gapfit.registry import LOSSES, PENALTIES
from gapfit.solution import Certificate, Record, Status
from gapfit.statements import Ball
from gapfit.tables import TableEncoder

_RECORDS: tuple[type, ...] = (
    Ball, CallableTiles, Certificate, Curve, FunctionTiles, KernelDesign, MatrixTiles, Partition, Record,
    Status, Support, SupportBall, TableEncoder,
)  # fmt: skip


def skops_types() -> list[str]:
    """The names of the types that `skops.io.load(file, trusted=...)` is to be told for models of gapfit.

    They are the estimators and the encoder of tables, losses, penalties, kernels and records, all of which
    are data: to load them runs no code that a file chose. skops looks at types only, and not at whether
    numbers fit together, as `gapfit.load` does: for files of strangers `gapfit.save` and `gapfit.load` are
    the safer way.

    Examples
    --------
    >>> skops_types()[0]
    'gapfit.calibration.Curve'
    """
    ours = [getattr(estimators, name) for name in estimators.__all__]
    kinds = [*ours, *LOSSES.values(), *PENALTIES.values(), *FUNCTIONS.values(), *_RECORDS]
    return sorted({f"{kind.__module__}.{kind.__qualname__}" for kind in kinds})
