"""Model files from an enemy: every one is refused with a ModelFileError that names the file."""

import gzip
import json
import pickle
import tracemalloc

import numpy as np
import pytest

from gapfit import ModelFileError, load
from model_bytes import GOOD, MODELS, put_together, take_apart
from test_persistence import assert_same


def refused(content, message, folder):
    path = folder / "hostile.gapfit"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).startswith(f"{path}: ") and len(str(caught.value)) < 1000


def test_the_tools_make_good_files_too(tmp_path):
    for name, good in GOOD.items():
        assert put_together(*take_apart(good)) == good
        (tmp_path / "good").write_bytes(good)
        assert_same(load(tmp_path / "good"), MODELS[name])


# -- the container ------------------------------------------------------------------------------------

BINARY = GOOD["binary"]
HEADER, DATA = take_apart(BINARY)
TEXT = json.dumps(HEADER).encode()


def instead_of_alpha(text):
    return put_together(TEXT.replace(b"0.01", text, 1), DATA)


CONTAINERS = {
    "empty": (b"", "not a gapfit model file"),
    "a text": (b"weights: 1 2 3\n", "not a gapfit model file"),
    "a pickle": (pickle.dumps(MODELS["binary"]), "not a gapfit model file"),  # and no fallback to it
    "packed": (gzip.compress(BINARY), "not a gapfit model file"),
    "line ends changed": (BINARY.replace(b"\n", b"\r\n"), "not a gapfit model file"),
    "magic only": (BINARY[:8], "ends too early"),
    "prefix only": (BINARY[:24], "ends too early"),
    "half": (BINARY[:1000], "ends too early: 1000 bytes"),
    "one byte more": (BINARY + b"\0", "1 bytes too many"),
    "two files": (BINARY * 2, "bytes too many"),
    "format 0": (put_together(HEADER, DATA, version=0), "format 0; this version of gapfit loads format 1"),
    "format 2": (put_together(HEADER, DATA, version=2), "format 2; this version of gapfit loads format 1"),
    "damaged": (BINARY[:-40] + b"!" + BINARY[-39:], "checksum"),
    "size too small": (put_together(HEADER, DATA, size=0), "too many"),
    "size too large": (put_together(HEADER, DATA, size=2**64 - 1), "ends too early"),
    "no header": (put_together(HEADER, DATA, header_size=0), "cannot have 0 bytes"),
    "odd header": (put_together(HEADER, DATA, header_size=41), "cannot have 41 bytes"),
    "header beyond the end": (put_together(HEADER, DATA, header_size=2**16 + 40), "cannot have"),
    "header too large": (put_together(HEADER, DATA, header_size=2**32 - 1), "larger than 1048576 bytes"),
    "really too large": (put_together(b" " * 2**20 + TEXT, DATA), "larger than 1048576 bytes"),
    "not JSON": (put_together(b"{,}", b""), "not valid JSON"),
    "not UTF-8": (put_together(b'{"\xff": 1}', b""), "not valid JSON"),
    "a byte order mark": (put_together(b"\xef\xbb\xbf" + TEXT, DATA), "not valid JSON"),
    "UTF-16": (put_together(TEXT.decode().encode("utf-16"), DATA), "not valid JSON"),
    "a list": (put_together(b"[]", b""), "not a JSON object"),
    "NaN": (instead_of_alpha(b"NaN"), "NaN is not JSON"),
    "Infinity": (instead_of_alpha(b"-Infinity"), "-Infinity is not JSON"),
    "1e999": (instead_of_alpha(b"1e999"), "too large"),
    "a long number": (instead_of_alpha(b"9" * 5000), "not valid JSON"),
    "a large number": (instead_of_alpha(b"9" * 4000), "too large"),
    "a name twice": (instead_of_alpha(b'0.01, "alpha": 0.01'), "appears twice"),
    "deep lists": (put_together(b"[" * 500_000 + b"]" * 500_000, b""), "not valid JSON"),
    "deep objects": (put_together(b'{"a":' * 150_000 + b"0" + b"}" * 150_000, b""), "not valid JSON"),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_broken_containers_are_refused(name, tmp_path):
    refused(*CONTAINERS[name], tmp_path)


@pytest.mark.parametrize("depth", [50, 500, *range(900, 1000, 10)])
def test_values_nested_about_as_deep_as_the_parser_allows(depth, tmp_path):
    """Neither the checks nor the messages run out of stack."""
    deep = b"[" * depth + b"]" * depth
    for name in ("gapfit", "class", "parameters", "fitted", "arrays", "status_", "coef_", "loss", "alpha"):
        first = TEXT.index(f'"{name}": '.encode()) + len(name) + 4
        end = first + len(json.dumps(json.JSONDecoder().raw_decode(TEXT[first:].decode())[0]))
        refused(put_together(TEXT[:first] + deep + TEXT[end:], DATA), ".", tmp_path)


DTYPES = ["|O", "object", ">f8", "f8", "float64", "<c16", "<f16", "|V8", "<M8[D]", "|S4", "<U0", "<U", ""]
SIZES = [[2**62], [2**63], [2**32, 2**32], [2**64, 2**64], [0, 2**62], [10**400], [0] * 5000, [-1], [-1, -3]]
ENTRIES = {
    "dtype": [*DTYPES, "<U99999999999", "<U\u0661", "<f4", "<u8", None, 3, ["<f8"], {"descr": "<f8"}],
    "shape": [*SIZES, None, 3, "3", {}, [1.0, 3], [True, 3], ["3"], [[3]], [1, 1, 3], [3, 2], [7]],
    "offset": [-64, -1, 1, 8, 2**20, 2**63, 2**64, 10**400, 0.0, True, None, "0", [0]],
}


@pytest.mark.parametrize("field", ENTRIES)
def test_arrays_are_what_and_where_they_should_be(field, tmp_path):
    for value in ENTRIES[field]:
        for k in (0, 3, len(HEADER["arrays"]) - 1):
            header, data = take_apart(BINARY)
            header["arrays"][k][field] = value
            refused(put_together(header, data), ".", tmp_path)


def overlap(header, data):
    header["arrays"][1]["offset"] = 0


def swap(header, data):
    header["arrays"][:2] = header["arrays"][1::-1]


def leave_a_hole(header, data):
    for entry in header["arrays"][1:]:
        entry["offset"] += 64
    data[64:64] = bytes(64)


def hide_bytes_between(header, data):
    data[63] = 1


def hide_bytes_behind(header, data):
    data += b"payload"


def share_an_offset_with_an_empty_array(header, data):
    header["arrays"].insert(0, {"dtype": "<f8", "shape": [0], "offset": 0})


def add_an_empty_array(header, data):
    header["arrays"].append({"dtype": "<f8", "shape": [0], "offset": -(-len(data) // 64) * 64})
    data += bytes(-len(data) % 64)


def lose_the_last(header, data):
    header["arrays"].pop()


def say_more(header, data):
    header["arrays"][0]["order"] = "F"


TILINGS = {
    overlap: "array 1 does not follow",
    swap: "array 0 does not follow",
    leave_a_hole: "array 1 does not follow",
    hide_bytes_between: "stray bytes before array 1",
    hide_bytes_behind: "stray bytes after",
    share_an_offset_with_an_empty_array: "attribute coef_",
    add_an_empty_array: "arrays that nothing uses",
    lose_the_last: "stray bytes after",
    say_more: "array 0 needs dtype, shape and offset",
}


@pytest.mark.parametrize("change", TILINGS, ids=lambda change: change.__name__)
def test_arrays_must_tile_the_file(change, tmp_path):
    header, data = take_apart(BINARY)
    change(header, data)
    refused(put_together(header, data), TILINGS[change], tmp_path)


# -- the values ---------------------------------------------------------------------------------------


def at(header, *path):
    for name in path:
        header = header[name]
    return header


def put(*path_and_value):
    """A change of the header: the value at the end of a path."""
    *path, last, value = path_and_value
    return lambda header, data: at(header, *path).__setitem__(last, value)


def drop(*path):
    return lambda header, data: at(header, *path[:-1]).pop(path[-1])


def poke(dtype, values, *path):
    """A change of the data: the first values of the array to which a path leads."""

    def change(header, data):
        first = header["arrays"][at(header, *path, "array")]["offset"]
        new = np.array(values, dtype).tobytes()
        data[first : first + len(new)] = new

    return change


def reshape(shape, *path):
    return lambda header, data: put("arrays", at(header, *path, "array"), "shape", shape)(header, data)


def loss(name, **parameters):
    return put("parameters", "loss", {"loss": name, "parameters": parameters})


def penalty(name, **parameters):
    return put("parameters", "penalty", {"penalty": name, "parameters": parameters})


L2 = {"penalty": "l2", "parameters": {}}
BOX = {"penalty": "box", "parameters": {"penalty": L2}}
Q = ("penalty", "parameters", "Q")
EVIL = [
    "os.system",
    "builtins.eval",
    "sklearn.pipeline.Pipeline",
    "__import__",
    "LinearModel",
    "../x",
    "\0",
    "",
]
EVIL += ["__class__", "__reduce__", None, 3, True, [], ["hinge"], {}, {"__reduce__": ["os.system", "id"]}]

# name of a good file: changes of it, and what the message says
VALUES = {
    "binary": [
        *((put("class", name), "none of LinearClassifier") for name in EVIL),
        (put("class", "LinearRegressor"), "parameter 'calibrate' is unknown"),
        (put("module", "os"), "object with class"),
        (drop("class"), "object with class"),
        (drop("gapfit"), "None is not a version"),
        *((put("gapfit", v), "not a version") for v in ("", "1", "1.x", 1, ["1.0"], "9" * 999 + ".0")),
        # parameters
        (put("parameters", []), "no object of parameters"),
        *((put("parameters", v, 1), "is unknown") for v in ("__class__", "__init__", "self", "coef_", "")),
        *((put("parameters", "alpha", v), "parameter alpha") for v in EVIL if isinstance(v, list | dict)),
        (put("parameters", "alpha", {"float": "nan"}), "parameter alpha: 'nan' is not an infinite"),
        (put("parameters", "alpha", {"float": ["inf"]}), "parameter alpha"),
        (put("parameters", "max_iter", 2**63), "parameter max_iter: the number is too large"),
        *((put("parameters", "solver", v), "parameter solver") for v in EVIL),
        *((put("parameters", "loss", v), "parameter loss") for v in EVIL),
        *((loss(v), "parameter loss") for v in EVIL),
        *((loss("hinge", **{v: 1}), "parameter loss") for v in ("__class__", "self", "gamma", "0")),
        (loss("quantile", q=2), r"parameter loss: q must lie in \(0, 1\)"),
        *((loss("quantile", q=v), "parameter loss") for v in (True, "0.5", None, [], L2, {"array": 0})),
        (put("parameters", "loss", {"loss": "hinge", "parameters": []}), "parameter loss"),
        (put("parameters", "loss", L2), "parameter loss"),
        (put("parameters", "penalty", {"loss": "hinge", "parameters": {}}), "parameter penalty"),
        *((penalty("quadratic_form", Q=v), "parameter penalty") for v in (None, 1.0, [[1.0]], {"array": 1})),
        *((penalty("box", penalty=v), "parameter penalty") for v in ("l2", None, L2 | {"penalty": "hinge"})),
        (penalty("box", penalty=L2 | {"penalty": "squared_lp"}), "Box needs a penalty"),
        (penalty("box", penalty=BOX), "box inside a box"),
        # attributes
        (put("fitted", []), "no object of attributes"),
        (put("fitted", {}), "is missing"),
        (put("fitted", None), "arrays that nothing uses"),
        *((put("fitted", v, 1), "unknown") for v in ("predict", "__dict__", "_balls", "_warm", "alpha")),
        *((drop("fitted", v), "is missing") for v in ("coef_", "balls", "status_", "n_features_in_")),
        (put("fitted", "status_", "DONE"), "attribute status_: 'DONE' is none of CERTIFIED"),
        *((put("fitted", "status_", v), "attribute status_") for v in EVIL),
        *((put("fitted", "n_iter_", v), "attribute n_iter_") for v in (-1, 1.0, True, "1", None, 2**63)),
        *((put("fitted", "converged_", v), "attribute converged_") for v in (1, None, "True")),
        *((put("fitted", "dual_gap_", v), "attribute dual_gap_") for v in (1, None, {"float": "nan"})),
        *((put("fitted", "n_features_in_", v), "attribute") for v in (0, 2, 4, 2**62, -3, 3.0)),
        *((put("fitted", "coef_", v), "attribute coef_") for v in (None, 0, [[1, 2, 3]], {})),
        *((put("fitted", "coef_", {"array": v}), "coef_") for v in (-1, 99, 2**64, True, 0.0, None, [0])),
        (put("fitted", "intercept_", {"array": 0}), "intercept_: array 0 is missing or used twice"),
        (put("fitted", "coef_", {"array": 1}), "attribute coef_"),
        (reshape([3], "fitted", "coef_"), "attribute coef_"),
        (reshape([3, 1], "fitted", "coef_"), "attribute coef_ does not fit"),
        (poke("f8", np.nan, "fitted", "coef_"), "array 0 holds NaN"),
        (poke("f8", -np.inf, "fitted", "coef_"), "coef_: it holds infinite"),
        (poke("u1", [1, 2], "fitted", "classes_"), "no value of its dtype"),
        (poke("u1", [1, 1], "fitted", "classes_"), "not two labels or more, in order"),
        (poke("u1", [1, 0], "fitted", "classes_"), "not two labels or more, in order"),
        (poke("u1", 4, "fitted", "support_status_"), "support_status_: a code is none"),
        (reshape([2, 12], "fitted", "support_status_"), "support_status_ does not fit"),
        *((poke("f8", v, "fitted", "history_", "records"), "n_iter is not") for v in (1.5, np.inf, -1)),
        (put("fitted", "balls", "penalty", "l2"), "balls: its penalty has no parameters"),
        (put("fitted", "balls", "penalty", L2 | {"parameters": {"l1_ratio": 0.5}}), "attribute balls"),
        (put("fitted", "balls", None), "arrays that nothing uses"),
        (poke("f8", -1, "fitted", "balls", "radius"), "balls: its parts do not fit"),
        (poke("f8", np.nan, "fitted", "balls", "offset"), "holds NaN"),
        (poke("f8", np.inf, "fitted", "balls", "centre"), "balls: it holds infinite"),
    ],
    "weighted": [
        *((put("parameters", "class_weight", {"map": v}), "list of pairs") for v in (3, None, [1], [[1]])),
        (put("parameters", "class_weight", {"map": [[1, 1], [1.0, 2]]}), "a label appears twice"),
        (put("parameters", "class_weight", {"map": [[[], 1]]}), "parameter class_weight"),
    ],
    "multiclass": [
        (poke("u1", 255, "fitted", "classes_", "utf8"), "attribute classes_.*utf-8"),
        *((poke("i8", v, "fitted", "classes_", "ends"), "parts do not fit") for v in (-1, 99, 2**62)),
        *((reshape(v, "fitted", "support_status_"), "does not fit") for v in ([4, 18], [72], [1, 72])),
        (put("fitted", "history_", "ends", None), "history_ does not fit"),
        (poke("i8", 10**6, "fitted", "history_", "ends"), "history_: its parts do not fit"),
        *((reshape(v, "fitted", "certificates_", "bounds"), "certificates_") for v in ([9], [1, 9], [9, 1])),
        (reshape([1, 9], "fitted", "balls", "centre"), "balls: its parts do not fit"),
    ],
    "text_labels": [(poke("u4", v, "fitted", "classes_"), "of its dtype") for v in (0x110000, 2**32 - 1)],
    "counts": [
        (put("fitted", "intercept_", {"float": "inf"}), "intercept_: inf is not a finite"),
        (put("fitted", "exponential_mean", 1), "exponential_mean: 1 is not a flag"),
        (put("fitted", "feature_names_in_", ["a", "b", "c"]), "attribute feature_names_in_"),
        (poke("u1", [97, 97], "fitted", "feature_names_in_", "utf8"), "feature_names_in_ does not fit"),
        (poke("i8", [1, 3, 4], "fitted", "feature_names_in_", "ends"), "feature_names_in_.*utf-8"),
    ],
    "metric": [
        (reshape([1, 9], "fitted", "balls", *Q), "Q must be a finite square"),
        (poke("f8", -9, "fitted", "balls", *Q), "Q must be positive definite"),
        (poke("f8", [1, 1e308, 0, -1e308], "parameters", *Q), "parameter penalty: Q must be symmetric"),
    ],
    "box": [
        (poke("f8", 3, "parameters", "penalty", "parameters", "lo"), "lo must not exceed hi"),
        (reshape([3, 1], "parameters", "penalty", "parameters", "hi"), "parameter penalty"),
    ],
    "novelty": [(put("fitted", "offset_", None), "offset_: None is not a finite")],
    "unfitted": [(put("fitted", {"coef_": {"array": 0}}), "attribute coef_: array 0 is missing")],
}


@pytest.mark.parametrize("name", VALUES)
def test_values_that_no_model_has_are_refused(name, tmp_path):
    for change, message in VALUES[name]:
        header, data = take_apart(GOOD[name])
        change(header, data)
        refused(put_together(header, data), message, tmp_path)


# -- how much they may cost ---------------------------------------------------------------------------


def unfitted(arrays, **parameters):
    start = {"gapfit": "0.1.0", "class": "LinearRegressor", "parameters": parameters, "fitted": None}
    offsets = np.cumsum([0, *(8 * int(np.prod(shape)) for shape in arrays)])[:-1].tolist()
    table = zip(arrays, offsets, strict=True)
    return {**start, "arrays": [{"dtype": "<f8", "shape": list(s), "offset": k} for s, k in table]}


BOUNDS = {"lo": {"array": 0}, "hi": {"array": 1}}
SQUARE = {"penalty": "box", "parameters": {"penalty": L2, **BOUNDS}}
METRIC = {"penalty": "quadratic_form", "parameters": {"Q": {"array": 0}}}
BOMBS = {
    "lists": (b"[" + b"[]," * 349_000 + b"[]]", b""),
    "objects": (b"[" + b"{}," * 349_000 + b"{}]", b""),
    "names": (json.dumps({f"{k:x}": 0 for k in range(90_000)}).encode(), b""),
    "a huge array": (unfitted([(2**40,)]), bytes(64)),
    "wide texts": ({**HEADER, "arrays": [{"dtype": "<U99999999", "shape": [99], "offset": 0}]}, DATA),
    "one array many times": (unfitted([(10**6,)], alpha=[{"array": 0}] * 20_000), bytes(8 * 10**6)),
    "rows times columns": (unfitted([(10**5, 1), (1, 10**5)], penalty=SQUARE), bytes(16 * 10**5)),
    "a row as a matrix": (unfitted([(1, 10**6)], penalty=METRIC), bytes(8 * 10**6)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_no_file_takes_much_more_memory_than_its_size(name, tmp_path):
    content = put_together(*BOMBS[name])
    tracemalloc.start()
    try:
        refused(content, ".", tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 4 * len(content) + 2**26
