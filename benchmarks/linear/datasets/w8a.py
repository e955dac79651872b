from benchmark_utils.files import FileDataset


class Dataset(FileDataset):
    """Web pages: 49,749 x 300, 3 % positive, some rows empty."""

    name = "w8a"
    file = "binary/w8a.libsvm.xz"
