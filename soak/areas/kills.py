"""SIGKILL in the middle of a write: the file is the old one or the new one, whole, and can be written again.

What a checkpoint holds is judged by what the fit that goes on from it ends with.
"""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gapfit import LinearRegressor, Problem, load, save, solve
from gapfit.checkpoint import file as checkpoint_file
from gapfit.datasets import Data
from gapfit.datasets import load as read_data
from gapfit.datasets import save as write_data
from soak.job import Job
from soak.outcome import Outcome

CASES = 40
LIMIT = 60.0
FIGURE = "kills that hit a write / kills"
_KILLS = 8


def run(job: Job) -> Outcome:
    """Some kills of one kind of file."""
    rng, outcome = job.rng(), Outcome()
    name, (things, write, read) = list(_WRITERS.items())[job.case % len(_WRITERS)]
    versions = things(rng)
    with tempfile.TemporaryDirectory(prefix="gapfit-soak-") as folder:
        path = Path(folder) / name
        write(versions[0], path)
        content = [_content(read, write, version, Path(folder) / f"sample-{name}") for version in versions]
        hit = 0
        for _ in range(_KILLS):
            _killed_writer(path, versions, write, float(rng.uniform(0.0, 0.06)))
            hit += len(list(Path(folder).iterdir())) > 2
            try:
                found = read(path)
            except Exception as error:
                outcome.expect(False, "torn file", f"{name}: {type(error).__name__}: {error}")
                write(versions[0], path)
                continue
            outcome.expect(
                any(found == known for known in content), "another file", f"{name} holds neither version"
            )
        write(versions[0], path)
        outcome.expect(read(path) == content[0], "cannot be written again", name)
        outcome.worst = hit / _KILLS
    return outcome


def _killed_writer(path: Path, versions: list[Any], write: Callable[[Any, Path], None], after: float) -> None:
    """A process that writes without end, ended."""
    child = os.fork()
    if child == 0:
        try:
            while True:
                for version in versions:
                    write(version, path)
        finally:
            os._exit(1)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _content(read: Any, write: Any, version: Any, path: Path) -> Any:
    write(version, path)
    content = read(path)
    path.unlink()
    return content


def _models(rng: np.random.Generator) -> list[Any]:
    X = rng.normal(size=(60, 4000))
    return [LinearRegressor(alpha=a, max_iter=3).fit(X, X[:, 0]) for a in (1.0, 10.0)]


def _read_model(path: Path) -> bytes:
    return bytes(load(path).coef_.tobytes())


def _tables(rng: np.random.Generator) -> list[Any]:
    return [
        Data(rng.normal(size=(300, 8)).round(3), rng.normal(size=300).round(3), None, None) for _ in range(2)
    ]


def _read_table(path: Path) -> bytes:
    data = read_data(path, **({"target": "target"} if path.suffix == ".csv" else {}))
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    return bytes(X.tobytes() + data.y.tobytes())


def _write_table(data: Any, path: Path) -> None:
    write_data(path, data)


def _wide() -> Problem:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 4000))
    return Problem(X, np.sign(X[:, 0] + rng.normal(size=40)), "hinge", "l2", 1e-2)


def _checkpoints(rng: np.random.Generator) -> list[Any]:
    """The files of one fit after two and after five steps."""
    found = []
    with tempfile.TemporaryDirectory(prefix="gapfit-soak-") as folder:
        for steps in (2, 5):
            path = Path(folder) / str(steps)
            solve(_wide(), "bundle", tol=1e-10, max_iter=steps, checkpoint=path)
            found.append(checkpoint_file.read(str(path)))
    return found


def _write_checkpoint(content: Any, path: Path) -> None:
    checkpoint_file.write(str(path), *content)


def _go_on(path: Path) -> bytes:
    with tempfile.TemporaryDirectory(prefix="gapfit-soak-") as folder:
        copied = shutil.copy(path, folder)
        solution = solve(_wide(), "bundle", tol=1e-10, max_iter=7, checkpoint=copied)
    return bytes(solution.w.tobytes())


_WRITERS: dict[str, tuple[Any, Any, Any]] = {
    "model": (_models, save, _read_model),
    "data.npz": (_tables, _write_table, _read_table),
    "data.csv": (_tables, _write_table, _read_table),
    "data.svm": (_tables, _write_table, _read_table),
    "checkpoint": (_checkpoints, _write_checkpoint, _go_on),
}
