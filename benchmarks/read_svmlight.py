"""How fast svmlight files are read, against scikit-learn's reader.

Run it with `python benchmarks/read_svmlight.py [megabytes] [rounds]`. It writes two files of that size
(200 MB by default) to a temporary folder: sparse rows as from text, with short values, and dense rows
with all the digits of float64. The readers take turns; what they return is compared. The first call,
which compiles or fetches compiled code from the disk, is timed apart (GAPFIT_CACHE=0 always compiles).
"""

import io
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from gapfit.datasets import Data, read_svmlight, write_svmlight


def text_rows(rng: np.random.Generator) -> Data:
    """1,000 documents with about 100 words each of 200,000, and weights of six digits."""
    lengths = rng.integers(20, 180, 1000)
    columns = np.minimum(rng.zipf(1.2, lengths.sum()), 200_000) - 1
    values = np.round(rng.random(columns.size), 6)
    rows = np.repeat(np.arange(1000), lengths)
    X = sparse.coo_array((values, (rows, columns)), shape=(1000, 200_000)).tocsr()
    return Data(X, rng.choice([-1, 1], 1000))


def dense_rows(rng: np.random.Generator) -> Data:
    """1,000 rows of 100 normal numbers."""
    return Data(rng.normal(size=(1000, 100)), rng.normal(size=1000))


def write(path: Path, rows, size: int) -> None:
    rng = np.random.default_rng(0)
    with open(path, "wb") as file:
        while file.tell() < size:
            write_svmlight(file, rows(rng))


def timed(reader, path: Path):
    start = time.perf_counter()
    result = reader(path)
    return time.perf_counter() - start, result


def compare(path: Path, rounds: int) -> None:
    size = path.stat().st_size / 1e6
    times: dict[str, list[float]] = {"gapfit": [], "scikit-learn": []}
    path.read_bytes()  # into the file system's cache
    for _ in range(rounds):
        ours, data = timed(read_svmlight, path)
        theirs, (X, y) = timed(load_svmlight_file, str(path))
        times["gapfit"].append(ours)
        times["scikit-learn"].append(theirs)
        same = all(np.array_equal(getattr(X, a), getattr(data.X, a)) for a in ("data", "indices", "indptr"))
        assert same and np.array_equal(y, data.y)
    print(f"{path.stem}: {size:.0f} MB, {data.X.shape[0]} rows, {data.X.nnz} entries")
    for name, seconds in times.items():
        speeds = ", ".join(f"{size / s:.1f}" for s in seconds)
        print(
            f"  {name:13} {median(seconds):7.3f} s  {size / median(seconds):6.1f} MB/s   (rounds: {speeds})"
        )
    ratios = [theirs / ours for ours, theirs in zip(*times.values(), strict=True)]
    print(f"  ratio         {median(ratios):.1f} (median of {rounds} rounds), {min(ratios):.1f} (worst)")


def main() -> None:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 200.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    start = time.perf_counter()
    read_svmlight(io.BytesIO(b"1 1:1\n"))
    print(f"first call, with numba: {time.perf_counter() - start:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in (("sparse", text_rows), ("dense", dense_rows)):
            path = Path(folder) / f"{name}.svm"
            write(path, rows, int(megabytes * 1e6))
            compare(path, rounds)
            path.unlink()


if __name__ == "__main__":
    main()
