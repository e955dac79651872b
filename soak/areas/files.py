"""Damaged files of every format: a DataError that names the file, or valid data; in little memory and time.

A damaged file is a good one with bits flipped, bytes cut, repeated or exchanged, and counts made huge. Files
with checksums are also damaged inside, and sealed again.
"""

import gzip
import hashlib
import io
import resource
import struct
import tempfile
import time
import zipfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from gapfit import (
    DataError,
    KernelSVC,
    LinearClassifier,
    Problem,
    SequenceLabeler,
    Solution,
    load,
    save,
    solve,
)
from gapfit.checkpoint import opened
from gapfit.datasets import Data, read_conll, read_csv, read_npz, read_parquet, read_svmlight
from gapfit.datasets import save as save_data
from gapfit.registry import as_solver
from soak import mutations
from soak.job import Job
from soak.outcome import Outcome

CASES = 16000
LIMIT = 30.0
FIGURE = "memory taken by a read, MiB"
_SLOW = 5.0  # CPU seconds for files of a few kilobytes
_MEMORY = 512  # MiB


def run(job: Job) -> Outcome:
    """One damaged file."""
    rng, outcome = job.rng(), Outcome()
    formats = good_files()
    name = list(formats)[job.case % len(formats)]
    good, read = formats[name]
    damaged = _damaged(name, good, rng)
    with tempfile.TemporaryDirectory(prefix="gapfit-soak-") as folder:
        path = Path(folder) / name
        path.write_bytes(damaged)
        before, began = _memory(), time.process_time()
        try:
            read(path)
        except DataError as error:
            outcome.expect(str(path) in str(error), "place not named", f"{name}: {error}")
        except Exception as error:
            outcome.expect(False, type(error).__name__, f"{name}: {type(error).__name__}: {error}"[:300])
        else:
            outcome.checks += 1
        seconds, taken = time.process_time() - began, _memory() - before
    outcome.worst = taken
    outcome.expect(seconds <= _SLOW, "slow", f"{name}: {seconds:.1f} CPU s for {len(damaged)} bytes")
    outcome.expect(taken <= _MEMORY, "memory", f"{name}: {taken:.0f} MiB for {len(damaged)} bytes")
    return outcome


def _memory() -> float:
    """The most that this process ever had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _damaged(name: str, good: bytes, rng: np.random.Generator) -> bytes:
    seal = _SEALS.get(Path(name).suffix)
    if seal is None or rng.random() < 0.3:
        return mutations.damaged(good, rng)
    return seal(good, rng)


# -- files that are sealed: damaged within, and sealed again -------------------------------------------


def _resealed_model(good: bytes, rng: np.random.Generator) -> bytes:
    body = mutations.damaged(good[:-32], rng)
    if len(body) >= 24 and rng.random() < 0.7:  # and the size it says it has is the one it has
        body = body[:16] + struct.pack("<Q", len(body) + 32) + body[24:]
    return body + hashlib.sha256(body).digest()


def _rezipped(good: bytes, rng: np.random.Generator) -> bytes:
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = str(rng.choice(list(members)))
    members[chosen] = mutations.damaged(members[chosen], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def _repacked(good: bytes, rng: np.random.Generator) -> bytes:
    return gzip.compress(mutations.damaged(gzip.decompress(good), rng))


def _resealed_checkpoint(good: bytes, rng: np.random.Generator) -> bytes:
    """The text changed, and made as long as it says, or the arrays; under a checksum that is right."""
    first = 24 + struct.unpack("<I", good[12:16])[0]
    text, arrays = good[24:first].rstrip(), good[first:-32]
    if rng.random() < 0.8:
        text = mutations.damaged(text, rng)
    else:
        arrays = mutations.damaged(arrays, rng)
    text += b" " * (-(24 + len(text)) % 64)
    size = 24 + len(text) + len(arrays) + 32
    body = good[:12] + struct.pack("<IQ", len(text), size) + text + arrays
    return body + hashlib.sha256(body).digest()


_SEALS: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    ".model": _resealed_model,
    ".npz": _rezipped,
    ".gz": _repacked,
    ".state": _resealed_checkpoint,
}


# -- good files and what makes them valid -------------------------------------------------------------


@cache
def good_files() -> dict[str, tuple[bytes, Callable[[Path], None]]]:
    """A good file of each kind, and a function that reads one and checks what it holds."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 4)).round(3), rng.integers(0, 2, 20).astype(float)
    table = Data(X * (rng.random(X.shape) < 0.7), y, np.sort(rng.integers(0, 4, 20)), None)
    named = Data(X, y, None, ("a", "b", "c", "d"))
    files: dict[str, tuple[bytes, Callable[[Path], None]]] = {}
    with tempfile.TemporaryDirectory(prefix="gapfit-soak-") as folder:
        for name, data, read in (
            ("data.svm", table, read_svmlight),
            ("data.svm.gz", table, read_svmlight),
            ("data.csv", named, partial(read_csv, target="target")),
            ("data.npz", table, read_npz),
            *((("data.parquet", named, partial(read_parquet, target="target")),) if _has_parquet() else ()),
        ):
            save_data(Path(folder) / name, data)
            files[name] = (Path(folder) / name).read_bytes(), partial(_read_data, read)
        for name, model in _models(X, y).items():
            save(model, Path(folder) / name)
            files[f"{name}.model"] = (Path(folder) / name).read_bytes(), _read_model
        for solver, (_, steps) in _CHECKPOINTS.items():
            path = Path(folder) / solver
            _solved(solver, path, steps)
            files[f"{solver}.checkpoint"] = path.read_bytes(), partial(_go_on, solver)
            files[f"{solver}.state"] = path.read_bytes(), partial(_open_state, solver)
    tokens = "\n".join(f"word{k} tag{k % 3} B-{k % 2}" + "\n" * (k % 5 == 4) for k in range(30))
    files["data.conll"] = tokens.encode(), _read_sequences
    return files


def _has_parquet() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def _models(X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    chains, labels = np.split(X, 4), np.split(y.astype(int), 4)
    return {
        "linear": LinearClassifier(alpha=0.1).fit(X, y),
        "kernel": KernelSVC().fit(X, y),
        "sequence": SequenceLabeler(alpha=0.1, max_iter=5).fit(chains, labels),
    }


# a loss for each solver, and the steps until a limit ends it
_CHECKPOINTS = {"bundle": ("hinge", 4), "dual_cd": ("hinge", 2), "lbfgs": ("logistic", 1)}


def _problem(solver: str) -> Problem:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 3))
    y = np.where(X[:, 0] + rng.normal(size=20) > 0, 1.0, -1.0)
    return Problem(X, y, _CHECKPOINTS[solver][0], "l2", 1e-2)


def _solved(solver: str, path: Path | None, max_iter: int = 8) -> Solution:
    return solve(_problem(solver), solver, tol=1e-10, max_iter=max_iter, checkpoint=path)


def _go_on(solver: str, path: Path) -> None:
    """What is accepted ends as if nothing had happened."""
    went_on, at_once = _solved(solver, path), _solved(solver, None)
    assert went_on.w.tobytes() == at_once.w.tobytes(), "another point than that of a fit in one go"
    assert went_on.certificate == at_once.certificate, "another certificate than that of a fit in one go"


def _open_state(solver: str, path: Path) -> None:
    """Read, under a checksum that is right; a state that was forged is not run: see SECURITY.md."""
    problem = _problem(solver)
    with opened(path, problem, as_solver(solver), solver, problem.fingerprint()) as part:
        assert part is not None, "no part"


def _read_data(read: Callable[[Path], Data], path: Path) -> None:
    data = read(path)
    n, d = data.X.shape
    stored = data.X.data if hasattr(data.X, "indptr") else data.X
    assert np.isfinite(stored).all(), "values that are not finite"
    assert data.y is None or len(data.y) == n, "targets of another number"
    if hasattr(data.X, "indptr"):
        data.X.check_format(full_check=True)
        assert data.X.nnz == 0 or data.X.indices.max() < d, "an index out of range"


def _read_sequences(path: Path) -> None:
    sequences = read_conll(path)
    assert len(sequences[0]) == len(sequences[1]), "labels of another number"


def _read_model(path: Path) -> None:
    """What is accepted works."""
    model = load(path)
    width = getattr(model, "n_features_in_", None)
    if width is None or not hasattr(model, "classes_"):
        return
    X = np.zeros((2, width))
    answers = model.predict([X] if isinstance(model, SequenceLabeler) else X)
    assert len(answers) in (1, 2), "other predictions than asked for"
