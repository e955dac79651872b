"""Compiled code on disk: found by the next process, never stale, and no condition of working."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gapfit

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
    assert machine_code(package / "gapfit") == ["caller.twice", "helper.rise"]
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


def test_a_read_only_package_is_cached_with_the_user(package: Path) -> None:
    (package / "gapfit" / "compiled" / "__pycache__").write_text("in the way of the folder")
    assert run(package) == (4, 0)
    assert machine_code(package / "caches") == ["caller.twice", "helper.rise"]
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
