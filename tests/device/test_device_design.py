"""Rows as tensors: the products of memory, their rounding counted, and marks that notice every change."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch", reason="devices need torch: pip install 'gapfit[gpu]'")

import torch

from gapfit import Problem, Status, solve
from gapfit.design.memory import MemoryDesign
from gapfit.device import DeviceDesign, moved
from gapfit.device.array import DeviceArray
from gapfit.device.streamed import PartedRows
from gapfit.testing import check_design

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
KINDS = ["float32", "bfloat16", "float64", "csr"]


def tensor(kind, n=300, d=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, d)
    if kind == "csr":
        X = X * (rng.random((n, d)) < 0.3)
        return torch.as_tensor(X, dtype=torch.float32).to_sparse_csr().to(DEVICE)
    return torch.as_tensor(X).to(getattr(torch, kind)).to(DEVICE)


def as_memory(X):
    X = X.to_dense() if X.layout == torch.sparse_csr else X
    return MemoryDesign(X.double().cpu().numpy())


def host(x):
    return x.to_host() if isinstance(x, DeviceArray) else x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fetched", [False, True])
def test_products_are_those_of_memory(kind, fetched):
    X, rng = tensor(kind), np.random.default_rng(1)
    design, memory = DeviceDesign(X, fetched=fetched), as_memory(X)
    w, u, v = rng.normal(size=7), rng.normal(size=300), rng.uniform(size=300)
    scores = host(design.scores(w))
    assert (np.abs(scores - memory.scores(w)) <= host(design.slack(w)) + memory.slack(w)).all()
    for found, wanted in zip(
        design.adjoints(design.held(u), design.held(v)), memory.adjoints(u, v), strict=True
    ):
        assert np.linalg.norm(found - wanted) <= design.spread(design.held(u)) + memory.spread(u)
    centre = rng.normal(size=7)
    gram = np.tril(design.weighted_gram(design.held(v), centre))
    np.testing.assert_allclose(gram, np.tril(memory.weighted_gram(v, centre)), rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(design.squares(design.held(v)), memory.squares(v), rtol=1e-12)
    np.testing.assert_allclose(host(design.row_sizes), memory.row_sizes, rtol=1e-12, atol=1e-150)
    assert (host(design.row_sizes) >= memory.row_sizes * (1 - 1e-15)).all()
    assert design.largest == memory.largest
    rows = np.array([3, 200, 17])
    np.testing.assert_allclose(host(design.take(rows).scores(w)), memory.scores(w)[rows], rtol=1e-12)


@pytest.mark.parametrize("kind", ["float64", "csr"])
def test_the_contract_of_designs(kind):
    check_design(DeviceDesign(tensor(kind, 40, 5), fetched=True))


@pytest.mark.parametrize("kind", KINDS)
def test_a_mark_notices_every_change(kind):
    X = tensor(kind)
    marks = {DeviceDesign(X).digest()}
    values = X.values() if kind == "csr" else X.view(-1)
    for place in (0, 1, values.numel() // 2, values.numel() - 1):
        old = values[place].clone()
        values[place] = -2 * old + 1
        marks.add(DeviceDesign(X).digest())
        values[place] = old
    assert len(marks) == 5
    assert DeviceDesign(X).digest() in marks  # as it was
    values[[0, 1]] = values[[1, 0]]
    assert DeviceDesign(X).digest() not in marks


def test_what_cannot_be_used_is_refused_by_name():
    y = np.array([1.0, -1.0])
    with pytest.raises(TypeError, match="float16"):
        Problem(torch.ones((2, 3), dtype=torch.float16), y)
    with pytest.raises(TypeError, match="layout"):
        Problem(torch.eye(2).to_sparse_coo(), y)
    with pytest.raises(ValueError, match="shape"):
        Problem(torch.ones(3), y)
    with pytest.raises(ValueError, match="NaN"):
        Problem(torch.tensor([[1.0], [float("nan")]]), y)
    with pytest.raises(ValueError, match="y contains NaN"):
        Problem(torch.eye(2), torch.tensor([1.0, float("nan")]))
    with pytest.raises(ValueError, match="y has 3 values"):
        Problem(torch.eye(2), torch.ones(3))


PASSES = """
import math
import numpy as np, torch
from gapfit import rowwise
rowwise.MANY = 0  # numbers that are the same for all samples are stored once
from gapfit.device import DeviceArray, DeviceDesign, oracle, passes
from gapfit.device.folds import exactly, fold
from gapfit.device.halves import halves
from gapfit.registry import as_loss
device = "cuda" if torch.cuda.is_available() else "cpu"
rng = np.random.default_rng(0)
kernels_in_tiles = [(one, list(one.configs)) for one in (oracle._through, passes._scores, passes._adjoint)]
turn = 0
for n, d in ((1, 1), (37, 5), (300, 64), (70, 130), (9, 5000)):
    for kind in (torch.float32, torch.bfloat16, torch.float64):
        if device == "cuda":  # every tile has its turn: to compile all of them for each X would take minutes
            turn += 1
            for one, tiles in kernels_in_tiles:
                columns = min(max(16, 2 ** (d - 1).bit_length()), 4096)
                fit = oracle._fitting(tiles, None, COLUMNS=columns) if one is oracle._through else tiles
                one.configs = [fit[turn % len(fit)], fit[-1]]  # the last one has room everywhere
        X = torch.as_tensor(rng.normal(size=(n, d))).to(kind).to(device)
        w, u, v = (torch.as_tensor(rng.normal(size=k)).to(device) for k in (d, n, n))
        wide = X.double()
        assert torch.allclose(passes.scores(X, w), wide @ w, rtol=1e-13, atol=1e-12)
        assert torch.allclose(passes.adjoint(X, u)[0], wide.T @ u, rtol=1e-13, atol=1e-12)
        both = passes.adjoint(X, u, v)
        assert torch.allclose(both, torch.stack([wide.T @ u, wide.T @ v]), rtol=1e-13, atol=1e-12)
        picked = torch.arange(0, n, 3).to(device)
        some = torch.zeros_like(u).index_copy(0, picked, u[picked])
        (found,) = passes.adjoint(X, some, picked=picked)
        assert torch.allclose(found, wide.T @ some, rtol=1e-13, atol=1e-12)
        assert 1 <= passes.depth(X)
        for n_ in (0, 1, 65, 20000):
            x = torch.as_tensor(rng.normal(size=n_)).to(device)
            assert abs(float(fold(x)) - float(x.sum())) <= 1e-10
            assert abs(float(fold(x, x)) - float(x @ x)) <= 1e-9
            huge = torch.cat([x, 1e20 * x, -1e20 * x])  # whose sum is what its additions have lost
            total, rest = exactly(huge)
            assert abs(math.fsum([*total.tolist(), *rest[0].tolist()]) - math.fsum(x.tolist())) <= 1e-3
        rows = torch.arange(0, n, 2).to(device)
        if kind != torch.float64:
            unit = torch.linalg.vector_norm(u, torch.inf)
            wanted = (wide[rows] - w) * torch.sqrt(torch.abs(u[rows]) / unit)[:, None]
            for signed in (False, True):
                left, both = halves(X, rows, u, unit, w, signed=signed)
                high, low = both[:, :d].double(), both[:, d:].double()
                assert torch.allclose(high + low, wanted, rtol=1e-4, atol=1e-4)
                sign = torch.sign(u[rows])[:, None] if signed else 1.0
                assert torch.equal(left.double(), sign * high)
        assert oracle.pays(X, "atoms") == (d <= 4096) and not oracle.pays(X, "sinh", single=True)
        if not oracle.pays(X, "atoms"):
            continue
        found, scores = oracle.through(X, w, 0.3, oracle.Prepared("parabola", (v,)), kept=True)
        slope, f = found[:-2], wide @ w + 0.3
        assert torch.allclose(scores, f, rtol=1e-13, atol=1e-12)
        assert torch.allclose(slope, wide.T @ (v * f), rtol=1e-12, atol=1e-11)
        y = DeviceArray(torch.where(u > 0, 1.0, -1.0).double())
        counts = DeviceArray(torch.floor(3 * torch.abs(u)))
        design = DeviceDesign(X)
        design.rows.passes = passes
        found = design.bend(DeviceArray(v), w.cpu().numpy(), -0.3)
        assert torch.equal(found[0].tensor, scores)
        assert np.allclose(found[1], slope.cpu().numpy(), 1e-13, 1e-13)
        if (n, d, kind) not in ((37, 5, torch.float32), (70, 130, torch.bfloat16)):
            continue  # an interpreter takes its time
        for name in ("hinge", "squared_hinge", "quantile", "huber", "logistic", "exponential", "poisson"):
            target, b = counts if name == "poisson" else y, np.array([0.3])
            for weight in (np.ones_like(y), DeviceArray(torch.abs(v) + 0.1)):
                risk = as_loss(name).bind(target, rowwise.once(weight))
                small = 1e-2 * w / d**0.5
                exact = risk.value_and_subgradient(DeviceArray(wide @ small), b)
                formula = risk.formula()
                numbers = tuple(x.tensor for x in formula.numbers)
                design = DeviceDesign(X)
                design.rows.passes = passes  # as on a card
                for rough, room in ((False, 1e-12), (True, 1e-4)):
                    found = design.look(risk, small.cpu().numpy(), b, rough=rough)
                    assert abs(found[0] - exact[0]) <= room * max(1.0, exact[0])
                    assert np.allclose(found[1], (wide.T @ exact[1].tensor).cpu().numpy(), room, 10 * room)
                    assert np.allclose(found[2], exact[2], room, room)
                losses = oracle.Prepared(formula.name, numbers)
                for single, room in ((False, 1e-12), (True, 1e-4)):
                    expected = wide.T @ exact[1].tensor
                    most = 1 + float(wide.abs().max())
                    for again in range(5):  # on a card the last ones are replayed
                        oracle.through(X, float(again) * small, float(again), losses, single=single)
                        found, _ = oracle.through(X, small, 0.3, losses, single=single)
                        assert abs(float(found[-2]) - exact[0]) <= room * max(1.0, exact[0])
                        assert torch.allclose(found[:-2], expected, rtol=room, atol=room * most)
                        if device == "cpu":
                            break
# what happens to each sample: the kernel does what torch does in memory
from gapfit.device import duals, kernels, loops, samples
n = 1300
signs = torch.where(torch.as_tensor(rng.normal(size=n)) > 0, 1.0, -1.0).double()
assert len(samples.FORMULAS) >= 15
for formula, sums in list(samples.FORMULAS):
    for given in range(1, 13):
        vectors = [torch.as_tensor(np.abs(rng.normal(size=n)) + 0.1) for _ in range(given)]
        if given > 4:  # as of losses: the sign first, no kink, bounds on both sides
            vectors[0], vectors[3] = signs, torch.zeros(1, dtype=torch.float64).expand(n)
            vectors[4] = -vectors[4]
        try:
            written, added = samples.on_tensors(formula)(vectors, (0.375, 1.5))
            break
        except ValueError as error:
            assert "to unpack" in str(error)
    assert len(added) == sums
    here, there = ([torch.empty(n, dtype=torch.float64) for _ in written] for _ in range(2))
    known = samples.for_each(formula, sums)(vectors, (0.375, 1.5), here)
    there = [x.to(device) for x in there]
    found = kernels.launch(formula, [x.to(device) for x in vectors], (0.375, 1.5), there, sums)
    assert torch.allclose(found.cpu(), known, rtol=1e-12, atol=1e-12, equal_nan=True), formula
    for one, other in zip(here, there):
        assert torch.allclose(one, other.cpu(), rtol=1e-14, atol=0, equal_nan=True), formula
if device == "cuda":  # numbers have all their digits there; the interpreter makes float32 of them
    x = torch.ones(3, dtype=torch.float64, device=device)
    kernels.launch(duals._blended, (0.0 * x, x), (0.1,), (out := torch.empty_like(x),), 0)
    assert out.tolist() == [0.1] * 3
print("passed")
"""


def test_passes_by_triton():
    """On the card, or by Triton's interpreter, which must be chosen before Triton is loaded."""
    pytest.importorskip("triton", reason="passes need triton: pip install 'gapfit[gpu]'")
    interpret = {} if torch.cuda.is_available() else {"TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PASSES],
        env=os.environ | interpret,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "passed", done.stderr[-2000:]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="passes are recorded on a card")
def test_recordings_outlive_those_before_them():
    """Each leaves a cycle with a recording in it, which Python's collector is eager to release."""
    oracle = pytest.importorskip("gapfit.device.oracle", reason="needs triton")
    X = torch.ones((64, 16), dtype=torch.float64, device="cuda")
    once = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(20):
            losses = oracle.Prepared("parabola", (torch.ones(64, dtype=torch.float64, device="cuda"),))
            for k in range(6):
                found, _ = oracle.through(X, torch.full((16,), float(k), device="cuda").double(), 0.5, losses)
                assert found[:-2].tolist() == [64 * (16.0 * k + 0.5)] * 16
    finally:
        gc.set_threshold(*once)


def test_nothing_is_collected_while_a_pass_is_recorded():
    oracle = pytest.importorskip("gapfit.device.oracle", reason="needs triton")
    was = gc.isenabled()
    for on in (True, False):
        (gc.enable if on else gc.disable)()
        with pytest.raises(RuntimeError, match="spoilt"), oracle._nothing_collected():
            assert not gc.isenabled()
            raise RuntimeError("spoilt")
        assert gc.isenabled() == on
    (gc.enable if was else gc.disable)()


def test_sparse_rows_that_are_empty():
    X = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]).to_sparse_csr()
    design = DeviceDesign(X.to(DEVICE))
    np.testing.assert_array_equal(host(design.scores(np.ones(2))), [0.0, 1.0, 0.0])
    assert design.take(np.array([2, 0])).shape == (2, 2)


def test_row_sizes_count_what_underflows():
    X = torch.tensor([[3e-170, 4e-170], [0.0, 1.0]], dtype=torch.float64).to(DEVICE)
    assert host(DeviceDesign(X).row_sizes)[0] >= 5e-170


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float64"])
def test_parts_are_rows_of_one_design(kind, monkeypatch):
    """In memory and on the card, and blocks smaller than a part."""
    monkeypatch.setattr("gapfit.device.streamed._BLOCK", 1000)
    X, rng_ = tensor(kind), np.random.default_rng(2)
    parts = [X[:100].cpu(), X[100:101], X[101:].cpu()]
    split, whole, memory = DeviceDesign(parts), DeviceDesign(X), as_memory(X)
    w, u, v = rng_.normal(size=7), rng_.normal(size=300), rng_.uniform(size=300)
    assert (np.abs(host(split.scores(w)) - memory.scores(w)) <= host(split.slack(w)) + memory.slack(w)).all()
    slope = split.adjoint(split.held(u))
    assert np.linalg.norm(slope - memory.adjoint(u)) <= split.spread(split.held(u)) + memory.spread(u)
    gram, known = (np.tril(one.weighted_gram(one.held(v), w)) for one in (split, whole))
    np.testing.assert_allclose(gram, known, rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(split.squares(split.held(v)), memory.squares(v), rtol=1e-12)
    np.testing.assert_allclose(host(split.row_sizes), host(whole.row_sizes), rtol=1e-14)
    assert split.largest == whole.largest
    rows = np.array([3, 250, 100, 17])
    np.testing.assert_array_equal(host(split.take(rows).scores(w)), host(whole.take(rows).scores(w)))
    y = np.where(memory.scores(w) > 0, 1.0, -1.0)
    for loss in ("hinge", "logistic"):
        found, wanted = (solve(Problem(one, y, loss, alpha=1e-1), tol=1e-5) for one in (split, whole))
        assert found.status is wanted.status is Status.CERTIFIED
        assert found.certificate.dual <= wanted.certificate.primal + 1e-12


def test_what_a_card_has_no_room_for_stays_in_memory(monkeypatch):
    monkeypatch.setattr("gapfit.device.moving._BLOCKS", 0)
    monkeypatch.setattr("gapfit.device.moving.free", lambda device: 31 * 8 * 300)
    X = np.random.default_rng(0).normal(size=(300, 7))
    assert isinstance(moved(X, DEVICE).rows, PartedRows)
    np.testing.assert_allclose(host(moved(X, DEVICE).scores(np.ones(7))), X.sum(1), rtol=1e-12, atol=1e-12)


def test_rows_without_weight_are_left_out():
    """On a card as in memory; sparse rows are used where they are."""
    from gapfit.solvers.second_order.few_rows import where_not_zero

    u = np.zeros(300)
    u[[4, 299]] = 1.0, -2.0
    for kind, rows in (("float32", 2), ("csr", 300)):
        design = DeviceDesign(tensor(kind))
        few, (some,) = where_not_zero(design, design.held(u))
        assert few.shape[0] == rows
        exactly = as_memory(tensor(kind)).adjoint(u)
        np.testing.assert_allclose(few.adjoint(some), exactly, rtol=1e-6)
        np.testing.assert_allclose(design.adjoints_of_few(design.held(u))[0], exactly, rtol=1e-6)


def test_auto_takes_hessians_of_more_features_there():
    from gapfit.solvers.auto import plan

    X, y = torch.randn(40, 3000), np.where(np.arange(40) % 2, 1.0, -1.0)
    for loss, solver in (("hinge", "semismooth_newton"), ("logistic", "newton")):
        design = DeviceDesign(X.to(DEVICE))
        design.hessian_in_passes = 1.0  # it is dear on a card, for so few samples
        assert plan(Problem(design, y, loss))[0].name == solver
        thin = Problem(X.to_sparse_csr().to(DEVICE), y, loss)
        assert plan(thin)[0].name != solver


def test_quantiles_of_very_many_numbers():
    """A sample says where they are: the answer is that of memory."""
    from gapfit.losses.weighted_quantile import weighted_quantile

    rng_ = np.random.default_rng(0)
    for positions in (rng_.normal(size=700_000), np.round(rng_.normal(size=700_000), 2)):
        masses = rng_.uniform(0.5, 1.5, len(positions))
        there = [DeviceArray(torch.as_tensor(x).to(DEVICE)) for x in (positions, masses)]
        for share in (0.01, 0.5, 0.93):
            wanted = weighted_quantile(positions, masses, share * masses.sum())
            np.testing.assert_array_equal(weighted_quantile(*there, share * masses.sum()), wanted)


def test_entries_in_parts_are_added_up():
    """Else the size of a row, by which rounding is counted, would be that of the parts."""
    parts = torch.tensor([0, 3, 5]), torch.tensor([2, 0, 2, 1, 1]), torch.tensor([1.0, 5.0, 2.0, 3.0, 4.0])
    X = torch.sparse_csr_tensor(*parts, (2, 3), check_invariants=False).to(DEVICE)
    design = DeviceDesign(X)
    np.testing.assert_array_equal(design.in_memory().X.toarray(), [[5.0, 0.0, 3.0], [0.0, 7.0, 0.0]])
    np.testing.assert_allclose(host(design.row_sizes), [34**0.5, 7.0])
    np.testing.assert_array_equal(host(design.scores(np.ones(3))), [8.0, 7.0])


@pytest.mark.parametrize("columns", [[0, 3], [-1, 0]])
@pytest.mark.parametrize("starts", [[0, 1, 2], [0, 3, 2], [1, 1, 2]])
def test_indices_that_point_outside_are_refused(columns, starts):
    given = (torch.tensor(part) for part in (starts, columns, [1.0, 2.0]))
    X = torch.sparse_csr_tensor(*given, (2, 3), check_invariants=False).to(DEVICE)
    with pytest.raises(ValueError, match="outside"):
        DeviceDesign(X)
