"""The comments behind the fields of a record become its documentation.

    class Record(NamedTuple):
        time: float  # seconds since the start

autodoc lists the fields of a NamedTuple or dataclass, but does not read the comments. This does, and leaves
out what the class did not write itself.
"""

import ast
import inspect


def is_record(thing):
    """A NamedTuple or a dataclass. The fields of an estimator are in its docstring already."""
    if not inspect.isclass(thing) or hasattr(thing, "get_params"):
        return False
    return hasattr(thing, "_fields") or hasattr(thing, "__dataclass_fields__")


def fields(record):
    """(name, type, comment) of each field, in order; the comment may be empty."""
    lines = inspect.getsource(record).splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    (definition,) = ast.parse("\n".join(line[indent:] for line in lines)).body
    for statement in definition.body:
        if isinstance(statement, ast.AnnAssign):
            _, _, comment = lines[statement.lineno - 1].partition("  # ")
            yield statement.target.id, ast.unparse(statement.annotation), comment.replace("`", "``")


def add_fields(app, what, name, obj, options, lines):
    """Append the fields to the docstring of a record."""
    del app, name, options
    if what == "class" and is_record(obj):
        texts = (f":ivar {field}: ``{kind}``, {comment}".rstrip(", ") for field, kind, comment in fields(obj))
        lines += ["", *texts, ""]


def skip_fields(app, what, name, obj, skip, options):
    """The fields are listed with the class; once is enough."""
    del app, what, options
    return True if type(obj).__name__ in ("_tuplegetter", "member_descriptor") or name == "_asdict" else skip


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", add_fields)
    app.connect("autodoc-skip-member", skip_fields)
    return {"parallel_read_safe": True}
