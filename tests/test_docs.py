"""The code in the documentation runs as it stands, in the order in which it stands there."""

import ast
import inspect
import re
import runpy
import shlex
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

import gapfit
from browser import needs_chromium
from gapfit import datasets, load
from gapfit.cli.main import run

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(python|console)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with the one table that pages speak of."""
    monkeypatch.chdir(tmp_path)
    bunch = load_breast_cancer()
    names = tuple(name.replace(" ", "_") for name in bunch.feature_names)
    table = datasets.Data(bunch.data, bunch.target_names[bunch.target], None, names)
    datasets.save("cancer.csv", table)
    text = Path("cancer.csv").read_text().replace("target", "diagnosis", 1)
    Path("cancer.csv").write_text(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run(page, folder, capsys):
    blocks = FENCE.findall(page.read_text())
    if not blocks:
        pytest.skip("no code on this page")
    namespace = {"__name__": "page"}
    for language, block in blocks:
        if language == "python":
            exec(compile(block, str(page), "exec"), namespace)
            continue
        for line in block.replace("\\\n", " ").splitlines():
            program, *arguments = shlex.split(line)
            assert program == "gapfit"
            assert run(arguments) == 0, line


ANY = re.compile(r"^```([^\n]*)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_line_of_code_is_wider_than_the_page(page):
    """There is room for 110 characters: what is longer has to be scrolled sideways."""
    blocks = [block for kind, block in ANY.findall(page.read_text()) if not kind.startswith("{")]
    lines = [line for block in blocks for line in block.splitlines()]
    assert [line for line in lines if len(line) > 110] == []


NEEDS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
INSTALLED = {re.match(r"[\w-]+", need)[0].replace("scikit-learn", "sklearn") for need in NEEDS} | {"gapfit"}


@pytest.mark.parametrize("name", ["README", "docs/index", "docs/first_model", "docs/getting_started"])
def test_the_first_pages_say_what_they_need(name):
    """Whoever has installed what a page says, and no more, can run it."""
    text = (ROOT / f"{name}.md").read_text()
    said = {word for line in re.findall(r"pip install ([^#\n`]*)", text) for word in line.split()}
    blocks = [block for language, block in FENCE.findall(text) if language == "python"]
    used = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).partition(".")[0]
        for node in ast.walk(ast.parse("\n".join(blocks)))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert used - set(sys.stdlib_module_names) <= INSTALLED | said


def test_the_readme_walks_end_with_the_same_model(folder, capsys):
    """Both walks of the README: a certified, saved and reloaded model, from the terminal and from Python."""
    blocks = FENCE.findall((ROOT / "README.md").read_text())
    terminal = next(block for language, block in blocks if language == "console")
    python = next(block for language, block in blocks if "cancer.model" in block and language == "python")
    for line in terminal.splitlines():
        assert run(shlex.split(line)[1:]) == 0
    assert "certified: objective" in capsys.readouterr().out
    trained = load("cancer.model")
    rows = [line.split() for line in Path("predictions.txt").read_text().splitlines()]
    namespace = {}
    exec(python, namespace)
    np.testing.assert_array_equal(namespace["again"].coef_, trained.coef_)
    assert trained.converged_ and namespace["again"].converged_
    assert [row[0] for row in rows] == list(namespace["again"].predict(namespace["table"].X))
    assert {row[1] for row in rows} <= {"0", "1"}


BROKEN = """<!doctype html><html><head><title>x</title></head><body><article>
<p>The minimum of \\frac{1}{2} is</p><math></math><img src="absent.png"><div style="width:5000px">wide</div>
<pre style="width:50px;overflow:auto">a line of code that is longer than its place</pre></article>
<script>nothing.at.all()</script></body></html>"""
SOUND = """<!doctype html><html><head><title>x</title></head><body><article>
<p>Half: <math><mfrac><mn>1</mn><mn>2</mn></mfrac></math> <code>\\frac</code></p></article></body></html>"""


@needs_chromium
def test_what_a_reader_would_stumble_over_is_found(tmp_path):
    """The check that `make docs` runs on pages with formulas."""
    pages = runpy.run_path(str(ROOT / ".ci" / "pages.py"))
    (tmp_path / "broken.html").write_text(BROKEN)
    (tmp_path / "sound.html").write_text(SOUND)
    assert pages["wrong_with"](tmp_path / "sound.html") == []
    told = " ".join(pages["wrong_with"](tmp_path / "broken.html"))
    for what in (
        "console",
        "formulas have no size",
        "raw LaTeX",
        "absent.png",
        "wider than the window",
        "cut",
    ):
        assert what in told


WANTS_PAGE = (ROOT / "docs" / "wants.md").read_text()
WANTS = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$", WANTS_PAGE, re.MULTILINE)
WANTS_TESTED = re.findall(r"^(\d+)\. (.*)$", WANTS_PAGE, re.MULTILINE)
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


def test_the_page_of_wants_has_twenty_five():
    numbers = [str(k) for k in range(1, 26)]
    assert [row[0] for row in WANTS] == [row[0] for row in WANTS_TESTED] == numbers


@pytest.mark.parametrize("row", WANTS, ids=lambda row: row[1][:40])
def test_objects_that_a_want_names_exist(row):
    for name in re.findall(r"`([^`]+)`", row[2]):
        assert resolves(name) or hasattr(MODEL, name) or name in OF_FITS, name


@pytest.mark.parametrize("row", WANTS_TESTED, ids=lambda row: row[0])
def test_tests_that_a_want_names_exist(row):
    tests = re.findall(r"`(\w+)`", row[1])
    asked = (ROOT / "tests" / "test_what_users_ask_for.py").read_text()
    assert set(tests) <= TESTS and f"def {tests[0]}(" in asked
