"""Data files: what is read, what is refused and where, what it costs.

`reference` is a second reader of svmlight files, written for clarity only. Whatever bytes a file has, both
must agree: on every number, or on the line that is wrong.
"""

import bz2
import gzip
import io
import locale
import lzma
import os
import pickle
import re
import struct
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from gapfit.datasets import (
    Data,
    iter_svmlight,
    load,
    npz,
    packed,
    read_csv,
    read_npz,
    read_parquet,
    read_svmlight,
    save,
    write_csv,
    write_npz,
    write_svmlight,
)
from gapfit.errors import DataError, GapfitError

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("GAPFIT_DATA") or ROOT.parent / "shared" / "data")
REAL = sorted(FOLDER.rglob("*.libsvm.xz"))
BOM = b"\xef\xbb\xbf"
SAMPLE = b"""# a comment
+1 1:0.5 3:-2e-1 7:1   # another

-1 2:.25\t4:3.
0
1.5\t2:1e3 9:0
"""


def bits(values):
    """float64 as integers: -0.0 is not 0.0."""
    return np.asarray(values, dtype=np.float64).view(np.int64)


def text_of(data):
    target = io.BytesIO()
    write_svmlight(target, data)
    return target.getvalue()


def read(text, **options):
    return read_svmlight(io.BytesIO(text), **options)


# ---------------------------------------------------------------- the reference reader

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
LARGEST = 2**31 - 1


class WrongLine(Exception):
    """args[0] is its number."""


def parse_number(token, largest=float("inf")):
    if not NUMBER.fullmatch(token):
        raise ValueError
    value = float(token)
    if abs(value) >= largest:
        raise ValueError
    return value


def parse_line(content, multilabel, zero_based, n_features, largest):
    """(labels, qid or None, [(column, value), ...])"""
    tokens = re.split(rb"[ \t]+", content.strip(b" \t"))
    labels = []
    if multilabel:
        if b":" not in tokens[0]:
            for token in tokens.pop(0).split(b","):
                label = parse_number(token)
                digits = re.sub(rb"[+.-]|[eE].*", b"", token).lstrip(b"0")
                if (
                    label != int(label)
                    or not 0 <= label < LARGEST
                    or len(digits) > 19
                    or bool(label) != bool(digits)
                ):
                    raise ValueError
                labels.append(int(label))
    else:
        labels.append(parse_number(tokens.pop(0)))
    qid = None
    if tokens and (match := re.fullmatch(rb"qid:([0-9]+)", tokens[0])):
        qid = int(match[1])
        if qid > 2**63 - 1:
            raise ValueError
        tokens.pop(0)
    entries, previous = [], -1
    for token in tokens:
        match = re.fullmatch(rb"([0-9]{1,18}):(.*)", token, re.DOTALL)
        column = int(match[1]) - (not zero_based) if match else -1
        if column <= previous or column >= (LARGEST if n_features is None else n_features):
            raise ValueError
        entries.append((column, parse_number(match[2], largest)))
        previous = column
    return labels, qid, entries


def reference(text, *, multilabel=False, zero_based=False, n_features=None, dtype=np.float64):
    """[(labels, qid, entries), ...] or WrongLine"""
    largest = float("inf") if dtype == np.float64 else 2.0**128 - 2.0**103
    samples = []
    for number, line in enumerate(text.removeprefix(BOM).split(b"\n"), 1):
        content, comment, _ = line.partition(b"#")
        if not comment:
            content = content.removesuffix(b"\r")
        if not content.strip(b" \t"):
            continue
        try:
            if b"\r" in content:
                raise ValueError
            sample = parse_line(content, multilabel, zero_based, n_features, largest)
            if samples and (sample[1] is None) != (samples[0][1] is None):
                raise ValueError
        except (ValueError, TypeError):
            raise WrongLine(number) from None
        samples.append(sample)
    return samples


def assert_equal(data, samples, multilabel=False, dtype=np.float64):
    X = data.X
    assert X.dtype == dtype and X.shape[0] == len(samples) == data.y.shape[0]
    assert X.indptr.tolist() == np.cumsum([0, *(len(s[2]) for s in samples)]).tolist()
    assert X.indices.tolist() == [column for s in samples for column, _ in s[2]]
    expected = np.array([value for s in samples for _, value in s[2]], dtype=np.float64)
    assert (bits(X.data) == bits(expected.astype(dtype))).all()
    if multilabel:
        assert (data.y.data == 1).all()
        found = [k.tolist() for k in np.split(data.y.indices, data.y.indptr[1:-1])]
        assert found[: len(samples)] == [sorted(set(s[0])) for s in samples]
    else:
        assert (bits(data.y) == bits([s[0][0] for s in samples])).all()
    queries = [s[1] for s in samples]
    assert (data.qid is None) == (not queries or queries[0] is None)
    assert data.qid is None or data.qid.tolist() == queries


# ---------------------------------------------------------------- svmlight: what is read


def test_a_small_file():
    data = read(SAMPLE)
    assert_equal(data, reference(SAMPLE))
    assert data.X.shape == (4, 9) and data.qid is None
    assert data.X.has_canonical_format and data.X.indices.dtype == np.int32
    assert data.X.nnz == 7  # a zero that the file names is kept


@pytest.mark.parametrize(
    "text",
    [
        SAMPLE.replace(b"\n", b"\r\n"),
        BOM + SAMPLE,
        SAMPLE.rstrip(b"\n"),
        SAMPLE.replace(b"\n", b"\r\n").rstrip(b"\n"),
        b"\n\n" + SAMPLE + b"\n \t\n#",
        SAMPLE.replace(b" ", b"  \t "),
        SAMPLE.replace(b"   # another", b"# \0 \xff 1:2 \r"),
    ],
)
def test_layout_does_not_matter(text):
    expected, found = read(SAMPLE), read(text)
    assert (expected.X != found.X).nnz == 0 and (expected.y == found.y).all()
    assert_equal(found, reference(text))


@pytest.mark.parametrize("text", [b"", BOM, b"\n", b"# nothing\n\r\n"])
def test_a_file_without_samples(text):
    assert read(text).X.shape == (0, 0)
    assert read(text, n_features=3).X.shape == (0, 3)
    assert list(iter_svmlight(io.BytesIO(text))) == []


@pytest.mark.parametrize("chunk_bytes", [1, 2, 3, 7, 64, 2**20])
def test_blocks_are_the_file(chunk_bytes):
    text = b"".join(b"%d qid:%d %d:%d\n" % (k, k // 3, k % 50 + 1, k) for k in range(200))
    blocks = list(iter_svmlight(io.BytesIO(text), chunk_bytes, n_features=50))
    whole = read(text)
    assert (sparse.vstack([b.X for b in blocks]) != whole.X).nnz == 0
    assert np.concatenate([b.y for b in blocks]).tolist() == whole.y.tolist()
    assert np.concatenate([b.qid for b in blocks]).tolist() == whole.qid.tolist()
    assert len(blocks) == 1 or len(blocks) > 5
    shapes = [b.X.shape[1] for b in iter_svmlight(io.BytesIO(text), chunk_bytes)]
    assert shapes == sorted(shapes) and shapes[-1] == 50


def test_options():
    assert read(b"1 0:2 4:1\n", zero_based=True).X.toarray().tolist() == [[2, 0, 0, 0, 1]]
    assert read(b"1 1:2\n", n_features=4).X.shape == (1, 4)
    single = read(b"0.1 1:0.1 2:3.4028235e38 3:1e-50\n", dtype=np.float32)
    assert single.X.dtype == np.float32 and single.y.dtype == np.float64
    assert single.X.data.tolist() == np.array([0.1, 3.4028235e38, 0], dtype=np.float32).tolist()
    for wrong in ({"dtype": np.int32}, {"n_features": -1}, {"line_limit": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            read(SAMPLE, **wrong)


def test_several_labels():
    data = read(b"5,2 1:1\n 3:1\n\t2\n7,7,0 qid\n".replace(b" qid", b""), multilabel=True)
    assert data.y.toarray().tolist() == [
        [0, 0, 1, 0, 0, 1, 0, 0],
        [0] * 8,
        [0, 0, 1, 0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0, 0, 0, 1],
    ]
    assert data.y.dtype == np.int8
    assert read(b"qid:3 1:1\n4 qid:3\n", multilabel=True).qid.tolist() == [3, 3]


def test_queries():
    data = read(b"1 qid:9223372036854775807 1:1\n0 qid:0\n")
    assert data.qid.tolist() == [2**63 - 1, 0] and data.qid.dtype == np.int64


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("source", ["path", "file", "stdin", "other name", "two parts"])
def test_packed_files(kind, source, tmp_path, monkeypatch):
    content = PACKERS[kind](SAMPLE)
    name = "data.svm" if source == "other name" else f"data.svm.{kind}"
    if source == "two parts":
        content = PACKERS[kind](SAMPLE[:50]) + PACKERS[kind](SAMPLE[50:])
    path = tmp_path / name
    path.write_bytes(content)
    if source == "stdin":
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        data = read_svmlight("-")
    elif source == "file":
        with open(path, "rb") as file:
            data = read_svmlight(file)
            assert not file.closed
    else:
        data = read_svmlight(path)
    assert_equal(data, reference(SAMPLE))


def test_a_slow_pipe():
    """Reads may give a byte at a time."""

    for content in (SAMPLE, gzip.compress(SAMPLE)):
        file = io.BytesIO(content)
        source = SimpleNamespace(read=lambda size, file=file: file.read(min(size, 1)))
        assert_equal(read_svmlight(source), reference(SAMPLE))


def test_text_files_are_refused():
    with pytest.raises(TypeError, match="binary"):
        read_svmlight(io.StringIO("1 1:1\n"))


def test_the_locale_does_not_matter():
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "German"):
        try:
            locale.setlocale(locale.LC_ALL, name)
            break
        except locale.Error:
            continue
    else:
        pytest.skip("no locale with a decimal comma here")
    try:
        assert read(b"1.5 1:0.25 2:0.12345678901234567890123\n").X.data.tolist() == [
            0.25,
            0.12345678901234568,
        ]
    finally:
        locale.setlocale(locale.LC_ALL, before)


# ---------------------------------------------------------------- numbers


def random_tokens(rng, size):
    """Numbers as they are written in files, and as they should not be."""
    size //= 10
    finite = rng.integers(0, 2**64, 2 * size, dtype=np.uint64).view(np.float64)
    finite = finite[np.isfinite(finite)][:size].tolist()
    unit = rng.normal(size=size).tolist()
    digits = [str(k) for k in rng.integers(0, 2**63, size).tolist()]
    cut = rng.integers(1, 20, size).tolist()
    powers = rng.integers(-30, 30, size).tolist()
    far = rng.integers(-360, 320, size).tolist()
    yield from map(repr, finite)
    yield from map(repr, unit)
    yield from (f"{v:.6g}" for v in unit)
    yield from (f"{v:.17f}" for v in unit)
    yield from (f"{v:.25e}" for v in finite)
    yield from (f"{d[:c]}.{d[c:]}" for d, c in zip(digits, cut, strict=True))
    yield from (f"{d[:c]}e{p}" for d, c, p in zip(digits, cut, powers, strict=True))
    yield from (f"-{d[:c]}.{d[c:]}E{p:+d}" for d, c, p in zip(digits, cut, far, strict=True))
    # Half way between two neighbours, as an integer or with decimals, and a hair to each side.
    halves = (rng.integers(2**52, 2**53, size) * 2 + 1).tolist()
    for k, (half, shift) in enumerate(zip(halves, rng.integers(0, 10, size).tolist(), strict=True)):
        if k % 2:
            yield str(half << shift)
            yield str((half << shift) + (-1) ** (k // 2))
        else:
            shift = shift % 4 + 1
            decimals = f"{(half * 5**shift) % 10**shift:0{shift}d}"
            yield f"{half * 5**shift // 10**shift}.{decimals}"
            yield f"{half * 5**shift // 10**shift}.{decimals}{'0' * (k % 7)}{k % 3}"


def check_tokens(tokens):
    expected = np.array([float(t) for t in tokens])
    finite = np.isfinite(expected)
    kept = [t for t, ok in zip(tokens, finite.tolist(), strict=True) if ok]
    text = "".join(f"{t} 1:{t}\n" for t in kept).encode()
    data = read(text)
    wrong = np.flatnonzero(
        (bits(data.X.data) != bits(expected[finite])) | (bits(data.y) != bits(expected[finite]))
    )
    assert not wrong.size, [kept[k] for k in wrong[:5]]


def test_numbers_are_those_of_python():
    check_tokens(list(random_tokens(np.random.default_rng(0), 100_000)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 3))
def test_a_million_numbers_are_those_of_python(seed):
    check_tokens(list(random_tokens(np.random.default_rng(seed), 1_000_000)))


def test_peculiar_numbers_are_those_of_python():
    check_tokens(
        "0 -0 +0 0.0 -0.0 0e9 0e-9 -0e999999999999999999999 1. .5 +.5e+1 -5.E-1 00012 000.00012 "
        "1e22 1e23 1e-22 1e-23 9007199254740991 9007199254740992 9007199254740993 9007199254740993.0 "
        "9007199254740992.5 9007199254740993e0 18014398509481985 0.1e1 123456789012345678e-10 "
        "9999999999999999999 9999999999999999999e-19 18446744073709551615 18446744073709551616 "
        "4.9e-324 2.4703282292062327e-324 2.4703282292062328e-324 2.2250738585072011e-308 "
        "2.2250738585072014e-308 2.225073858507201e-308 1e-400 1e-99999999999999999999 "
        "1.7976931348623157e308 1.7976931348623158e308 8.98846567431158e307 0.000000000000000000000001 "
        "100000000000000000000000 0000000000000000000000001e-5 0e100000000000000000000 "
        f"{'9' * 400}e-400 1{'0' * 308} 0.{'0' * 400}1e400 {'1' * 5000}e-5000".split()
    )


# ---------------------------------------------------------------- svmlight: what is refused

# bytes: (line, column, a word of the message), alone and after many good lines
WRONG = {
    b"x 1:1": (1, 1, "label"),
    b"nan 1:1": (1, 1, "label"),
    b"-inf 1:1": (1, 1, "label"),
    b"1e999 1:1": (1, 1, "label"),
    b"1,2 1:1": (1, 1, "multilabel"),
    b"1:1": (1, 1, "no label"),
    b"qid:1 1:1": (1, 1, "no label"),
    b"1;1:1": (1, 1, "label"),
    b"0x10 1:1": (1, 1, "label"),
    b"1_0 1:1": (1, 1, "label"),
    b"\xff\xfe1\0": (1, 1, "label"),
    b"1 0:1": (1, 3, "count from 1"),
    b"1 -1:1": (1, 3, "index:value"),
    b"1 +1:1": (1, 3, "index:value"),
    b"1 1.0:1": (1, 3, "index:value"),
    b"1 2147483648:1": (1, 3, "too large"),
    b"1 9223372036854775809:1": (1, 3, "too large"),
    b"1 " + b"9" * 60 + b":1": (1, 3, "too large"),
    b"1 1": (1, 3, "index:value"),
    b"1 1 :1": (1, 3, "index:value"),
    b"1 :1": (1, 3, "index:value"),
    b"1 a:1": (1, 3, "index:value"),
    b"1 1:": (1, 3, "finite"),
    b"1 1: 1": (1, 3, "finite"),
    b"1 1:nan": (1, 3, "finite"),
    b"1 1:1 2:-Infinity": (1, 7, "finite"),
    b"1 1:1e999": (1, 3, "too large"),
    b"1 1:" + b"9" * 400: (1, 3, "too large"),
    b"1 1:1e": (1, 3, "finite"),
    b"1 1:1e+": (1, 3, "finite"),
    b"1 1:.": (1, 3, "finite"),
    b"1 1:-": (1, 3, "finite"),
    b"1 1:1:1": (1, 3, "finite"),
    b"1 1:1,5": (1, 3, "finite"),
    b"1 1:0x1p3": (1, 3, "finite"),
    b"1 1:1\0": (1, 3, "finite"),
    b"1 \0": (1, 3, "index:value"),
    b"1\0 1:1": (1, 1, "label"),
    b"1 2:1 1:1": (1, 7, "increase"),
    b"1 2:1 2:1": (1, 7, "increase"),
    b"1 1:1\r2:1": (1, 3, "carriage return"),
    b"1 1:1\r\r": (1, 3, "carriage return"),
    b"1 1:1\x0b2:1": (1, 3, "finite"),
    b"1 qid:": (1, 3, "qid"),
    b"1 qid": (1, 3, "qid"),
    b"1 q": (1, 3, "qid"),
    b"1 qid:-1 1:1": (1, 3, "qid"),
    b"1 qid:1.5 1:1": (1, 3, "qid"),
    b"1 qid:9223372036854775808 1:1": (1, 3, "qid"),
    b"1 qid:" + b"9" * 60: (1, 3, "qid"),
    b"1 1:1 qid:1": (1, 7, "index:value"),
    b"1 1:1\xc2\xa02:1": (1, 3, "finite"),
}


@pytest.mark.parametrize("before", [0, 3, 1000], ids="after {} lines".format)
@pytest.mark.parametrize("text", WRONG, ids=lambda t: ascii(t[:24]))
def test_a_wrong_line_is_named(text, before, tmp_path):
    line, column, word = WRONG[text]
    path = tmp_path / "wrong.svm"
    good = b"1 1:1 # good\n\n" * before
    path.write_bytes(good + text + b"\n1 1:1\n")
    with pytest.raises(DataError) as caught:
        read_svmlight(path)
    error = caught.value
    assert isinstance(error, ValueError) and isinstance(error, GapfitError)
    assert error.line == 2 * before + line and error.column == column and word in error.reason
    assert str(error).startswith(f"{path}, line {error.line}, column {column}: ")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    with pytest.raises(DataError, match=rf"line {error.line}, column {column}:"):
        for _ in iter_svmlight(path, 64):
            pass


def test_all_samples_or_none_have_a_qid():
    with pytest.raises(
        DataError, match="line 3, column 3: a qid, where the first sample has none, got 'qid:1'"
    ):
        read(b"1 1:1\n# comment\n1 qid:1 1:1\n")
    with pytest.raises(DataError, match="line 3, column 1: no qid"):
        read(b"1 qid:1 1:1\n1 qid:1 1:1\n1 1:1\n")


def test_the_number_of_features_is_a_limit():
    with pytest.raises(DataError, match=r"line 2, column 3: .*n_features is 3"):
        read(b"1 3:1\n1 4:1\n", n_features=3)
    assert read(b"1 2147483647:1\n").X.shape == (1, 2**31 - 1)
    with pytest.raises(DataError, match="too large"):
        read(b"1 2147483647:1\n", zero_based=True)


@pytest.mark.parametrize(
    "label", [b"1.5", b"-1", b"1,", b",1", b"1,,2", b"1,x", b"2147483647", b"1, 2", b"1e99"]
)
def test_wrong_sets_of_labels(label):
    with pytest.raises(DataError, match="line 1, column"):
        read(label + b" 1:1\n", multilabel=True)


@pytest.mark.parametrize("value", [b"3.4028236e38", b"-1e39", b"9" * 39])
def test_too_large_for_float32(value):
    assert read(b"1 1:" + value).X.nnz == 1
    with pytest.raises(DataError, match="too large for float32"):
        read(b"1 1:" + value, dtype=np.float32)


class Endless(io.RawIOBase):
    """Bytes without a newline; it counts them."""

    def __init__(self, fill=b"1"):
        self.given, self.fill = 0, fill

    def readable(self):
        return True

    def readinto(self, buffer):
        memoryview(buffer)[:] = self.fill * len(buffer)
        self.given += len(buffer)
        return len(buffer)


@pytest.mark.parametrize("fill", [b"1", b" ", b"#", b"\0"])
def test_a_line_without_end(fill):
    source = Endless(fill)
    with pytest.raises(DataError, match="line 1: more than 1000000 bytes"):
        read_svmlight(source, line_limit=1_000_000)
    assert source.given < 3_000_000
    source = Endless(fill)
    with pytest.raises(DataError, match="line 1: more than 67108864 bytes"):
        read_svmlight(source)
    assert source.given <= 2**27


@pytest.mark.parametrize("chunk_bytes", [1, 7, 100, 1000])
def test_the_line_limit_does_not_depend_on_the_blocks(chunk_bytes):
    line = b"1 1:1 #" + b"x" * 93 + b"\n"  # 100 bytes
    assert sum(b.X.shape[0] for b in iter_svmlight(io.BytesIO(line * 9), chunk_bytes, line_limit=100)) == 9
    for text in (line * 3 + b"x" + line, line * 3 + (b"x" + line)[:-1], line * 3 + b"x" * 5000 + b"\n"):
        with pytest.raises(DataError, match="line 4: more than 100 bytes"):
            list(iter_svmlight(io.BytesIO(text), chunk_bytes, line_limit=100))


@pytest.mark.parametrize("kind", PACKERS)
def test_damaged_packed_files(kind, tmp_path):
    content = PACKERS[kind](SAMPLE * 1000)
    path = tmp_path / f"data.svm.{kind}"
    for cut in (0, 1, 2, 5, 8, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(DataError, match=re.escape(str(path))):
            read_svmlight(path)
    middle = len(content) // 2
    path.write_bytes(content[:middle] + bytes(8) + content[middle + 8 :])
    with pytest.raises(DataError):
        read_svmlight(path)


@pytest.mark.parametrize("kind", PACKERS)
def test_files_that_unpack_to_too_much(kind, monkeypatch):
    monkeypatch.setattr(packed, "RATIO_SLACK", 2**16)
    bomb = PACKERS[kind](b"1 1:1\n" * 1_000_000)
    with pytest.raises(DataError, match="unpacks to more than 256 times"):
        read(bomb)


def test_zstd(tmp_path):
    path = tmp_path / "data.svm.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd nonsense")
    try:
        packed._zstd("")
    except DataError:
        for attempt in (read_svmlight, lambda p: write_svmlight(p, Data(np.eye(2)))):
            with pytest.raises(DataError, match="zstandard"):
                attempt(path)
        return
    with pytest.raises(DataError, match="unpack"):
        read_svmlight(path)
    data = read(SAMPLE * 10_000)
    write_svmlight(path, data)
    content = path.read_bytes()
    assert len(content) < len(SAMPLE) * 1000
    assert (read(content).X != data.X).nnz == 0
    assert read(content + content).X.shape[0] == 2 * data.X.shape[0]
    for cut in (4, 5, 20, len(content) // 2, len(content) - 1):
        with pytest.raises(DataError, match="unpack"):
            read(content[:cut])


# ---------------------------------------------------------------- svmlight: hostile files

SEEDS = [
    SAMPLE,
    b"1 qid:1 1:1 2:0.5\n2 qid:1 2:-1e-5\n0 qid:22 7:3.25 # x\n",
    b"1,3 1:1 4:2\n 2:5\n3 1:0.1\n",
    b"-1 1:0.123456789012345678901 2:1e-310\n+1 0001:5\n",
    b"0 0:1 1:2 5:1.5\n1 3:4\n",
]
NASTY = [
    *b"nan inf 1e999 -1e999 1e-999 4.9e-324 1.7976931348623158e308 3.5e38 9007199254740993 1e+ 1e-5".split(),
    *b"0:1 -1:2 1: :1 1:1:1 2147483647:1 2147483648:1 99999999999999999999:1 000000000000000000001:1".split(),
    *b"qid:1 qid:0 qid:x qid:9223372036854775807 qid:9223372036854775808 3:0.123456789012345678901".split(),
    *b"# : , . - + e 0x1 1_0 1,2 1,, \0 \xff \x85".split(),
    *(
        b"\r",
        b"\r\n",
        b"\n",
        b" ",
        b"\t",
        b"\x0b",
        b"\x0c",
        b"1" * 30,
        b"9" * 400,
        BOM,
        *packed.MAGIC.values(),
    ),
]


def mutated(rng, text):
    text = bytearray(text)
    for _ in range(rng.integers(1, 5)):
        place = int(rng.integers(len(text) + 1))
        match int(rng.integers(7)):
            case 0:
                text[place : place + 1] = bytes([rng.integers(256)])
            case 1:
                text[place:place] = NASTY[rng.integers(len(NASTY))]
            case 2:
                text[place : place + 1] = NASTY[rng.integers(len(NASTY))]
            case 3:
                del text[place : place + int(rng.integers(1, 10))]
            case 4:
                text[place:place] = text[place : place + int(rng.integers(1, 40))]
            case 5:
                lines = bytes(text).split(b"\n")
                rng.shuffle(lines)
                text = bytearray(b"\n".join(lines))
            case 6:
                del text[place:]
    return bytes(text)


def fuzz(seed, size):
    """How many mutated files were read and refused. Any other outcome fails."""
    rng = np.random.default_rng(seed)
    outcomes = {"read": 0, "refused": 0}
    for case in range(size):
        text = mutated(rng, SEEDS[rng.integers(len(SEEDS))])
        if any(text.startswith(magic) for magic in packed.MAGIC.values()):
            text = b" " + text  # packed files have a test of their own
        options = {
            "multilabel": bool(rng.random() < 0.3),
            "zero_based": bool(rng.random() < 0.3),
            "dtype": (np.float64, np.float32)[rng.integers(2)],
            "n_features": (None, 5)[int(rng.random() < 0.1)],
        }
        chunk_bytes = int(rng.integers(1, 60))
        about = f"seed {seed}, case {case}: {text!r}, {options}"
        start = time.perf_counter()
        try:
            expected = reference(text, **options)
        except WrongLine as wrong:
            outcomes["refused"] += 1
            with pytest.raises(DataError) as caught:
                read(text, **options)
            assert caught.value.line == wrong.args[0], about
            with pytest.raises(DataError) as caught:
                list(iter_svmlight(io.BytesIO(text), chunk_bytes, **options))
            assert caught.value.line == wrong.args[0], about
        else:
            outcomes["read"] += 1
            try:
                assert_equal(read(text, **options), expected, options["multilabel"], options["dtype"])
                blocks = list(iter_svmlight(io.BytesIO(text), chunk_bytes, **options))
                assert sum(b.X.shape[0] for b in blocks) == len(expected)
            except Exception as error:
                raise AssertionError(about) from error
        assert time.perf_counter() - start < 5, about
    return outcomes


def test_mutated_files():
    outcomes = fuzz(0, 3000)
    assert min(outcomes.values()) > 300


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_mutated_files(seed):
    assert min(fuzz(seed, 3000).values()) > 300


def test_mutated_packed_files():
    """A damaged archive is refused, or it gives text, and that is read or refused like any other."""
    rng = np.random.default_rng(0)
    outcomes = {"read": 0, "refused": 0}
    for case in range(600):
        kind = list(PACKERS)[case % 3]
        content = bytearray(PACKERS[kind](SAMPLE * 20))
        for _ in range(rng.integers(1, 4)):
            content[rng.integers(len(content))] = rng.integers(256)
        try:
            read(bytes(content))
            outcomes["read"] += 1
        except DataError:
            outcomes["refused"] += 1
    assert outcomes["refused"] > 400


# ---------------------------------------------------------------- svmlight: memory, written files, real files

MEMORY = """
import gc, io, sys
from gapfit.datasets import read_svmlight
read_svmlight(io.BytesIO(b"1 1:1\\n"))  # numba, scipy

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))

gc.collect()
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forget the peak
before = status("VmRSS")
data = read_svmlight(sys.argv[1])
print(status("VmHWM") - before, data.X.nnz)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the peak is measured on Linux")
@pytest.mark.parametrize("packing", ["", ".gz"])
@pytest.mark.parametrize("kind", ["sparse", "shortest entries", "shortest rows"])
def test_the_memory_is_that_of_the_result(kind, packing, tmp_path):
    text = {
        "sparse": b"1 " + b" ".join(b"%d:0.%d" % (k * 977, k * 7919) for k in range(1, 100)) + b"\n",
        "shortest entries": b"1" + b"".join(b" %d:1" % k for k in range(1, 10)) + b"\n",
        "shortest rows": b"1 1:1\n",
    }[kind]
    text *= 100_000_000 // len(text)
    path = tmp_path / f"data{packing}"
    path.write_bytes(gzip.compress(text, 1) if packing else text)
    run = [sys.executable, "-c", MEMORY, str(path)]
    peak, entries = map(int, subprocess.check_output(run, text=True).split())
    assert entries == text.count(b":")
    assert peak <= 4 * len(text) + 2**26, f"{peak / len(text):.2f} times the text"


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_written_and_read_again(suffix, dtype, tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random_array((2500, 40), density=0.2, rng=rng, dtype=dtype, format="csr")
    X.data[:] = (rng.normal(size=X.nnz) * 10.0 ** rng.integers(-20, 20, X.nnz)).astype(dtype)
    X.data[::3] = np.round(X.data[::3])
    X.data[:3] = 0, 1, -1
    path = tmp_path / f"data.svm{suffix}"
    for y, qid in (
        (rng.normal(size=2500), None),
        (rng.integers(-1, 2, 2500), np.sort(rng.integers(0, 9, 2500))),
    ):
        write_svmlight(path, Data(X, y, qid))
        data = read_svmlight(path, dtype=dtype, n_features=40)
        assert (bits(data.X.data) == bits(X.data)).all() and (data.X != X).nnz == 0
        assert (data.y == y).all()
        assert (data.qid is None) if qid is None else (data.qid == qid).all()
    dense = X.toarray()
    write_svmlight(path, Data(dense), zero_based=True)
    data = read_svmlight(path, dtype=dtype, n_features=40, zero_based=True)
    assert (data.X.toarray() == dense).all() and not data.y.any()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_written_labels():
    text = text_of(Data(np.array([[0, 1.5], [0, 0], [-2, 0]]), np.array([1.0, -1.0, 0.5])))
    assert text == b"1 2:1.5\n-1\n0.5 1:-2\n"
    assert text_of(Data(np.eye(2), np.array([True, False]))) == b"1 1:1\n0 2:1\n"
    sets = sparse.csr_array(np.array([[0, 1, 1], [0, 0, 0]]))
    text = text_of(Data(np.eye(2), sets))
    assert text == b"1,2 1:1\n 2:1\n"
    assert (read(text, multilabel=True).y.toarray() == sets.toarray()).all()


@pytest.mark.parametrize(
    "data",
    [
        Data(np.array([[np.nan]])),
        Data(np.eye(2), np.array([np.inf, 0])),
        Data(np.eye(2), np.zeros(3)),
        Data(np.eye(2), np.array(["a", "b"])),
        Data(np.eye(2), np.zeros(2), np.array([-1, 0])),
        Data(np.eye(2), np.zeros(2), np.array([0.5, 0])),
        Data(np.zeros((1, 2)), sparse.csr_array((1, 2))),
        Data(np.zeros(3)),
    ],
)
def test_what_cannot_be_written_leaves_the_file_alone(data, tmp_path):
    path = tmp_path / "data.svm"
    path.write_bytes(SAMPLE)
    with pytest.raises(ValueError):
        write_svmlight(path, data)
    assert path.read_bytes() == SAMPLE and len(list(tmp_path.iterdir())) == 1


def test_written_to_standard_output(monkeypatch):
    target = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=target))
    save("-", Data(np.eye(2), np.array([1, 2])))
    assert target.getvalue() == b"1 1:1\n2 2:1\n"


LARGE = 1_000_000


@pytest.mark.skipif(not REAL, reason=f"no data in {FOLDER}; GAPFIT_DATA may name another folder")
@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=[pytest.mark.slow] if p.stat().st_size > LARGE else []) for p in REAL] or [None],
    ids=lambda p: p and p.name,
)
def test_the_same_as_scikit_learn(path):
    multilabel = path.parent.name == "multilabel" or path.name.startswith("reuters")
    with lzma.open(path) as file:
        X, y, qid = load_svmlight_file(file, zero_based=False, query_id=True, multilabel=multilabel)
    data = load(path, multilabel=multilabel)
    assert data.X.shape == X.shape
    assert (data.X.indptr == X.indptr).all() and (data.X.indices == X.indices).all()
    assert (bits(data.X.data) == bits(X.data)).all()
    assert (data.qid is None and not qid.size) or (data.qid == qid).all()
    if multilabel:
        found = [k.tolist() for k in np.split(data.y.indices, data.y.indptr[1:-1])]
        assert found == [sorted(set(labels)) for labels in y]  # some files name a label twice
    else:
        assert (bits(data.y) == bits(y)).all()


# ---------------------------------------------------------------- CSV


def csv_of(text, **options):
    return read_csv(io.BytesIO(text), **options)


def test_a_small_table():
    text = b'\xef\xbb\xbfage,"height, m",sick,group\r\n30,1.7,no,4\r\n\r\n"41", 1.8 ,"y\xc3\xa9s",5\r\n'
    data = csv_of(text, target="sick", qid="group")
    assert data.X.tolist() == [[30, 1.7], [41, 1.8]] and data.names == ("age", "height, m")
    assert data.y.tolist() == ["no", "yés"] and data.qid.tolist() == [4, 5]
    assert csv_of(text, target=2, qid=-1).y.tolist() == data.y.tolist()
    assert csv_of(text, target="2", qid="-1").qid.tolist() == [4, 5]
    data = csv_of(b"1;2\n3;4\n", header=False, delimiter=";", target=1, dtype=np.float32)
    assert data.X.tolist() == [[1], [3]] and data.X.dtype == np.float32 and data.y.tolist() == [2, 4]
    assert data.names == ("x0",)
    assert csv_of(b"a,b\n").X.shape == (0, 2)
    assert csv_of(b"a\n1\n2\n", target="a").X.shape == (2, 0)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (b"", {}, "<file>: the file is empty"),
        (b"a,b\n1,x\n", {}, "line 2, column 'b': expected a finite number, got 'x'"),
        (b"a,b\n\n1,\n", {}, "line 3, column 'b': expected a finite number, got ''"),
        (b"a,b\n1,2\n\n1,nan\n", {}, "line 4, column 'b': expected a finite number, got 'nan'"),
        (b"a,b\n1e999,2\n", {}, "line 2, column 'a': expected a finite number"),
        (
            b"a,b\n1e39,2\n",
            {"dtype": np.float32},
            "line 2, column 'a': expected a finite number, got '1e+39'",
        ),
        (b"a,b\n1\n", {}, "line 2: 1 fields instead of 2"),
        (b"a,b\n1,2,3\n", {}, "line 2: 3 fields instead of 2"),
        (b"a,b\n1,2\n3,\xff\n", {}, "line 3: not UTF-8"),
        (b"a,b\n1,\x002\n", {}, "line 2: a NUL"),
        (b'a,b\n1,"2\n', {}, "line 2: unexpected end"),
        (b'a,b\n1,"2"3\n', {}, "line 2: "),
        (b"a,b\n1,2\r3,4\n", {}, "line 2: "),
        (b'a,b\n1,"' + b"2" * 200_000 + b'"\n', {}, "line 2: field larger"),
        (b"1,2\n3,4\n", {}, "line 1: numbers instead of names"),
        (b"a,b\n1,2\n1,x\n", {"target": "b"}, "line 3, column 'b': expected a finite number, got 'x'"),
        (b"a,b\n1,inf\n", {"target": "b"}, "line 2, column 'b': expected a finite number, got 'inf'"),
        (b"a,b\n1,2\n", {"target": "c"}, "<file>: no column 'c' for the target; there are 2: 'a', 'b'"),
        (b"a,b\n1,2\n", {"target": 2}, "no column 2"),
        (b"a,a\n1,2\n", {"target": "a"}, "2 columns have the name 'a'"),
        (b"a,b\n1,-2\n", {"qid": "b"}, "line 2, column 'b': a qid"),
        (b"a,b\n1,9223372036854775808\n", {"qid": "b"}, "line 2, column 'b': a qid"),
    ],
)
def test_wrong_tables(text, options, message):
    with pytest.raises(DataError) as caught:
        csv_of(text, **options)
    assert message in str(caught.value)


def test_wrong_arguments_of_tables():
    with pytest.raises(ValueError, match="same column"):
        csv_of(b"a,b\n1,2\n", target="a", qid=0)
    with pytest.raises(TypeError, match="target"):
        csv_of(b"a,b\n1,2\n", target=1.5)


def test_tables_are_written_and_read_again(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3)) * (rng.random((20, 3)) < 0.5)
    for matrix in (X, sparse.csr_array(X), X.astype(np.float32)):
        path = tmp_path / "data.csv.gz"
        data = Data(matrix, np.array(["a,b", 'c"d'] * 10), np.arange(20), ("target", "qid", "x"))
        write_csv(path, data)
        again = read_csv(path, target="target_1", qid="qid_1", dtype=matrix.dtype)
        assert np.array_equal(again.X, X.astype(matrix.dtype)) and again.names == data.names
        assert (again.y == data.y).all() and (again.qid == data.qid).all()


def test_mutated_tables():
    """A DataError or a table of finite numbers, as wide as the header says."""
    rng = np.random.default_rng(0)
    read_tables = 0
    for _ in range(2000):
        text = mutated(rng, b'a,b,"c"\n1,2.5,x\n-3,1e5,y\n4,5,"z"\n')
        if any(text.startswith(magic) for magic in packed.MAGIC.values()):
            continue
        try:
            data = csv_of(text, target="c")
        except DataError:
            continue
        read_tables += 1
        assert np.isfinite(data.X).all() and len(data.names) == data.X.shape[1]
    assert read_tables > 50


# ---------------------------------------------------------------- npz


def npz_of(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    return file


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("target", ["numbers", "words", "sets", "none"])
def test_archives_are_written_and_read_again(kind, target, tmp_path):
    X = np.array([[1.5, 0, 0], [0, -2, 3]])
    y = {"numbers": np.array([1.0, 2.0]), "words": np.array(["a", "bc"]), "sets": sparse.csr_array(np.eye(2))}
    data = Data(
        X if kind == "dense" else sparse.csr_array(X), y.get(target), np.array([3, 4]), ("a", "b", "c")
    )
    path = tmp_path / "data.npz"
    write_npz(path, data)
    again = load(path, n_features=3)
    assert type(again.X) is type(data.X) and abs(again.X - data.X).max() == 0
    assert again.qid.tolist() == [3, 4] and again.names == data.names
    if target == "none":
        assert again.y is None
    else:
        assert type(again.y) is type(data.y) and (again.y != data.y).sum() == 0


def test_archives_of_others():
    data = read_npz(npz_of(X=np.array([[1, 2]], dtype=np.uint8, order="F"), y=[3]), dtype=np.float32)
    assert data.X.tolist() == [[1, 2]] and data.X.dtype == np.float32 and data.y.tolist() == [3]


CSR = {
    "X_data": np.ones(2),
    "X_indices": np.array([0, 1]),
    "X_indptr": np.array([0, 1, 2]),
    "X_shape": np.array([2, 2]),
}


@pytest.mark.parametrize(
    ("arrays", "word"),
    [
        ({"y": [1]}, "no array X"),
        ({"X": [1.0, 2.0]}, "shape"),
        ({"X": [["a"]]}, "X"),
        ({"X": [[1j]]}, "X"),
        ({"X": np.array([[{}]], dtype=object)}, "X"),
        ({"X": np.zeros((1, 1), dtype=[("a", "f8")])}, "X"),
        ({"X": [[np.nan]]}, "finite"),
        ({"X": [[1.0]], "y": [1, 2]}, "y has 2 samples"),
        ({"X": [[1.0]], "y": [np.inf]}, "finite"),
        ({"X": [[1.0]], "y": [[1]]}, "y"),
        ({"X": [[1.0]], "qid": [-1]}, "qid"),
        ({"X": [[1.0]], "qid": [0.5]}, "qid"),
        ({"X": [[1.0]], "names": ["a", "b"]}, "names"),
        ({"X": [[1.0]], "names": [1]}, "names"),
        ({**CSR, "X_indices": np.array([0, 2])}, "X"),
        ({**CSR, "X_indices": np.array([0, -1])}, "X"),
        ({**CSR, "X_indices": np.array([0.0, 1.0])}, "X"),
        ({**CSR, "X_indptr": np.array([0, 2, 1])}, "X"),
        ({**CSR, "X_indptr": np.array([0, 1])}, "X"),
        ({**CSR, "X_indptr": np.array([1, 1, 2])}, "X"),
        ({**CSR, "X_shape": np.array([2, -2])}, "X"),
        ({**CSR, "X_shape": np.array([2])}, "X"),
        ({**CSR, "X_shape": np.array([2**62, 2])}, "X"),
        ({**CSR, "X_data": np.array([1, np.inf])}, "finite"),
        ({k: v for k, v in CSR.items() if k != "X_indptr"}, "X_indptr"),
    ],
)
def test_wrong_archives(arrays, word):
    with pytest.raises(DataError, match=word) as caught:
        read_npz(npz_of(**arrays))
    assert str(caught.value).startswith("<file>: ")


def test_archives_that_lie(tmp_path, monkeypatch):
    path = tmp_path / "lie.npz"
    for content in (b"", b"PK\x03\x04", npz_of(X=np.eye(30)).getvalue()[:-30], SAMPLE):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"lie\.npz: "):
            load(path)
    header = str({"descr": "<f8", "fortran_order": False, "shape": (2**40, 2**10)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    with pytest.raises(DataError, match="shape"):
        load(path)
    monkeypatch.setattr(npz, "RATIO_SLACK", 2**16)
    np.savez_compressed(path, X=np.zeros((1000, 1000)))
    with pytest.raises(DataError, match="unpacks"):
        load(path)
    with pytest.raises(DataError, match="2 features, where n_features=3"):
        read_npz(npz_of(X=np.eye(2)), n_features=3)
    with pytest.raises(DataError, match="standard input"):
        read_npz("-")


def test_mutated_archives():
    rng = np.random.default_rng(0)
    content = npz_of(**CSR, y=np.array([1.0, 2.0])).getvalue()
    refused = 0
    for _ in range(1500):
        changed = bytearray(content)
        for _ in range(rng.integers(1, 4)):
            changed[rng.integers(len(changed))] = rng.integers(256)
        try:
            data = read_npz(io.BytesIO(bytes(changed)))
            data.X.check_format(full_check=True)
        except DataError:
            refused += 1
    assert refused > 500


# ---------------------------------------------------------------- Parquet, and the door


def test_parquet(tmp_path):
    path = tmp_path / "data.parquet"
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        with pytest.raises(DataError, match=r"data\.parquet: Parquet files need pyarrow"):
            read_parquet(path)
        with pytest.raises(DataError, match="pyarrow"):
            save(path, Data(np.eye(2)))
        return
    X = np.array([[1.5, 0, 0], [0, -2, 3]])
    data = Data(sparse.csr_array(X), np.array(["a", "b"]), np.array([1, 2]), ("u", "v", "w"))
    save(path, data)
    again = load(path, target="target", qid="qid", dtype=np.float32)
    assert (again.X == X).all() and again.X.dtype == np.float32 and again.names == data.names
    assert again.y.tolist() == ["a", "b"] and again.qid.tolist() == [1, 2]
    wrong = {
        "no value in row 1": [1.0, None],
        "row 1 is not a finite": [1.0, np.nan],
        "does not do": ["a", "b"],
    }
    for message, column in wrong.items():
        parquet.write_table(arrow.table({"u": [1, 2], "v": column}), path)
        with pytest.raises(DataError, match=f"column 'v': .*{message}"):
            load(path)
    rng = np.random.default_rng(0)
    content = path.read_bytes()
    for _ in range(300):
        changed = bytearray(content)
        changed[rng.integers(len(changed))] = rng.integers(256)
        try:
            read_parquet(io.BytesIO(bytes(changed)), target="v")
        except DataError:
            continue


@pytest.mark.parametrize(
    "name", ["a9a", "a9a.t", "data.svm", "x.libsvm.gz", "x.csv", "x.tsv.xz", "x.CSV.bz2", "x.npz"]
)
def test_the_name_tells_the_format(name, tmp_path):
    data = Data(np.array([[1.5, 0], [0, -2]]), np.array([1.0, 2.0]))
    path = tmp_path / name
    save(path, data)
    table = re.search("[ct]sv", name.lower()) is not None
    again = load(path, n_features=2, **({"target": "target"} if table else {}))
    assert (again.X == data.X).all() and (again.y == data.y).all()
    assert sparse.issparse(again.X) == (not table and not name.endswith("npz"))
    if table:
        assert (b"\t" in path.read_bytes()) or name != "x.tsv"
    with pytest.raises(DataError, match="n_features"):
        load(path, n_features=1)


def test_the_door_is_strict(tmp_path):
    path = tmp_path / "data.svm"
    path.write_bytes(SAMPLE)
    with pytest.raises(ValueError, match="target is for tables"):
        load(path, target="y")
    with pytest.raises(ValueError, match="format must be one of"):
        load(path, format="xlsx")
    with pytest.raises(TypeError, match="delimiter"):
        load(path, delimiter=";")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.svm")
    path.write_bytes(b"a,b\n1,2\n")
    assert load(path, format="csv").X.tolist() == [[1, 2]]


def test_reading_tables_does_not_load_numba():
    script = (
        "import sys, io, sklearn.utils\n"  # loads pandas, and that pyarrow, where they are installed
        "before = set(sys.modules)\n"
        "from gapfit.datasets import read_csv; read_csv(io.BytesIO(b'a\\n1\\n'))\n"
        "assert not {'numba', 'pyarrow', 'zstandard'} & (set(sys.modules) - before)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
