"""Names for the arrays that travel through gapfit, for what targets hold, and for what has parameters."""

from enum import Flag, auto
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
Slope = NDArray[np.float64]  # lives where w lives
Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]
Maybe = ArrayLike | None  # an argument that users may leave out
Data = Any  # a NumPy array or a SciPy sparse matrix or array


class Parametric:
    """What is known by its parameters, the attributes: representation, equality and hash follow them."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), tuple(vars(self).items())))


class Target(Flag):
    """What y holds. A loss says which targets it is for, an estimator which it can make."""

    def meets(self, other: "Target") -> bool:
        """Is there one that both name? `&` makes a member for the answer, which every fit would wait for."""
        return self._value_ & other._value_ != 0

    LABELS = auto()  # -1 or +1, each sample by itself
    CLASSES = auto()  # 0, 1, 2, ...: a score for each
    INDICATORS = auto()  # a row of zeros and ones: a score for each
    REAL = auto()
    COUNTS = auto()  # not negative; their mean is the exponential of the score
    LEVELS = auto()  # numbers of which only the order counts, told apart by thresholds
    RELEVANCE = auto()  # numbers of which only the order counts, in pairs
    TABLE = auto()  # -1 or +1, all samples judged together
    SEQUENCES = auto()  # 0, 1, 2, ..., in chains
    NOTHING = auto()  # it is not looked at
