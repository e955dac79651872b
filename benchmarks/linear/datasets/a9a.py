from benchmark_utils.files import FileDataset


class Dataset(FileDataset):
    """Adult: 32,561 x 123, binary features."""

    name = "a9a"
    file = "binary/a9a.libsvm.xz"
