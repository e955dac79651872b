"""Every page of the built documentation, as a browser shows it: headless Chromium, where there is one.

    python .ci/pages.py FOLDER           # what `make docs` has built: pages with formulas, and the first one
    python .ci/pages.py FOLDER --all     # every page and every example, two minutes

Formulas are set and have a size, no LaTeX is left in the text, pictures are there, nothing is wider than the
window, no code or table is wider than its place, and the console has no error.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from chromium import CHROMIUM, seen

PROBE = r"""(() => {
  const article = document.querySelector('article') || document.body;
  const prose = article.cloneNode(true);
  prose.querySelectorAll('pre, code, script, style, math, annotation').forEach(one => one.remove());
  const visible = one => one.getBoundingClientRect().width > 0 && one.getBoundingClientRect().height > 0;
  return {
    formulas: [...article.querySelectorAll('math')].filter(one => !visible(one)).length,
    latex: (prose.textContent.match(/\\(frac|sum|langle|max|min|alpha|Omega)\b|\$\$/g) || []).slice(0, 3),
    pictures: [...article.querySelectorAll('img')].filter(one => one.complete && one.naturalWidth === 0)
      .map(one => one.getAttribute('src')),
    wide: document.documentElement.scrollWidth - window.innerWidth,
    cut: [...article.querySelectorAll('pre, .table-wrapper')]
      .filter(one => one.scrollWidth > one.clientWidth + 1 && !one.closest('.sphx-glr-script-out'))
      .map(one => one.textContent.trim().slice(0, 40)),
  };
})()"""


def wrong_with(page: Path) -> list[str]:
    """What a reader would stumble over."""
    found, errors = seen(page, PROBE, "--window-size=1200,900")
    told = [f"console: {error}" for error in errors]
    told += [f"{found['formulas']} formulas have no size"] if found["formulas"] else []
    told += [f"raw LaTeX: {found['latex']}"] if found["latex"] else []
    told += [f"pictures that are not there: {found['pictures']}"] if found["pictures"] else []
    told += [f"{found['wide']} pixels wider than the window"] if found["wide"] > 1 else []
    told += [f"cut off on the right: {found['cut']}"] if found["cut"] else []
    return told


def main(folder: Path, *, every: bool) -> int:
    if CHROMIUM is None:
        print("pages were not looked at: Chromium is not installed")
        return 0
    pages = sorted(page for page in folder.glob("*.html") if page.stem not in ("genindex", "search"))
    if every:
        pages += sorted((folder / "auto_examples").glob("*.html"))
    else:
        pages = [
            page for page in pages if page.stem == "index" or "<math" in page.read_text(encoding="utf-8")
        ]
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(pages, pool.map(wrong_with, pages), strict=True))
    for page, told in found.items():
        for line in told:
            print(f"{page.relative_to(folder)}: {line}")
    print(f"{len(pages)} pages seen in a browser")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), every="--all" in sys.argv))
