"""One shape of files: what is written comes back, and no byte can be changed unnoticed."""

import numpy as np
import pytest

from gapfit.container import Container, storable


class Damaged(Exception):
    pass


def refuses(array):
    return "NaN" if array.dtype.kind == "f" and np.isnan(array).any() else ""


KIND = Container("a test file", b"\x89GAPTST\n", (1, 2), Damaged, 4096, 3, refuses)
ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.array([True, False]),
    np.array(["ab", "c"]),
    np.zeros((0, 4), np.float32),
    np.array(3, np.int64),
    np.arange(4, dtype=">i4"),
]


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "file"
    with open(target, "wb") as file:
        KIND.write(file, {"name": "x"}, ARRAYS)
    return target


def test_what_is_written_comes_back(path):
    header, arrays = KIND.read(path)
    assert header == {"name": "x"} and len(arrays) == len(ARRAYS)
    for found, given in zip(arrays, ARRAYS, strict=True):
        np.testing.assert_array_equal(found, given)
        assert found.shape == given.shape and not found.flags.writeable


def test_every_bit_counts(path):
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.choice(8 * len(whole), 300, replace=False):
        bits = bytearray(whole)
        bits[place // 8] ^= 1 << int(place % 8)
        path.write_bytes(bits)
        with pytest.raises(Damaged):
            KIND.read(path)


@pytest.mark.parametrize("length", [0, 1, 8, 23, 24, 100, -33, -1])
def test_a_file_that_was_cut_is_refused(path, length):
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(Damaged):
        KIND.read(path)


def test_a_file_that_has_grown_is_refused(path):
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(Damaged, match="1 bytes too many"):
        KIND.read(path)


def test_other_kinds_and_newer_formats_are_told_apart(path):
    with pytest.raises(Damaged, match="not another"):
        KIND._replace(what="another", magic=b"\x89OTHERS\n").read(path)
    with pytest.raises(Damaged, match="format 2; this version of gapfit loads format 1 only"):
        KIND._replace(formats=(1,)).read(path)


def test_what_has_no_place_in_a_file_is_refused(path, tmp_path):
    with open(tmp_path / "other", "wb") as file:
        KIND.write(file, {}, [np.array([np.nan])])
    with pytest.raises(Damaged, match="array 0 holds NaN"):
        KIND.read(tmp_path / "other")
    with open(tmp_path / "other", "wb") as file, pytest.raises(ValueError, match="room for 4096"):
        KIND.write(file, {"text": "x" * 5000}, [])
    assert not storable(np.dtype(object)) and not storable(np.dtype(complex)) and storable(np.dtype(">f8"))


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(Damaged, match="regular file"):
        KIND.read(tmp_path)
