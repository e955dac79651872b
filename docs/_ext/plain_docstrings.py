"""Docstrings are plain text with formulas in it: |w|^2 is no substitution, and coef_ no link.

numpydoc makes its markup of the sections; this escapes the rest.
"""

import re

_CODE = re.compile(r"(``?[^`]+``?)")
_BAR = re.compile(r"\|")
_UNDERSCORE = re.compile(r"(?<=\w)_(?!\w)")


def escaped(text):
    """The text with every character that reST would take for markup made harmless; code stays as it is."""
    parts = _CODE.split(text)
    for i in range(0, len(parts), 2):
        for pattern, plain in ((_BAR, r"\|"), (_UNDERSCORE, r"\_")):
            parts[i] = pattern.sub(lambda _, plain=plain: plain, parts[i])
    return "".join(parts)


def escape_docstring(app, what, name, obj, options, lines):
    """Escape all lines but literal blocks, doctests and directives."""
    del app, what, obj, options
    if not name.startswith("gapfit"):
        return
    literal = None  # the indentation of the paragraph that opened a literal block
    for number, line in enumerate(lines):
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if literal is not None and text and indent <= literal:
            literal = None
        if literal is None and not text.startswith((">>>", "...", "..", ":")):
            lines[number] = escaped(line)
        if literal is None and text.endswith("::") and not text.startswith(".."):
            literal = indent


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", escape_docstring, priority=900)  # after numpydoc
    return {"parallel_read_safe": True}
