"""Compiled code on disk: found by the next process, never stale, and no condition of working."""

import gc
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import gapfit
from gapfit.compiled import rows
from gapfit.compiled._pause import paused
from gapfit.compiled._store import _Index
from gapfit.compiled._watch import NOTICE, Watch, tell
from kernels import entry

HELPER = """
from gapfit.compiled._jit import jit

@jit
def rise(x):
    return x + {step}
"""
CALLER = """
from gapfit.compiled._jit import jit
from gapfit.compiled.helper import rise

@jit
def twice(x):
    return 2 * rise(x)
"""
SCRIPT = """
import os
if "READ_ONLY" in os.environ:
    from numba.core import caching
    def refuse(self):
        raise OSError("nothing can be written")
    caching._CacheLocator.ensure_cache_path = refuse

from gapfit.compiled.caller import twice
found = twice(1)
hits = sum(twice.stats.cache_hits.values()) if hasattr(twice, "stats") else 0
print(found, hits)
"""
RECORD = """
from typing import NamedTuple
from gapfit.compiled._jit import jit

class {name}(NamedTuple):
    x: int

@jit
def first(record):
    return record.x

def twice(x):
    return 2 * first({name}(x))
"""
FITS = """
import sys
import numpy as np
from gapfit import LinearClassifier
X = np.random.default_rng(0).standard_normal((60, 4))
for loss, labels in {"hinge": 2, "crammer_singer": 3}.items():
    LinearClassifier(loss=loss, alpha=0.1).fit(X, np.arange(60) % labels)
LinearClassifier(solver="dual_cd", alpha=0.1).fit(X, np.arange(60) % 2)
modules = [module for name, module in sys.modules.items() if name.startswith("gapfit.compiled.")]
compiled = {f for module in modules for f in vars(module).values() if hasattr(f, "stats")}
for counts in ([f.stats.cache_hits for f in compiled], [f.stats.cache_misses for f in compiled]):
    print(sum(sum(count.values()) for count in counts))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The decorator in a package of its own, whose one compiled file calls the other."""
    kernels = tmp_path / "gapfit" / "compiled"
    kernels.mkdir(parents=True)
    (kernels.parent / "__init__.py").touch()
    for file in (Path(gapfit.__file__).parent / "compiled").glob("_[!_]*.py"):
        shutil.copy(file, kernels)
    shutil.copy(Path(gapfit.__file__).parent / "limits.py", kernels.parent)
    for name, text in {"helper": HELPER.format(step=1), "caller": CALLER, "__init__": ""}.items():
        (kernels / f"{name}.py").write_text(text, encoding="utf-8")
    return tmp_path


def run(package: Path, **environment: str) -> tuple[int, int]:
    """What the caller answers in a fresh process, and how many functions were found on disk."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "GAPFIT_"))}
    places = {"PYTHONPATH": str(package), "XDG_CACHE_HOME": str(package / "caches"), "HOME": str(package)}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=inherited | places | environment
    )
    answer, hits = done.stdout.split()
    return int(answer), int(hits)


def machine_code(folder: Path) -> list[str]:
    return sorted(path.name.split("-")[0] for path in folder.rglob("*.nbc"))


def test_the_next_process_finds_the_machine_code(package: Path) -> None:
    assert run(package) == (4, 0)
    assert machine_code(package / "gapfit") == ["caller.twice"]
    assert run(package) == (4, 1)


def test_a_change_in_an_imported_file_is_noticed(package: Path) -> None:
    assert run(package) == (4, 0)
    (package / "gapfit" / "compiled" / "helper.py").write_text(HELPER.format(step=2), encoding="utf-8")
    assert run(package) == (6, 0)
    assert run(package) == (6, 1)


def test_a_record_that_is_gone_is_no_trouble(package: Path) -> None:
    """What is on disk names the classes of records: those of another version may be missing."""
    for name in ("Before", "After"):
        text = RECORD.format(name=name)
        (package / "gapfit" / "compiled" / "caller.py").write_text(text, encoding="utf-8")
        assert run(package) == (2, 0)


def test_no_process_runs_what_another_compiled_for_other_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have looked for machine code, found none, and save theirs."""
    one, other = _Index(str(tmp_path), "f", "stamp"), _Index(str(tmp_path), "f", "stamp")
    with monkeypatch.context() as stale:
        stale.setattr(other, "_load_index", dict)
        one.save("int64", "for int64")
        other.save("float64", "for float64")
    assert one.load("float64") == "for float64"
    assert one.load("int64") in (None, "for int64")


def test_what_another_version_has_left_is_never_run_and_goes(tmp_path: Path) -> None:
    before, after = _Index(str(tmp_path), "f", "before"), _Index(str(tmp_path), "f", "after")
    before.save("int64", "old")
    assert after.load("int64") is None
    after.save("float64", "new")
    assert before.load("int64") is None and len(list(tmp_path.glob("*.nbc"))) == 1
    after.save("int64", "newer")
    assert (after.load("float64"), after.load("int64")) == ("new", "newer")
    assert len(list(tmp_path.glob("*.nbc"))) == 2


def test_a_read_only_package_is_cached_with_the_user(package: Path) -> None:
    (package / "gapfit" / "compiled" / "__pycache__").write_text("in the way of the folder")
    assert run(package) == (4, 0)
    assert machine_code(package / "caches") == ["caller.twice"]
    assert run(package) == (4, 1)
    (package / "gapfit" / "compiled" / "helper.py").write_text(HELPER.format(step=2), encoding="utf-8")
    assert run(package) == (6, 0)


def test_where_nothing_can_be_written_it_compiles_each_time(package: Path) -> None:
    (package / "gapfit" / "compiled" / "__pycache__").write_text("in the way of the folder")
    (package / "caches").write_text("in the way of the other")
    assert run(package) == (4, 0)
    assert run(package) == (4, 0)


@pytest.mark.parametrize("switch", [{"GAPFIT_CACHE": "0"}, {"NUMBA_DISABLE_JIT": "1"}])
def test_the_cache_can_be_turned_off(package: Path, switch: dict[str, str]) -> None:
    assert run(package, **switch) == (4, 0)
    assert machine_code(package) == []


def test_functions_of_records_are_found_as_well() -> None:
    """Types of records name their classes, which must be the same in the next process."""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", FITS], capture_output=True, text=True, check=True)
        hits, misses = map(int, done.stdout.split())
    assert hits > 5 and misses == 0


PARTS = """
from gapfit.compiled._jit import jit

@jit
def _risen(x):
    return x + 1

@jit
def twice(x):
    return 2 * _risen(x)
"""


def test_parts_are_compiled_inside_of_their_callers_alone(package: Path) -> None:
    (package / "gapfit" / "compiled" / "caller.py").write_text(PARTS, encoding="utf-8")
    assert run(package) == (4, 0)
    assert machine_code(package) == ["caller.twice"]
    assert run(package) == (4, 1)


def test_a_part_is_not_for_python() -> None:
    if numba.config.DISABLE_JIT:  # all functions are Python's then
        assert rows.row_dot(STORED, 0, np.ones(2)) == 3.0
        return
    for _ in range(2):  # nor is it when something has compiled it
        with pytest.raises(TypeError, match="row_dot is for compiled code; from Python call its py_func"):
            rows.row_dot(STORED, 0, np.ones(2))
        assert entry(rows.row_dot)(STORED, 0, np.ones(2)) == 3.0


STORED = rows.as_rows(np.array([1.0, 2.0]), np.array([0, 1]), np.array([0, 2]))


def test_who_can_keep_nothing_is_told_once(package: Path) -> None:
    """In a container where nothing can be written, every process compiles anew: somebody should know."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "GAPFIT_"))}
    places = {"PYTHONPATH": str(package), "HOME": str(package), "XDG_CACHE_HOME": str(package / "caches")}
    for read_only, count in (({"READ_ONLY": "1"}, 1), ({}, 0)):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True,
            env=inherited | places | read_only,
        )  # fmt: skip
        assert done.stderr.count("every process compiles anew") == count
        assert ("NUMBA_CACHE_DIR" in done.stderr) == (count > 0)


def test_what_an_image_holds_is_read_where_nothing_can_be_written(package: Path) -> None:
    """Machine code that was left beside the package, or in the folder given, serves who may only read it."""
    for folder in (package / "gapfit" / "compiled" / "__pycache__", package / "given"):
        given = {"NUMBA_CACHE_DIR": str(folder)} if folder.name == "given" else {}
        assert run(package, **given) == (4, 0)
        assert run(package, READ_ONLY="1", **given) == (4, 1)
        shutil.rmtree(folder)
        assert run(package, READ_ONLY="1", **given) == (4, 0)
        assert machine_code(package) == []


class Compiled:
    """What numba tells of a function that it compiles."""

    def __init__(self, module: str | None) -> None:
        function = type("Function", (), {"__module__": module})
        self.data = {"dispatcher": type("Dispatcher", (), {"py_func": function})}


def test_compilation_runs_without_the_collector_and_tells_of_itself_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, ours, others = Watch(), Compiled("gapfit.compiled.rows"), Compiled("numba.np.arrayobj")
    now = iter([0.0, 0.3, 10.0, 10.8, 20.0, 25.0])
    monkeypatch.setattr("gapfit.compiled._watch.perf_counter", lambda: next(now))
    caplog.set_level("INFO", "gapfit")
    watch.on_start(others)
    assert gc.isenabled() and watch.depth == 0
    watch.on_end(others)
    watch.on_start(ours)
    assert not gc.isenabled()
    watch.on_end(ours)  # after .3 s
    assert gc.isenabled() and not caplog.messages
    watch.on_start(ours)
    watch.on_end(ours)  # after 1.1 s
    assert caplog.messages == [NOTICE] and gc.isenabled()
    watch.on_start(ours)
    watch.on_end(ours)
    assert caplog.messages == [NOTICE]


def test_others_compile_what_they_like() -> None:
    methods = Compiled("")
    methods.data = {"dispatcher": object()}  # of a class: they have no function to ask
    for others in (methods, Compiled(None)):
        watch = Watch()
        watch.on_start(others)
        assert watch.depth == 0


@pytest.mark.parametrize(
    ("terminal", "level", "lines"), [(True, "WARNING", 1), (True, "INFO", 0), (False, "WARNING", 0)]
)
def test_a_terminal_without_a_log_is_told(monkeypatch, capsys, terminal, level, lines) -> None:
    logger = logging.getLogger("gapfit")
    before = logger.level
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    logger.setLevel(level)
    try:
        tell(NOTICE)
    finally:
        logger.setLevel(before)
    assert capsys.readouterr().err.count("gapfit: compiling, once") == lines


def test_a_pause_leaves_the_collector_as_it_was() -> None:
    with paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
