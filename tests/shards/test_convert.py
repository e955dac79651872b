"""From data files to shards: every format, in bounded memory, and after an interruption."""

import gzip

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("pyarrow", reason="shards need pyarrow: pip install 'gapfit[disk]'")
pytest.importorskip("xxhash", reason="shards need xxhash: pip install 'gapfit[disk]'")

from gapfit.cli.main import run
from gapfit.datasets import Data, load, open_shards, read_svmlight, save
from gapfit.errors import DataError
from gapfit.shards import convert, shard


def table(n=300, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6), 3)
    X[0] = 1.0
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)


def file_of(folder, kind, qid=None):
    X, y = table()
    names = [f"c{k}" for k in range(X.shape[1])]
    path = folder / {"svmlight": "d.svm", "gz": "d.svm.gz", "csv": "d.csv", "tsv": "d.tsv"}.get(
        kind, f"d.{kind}"
    )
    if kind in ("svmlight", "gz"):
        save(path, Data(sparse.csr_array(X), y, qid))
    elif kind == "npy":
        np.save(path, np.column_stack([X, y]))
    else:
        save(path, Data(X, y, names=tuple(names)))
    return path


TARGET = {"csv": "target", "tsv": "target", "parquet": "target", "npy": -1}


@pytest.mark.parametrize("kind", ["svmlight", "gz", "csv", "tsv", "parquet", "npy", "npz"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_format(tmp_path, kind, dtype):
    X, y = table()
    path = file_of(tmp_path, kind)
    manifest = shard(path, tmp_path / "s", target=TARGET.get(kind), dtype=dtype, shard_bytes=4000)
    shards = open_shards(tmp_path / "s", resident=0)
    found = shards.design.take(slice(None)).X
    found = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_array_equal(found, X.astype(dtype))
    np.testing.assert_array_equal(shards.y, y)
    assert manifest.rows == len(y) and manifest.dtype == dtype
    assert len(manifest.shards) > 1 or kind in ("svmlight", "gz")  # whose pieces are blocks of text


def test_pieces_of_text_are_shards_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr("gapfit.datasets.pieces.CHUNK_BYTES", 1000)
    qid = np.arange(300) // 10
    path = file_of(tmp_path, "svmlight", qid)
    manifest = shard(path, tmp_path / "s", shard_bytes=2000)
    assert len(manifest.shards) > 3
    shards, whole = open_shards(tmp_path / "s", resident=0), read_svmlight(path)
    assert abs(shards.design.take(slice(None)).X - whole.X).max() == 0
    np.testing.assert_array_equal(shards.groups, qid)


@pytest.mark.parametrize("kind", ["svmlight", "gz", "csv", "parquet", "npy"])
def test_an_interrupted_conversion_goes_on(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("gapfit.datasets.pieces.CHUNK_BYTES", 1000)
    path, options = file_of(tmp_path, kind), dict(target=TARGET.get(kind), shard_bytes=2000)
    whole = shard(path, tmp_path / "whole", **options)
    write, count = convert.ShardWriter.add, 0

    def breaking(self, *arguments, **more):
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        return write(self, *arguments, **more)

    monkeypatch.setattr(convert.ShardWriter, "add", breaking)
    with pytest.raises(KeyboardInterrupt):
        shard(path, tmp_path / "s", **options)
    with pytest.raises(DataError, match="not finished"):
        open_shards(tmp_path / "s")
    before = {one.name: one.stat().st_mtime_ns for one in (tmp_path / "s").glob("*.arrow")}
    assert len(before) == 2
    monkeypatch.undo()
    monkeypatch.setattr("gapfit.datasets.pieces.CHUNK_BYTES", 1000)
    again = shard(path, tmp_path / "s", **options)
    assert [one.xxh3 for one in again.shards] == [one.xxh3 for one in whole.shards]
    assert all((tmp_path / "s" / name).stat().st_mtime_ns == then for name, then in before.items())
    assert shard(path, tmp_path / "s", **options) == again  # nothing is left to be done


def test_other_data_do_not_go_on(tmp_path):
    path = file_of(tmp_path, "svmlight")
    shard(path, tmp_path / "s")
    with pytest.raises(DataError, match="other data"):
        shard(path, tmp_path / "s", dtype="float32")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "mine").write_text("precious")
    with pytest.raises(DataError, match="not empty"):
        shard(path, tmp_path / "t")
    assert (tmp_path / "t" / "mine").read_text() == "precious"


def test_wrong_lines_are_named_wherever_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr("gapfit.datasets.pieces.CHUNK_BYTES", 500)
    path = file_of(tmp_path, "svmlight")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[200] = b"1 1:oops\n"
    path.write_bytes(b"".join(lines))
    with pytest.raises(DataError, match="line 201"):
        shard(path, tmp_path / "s", shard_bytes=1000)


def test_progress_is_told(tmp_path):
    told = []
    shard(file_of(tmp_path, "npy"), tmp_path / "s", shard_bytes=2000, progress=lambda *now: told.append(now))
    assert len(told) > 2 and told[-1] == (1.0, 0.0) and [a for a, _ in told] == sorted(a for a, _ in told)


def test_a_byte_order_mark_does_not_shift_what_follows(tmp_path, monkeypatch):
    monkeypatch.setattr("gapfit.datasets.pieces.CHUNK_BYTES", 500)
    path = file_of(tmp_path, "svmlight")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    manifest = shard(path, tmp_path / "s", shard_bytes=1000)
    assert manifest.source["position"]["bytes"] == path.stat().st_size


def test_the_command_line(tmp_path, capsys):
    path, out, model = file_of(tmp_path, "svmlight"), str(tmp_path / "s"), str(tmp_path / "m")
    assert run(["shard", str(path), out, "--shard-mb", "1", "--format", "json"]) == 0
    assert '"rows": 300' in capsys.readouterr().out
    assert run(["train", out, model, "--alpha", "0.01"]) == 0
    assert run(["predict", out, model, str(tmp_path / "p"), "--scores", "--certified"]) == 0
    assert run(["predict", str(path), model, str(tmp_path / "q"), "--scores", "--certified"]) == 0
    assert (tmp_path / "p").read_text() == (tmp_path / "q").read_text()
    assert "accuracy" in capsys.readouterr().out
    assert run(["train", out, "-v", "3"]) == 1 and "folds" in capsys.readouterr().err
    assert run(["train", str(tmp_path), model]) == 1 and "gapfit shard" in capsys.readouterr().err


def test_packed_files_and_words(tmp_path):
    text = b"age,kind\n1,good\n2,bad\n3,good\n"
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(text))
    shard(tmp_path / "d.csv.gz", tmp_path / "s", target="kind", shard_bytes=8)
    shards = open_shards(tmp_path / "s")
    assert shards.y.tolist() == ["good", "bad", "good"] and shards.names == ("age",)


def test_npy_files_are_for_shards_only(tmp_path):
    path = file_of(tmp_path, "npy")
    with pytest.raises(ValueError, match=r"np\.load"):
        load(path)
    with pytest.raises(ValueError, match=r"np\.save"):
        save(path, Data(np.ones((2, 2))))
    np.save(path, np.array([object()]), allow_pickle=True)
    with pytest.raises(DataError):
        shard(path, tmp_path / "s")
