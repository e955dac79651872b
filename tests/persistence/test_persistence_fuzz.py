"""Files near a good one: each is refused with a ModelFileError, or gives a model that works.

`GAPFIT_FUZZ=100000 pytest -s tests/persistence/test_persistence_fuzz.py -k mutated` tries more of them.
"""

import json
import os
import re
import struct
import warnings
from contextlib import suppress

import numpy as np
import pytest

from corpus.write import probe
from gapfit import ModelFileError, ModelVersionWarning, load, save
from model_bytes import GOOD, MODELS, cut, put_together
from test_persistence import assert_same, assert_works_the_same


def test_every_shorter_file_is_refused(tmp_path):
    good = GOOD["binary"]
    path = tmp_path / "short"
    path.write_bytes(good)
    for size in range(len(good) - 1, -1, -1):
        os.truncate(path, size)
        with pytest.raises(ModelFileError):
            load(path)


def test_every_changed_byte_is_noticed(tmp_path):
    good = GOOD["unfitted"]
    path = tmp_path / "flipped"
    for k in range(len(good)):
        content = bytearray(good)
        content[k] ^= 1 << k % 8
        path.write_bytes(content)
        with pytest.raises(ModelFileError):
            load(path)


# JSON, to be put in the place of something else
OTHERS = """
    -1 0 1 2 3 63 64 65 0.5 1e308 -1e-320 1e999 2147483648 9223372036854775808 true false null NaN [] {} ""
    "hinge" "logistic" "poisson" "l1" "l2" "box" "entropy" "auto" "STALLED" "array" "0.2.0" "LinearRegressor"
    {"float":"inf"} {"float":"nan"} {"array":0} {"array":5} {"penalty":"l1","parameters":{}} {"map":[[0,1]]}
""".split()  # noqa: SIM905
FLOATS = [0.0, -1.0, 1e308, 5e-324, np.inf, np.nan]


def change_bytes(part, rng):
    """Other bits, bytes or numbers somewhere; bytes taken out or repeated."""
    k, kind = int(rng.integers(len(part))), rng.integers(6)
    if kind == 0:
        part[k] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        part[k] = int(rng.integers(256))
    elif kind == 2:
        part[k & -8 : (k & -8) + 8] = struct.pack("<d", rng.choice(FLOATS))
    elif kind == 3:
        part[k & -8 : (k & -8) + 8] = rng.bytes(8)
    elif kind == 4:
        del part[k : k + int(rng.integers(1, 20))]
    else:
        part[k:k] = part[: int(rng.integers(1, 40))]


def change_token(text, rng):
    """Another number or text in the JSON."""
    found = list(re.finditer(rb'"[^"]*"|-?[0-9][0-9.e-]*|true|false|null', bytes(text)))
    token = found[rng.integers(len(found))]
    text[token.start() : token.end()] = rng.choice(OTHERS).encode()


def change_leaf(header, rng):
    """Another value, somewhere among the parameters and attributes."""
    node, key = header, rng.choice(["parameters", "fitted"])
    while isinstance(node[key], dict) and node[key] and rng.random() < 0.9:
        node = node[key]
        key = rng.choice(list(node))
    node[key] = json.loads(rng.choice(OTHERS))


def change_array(header, data, rng):
    """Other bytes in an array."""
    entry = header["arrays"][rng.integers(len(header["arrays"]))]
    size = int(entry["dtype"][2:]) * (4 if "U" in entry["dtype"] else 1)
    k = entry["offset"] + size * int(rng.integers(max(np.prod(entry["shape"], dtype=int), 1)))
    new = struct.pack("<d", rng.choice(FLOATS)) if rng.random() < 0.5 else rng.bytes(8)
    data[k : k + min(size, 8)] = new[: min(size, 8)]


def mended(good, rng):
    """The file after a change, with sizes and checksum put right: this one comes further than the others."""
    text, data = cut(good)
    kind = rng.integers(8)
    if kind == 0:
        change_bytes(data if data and rng.random() < 0.5 else text, rng)
    elif kind <= 2:
        change_token(text, rng)
    else:
        header = json.loads(text)
        for _ in range(rng.integers(1, 4)):
            if header["arrays"] and kind <= 5:
                change_array(header, data, rng)
            else:
                change_leaf(header, rng)
        return put_together(header, data)
    return put_together(bytes(text), data)


def damaged(good, rng):
    """The file after one to three changes."""
    content = bytearray(good)
    for _ in range(rng.integers(1, 4)):
        change_bytes(content, rng)
    return bytes(content)


def test_mutated_files_are_refused_or_give_a_model_that_works(tmp_path):
    rng = np.random.default_rng(int(os.environ.get("GAPFIT_FUZZ_SEED", 0)))
    names, counts = list(GOOD), dict.fromkeys(["refused", "equal", "another model"], 0)
    path, again = tmp_path / "mutated", tmp_path / "again"
    for k in range(int(os.environ.get("GAPFIT_FUZZ", 4000))):
        name = names[rng.integers(len(names))]
        content = (mended if k % 2 else damaged)(GOOD[name], rng)
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelVersionWarning)
            try:
                model = load(path)
            except ModelFileError:
                counts["refused"] += 1
                continue
        assert k % 2 or content == GOOD[name]
        save(model, again)
        assert_same(model, load(again))
        if hasattr(model, "coef_"):
            with np.errstate(all="ignore"):
                assert_works_the_same(model, load(again), probe(model))
        outcome = "another model"
        with suppress(AssertionError):
            assert_same(model, MODELS[name])
            outcome = "equal"
        counts[outcome] += 1
    print(counts)  # noqa: T201
    assert counts["refused"] > counts["another model"] > counts["equal"] > 0
