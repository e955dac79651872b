"""Parameters and attributes of an estimator, declared once, where the class is.

    @declared
    class Mean(CertifiedFit):
        "What it minimises, and examples."

        alpha: float = parameter("Multiplies the penalty.", default=1e-4)
        coef_: Vector = attribute(floats(1), "array of shape (d,)", "The weights.")

The constructor, the sections Parameters and Attributes of the docstring, the checks of flags and choices, the
model file and the options of the command line follow from this. A class has what its bases declare. It
declares a name again to change the text, or only the default: `alpha: float = 1.0` keeps the text. What is a
parameter no longer is a `ClassVar` there.
"""

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from types import MappingProxyType, NoneType
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform, get_args, get_origin

import numpy as np

from gapfit.errors import as_choice

__all__ = ["attribute", "attributes", "check_parameters", "declared", "parameter", "parameters"]

Class = TypeVar("Class", bound=type)

_WIDTH = 110
_FLAGS = (bool, np.bool_)
_LAST = re.compile(r"^(?:Notes|See Also|Examples)\n-+$", re.MULTILINE)  # sections after the generated ones


def parameter(
    text: str,
    words: str = "",
    *,
    default: Any = MISSING,
    choices: tuple[str, ...] = (),
    form: Any = None,
    needed: str = "",
    kw_only: bool = True,
) -> Any:
    """A parameter of the constructor.

    `words` tell its type where the annotation does not. `form` is how a model file holds it: a `Kind`, None
    for plain values. What predictions cannot do without is `needed`: it says what to do where no file can
    hold it.
    """
    kept = {"text": text, "words": words, "choices": choices, "form": form, "needed": needed}
    return field(default=default, kw_only=kw_only, metadata=kept)


def attribute(
    form: Any,
    words: str = "",
    text: str = "",
    *,
    default: Any = MISSING,
    optional: bool = False,
    init: Literal[False] = False,
) -> Any:
    """What a fit sets, and how a model file holds it: a `Kind`.

    A file may lack what is optional: not every fit sets it, or earlier versions did not.
    """
    kept = {"text": text, "words": words, "form": form, "optional": optional}
    return field(default=default, init=init, metadata=kept)


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(parameter, attribute))
def declared(cls: Class) -> Class:
    """The class with its constructor, and with all parameters and attributes in its docstring."""
    for name, one in _before(cls).items():
        mine = name in inspect.get_annotations(cls)
        given = vars(cls).get(name) if mine else one.default
        if mine and (isinstance(given, Field) or _is_dropped(cls, name)):
            continue
        if mine or one is not _collected(cls, name):  # another default, or not what dataclasses would take
            again = field(default=given, init=one.init, kw_only=one.kw_only, metadata=one.metadata)
            setattr(cls, name, again)
            cls.__annotations__.setdefault(name, one.type)
    dataclass(eq=False, repr=False, match_args=False, kw_only=True)(cls)
    make: Any = vars(cls)["__init__"]
    order = list(parameters(cls))
    signature = inspect.signature(make)
    first, *others = signature.parameters.values()
    others.sort(key=lambda one: (one.kind, order.index(one.name)))
    make.__signature__ = signature.replace(parameters=[first, *others])
    if hasattr(cls, "fit"):  # a base has no users to read it
        cls.__doc__ = _documented(cls)
    return cls


def parameters(cls: type) -> Mapping[str, Field[Any]]:
    """The declared parameters; those that a class declares itself come before those of its bases."""
    return _declared_by(cls, True)


def attributes(cls: type) -> Mapping[str, Field[Any]]:
    """The declared attributes of a fit, in the same order."""
    return _declared_by(cls, False)


@cache
def _declared_by(cls: Any, init: bool) -> Mapping[str, Field[Any]]:
    return MappingProxyType({one.name: one for one in _own_first(cls) if one.init is init})


def check_parameters(estimator: Any) -> None:
    """Flags are True or False, and choices are among those declared."""
    kind: Any = type(estimator)
    for name, choices in _restricted(kind):
        value = getattr(estimator, name)
        if choices:
            as_choice(name, value, choices)
        elif not isinstance(value, _FLAGS):
            raise TypeError(f"{name} must be True or False, got {value!r}")


@cache
def _restricted(cls: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The names of flags, and those that have choices, with these."""
    each = ((name, one.metadata["choices"], one.type) for name, one in parameters(cls).items())
    return tuple((name, choices) for name, choices, kind in each if choices or kind is bool)


def _is_dropped(cls: type, name: str) -> bool:
    """Is this a parameter of the bases that the class no longer has?"""
    annotation: Any = inspect.get_annotations(cls)[name]
    return get_origin(annotation) is ClassVar or annotation is ClassVar


def _before(cls: type) -> dict[str, Field[Any]]:
    """What the bases declare: of each name the declaration that an attribute would be taken from."""
    found: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        known = vars(base).get("__dataclass_fields__", {})
        found |= {name: known[name] for name in inspect.get_annotations(base) if name in known}
    return found


def _collected(cls: type, name: str) -> Field[Any]:
    """What dataclasses take: of the first base that has the name, whoever declared it."""
    return next(
        known[name]
        for base in cls.__mro__[1:]
        if name in (known := vars(base).get("__dataclass_fields__", {}))
    )


def _own_first(cls: type) -> Iterator[Field[Any]]:
    """All fields as they hold for the class, in the order of the classes that declare them last."""
    left = {one.name: one for one in fields(cls)}
    for base in cls.__mro__:
        for name in inspect.get_annotations(base):
            if name in left:
                yield left.pop(name)


# -- documentation ------------------------------------------------------------------------------------


def _documented(cls: type) -> str:
    """The docstring that was written, with the sections that follow from the declarations in their place."""
    text = inspect.cleandoc(cls.__doc__ or "")
    found = _LAST.search(text)
    at = found.start() if found else len(text)
    properties = (name for name in dir(cls) if isinstance(getattr(cls, name), property))
    computed = [
        _entry(name, "computed when asked for", inspect.getdoc(getattr(cls, name)) or "")
        for name in properties
        if name.endswith("_") and not name.startswith("_")
    ]
    told = {
        "Parameters": [
            _entry(name, _words(one), one.metadata["text"]) for name, one in parameters(cls).items()
        ],
        "Attributes": [
            _entry(name, _words(one), one.metadata["text"])
            for name, one in attributes(cls).items()
            if not name.startswith("_")
        ]
        + computed,
    }
    sections = ["\n".join([name, "-" * len(name), *entries]) for name, entries in told.items() if entries]
    return "\n\n".join(part for part in (text[:at].rstrip(), *sections, text[at:]) if part)


def _entry(name: str, words: str, text: str) -> str:
    head = f"{name} : {words}" if words else name
    text = " ".join(text.split())
    return "\n".join([head, *textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ")])


def _words(one: Field[Any]) -> str:
    """The type in words, and the default of a parameter."""
    words: str = one.metadata["words"]
    if not words:
        quoted = [f'"{choice}"' for choice in one.metadata.get("choices", ())]
        words = " or ".join(quoted or map(_name, get_args(one.type) or [one.type]))
    if not one.init or one.default is MISSING:
        return words
    default = f'"{one.default}"' if isinstance(one.default, str) else repr(one.default)
    return f"{words}, default={default}"


def _name(kind: Any) -> str:
    return "None" if kind is NoneType else str(getattr(kind, "__name__", kind))
