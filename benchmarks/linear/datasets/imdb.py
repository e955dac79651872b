import numpy as np
from benchmark_utils.files import FileDataset
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize


class Dataset(FileDataset):
    """Film reviews: 25,000 x 47,944 tf-idf rows of length one, favourable (above 5 of 10) or not."""

    name = "imdb"
    file = "text/imdb.train.libsvm.xz"

    def process(self, X, y):
        return normalize(TfidfTransformer().fit_transform(X)), np.where(y > 5, 1.0, -1.0)
