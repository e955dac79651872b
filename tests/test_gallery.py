"""The examples run as they stand, the skeletons keep the contracts, and the pages name only what exists."""

import re
import runpy
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
SKELETONS = sorted((ROOT / "docs" / "skeletons").glob("*.py"))
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def name(path):
    return path.stem


@pytest.fixture
def figures(tmp_path, monkeypatch):
    """Run in an empty folder; leave figures open until the test has looked at them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    yield lambda: [plt.figure(number) for number in plt.get_fignums()]
    plt.close("all")


def test_there_are_enough_examples():
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("example", EXAMPLES, ids=name)
def test_an_example_runs_and_its_pictures_have_titles(example, figures):
    runpy.run_path(str(example), run_name="__main__")
    assert figures()
    for figure in figures():
        assert figure.get_suptitle() or any(axes.get_title() for axes in figure.axes)
    assert not list(Path.cwd().iterdir())


@pytest.mark.parametrize("skeleton", SKELETONS, ids=name)
def test_a_skeleton_keeps_the_contract(skeleton):
    solution = runpy.run_path(str(skeleton))["main"]()  # main() runs check_loss or check_solver
    assert solution.converged
    assert "check_" in skeleton.read_text()


def test_there_are_both_skeletons():
    assert [path.stem for path in SKELETONS] == ["loss", "solver"]


def test_pictures_in_pages_are_made_by_an_example():
    used = {
        match
        for page in PAGES
        for match in re.findall(
            r"auto_examples/(?:images/sphx_glr_)?(plot_\w+?)(?:_\d{3}\.png|\.rst|\.html)", page.read_text()
        )
    }
    assert used
    assert used <= {path.stem for path in EXAMPLES}


def test_the_gallery_has_a_place_for_every_example():
    order = runpy.run_path(str(ROOT / "docs" / "_ext" / "gallery_style.py"))["Order"].FIRST
    assert {f"plot_{stem}" for stem in order} == {path.stem for path in EXAMPLES}


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda p: p.name)
def test_links_between_files_lead_somewhere(page):
    """Links that Sphinx does not see: those of the README, and all of them when read as plain files."""
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if target.startswith(("http:", "https:", "auto_examples/")):
            continue
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
