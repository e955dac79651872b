"""A fit in one call by each kind of step: they agree, and leave what they were given as it was."""

import numpy as np
import pytest

from gapfit.compiled import small_calls
from gapfit.compiled.columns import Columns
from gapfit.compiled.rows import as_rows
from gapfit.compiled.small import Net
from gapfit.compiled.small_counts import ENTROPY, LINES
from gapfit.compiled.small_fit import Data, relative_gap
from gapfit.design.memory import MemoryDesign
from kernels import entry

N, D = 60, 3


def given(kind, l1):
    """Least squares, or logistic losses of labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) + 1.0
    f = X @ np.array([1.0, -1.0, 0.0]) + 0.5 * rng.normal(size=N)
    one, none, far = np.ones(N), np.zeros(N), np.full(N, np.inf)
    y = np.where(f > 0, 1.0, -1.0)
    numbers = (one, f, none, one, -far, far)
    if kind == ENTROPY:
        numbers = (one, none, none, none, np.minimum(y, 0.0), np.maximum(y, 0.0))
    data = Data(as_rows(*MemoryDesign(X).rows()), *numbers, rng.integers(1, 4, N).astype(float))
    columns = Columns(np.ravel(X, "F"), np.empty(0, np.uint32), np.arange(0, N * D + 1, N))
    return data, Net(l1, 0.1, True, 0.0, 0.0, 0.0), columns


@pytest.mark.parametrize("kind", [LINES, ENTROPY])
@pytest.mark.parametrize("l1", [0.0, 0.05])
def test_all_steps_lead_to_the_same_point(kind, l1):
    data, net, columns = given(kind, l1)
    plain = data, net, kind, 1e-10, D
    found = [small_calls.by_columns(*plain, columns, np.inf)]
    if l1:
        found.append(small_calls.by_corners(*plain))
    else:
        found.append(small_calls.by_hessian(*plain))
        found.append(small_calls.by_products(*plain, kind == LINES, 1000))
    for one in found:
        assert entry(relative_gap)(one.proved) <= 1e-9
        np.testing.assert_allclose(one.w, found[0].w, atol=1e-4)
        assert one.b == pytest.approx(found[0].b, abs=1e-4)
        assert one.way.shape[0] == 2 and one.way.shape[1] >= 1
        assert one.v.shape == (N,) and abs(one.v.sum()) <= 1e-12
