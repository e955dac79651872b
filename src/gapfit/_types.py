"""Names for the arrays that travel through gapfit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Slope = NDArray[np.float64]  # lives where w lives
Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]
Data = Any  # a NumPy array or a SciPy sparse matrix or array
