"""Data files: svmlight, CSV, npz and Parquet, read and written.

`load` and `save` choose the format by the file's name. What a file must not contain (an infinite
value, an index that is out of order, half a line) is a `DataError` that names the place.
"""

from gapfit.datasets.conll import read_conll as read_conll
from gapfit.datasets.conll import window_features as window_features
from gapfit.datasets.csv_text import read_csv as read_csv
from gapfit.datasets.csv_text import write_csv as write_csv
from gapfit.datasets.files import load as load
from gapfit.datasets.files import save as save
from gapfit.datasets.npz import read_npz as read_npz
from gapfit.datasets.npz import write_npz as write_npz
from gapfit.datasets.parquet import read_parquet as read_parquet
from gapfit.datasets.parquet import write_parquet as write_parquet
from gapfit.datasets.record import Data as Data
from gapfit.datasets.svmlight import iter_svmlight as iter_svmlight
from gapfit.datasets.svmlight import read_svmlight as read_svmlight
from gapfit.datasets.svmlight_output import write_svmlight as write_svmlight
