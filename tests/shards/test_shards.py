"""Data on disk: what is written is read, what has changed is noticed, and fits are those of memory."""

import json
import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("pyarrow", reason="shards need pyarrow: pip install 'gapfit[disk]'")
pytest.importorskip("xxhash", reason="shards need xxhash: pip install 'gapfit[disk]'")

from gapfit import LinearClassifier, LinearRegressor, Problem, Ranker, Status, load, save, solve
from gapfit.datasets import open_shards
from gapfit.design.memory import MemoryDesign
from gapfit.design.parted import PartedDesign
from gapfit.errors import DataError, TooLarge
from gapfit.shards import ShardWriter
from gapfit.shards.arrow import Columns
from gapfit.shards.manifest import NAME
from gapfit.testing import check_design


def samples(n=400, d=12, seed=0, kind="sparse"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    X = X.astype(np.float32) if kind.endswith("32") else X
    return (sparse.csr_array(X) if kind.startswith("sparse") else X), y


def written(folder, X, y, count=5, weight=None, qid=None):
    writer = ShardWriter(folder, {"made": "here"})
    edges = np.linspace(0, X.shape[0], count + 1).astype(int)
    for a, b in pairwise(edges):
        own = [None if part is None else part[a:b] for part in (y, weight, qid)]
        writer.add(Columns(X[a:b], *own))
    writer.finish()
    return folder


KINDS = ["sparse", "sparse32", "dense", "dense32"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read(tmp_path, kind):
    X, y = samples(kind=kind)
    qid = np.arange(len(y)) // 7
    folder = written(tmp_path / "s", X, y, weight=np.arange(1.0, len(y) + 1), qid=qid)
    shards = open_shards(folder, resident=0)
    assert isinstance(shards.design, PartedDesign) and shards.shape == X.shape
    back = shards.design.take(slice(None)).X
    assert back.dtype == X.dtype and abs(back - X).max() == 0
    np.testing.assert_array_equal(shards.y, y)
    np.testing.assert_array_equal(shards.sample_weight, np.arange(1.0, len(y) + 1))
    np.testing.assert_array_equal(shards.groups, qid)
    shards.verify()
    assert isinstance(open_shards(folder).design, MemoryDesign)  # all of it fits


@pytest.mark.parametrize("kind", KINDS)
def test_the_contract_of_designs(tmp_path, kind):
    X, y = samples(60, 5, kind=kind)
    design, other = (
        open_shards(written(tmp_path / name, Z, y, 3), resident=0).design
        for name, Z in (("a", X), ("b", 2 * X))
    )
    check_design(design, other=other, trials=2)


def test_words_are_targets(tmp_path):
    X, y = samples()
    words = np.where(y > 0, "yes", "né")
    folder = written(tmp_path / "s", X, words)
    np.testing.assert_array_equal(open_shards(folder).y, words)
    model = LinearClassifier(alpha=1e-2).fit(open_shards(folder, resident=0))
    assert set(model.predict(X)) == {"yes", "né"} and model.converged_


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "roc_area", "f_beta"])
@pytest.mark.parametrize("resident", [0, 2000])
def test_fits_are_those_of_memory(tmp_path, loss, resident):
    X, y = samples()
    shards = open_shards(written(tmp_path / "s", X, y), resident=resident)
    reference = solve(Problem(X, y, loss, alpha=1e-3), tol=1e-8).certificate
    found = solve(Problem(shards, None, loss, alpha=1e-3), tol=1e-5)
    assert found.status is Status.CERTIFIED
    assert found.certificate.dual <= reference.primal and reference.dual <= found.certificate.primal
    assert found.cost.passes > 1 and found.cost.bytes == found.cost.passes * shards.parts.bytes


def test_the_same_shards_give_the_same_bytes(tmp_path):
    X, y = samples()
    folder = written(tmp_path / "s", X, y)
    fits = [
        solve(Problem(open_shards(folder, resident=3000), None, "hinge", alpha=1e-3), n_jobs=n_jobs)
        for n_jobs in (1, 2, 1)
    ]
    assert len({fit.w.tobytes() for fit in fits}) == 1


def test_estimators_fit_and_predict_in_a_stream(tmp_path):
    X, y = samples()
    weight = np.random.default_rng(1).integers(1, 3, len(y)).astype(float)
    folder = written(tmp_path / "s", X, y, weight=weight)
    shards = open_shards(folder, resident=0)
    for loss in ("hinge", "logistic"):
        here = LinearClassifier(loss=loss, alpha=1e-3, tol=1e-6).fit(X, y, weight)
        there = LinearClassifier(loss=loss, alpha=1e-3, tol=1e-6).fit(shards)
        assert there.converged_ and abs(there.objective_ - here.objective_) <= 1e-6 * here.objective_
        np.testing.assert_array_equal(there.predict(shards), there.predict(X))
        assert there.predict(shards).shape == y.shape
    lo, hi = there.score_bounds(X)  # statements are made on request
    assert (lo <= here.decision_function(X) + 1e-2).all() and (hi >= here.decision_function(X) - 1e-2).all()
    real = LinearRegressor(loss="squared", alpha=1e-3).fit(shards)
    same = LinearRegressor(loss="squared", alpha=1e-3).fit(X, y, weight)
    np.testing.assert_allclose(real.predict(shards), same.predict(X), atol=1e-3)
    save(there, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(shards), there.predict(X))


def test_a_checkpoint_is_for_these_shards(tmp_path):
    X, y = samples()
    folder = written(tmp_path / "s", X, y)
    how = dict(alpha=1e-4, tol=1e-8, checkpoint=tmp_path / "c")
    with pytest.warns(ConvergenceWarning):
        LinearClassifier(max_iter=3, **how).fit(open_shards(folder, resident=0))
    assert (tmp_path / "c").exists()
    again = LinearClassifier(**how).fit(open_shards(folder, resident=0))
    whole = LinearClassifier(alpha=1e-4, tol=1e-8).fit(open_shards(folder, resident=0))
    assert again.converged_ and again.coef_.tobytes() == whole.coef_.tobytes()


def test_several_classes_share_the_shards(tmp_path):
    X, _ = samples()
    y = np.digitize(np.asarray(X.sum(axis=1)).ravel(), [-1.0, 1.0]).astype(float)
    shards = open_shards(written(tmp_path / "s", X, y), resident=0)
    for how in ("one_vs_rest", "joint"):
        here = LinearClassifier(alpha=1e-2, multi_class=how).fit(X, y)
        there = LinearClassifier(alpha=1e-2, multi_class=how).fit(shards)
        assert abs(here.objective_ - there.objective_) <= 1e-3 * here.objective_


def test_rankings_take_their_queries_from_the_shards(tmp_path):
    X, _ = samples(120)
    rng = np.random.default_rng(2)
    y, qid = rng.integers(0, 3, 120).astype(float), np.repeat(np.arange(12), 10)
    shards = open_shards(written(tmp_path / "s", X, y, qid=qid), resident=0)
    here, there = Ranker(alpha=1e-2).fit(X, y, qid=qid), Ranker(alpha=1e-2).fit(shards)
    assert abs(here.objective_ - there.objective_) <= 1e-3 * here.objective_


def test_equal_samples_are_merged_within_a_shard(tmp_path):
    X, y = samples(50)
    twice, both = sparse.csr_array(sparse.vstack([X, X])), np.r_[y, y]
    writer = ShardWriter(tmp_path / "s", {}, merge=True)
    writer.add(Columns(twice, both))
    writer.finish()
    shards = open_shards(tmp_path / "s", resident=0)
    assert len(shards) <= 50 and shards.sample_weight.sum() == 100
    a = solve(Problem(shards, None, "hinge", alpha=1e-2), tol=1e-7).certificate.primal
    assert abs(a - solve(Problem(X, y, "hinge", alpha=1e-2), tol=1e-7).certificate.primal) <= 1e-6 * a


# -- files that are not what they were --------------------------------------------------------------------


def opened_problem(tmp_path):
    X, y = samples()
    folder = written(tmp_path / "s", X, y)
    problem = Problem(open_shards(folder, resident=0), None, "hinge", alpha=1e-3)
    return folder / "part-000003.arrow", problem


def test_a_shard_that_vanishes_is_named(tmp_path):
    path, problem = opened_problem(tmp_path)
    path.unlink()
    with pytest.raises(DataError, match=r"part-000003.*cannot be read any more"):
        solve(problem)


def test_a_shard_that_shrinks_while_it_is_read_is_named(tmp_path, monkeypatch):
    X, y = samples()
    written(tmp_path, X, y)
    shards = open_shards(tmp_path, resident=0)

    class Larger:
        st_size = 10**6

    monkeypatch.setattr("gapfit.shards.arrow.os.fstat", lambda _: Larger)  # it was larger once
    with pytest.raises(DataError, match="bytes, where there were 1000000") as caught:
        shards.parts.load(0)
    assert ".arrow" in str(caught.value)


def test_a_shard_without_room_is_refused_by_name(tmp_path, monkeypatch):
    X, y = samples()
    written(tmp_path, X, y)
    shards = open_shards(tmp_path, resident=0)

    class Huge:
        st_size = 10**18

    monkeypatch.setattr("gapfit.shards.arrow.os.fstat", lambda _: Huge)
    with pytest.raises(TooLarge, match=r"the shard .*arrow would take"):
        shards.parts.load(0)


def test_a_shard_that_shrinks_is_named(tmp_path):
    path, problem = opened_problem(tmp_path)
    os.truncate(path, path.stat().st_size - 8)
    with pytest.raises(DataError, match=r"part-000003.*bytes, where \d+ were written"):
        solve(problem)


def test_a_shard_that_changes_is_named(tmp_path):
    path, problem = opened_problem(tmp_path)
    other = bytearray(path.read_bytes())
    other[len(other) // 2] ^= 1
    path.write_bytes(bytes(other))
    with pytest.raises(DataError, match=r"part-000003.*has changed while it was in use"):
        solve(problem)


def test_a_shard_that_was_changed_before_is_found_by_its_checksum(tmp_path):
    X, y = samples()
    folder = written(tmp_path / "s", X, y)
    path = folder / "part-000001.arrow"
    other = bytearray(path.read_bytes())
    other[len(other) // 2] ^= 1
    path.write_bytes(bytes(other))
    with pytest.raises(DataError, match=r"part-000001.*checksum"):
        Problem(open_shards(folder, resident=0), None, "hinge")


def test_a_copy_of_the_folder_is_as_good(tmp_path):
    import shutil

    X, y = samples()
    folder = written(tmp_path / "s", X, y)
    shutil.copytree(folder, tmp_path / "t", copy_function=shutil.copyfile)
    design = open_shards(tmp_path / "t", resident=0).design
    assert design.digest() == open_shards(folder, resident=0).design.digest()
    assert design.largest == abs(X).max()


def forged(tmp_path, change):
    """A shard with other numbers in it, and a manifest that vouches for them."""
    X, y = samples(40)
    X = X.copy()
    change(X)
    return written(tmp_path / "s", X, y, 1)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda X: X.indices.__setitem__(3, 99), "outside"),
        (lambda X: X.indices.__setitem__(3, -1), "outside"),
        (lambda X: X.indices.__setitem__(slice(0, 2), [5, 5]), "increase"),
        (lambda X: X.data.__setitem__(3, np.nan), "not finite"),
        (lambda X: X.indptr.__setitem__(3, X.indptr[7]), "negative length|do not fit"),
    ],
)
def test_hostile_numbers_are_refused(tmp_path, change, match):
    folder = forged(tmp_path, change)
    with pytest.raises(DataError, match=match):
        Problem(open_shards(folder, resident=0), None, "hinge")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda m: m.update(format="other"), "not a manifest"),
        (lambda m: m.update(version=99), "version 99"),
        (lambda m: m.update(complete=False), "not finished"),
        (lambda m: m.update(shards=[]), "no samples"),
        (lambda m: m.update(kind="wide"), "kind"),
        (lambda m: m.update(columns="many"), "columns"),
        (lambda m: m.update(more=1), "damaged"),
        (lambda m: m["shards"][0].update(file="../../etc/passwd"), "lies in its folder"),
        (lambda m: m["shards"].append(m["shards"][0]), "twice"),
        (lambda m: m["shards"][0].update(rows=-1), "negative"),
    ],
)
def test_a_damaged_manifest_is_refused(tmp_path, change, match):
    X, y = samples(40)
    folder = written(tmp_path / "s", X, y, 2)
    manifest = json.loads((folder / NAME).read_text())
    change(manifest)
    (folder / NAME).write_text(json.dumps(manifest))
    with pytest.raises(DataError, match=match):
        open_shards(folder)


def test_no_shards_at_all(tmp_path):
    with pytest.raises(DataError, match="gapfit shard"):
        open_shards(tmp_path)
    X, y = samples(20)
    folder = written(tmp_path / "s", X, None, 2)
    with pytest.raises(ValueError, match="no targets"):
        Problem(open_shards(folder), None, "hinge")
    assert Problem(open_shards(folder), y, "hinge").design.shape == X.shape


def test_without_the_extra_the_way_out_is_told():
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from gapfit.shards.arrow import libraries\n"
        "try: libraries()\n"
        "except ImportError as error: assert 'gapfit[disk]' in str(error)\n"
        "else: raise SystemExit(1)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
