"""Formulas as MathML, which browsers show by themselves: no script, and nothing to be fetched.

A formula that is left as it was written, because nobody has told the parser of it, is a warning, and so an
error of `make docs`.
"""

import re

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.util.logging import getLogger

logger = getLogger(__name__)

_SET = re.compile(r"<(math|pre|code)\b.*?</\1>", re.S)
_RAW = re.compile(r"\$[^$\n]*\\\w+[^$\n]*\$|\\(frac|sum|max|top|alpha|Omega|bar)\b")


def _inline(self, node):
    self.body.append(convert(node.astext(), display="inline"))
    raise SkipNode


def _block(self, node):
    self.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise SkipNode


def find_raw(app, pagename, templatename, context, doctree):
    """Look for formulas that are shown as they were written."""
    del app, templatename, doctree
    found = _RAW.search(_SET.sub("", context.get("body") or ""))
    if found:
        logger.warning("a formula that is not set: %s", found[0][:60], location=pagename)


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("html-page-context", find_raw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
