"""Data as arrays in a NumPy archive, without pickle.

The arrays are ``X`` and, where there are any, ``y``, ``qid`` and ``names``. A sparse X (or y) is kept as
``X_data``, ``X_indices``, ``X_indptr`` and ``X_shape``.
"""

import errno
import math
import os
import zipfile
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from gapfit.datasets.lines import Source, name_of, opened
from gapfit.datasets.output import Target, written
from gapfit.datasets.packed import RATIO_LIMIT, RATIO_SLACK
from gapfit.datasets.record import Data, as_dtype, check_features, check_writable
from gapfit.errors import DataError

CSR_PARTS = ("data", "indices", "indptr", "shape")

# What kinds of type and how many dimensions an array may have; see `numpy.dtype.kind`.
ALLOWED = {"X": ("biuf", 2), "y": ("biufU", 1), "qid": ("iu", 1), "names": ("U", 1), "data": ("biuf", 1)}
ALLOWED |= dict.fromkeys(CSR_PARTS[1:], ("iu", 1))


def read_npz(source: Source, *, n_features: int | None = None, dtype: DTypeLike = np.float64) -> Data:
    """Read an archive that has an array ``X``, and perhaps ``y``, ``qid`` and ``names``.

    Nothing in it is run: objects are refused. Shapes and types are checked before memory is taken
    for them, and so are the indices of a sparse matrix before they are used.

    Parameters
    ----------
    source : path or binary file
        An archive of `write_npz` or `numpy.savez`.
    n_features : int, optional
        The number of columns that X must have.
    dtype : float64 or float32
        The type of X; another one is converted.

    Returns
    -------
    Data
        X as an array or, if it was sparse, a csr_array.

    Raises
    ------
    DataError
        If the archive is damaged, expands to more than 256 times its size, or holds something else.
    """
    dtype = as_dtype(dtype)
    name = name_of(source)
    if source == "-":
        raise DataError("an npz archive cannot be read from standard input", name)
    with opened(source) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                arrays = _Arrays(archive, file.seek(0, os.SEEK_END))
                data = Data(*(arrays.get(key) for key in Data._fields))
        except DataError as error:
            raise DataError(error.reason, name) from error
        except Exception as error:
            if _not_the_content(error):
                raise
            raise DataError(f"not an npz archive, or damaged: {error}", name) from error
    return _checked(data, n_features, dtype, name)


class _Arrays:
    """The arrays of an archive, looked at before they are loaded."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self.archive, self.size = archive, size
        self.members = {m.filename.removesuffix(".npy"): m for m in archive.infolist()}

    def get(self, key: str) -> Any:
        """An array, a CSR matrix or None."""
        if f"{key}_data" in self.members and key not in self.members:
            data, indices, indptr, shape = (self._load(f"{key}_{part}", part) for part in CSR_PARTS)
            try:
                X = sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
                X.check_format(full_check=True)
            except (ValueError, TypeError) as error:
                raise DataError(f"{key} is not a sparse matrix: {error}") from error
            X.sum_duplicates()
            return X
        return self._load(key, key) if key in self.members else None

    def _load(self, key: str, role: str) -> NDArray[Any]:
        member = self.members.get(key)
        if member is None:
            raise DataError(f"no array {key}")
        if member.compress_size > self.size:
            raise DataError(f"{key} claims to be larger than the file")
        if member.file_size > RATIO_SLACK + RATIO_LIMIT * member.compress_size:
            raise DataError(f"{key} unpacks to more than {RATIO_LIMIT} times its size")
        with self.archive.open(member) as file:
            shape, dtype = _header(file, key)
            size = file.tell() + math.prod(shape) * dtype.itemsize
        kinds, dimensions = ALLOWED[role]
        if len(shape) != dimensions or dtype.kind not in kinds or size != member.file_size:
            raise DataError(f"{key} has the shape {shape}, the type {dtype} and {member.file_size} bytes")
        with self.archive.open(member) as file:
            return npy.read_array(file, allow_pickle=False)


def _not_the_content(error: Exception) -> bool:
    """Is it the disk's fault, or that of too little memory?

    zipfile, zlib, NumPy's parser of headers and Python's own, which it calls, raise a dozen other things for
    bytes that they do not expect, and seek to where no file goes, which is an OSError with EINVAL.
    """
    if isinstance(error, OSError):
        return error.errno not in (None, errno.EINVAL)
    return isinstance(error, MemoryError)


def _header(file: IO[bytes], key: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and the type of an array, as its first bytes give them."""
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    try:
        shape, _, dtype = readers[npy.read_magic(file)](file)
    except OSError:
        raise
    except Exception as error:  # MemoryError is one of them: Python's parser raises it when nested too deeply
        raise DataError(f"{key} is damaged: {error}") from error
    return shape, dtype


def _checked(data: Data, n_features: int | None, dtype: np.dtype[Any], name: str) -> Data:
    X, y, qid, names = tuple[Any, ...](data)
    if X is None:
        raise DataError("no array X", name)
    check_features(n_features, X.shape[1], name)
    if names is not None and len(names) != X.shape[1]:
        raise DataError(f"there are {len(names)} names for {X.shape[1]} columns", name)
    try:
        with np.errstate(over="ignore"):
            X = X.astype(dtype, copy=False)
        return check_writable(Data(X, y, qid, None if names is None else tuple(names.tolist())))
    except ValueError as error:
        raise DataError(str(error), name) from error


def write_npz(target: Target, data: Data) -> None:
    """Write an archive that `read_npz` reads back to equal arrays.

    Parameters
    ----------
    target : path or binary file
        Where to. It is not packed, so that it is read fast.
    data : Data
        Dense or sparse.
    """
    arrays: dict[str, Any] = {}
    for key, part in check_writable(data)._asdict().items():
        if sparse.issparse(part):
            arrays |= {f"{key}_{name}": np.asarray(getattr(part, name)) for name in CSR_PARTS}
        elif part is not None:
            arrays[key] = np.asarray(part)
    if names := data.names:
        arrays["names"] = np.array(names, dtype=np.str_)
    with written(target) as file:
        np.savez(file, **arrays)
