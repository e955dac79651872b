"""What a report of a bug says of versions and of the machine."""

import re
from pathlib import Path

import pytest

import gapfit
from gapfit.cli.main import run
from gapfit.versions import PACKAGES, versions

ROOT = Path(__file__).resolve().parents[1]


def test_versions_name_every_dependency():
    text = (ROOT / "pyproject.toml").read_text()
    block = re.search(r"\ndependencies = \[(.*?)\]", text, re.DOTALL)[1]
    assert set(re.findall(r'"([a-z-]+)', block)) <= set(PACKAGES)
    facts = versions()
    assert facts["Packages"]["gapfit"] == gapfit.__version__
    assert all(facts["Packages"][name] != "not installed" for name in PACKAGES)
    assert any("blas" in name for name in facts["Threads"])


def test_versions_are_printed(capsys):
    gapfit.show_versions()
    printed = capsys.readouterr().out
    assert run(["versions"]) == 0
    assert capsys.readouterr().out == printed
    for word in ("python:", f"gapfit: {gapfit.__version__}", "numba:", "cores:", "writable:"):
        assert word in printed


@pytest.mark.parametrize("exists", [True, False])
def test_the_folder_of_compiled_code(monkeypatch, tmp_path, exists):
    folder = tmp_path if exists else tmp_path / "new" / "deeper"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    facts = versions()["Compiled code"]
    assert facts["folder"] == folder and facts["writable"] is True
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert versions()["Compiled code"]["writable"] is False


def test_the_security_page_says_what_it_must():
    text = (ROOT / "SECURITY.md").read_text()
    for heading in ("What is treated as hostile", "What is not", "Supported versions", "How to report"):
        assert f"## {heading}" in text
