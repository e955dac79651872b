"""What `auto` takes for rows on a card, by what a Hessian costs there beside passes."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="devices need torch: pip install 'gapfit[gpu]'")

import torch

from gapfit import Problem
from gapfit.device import DeviceDesign
from gapfit.device.costs import hessian_in_passes
from gapfit.device.rows import DenseRows, SparseRows
from gapfit.solvers.auto import plan

pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
rng = np.random.default_rng(0)


def rows(kind, n, d, each, dtype=torch.float32):
    """Of so many entries, of which none is there."""

    class Values:
        pass

    found, Values.dtype = object.__new__(kind), dtype
    Values.numel, Values.element_size = lambda self: n * each, lambda self: dtype.itemsize
    found.shape, found.device, found.values = (n, d), torch.device("cuda"), Values()
    return found


@pytest.mark.parametrize(
    ("n", "d", "least", "most"),
    [
        (20_000_000, 128, 0.5, 5), (4_000_000, 512, 1, 10), (1_000_000, 2000, 5, 20), (3000, 1000, 20, 30),
        (600_000, 64, 20, 30), (8000, 4096, 20, 60), (30_000, 8192, 60, 100), (30_000, 16_384, 100, 400),
    ],
)  # fmt: skip
def test_hessians_cost_passes(n, d, least, most):
    """As many as fits on a card have shown."""
    assert least < hessian_in_passes(rows(DenseRows, n, d, d)) < most


def test_hessians_of_sparse_rows_are_dear():
    dense, sparse = (rows(kind, 500_000, 1000, each) for kind, each in ((DenseRows, 1000), (SparseRows, 20)))
    assert hessian_in_passes(sparse) > 100 > 5 * hessian_in_passes(dense)


def test_passes_are_what_costs_in_memory():
    assert hessian_in_passes(DenseRows(torch.ones(10, 3))) == 0.0


def names(loss, passes, n=20_000, d=20):
    X = rng.normal(size=(n, d))
    y = X[:, 0] if loss in ("squared", "quantile") else np.where(X[:, 0] > 0, 1.0, -1.0)
    design = DeviceDesign(torch.tensor(X))
    design.hessian_in_passes = passes
    choices = list(plan(Problem(design, y, loss)))
    return [choice.name for choice in choices]


@pytest.mark.parametrize(
    ("loss", "cheap", "dear"),
    [("logistic", "newton", 30), ("squared_hinge", "newton", 30), ("squared", "least_squares", 150)],
)
def test_conjugate_gradients_go_first_where_hessians_are_dear(loss, cheap, dear):
    assert names(loss, 10)[0] == cheap
    assert names(loss, dear)[:2] == ["newton_cg", cheap]


def test_where_they_do_not():
    assert names("squared", 30)[0] == "least_squares"  # whose Hessian is set up once
    assert names("squared", 150, n=3, d=5)[0] == "least_squares"
    assert names("hinge", 150)[0] == "semismooth_newton"


def test_lines_of_many_features_are_smoothed():
    design = DeviceDesign(torch.tensor(rng.normal(size=(20, 3))))
    design.few_features = 2
    found = [choice.name for choice in plan(Problem(design, np.sign(rng.normal(size=20)), "hinge"))]
    assert found == ["smoothing", "bundle"]
