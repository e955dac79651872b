"""`gapfit warmup`: what it has compiled, the next process finds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gapfit.cli.main import run
from gapfit.cli.warmup import PARTS

FIT = """
import sys
import numpy as np
from gapfit import SequenceLabeler, StructuredClassifier
from gapfit.structures import Labels
rng = np.random.default_rng(7)
X, y = rng.standard_normal((90, 3)), rng.integers(0, 2, 90)
SequenceLabeler(alpha=0.5).fit((X, np.full(9, 10)), y)
StructuredClassifier(structure=Labels(2), alpha=0.5).fit(list(X[:20]), list(y[:20]))
modules = [module for name, module in sys.modules.items() if name.startswith("gapfit.compiled.")]
entries = {f for module in modules for f in vars(module).values() if hasattr(f, "stats")}
for counts in ([f.stats.cache_hits for f in entries], [f.stats.cache_misses for f in entries]):
    print(sum(sum(count.values()) for count in counts))
"""


def test_the_parts_are_listed(capsys):
    assert run(["warmup", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(PARTS)


def test_an_unknown_part_is_named(capsys):
    assert run(["warmup", "nothing"]) == 1
    assert "unknown part nothing; there are linear" in capsys.readouterr().err


def test_without_a_place_to_keep_it_there_is_no_use(capsys, monkeypatch):
    monkeypatch.setenv("GAPFIT_CACHE", "0")
    assert run(["warmup", "files"]) == 1
    assert "GAPFIT_CACHE=0 keeps no machine code" in capsys.readouterr().err


def test_progress_and_where_it_is_kept(capsys):
    assert run(["warmup", "files"]) == 0
    told = capsys.readouterr()
    assert told.err.startswith("files") and "kept in" in told.out
    assert run(["warmup", "files", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_the_next_process_compiles_nothing(tmp_path: Path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GAPFIT_")}
    environment["NUMBA_CACHE_DIR"] = str(tmp_path)
    command = [sys.executable, "-m", "gapfit", "warmup", "structures", "--quiet"]
    subprocess.run(command, check=True, env=environment)
    command = [sys.executable, "-c", FIT]
    done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    hits, misses = map(int, done.stdout.split())
    assert hits > 0 and misses == 0
