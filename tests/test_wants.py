"""The page of what people ask for names objects and tests that exist."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

import gapfit

ROOT = Path(__file__).parent.parent
ROWS = [
    line.strip("| ").split(" | ")
    for line in (ROOT / "docs" / "wants.md").read_text().split("## How large")[0].splitlines()
    if line.startswith("|")
][2:]
TESTS = {
    node.name
    for path in (ROOT / "tests").rglob("test_*.py")
    for node in ast.parse(path.read_text()).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
}
MODEL = gapfit.LinearClassifier().fit(*load_iris(return_X_y=True))
OF_FITS = {"fit", "py.typed", "gapfit shard"} | set(inspect.signature(MODEL.fit).parameters)


def resolves(name):
    found = gapfit
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is not None


def test_there_are_twenty_five():
    assert len(ROWS) == 25 and all(len(row) == 3 for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_what_a_row_names_exists(row):
    _, here, tested = row
    tests = re.findall(r"`(\w+)`", tested)
    assert tests and set(tests) <= TESTS
    for name in re.findall(r"`([^`]+)`", here):
        assert resolves(name) or hasattr(MODEL, name) or name in OF_FITS, name
