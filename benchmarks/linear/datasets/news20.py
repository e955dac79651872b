from benchmark_utils.files import FileDataset
from sklearn.preprocessing import normalize


class Dataset(FileDataset):
    """20 newsgroups in two classes: 18,846 x 1,606,131 uni- and bigrams, rows of length one."""

    name = "20news"
    file = "text/20news_binary_bigram.libsvm.xz"

    def process(self, X, y):
        return normalize(X), y
