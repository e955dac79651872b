"""Checkpoint files: damaged ones are refused by name, and neither kills nor full disks lose anything."""

import errno
import json
import os
import subprocess
import sys
import time
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gapfit import CheckpointError, CheckpointWarning, Problem, save, solve
from gapfit.checkpoint import file as files
from gapfit.checkpoint import opened, store
from gapfit.checkpoint.codec import decode, encode
from gapfit.minorant import Minorant
from gapfit.registry import as_solver

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = np.sign(X[:, 0] + RNG.normal(size=60))


def problem():
    return Problem(X, Y, "hinge", "l2", 1e-3)


def fit(path, **options):
    return solve(problem(), "bundle", tol=1e-8, checkpoint=path, **options)


@pytest.fixture
def whole(tmp_path):
    path = tmp_path / "fit"
    fit(path, max_iter=4)
    return path


def refused(path, reason):
    data = path.read_bytes()
    with pytest.raises(CheckpointError, match=reason) as caught:
        fit(path)
    assert str(path) in str(caught.value) and "remove the file" in str(caught.value)
    assert path.read_bytes() == data  # it is the user's to remove


def resealed(data):
    return data[:-32] + sha256(data[:-32]).digest()


@pytest.mark.parametrize("seed", range(40))
def test_torn_and_changed_files_are_refused(seed, whole):
    rng, data = np.random.default_rng(seed), bytearray(whole.read_bytes())
    cut = int(rng.integers(0, len(data)))
    whole.write_bytes(data[:cut])
    refused(whole, "ends too early|not a checkpoint")
    data[cut] ^= 1 << int(rng.integers(8))
    whole.write_bytes(data)
    refused(whole, "damaged|format|ends too early|too many|not a checkpoint")


def test_longer_foreign_and_empty_files_are_refused(whole, tmp_path):
    data = whole.read_bytes()
    whole.write_bytes(data + b"\0")
    refused(whole, "1 bytes too many")
    whole.write_bytes(b"")
    refused(whole, "not a checkpoint")
    from gapfit import LinearClassifier

    save(LinearClassifier(), whole)
    refused(whole, "not a checkpoint")
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(CheckpointError, match="not a regular file"):
        fit(folder)


def test_newer_files_are_refused(whole):
    data = bytearray(whole.read_bytes())
    current = data[8]
    data[8] = current + 1
    whole.write_bytes(resealed(bytes(data)))
    refused(whole, f"format {current + 1}")
    data[8] = current
    other = bytes(data).replace(b'"gapfit": "0.', b'"gapfit": "9.')
    whole.write_bytes(resealed(other))
    refused(whole, "gapfit 9")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_content_of_the_header_does_harm(whole, data):
    """Whatever the JSON says, under a checksum that is right: it is refused by name, or is a state."""
    header, arrays = files.read(str(whole))
    places = []

    def visit(node, put):
        places.append(put)
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(child, dict | list):
                visit(child, lambda value, node=node, key=key: node.__setitem__(key, value))

    visit(header, lambda value: None)
    junk = data.draw(st.sampled_from([None, [], {}, -1, 10**30, "x", [[]], {"array": 9**9}, {"tuple": 3}]))
    places[data.draw(st.integers(1, len(places) - 1))](junk)
    fresh = whole.with_name("changed")
    files.write(str(fresh), header, arrays)
    identity, shared = identity_of(problem())
    try:
        found = store.Checkpoint(fresh, identity).part(identity, **shared)
        assert found.state is None or isinstance(found.state, dict | list | tuple | str | int)
    except CheckpointError as error:
        assert str(fresh) in str(error)


def without(state, keys):
    """A copy of nested dictionaries that lacks an entry."""
    first, *rest = keys
    if rest:
        return {**state, first: without(state[first], rest)}
    return {key: value for key, value in state.items() if key != first}


def test_states_that_lack_something_or_hold_another_thing_are_refused(whole):
    """Under a checksum that is right: whatever the driver or the solver stumbles over is the file's fault."""
    identity, shared = identity_of(problem())
    part = store.Checkpoint(whole, identity).part(identity, **shared)
    state = part.state
    for keys in [[key] for key in state] + [["best", key] for key in state["best"]]:
        part.save(without(state, keys))
        refused(whole, "nobody can go on")
    for key in state.keys() - {"design"}:  # a matrix in memory has no state, and looks at none
        part.save({**state, key: "text"})
        refused(whole, "nobody can go on")


def identity_of(problem):
    """What `solve` asks for."""
    with opened("nowhere", problem, as_solver("bundle"), "bundle", problem.fingerprint()) as part:
        return part.checkpoint.identity, part.shared


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**140), 2**140) | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.tuples(inner, inner)
            | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_plain_states_survive(value):
    content, arrays = encode(value, {})
    again = decode(json.loads(json.dumps(content)), arrays, {})
    assert repr(again) == repr(value)


def test_arrays_records_and_shared_objects_survive(tmp_path):
    shared = {"penalty": object()}
    arrays = [
        np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.zeros((2, 0, 3)),
        np.array([np.nan, -0.0, np.inf]), np.array([True]), np.float32([1.5]), np.array(3), np.arange(4)[::2],
    ]  # fmt: skip
    state = {
        "arrays": arrays, "scalar": np.uint64(2**63 + 1), "penalty": (1, shared["penalty"]),
        "minorant": Minorant(np.ones(2), np.zeros(0), -1.5),
    }  # fmt: skip
    content, flat = encode(state, shared)
    files.write(str(tmp_path / "state"), {"state": content}, flat)
    header, read = files.read(str(tmp_path / "state"))
    again = decode(header["state"], read, shared)
    for one, two in zip(arrays, again["arrays"], strict=True):
        assert one.tobytes() == two.tobytes() and one.dtype == two.dtype and one.shape == two.shape
        assert two.flags.writeable
    assert again["arrays"][1].flags.f_contiguous
    assert again["scalar"] == state["scalar"] and type(again["scalar"]) is np.uint64
    assert again["penalty"][1] is shared["penalty"] and isinstance(again["minorant"], Minorant)
    for bad in (object(), {1, 2}, np.array(["text"]), np.array([None]), lambda: 0):
        with pytest.raises(TypeError, match="a state cannot hold"):
            encode({"state": bad}, shared)


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(store, "INTERVAL", 0.0)
    monkeypatch.setattr(store, "SHARE", np.inf)


def assert_goes_on_without(path, expected, data):
    """The fit ends as it would have, warns once, and the older file stays."""
    with pytest.warns(CheckpointWarning, match="The fit goes on") as caught:
        found = fit(path, max_iter=12)
    assert len([w for w in caught if w.category is CheckpointWarning]) == 1
    assert found.w.tobytes() == expected.w.tobytes()
    assert path.read_bytes() == data
    assert [other.name for other in path.parent.iterdir()] == [path.name]  # nothing half-written is left


class FullDisk:
    """A file whose disk is full after some bytes."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def write(self, data):
        self.room -= len(memoryview(data).cast("B"))
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.file.write(data)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def __getattr__(self, name):
        return getattr(self.file, name)


@pytest.mark.parametrize("room", [0, 20, 100, 2000])
def test_a_full_disk_loses_nothing(room, whole, often, monkeypatch):
    expected = solve(problem(), "bundle", tol=1e-8, max_iter=12)
    data, really_open = whole.read_bytes(), open

    def opened(path, mode="r", *args, **kwargs):
        file = really_open(path, mode, *args, **kwargs)
        return FullDisk(file, room) if mode == "xb" else file

    monkeypatch.setattr("builtins.open", opened)
    assert_goes_on_without(whole, expected, data)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_the_full_device_loses_nothing(whole, often, monkeypatch):
    expected = solve(problem(), "bundle", tol=1e-8, max_iter=12)
    data, really_open = whole.read_bytes(), open

    def opened(path, mode="r", *args, **kwargs):
        if mode == "xb":
            really_open(path, mode).close()
            return really_open("/dev/full", "wb")
        return really_open(path, mode, *args, **kwargs)

    monkeypatch.setattr("builtins.open", opened)
    assert_goes_on_without(whole, expected, data)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_fails_loses_nothing(call, whole, often, monkeypatch):
    expected = solve(problem(), "bundle", tol=1e-8, max_iter=12)
    data = whole.read_bytes()

    def fail(*arguments):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(f"os.{call}", fail)
    assert_goes_on_without(whole, expected, data)


def test_a_folder_without_permission_loses_nothing(whole, often, monkeypatch):
    expected = solve(problem(), "bundle", tol=1e-8, max_iter=12)
    data, really_open = whole.read_bytes(), open

    def opened(
        path, mode="r", *args, **kwargs
    ):  # root may write anywhere, so that a real folder would not do
        if mode == "xb":
            raise PermissionError(errno.EACCES, "Permission denied")
        return really_open(path, mode, *args, **kwargs)

    monkeypatch.setattr("builtins.open", opened)
    assert_goes_on_without(whole, expected, data)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.warns(CheckpointWarning, match="nowhere"):
        found = fit(tmp_path / "nowhere" / "fit", max_iter=12)
    assert found.n_iter == 12


def test_a_state_that_cannot_be_stored_is_told_once(tmp_path, often):
    from gapfit.solvers.bundle import bundle

    def odd(problem, state=None):
        for iterate in bundle(problem, state=state):
            yield iterate._replace(snapshot=lambda: {"thing": object()})

    with pytest.warns(CheckpointWarning, match="a state cannot hold object") as caught:
        found = solve(problem(), odd, tol=1e-6, checkpoint=tmp_path / "fit")
    assert found.converged and len(caught) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_time_spent_on_writing_is_bounded(tmp_path, monkeypatch):
    """A slow disk is written to less often."""
    monkeypatch.setattr(store, "INTERVAL", 0.0)
    written = []
    monkeypatch.setattr(files, "write", lambda *arguments: written.append(time.sleep(0.02)))
    began = time.perf_counter()
    solve(problem(), "pegasos", tol=0, max_iter=10**9, max_time=0.8, checkpoint=tmp_path / "fit")
    assert 1 <= len(written) <= (time.perf_counter() - began) / (0.02 / store.SHARE) + 2


SCRIPT = """
import itertools, os, random, signal, sys, time
import numpy as np
from gapfit import Problem, solve
from gapfit.checkpoint import file, store

store.INTERVAL, store.SHARE = 0.0, np.inf
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5))
Y = np.sign(X[:, 0] + rng.normal(size=60))

def fit(steps):
    problem = Problem(X, Y, "hinge", "l2", 1e-3)
    solve(problem, "bundle", tol=0, max_iter=steps, checkpoint=sys.argv[1], n_jobs=1)

fit(2)
seen = set()
for trial in range(60):
    child = os.fork()
    if child == 0:
        for steps in itertools.count(3):
            fit(steps)
    time.sleep(random.uniform(0.0, 0.1))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if os.path.exists(sys.argv[1]):  # a fit that ends by itself removes its file
        file.read(sys.argv[1])  # whole, or it would be refused
        with open(sys.argv[1], "rb") as found:
            seen.add(found.read())
if os.path.exists(sys.argv[1]):
    os.remove(sys.argv[1])
fit(4)
print(len(seen))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked, which takes a Unix")
def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "fit"
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 2  # different files were there when the children died, also on a busy machine
    assert fit(path).w.tobytes() == solve(problem(), "bundle", tol=1e-8).w.tobytes()
