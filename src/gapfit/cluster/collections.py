"""Arrays and data frames of Dask as designs."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from gapfit.cluster.parts import ClusterParts, own
from gapfit.cluster.rounds import PATIENCE
from gapfit.design.memory import MemoryDesign
from gapfit.design.memory import as_design as checked
from gapfit.design.parted import PartedDesign
from gapfit.design.parts import LocalParts
from gapfit.fingerprint import fingerprint

__all__ = ["as_design", "client_of", "mapped", "spread"]


def as_design(X: Any, client: Any = None, *, patience: float = PATIENCE) -> PartedDesign:
    """The design of a Dask array or data frame, one part for each of its blocks of rows.

    Parameters
    ----------
    X : dask array of NumPy arrays or SciPy sparse matrices, or a dask data frame of numbers.
    client : `distributed.Client` or the address of a scheduler. None is the client that is in use; without
        any, blocks are computed in this process, one after the other, in each pass anew.
    patience : seconds that a round may take before `ClusterLost` is raised.
    """
    array = _as_array(X)
    blocks = list(array.to_delayed().ravel())
    rows = array.chunks[0]
    edges = np.concatenate(([0], np.cumsum(rows))).astype(np.intp)
    there = [k for k, count in enumerate(rows) if count]  # empty partitions are none
    blocks, edges = [blocks[k] for k in there], np.unique(edges)
    if not blocks:
        raise ValueError("X has no rows")
    client = client_of(client)
    if client is None:
        return PartedDesign(_Computed(blocks, edges, array.shape[1], array.dtype))
    loads = partial(_loads, client, blocks)
    parts = ClusterParts(client, loads, edges, int(array.shape[1]), array.dtype, 1, patience)
    facts = parts.run(_Facts(), (), {})[0]
    parts.size = max(sum(size for size, _ in facts), 1)
    parts.dtype = np.result_type(*(dtype for _, dtype in facts))
    return PartedDesign(parts)


def spread(parts: LocalParts, client: Any, *, patience: float = PATIENCE) -> PartedDesign:
    """The design of parts that every worker can load: shards in a folder that all share."""
    client = client_of(client)

    def loads() -> list[Any]:
        return list(client.map(parts.load, range(len(parts.slices)), pure=False))

    there = ClusterParts(client, loads, parts.edges, parts.columns, parts.dtype, parts.size, patience)
    return PartedDesign(there)


def client_of(client: Any) -> Any:
    """A client: the one that is given, one for an address, the one in use; None if there is none."""
    if client is None:
        try:
            from distributed.client import default_client

            return default_client()
        except (ImportError, ValueError):
            return None
    if isinstance(client, str):
        from distributed import Client

        return Client(client)
    return client


def _as_array(X: Any) -> Any:
    """A dask array whose blocks are whole rows of known number."""
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional, got shape {X.shape}")
    if np.isnan(X.shape[1]):
        raise ValueError("X does not know its number of columns")
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    return X.compute_chunk_sizes() if np.isnan(X.shape[0]) else X


def _loads(client: Any, blocks: list[Any]) -> list[Any]:
    """Futures of the parts, computed from their source under keys that are new."""
    from dask import delayed

    load = delayed(_load, pure=False)
    return list(client.compute([load(block) for block in blocks], sync=False))


def _load(block: Any) -> MemoryDesign:
    """A validated part, on a worker."""
    found = checked(block.tocsr(copy=True) if sparse.issparse(block) else own(np.asarray(block)))
    assert isinstance(found, MemoryDesign)
    return found


class _Facts:
    """Entries and type of a part."""

    keeps, adds = True, False

    def __call__(self, part: MemoryDesign) -> tuple[Any, None]:
        return (part.size, part.dtype), None


class _Computed(LocalParts):
    """Blocks of a collection that this process computes when it needs them: there is no cluster."""

    def __init__(self, blocks: list[Any], edges: Any, columns: int, dtype: Any) -> None:
        self.blocks, self.edges, self.columns = blocks, edges, int(columns)
        facts = self.run(_Facts(), (), {})[0]
        self.size = max(sum(size for size, _ in facts), 1)
        self.dtype = np.result_type(*(dtype for _, dtype in facts))

    size, dtype = 1, np.dtype(np.float64)

    def load(self, k: int) -> MemoryDesign:
        return _load(self.blocks[k].compute())

    def digest(self) -> str:
        return fingerprint([self.load(k).digest() for k in range(len(self.blocks))])


def mapped(function: Callable[[Any], Any], X: Any) -> Any:
    """The function of each block of rows of X, as a dask array."""
    array = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    if len(array.chunks[1]) > 1:
        array = array.rechunk({1: -1})
    like = function(np.zeros((1, array.shape[1])))
    chunks = (array.chunks[0], *((size,) for size in like.shape[1:]))
    drop = list(range(1, array.ndim)) if like.ndim == 1 else None
    return array.map_blocks(
        function, dtype=like.dtype, chunks=chunks, drop_axis=drop, meta=np.empty((0,) * like.ndim, like.dtype)
    )
