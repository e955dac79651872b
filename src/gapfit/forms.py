"""Forms: what a risk, a penalty or a design is, beyond what every one of them is.

A form is a record, and its type is its name. A loss made of lines and parabolas has the form `Atoms`, six
numbers a sample; `risk.form(Atoms)` is that record, or None. A solver declares the types that it `needs`, and
gets the records from `problem.form` by the same types, so that what is checked is what is then used. Nobody
has to be of any class of gapfit's: who has a record to hand out has the form.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

F = TypeVar("F")


class HasForms:
    """What risks, penalties and designs share."""

    def forms(self) -> Iterator[Any]:
        """Its forms, one after the other. They are asked for often: what costs time is made by the record."""
        yield from ()

    def form(self, kind: type[F]) -> F | None:
        """It in this form; None if it has none."""
        for form in self.forms():
            if isinstance(form, kind):
                return form
        return None

    def has(self, kind: type) -> bool:
        """Has it this form?"""
        return self.form(kind) is not None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for old in vars(cls).keys() & {"capabilities", "offers"}:
            message = f"{cls.__name__}.{old} is no longer read: yield records from `forms` instead"
            warnings.warn(message, DeprecationWarning, stacklevel=2)


class _Said:
    """How a form is spoken of: which part of a problem should have it, and what has it, in words."""

    def __init__(self, part: str, lacks: str, words: str) -> None:
        self.part, self.lacks, self.words = part, lacks, words

    def __call__(self, kind: type[F]) -> type[F]:
        kind._said = self  # type: ignore[attr-defined]
        return kind


loss_form: Callable[[str], _Said] = partial(_Said, "loss", "is not")
penalty_form: Callable[[str], _Said] = partial(_Said, "penalty", "is not")
design_form: Callable[[str], _Said] = partial(_Said, "design", "does not offer")


def part_of(kind: type) -> str | None:
    """Which part of a problem may have this form; None for forms of anybody's, which any may have."""
    said: _Said | None = getattr(kind, "_said", None)
    return None if said is None else said.part


def lacking(problem: Any, *kinds: type) -> str:
    """The sentence that a problem has none of these forms: what would have one, and what the problem has."""
    words = [f"{kind._said.words} ({kind.__name__})" for kind in kinds if hasattr(kind, "_said")]
    if len(words) < len(kinds):
        return f"{' or '.join(kind.__name__ for kind in kinds)}, which no part of the problem has"
    said: _Said = kinds[0]._said  # type: ignore[attr-defined]
    return f"{' or '.join(words)}, which {getattr(problem, said.part)!r} {said.lacks}"
