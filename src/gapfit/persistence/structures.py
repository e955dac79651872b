"""Structures that come with gapfit, as data: their name and what they were made of. Others are code."""

from typing import Any

import numpy as np

from gapfit.persistence.container import need
from gapfit.persistence.values import COUNT, Kind, Shelf, fields, floats, one_of
from gapfit.structures import Assignment, Labels, LabelSequence, LabelTree

_MOST = 2**16  # labels; a file may not ask for more memory than it holds


def _read_labels(value: Any, shelf: Shelf) -> Labels:
    costs = floats(2).read(value, shelf)
    need(costs.shape[0] == costs.shape[1], "the costs are no square matrix")
    return Labels(len(costs), costs)


def _read_count(value: Any, shelf: Shelf) -> int:
    count = COUNT.read(value, shelf)
    need(0 < count <= _MOST, f"{count} is no number of labels")
    return int(count)


def _write_tree(tree: LabelTree, shelf: Shelf) -> Any:
    edges = np.array(tree.edges, np.int64).reshape(-1, 2)
    return {"n_labels": COUNT.write(tree.n_labels, shelf), "edges": shelf.put(edges)}


def _read_tree(value: Any, shelf: Shelf) -> LabelTree:
    n_labels, edges = fields(value, "n_labels", "edges")
    pairs = shelf.take(edges, "<i8", 2)
    need(pairs.shape[1] == 2, "the edges are no pairs")
    return LabelTree(_read_count(n_labels, shelf), pairs.tolist())


_KINDS: dict[str, tuple[type, Kind]] = {
    "Labels": (Labels, Kind(lambda labels, shelf: shelf.put(labels.costs), _read_labels)),
    "LabelTree": (LabelTree, Kind(_write_tree, _read_tree)),
    "LabelSequence": (
        LabelSequence,
        Kind(
            lambda sequence, shelf: COUNT.write(sequence.n_labels, shelf),
            lambda value, shelf: LabelSequence(_read_count(value, shelf)),
        ),
    ),
    "Assignment": (Assignment, Kind(lambda _, shelf: None, lambda value, shelf: Assignment())),
}


def _write(structure: Any, shelf: Shelf) -> Any:
    name = next((name for name, (known, _) in _KINDS.items() if type(structure) is known), None)
    if name is None:
        raise TypeError("not a structure that comes with gapfit")
    return {"structure": name, "of": _KINDS[name][1].write(structure, shelf)}


def _read(value: Any, shelf: Shelf) -> Any:
    name, of = fields(value, "structure", "of")
    return _KINDS[one_of(name, _KINDS)][1].read(of, shelf)


STRUCTURE = Kind(_write, _read)
