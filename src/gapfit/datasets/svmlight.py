"""svmlight (libsvm) files: ``label [qid:query] index:value index:value ... [# comment]``, a sample a line."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gapfit.datasets.lines import CHUNK_BYTES, LINE_LIMIT, Lines, Source, name_of, opened
from gapfit.datasets.record import Data, as_dtype
from gapfit.datasets.svmlight_rows import INT32_MAX, Rows
from gapfit.errors import DataError


def read_svmlight(
    source: Source,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    zero_based: bool = False,
    multilabel: bool = False,
    line_limit: int = LINE_LIMIT,
) -> Data:
    """Read a svmlight file.

    Values are the floats that Python's ``float`` would give (for float32, these rounded once more).
    Fields are separated by spaces or tabs, lines end with LF or CRLF; blank lines, comments and a
    byte order mark are skipped. Explicit zeros are kept. The file is read in pieces: the peak memory
    is that of the result, 12 bytes an entry and 12 (20 with qid) a sample, plus a sixteenth and 64 MB.

    Parameters
    ----------
    source : path, binary file or "-"
        "-" is standard input. gzip, bzip2, xz and zstd are recognised by their first bytes.
    n_features : int, optional
        The number of columns; by default the largest index of the file.
    dtype : float64 or float32
        The type of the values in X.
    zero_based : bool
        Whether indices count from 0. They count from 1 by default, and a 0 is then an error.
    multilabel : bool
        Whether a sample has any number of labels, separated by commas (``3,17``); they are integers
        from 0. By default each sample has one label, a real number.
    line_limit : int
        The largest number of bytes in a line.

    Returns
    -------
    Data
        X as a canonical csr_array with 32-bit indices (64-bit from 2^31 entries on), y as float64
        or, with several labels, as a sparse matrix of ones; qid if the samples have one.

    Raises
    ------
    DataError
        For the first line that is malformed; the message says where it is and what is wrong. Numbers
        must be finite, indices must increase along a line and not exceed 2^31 - 1, and either all
        samples or none have a qid. Also for a packed file that is damaged or expands too much.

    Examples
    --------
    >>> import io
    >>> data = read_svmlight(io.BytesIO(b"+1 1:0.5 3:2 # a comment\\n-1 2:1e-3\\n"))
    >>> data.X.toarray().tolist(), data.y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 0.001, 0.0]], [1.0, -1.0])
    """
    with opened(source) as file:
        lines = Lines(file, name_of(source), line_limit=line_limit)
        parser = Parser(lines, n_features, as_dtype(dtype), zero_based, multilabel)
        rows = Rows(parser.dtype, multilabel)
        for block, size in lines.blocks():
            parser.parse(block, size, rows)
    return parser.take(rows)


def iter_svmlight(
    source: Source,
    chunk_bytes: int = CHUNK_BYTES,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    zero_based: bool = False,
    multilabel: bool = False,
    line_limit: int = LINE_LIMIT,
) -> Iterator[Data]:
    """Read a svmlight file in blocks of samples, one at a time, for data larger than the memory.

    Parameters
    ----------
    source, n_features, dtype, zero_based, multilabel, line_limit
        As in `read_svmlight`. Without ``n_features`` a block has as many columns as were seen so far.
    chunk_bytes : int
        How much text is parsed at once; a longer line counts as one piece.

    Yields
    ------
    Data
        The next samples, at least one.
    """
    with opened(source) as file:
        lines = Lines(file, name_of(source), chunk_bytes, line_limit)
        parser = Parser(lines, n_features, as_dtype(dtype), zero_based, multilabel)
        for block, size in lines.blocks():
            rows = Rows(parser.dtype, multilabel)
            parser.parse(block, size, rows)
            if len(rows):
                yield parser.take(rows)


class Parser:
    """What is known about the file, and the way from text to rows."""

    def __init__(
        self, lines: Lines, n_features: int | None, dtype: np.dtype[Any], zero_based: bool, multilabel: bool
    ) -> None:
        if n_features is not None and not 0 <= n_features <= INT32_MAX:
            raise ValueError(f"n_features must be between 0 and {INT32_MAX}, got {n_features!r}")
        self.lines, self.n_features, self.dtype = lines, n_features, dtype
        self.zero_based, self.multilabel = zero_based, bool(multilabel)
        self.largest = INT32_MAX if n_features is None else int(n_features)
        self.columns = self.label_columns = 0  # as seen so far
        self.queried = -1  # whether samples have a qid; -1: no sample was seen
        # The smallest number that rounds to infinity.
        self.limit = np.inf if dtype == np.float64 else 2.0**128 - 2.0**103

    def parse(self, block: bytearray, size: int, rows: Rows) -> None:
        """Append the samples in ``block[:size]`` to the rows."""
        from gapfit.compiled import text as kernel

        text = np.frombuffer(block, dtype=np.uint8)
        text.flags.writeable = False  # numba compiles read-only arrays and others apart
        n_lines, n_colons, n_commas = kernel.count(text, size)
        slow = np.empty(size // 6 + 1, kernel.SLOW)  # 1e309 and what separates it is the shortest
        places = rows.room(n_lines, n_colons, n_lines + n_commas, self.queried != 0)
        room = kernel.Room._make((*places, slow))
        rules = kernel.Rules(int(not self.zero_based), self.largest, self.limit, self.multilabel)
        problem, where, samples, entries, n_labels, n_slow, columns, self.queried = kernel.parse_svmlight(
            text, size, rules, self.queried, room
        )
        for place, start, end in slow[:n_slow].tolist():
            value = float(block[start:end])
            if abs(value) >= (np.inf if place < 0 else self.limit):
                problem, where = (kernel.LABEL if place < 0 else kernel.VALUE_LARGE), start
                break  # any other problem comes later in the text
            if place < 0:
                room.labels[-1 - place] = value
            else:
                room.data[place] = value
        if problem:
            raise self._error(problem, where, bytes(block[:size]))
        rows.add(samples, entries, n_labels, self.queried == 1)
        self.columns = max(self.columns, columns)
        self.lines.line += n_lines

    def take(self, rows: Rows) -> Data:
        """The rows as data; they must not grow any more."""
        X = rows.take_entries(self.columns if self.n_features is None else self.n_features)
        y: Any = rows.labels.take()
        if self.multilabel:
            self.label_columns = max(self.label_columns, int(y.max(initial=-1)) + 1)
            y = rows.take_labels(self.label_columns)
        return Data(X, y, rows.qid.take() if self.queried == 1 else None)

    def _error(self, problem: int, where: int, text: bytes) -> DataError:
        from gapfit.compiled import text as kernel

        line = self.lines.line + text.count(b"\n", 0, where)
        start = max(text.rfind(c, 0, where) for c in (b"\n", b" ", b"\t")) + 1
        token = re.split(rb"[ \t\n]", text[start : start + 40])[0].decode("ascii", "backslashreplace")
        bound = "the limit" if self.n_features is None else "n_features"
        reason = {
            kernel.LABEL: "the label must be a finite number",
            kernel.SEVERAL: "several labels; multilabel=True reads them",
            kernel.UNLABELLED: "no label before the first feature; multilabel=True reads such lines",
            kernel.LABEL_KIND: f"with multilabel=True labels must be integers from 0 to {INT32_MAX - 1}",
            kernel.QID: f"qid must be an integer from 0 to {2**63 - 1}",
            kernel.QID_NEW: "a qid, where the first sample has none",
            kernel.QID_GONE: "no qid, where the first sample has one",
            kernel.FEATURE: "expected index:value",
            kernel.INDEX_ZERO: "index 0, but indices count from 1; zero_based=True lets them count from 0",
            kernel.INDEX_LARGE: f"the index is too large ({bound} is {self.largest})",
            kernel.ORDER: "indices must increase along the line",
            kernel.VALUE: "the value must be a finite number",
            kernel.VALUE_LARGE: f"the value is too large for {self.dtype}",
            kernel.RETURN_INSIDE: "a carriage return inside the line",
        }[problem]
        return DataError(
            f"{reason}, got {token!r}", self.lines.name, line, start - text.rfind(b"\n", 0, start)
        )
