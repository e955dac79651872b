"""Formulas as MathML, which browsers show by themselves: no script, and nothing to be fetched."""

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def _inline(self, node):
    self.body.append(convert(node.astext(), display="inline"))
    raise SkipNode


def _block(self, node):
    self.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
