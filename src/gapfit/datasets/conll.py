"""CoNLL column files: a token a line, its columns apart by blanks, an empty line between sequences.

    the DT B-NP
    cat NN I-NP

The last column is the label. `window_features` makes the customary features of the others.
"""

from collections.abc import Sequence
from typing import NamedTuple

from gapfit.datasets.lines import Lines, Source, name_of, opened
from gapfit.errors import DataError

Token = tuple[str, ...]


class Sequences(NamedTuple):
    """Tokens (their columns but for the label) and labels, for each sequence."""

    tokens: list[list[Token]]
    labels: list[list[str]]


def read_conll(source: Source, *, labelled: bool = True) -> Sequences:
    """Read a column file, packed or not. Without labels, all columns are the token's."""
    result = Sequences([], [])
    tokens: list[Token] = []
    labels: list[str] = []
    columns = None
    with opened(source) as file:
        lines = Lines(file, name_of(source))
        for text in lines.texts():
            parts = text.split()
            if not parts and tokens:
                result.tokens.append(tokens)
                result.labels.append(labels)
                tokens, labels = [], []
            if parts:
                columns = columns or len(parts)
                if len(parts) != columns or len(parts) < 1 + labelled:
                    words = f"{len(parts)} columns where {max(columns, 1 + labelled)} are expected"
                    raise DataError(words, lines.name, lines.line)
                if labelled:
                    labels.append(parts.pop())
                tokens.append(tuple(parts))
    if tokens:
        result.tokens.append(tokens)
        result.labels.append(labels)
    return result


def window_features(sequence: Sequence[Token]) -> list[list[str]]:
    """The names of the features of each token, from the columns in a window of two to either side.

    Every column by itself; neighbouring words (the first column) in pairs, the other columns in pairs and
    triples; the shape of the word: its capitals, figures and its last letters.
    """
    length = len(sequence)
    result = []
    for t in range(length):
        names = ["first"] if t == 0 else []
        names += ["last"] if t == length - 1 else []
        for column in range(len(sequence[t])):
            values = {o: sequence[t + o][column] for o in range(-2, 3) if 0 <= t + o < length}
            names += [f"{column}[{o}]={value}" for o, value in values.items()]
            for span in (2,) if column == 0 else (2, 3):
                for first in range(-1 if column == 0 else -2, 2 if column == 0 else 4 - span):
                    offsets = range(first, first + span)
                    if all(o in values for o in offsets):
                        joined = "|".join(values[o] for o in offsets)
                        names.append(f"{column}[{first}..{first + span - 1}]={joined}")
            if column == 0:
                names += [f"shape[{o}]={_shape(values[o])}" for o in (-1, 0, 1) if o in values]
                names += [f"ends={values[0][-k:].lower()}" for k in (2, 3) if len(values[0]) > k]
        result.append(names)
    return result


def _shape(word: str) -> str:
    """X for capitals, x for small letters, 9 for figures, runs of them shortened: "McX-11" is XxX-9."""
    letters = ["X" if c.isupper() else "x" if c.islower() else "9" if c.isdigit() else c for c in word]
    return "".join(c for k, c in enumerate(letters) if k == 0 or c != letters[k - 1])


def chunks(labels: Sequence[str]) -> set[tuple[int, int, str]]:
    """The chunks (first token, token after the last, kind) that IOB2 labels mark, as conlleval reads them."""
    found, first, kind = set(), 0, ""
    for t, label in enumerate([*labels, "O"]):
        tag, _, name = label.partition("-")
        if kind and (tag != "I" or name != kind):
            found.add((first, t, kind))
            kind = ""
        if tag != "O" and not kind:
            first, kind = t, name
    return found


def chunk_f1(true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """2 |correct| / (|true| + |predicted|) over the chunks of all sequences."""
    correct = total = 0
    for ours, theirs in zip(true, predicted, strict=True):
        a, b = chunks(ours), chunks(theirs)
        correct += len(a & b)
        total += len(a) + len(b)
    return 2 * correct / total if total else 1.0
