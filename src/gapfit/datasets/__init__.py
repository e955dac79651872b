"""Data files: svmlight, CSV, npz and Parquet, read and written.

`load` and `save` choose the format by the file's name. What a file must not contain (an infinite
value, an index that is out of order, half a line) is a `DataError` that names the place.
"""

from gapfit.datasets.conll import read_conll, window_features
from gapfit.datasets.csv_text import read_csv, write_csv
from gapfit.datasets.files import load, save
from gapfit.datasets.npz import read_npz, write_npz
from gapfit.datasets.on_disk import open_shards
from gapfit.datasets.parquet import read_parquet, write_parquet
from gapfit.datasets.record import Data
from gapfit.datasets.svmlight import iter_svmlight, read_svmlight
from gapfit.datasets.svmlight_output import write_svmlight

__all__ = ["Data", "iter_svmlight", "load", "read_conll", "read_csv", "read_npz", "read_parquet"]
__all__ += ["open_shards", "read_svmlight"]
__all__ += ["save", "window_features", "write_csv", "write_npz", "write_parquet", "write_svmlight"]
