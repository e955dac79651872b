"""Chain CRFs on CoNLL-2000 beside CRFsuite, and max-margin chains on handwritten words.

    python benchmarks/chain_crf.py conll FOLDER [c2 ...]       # conll2000_train.txt.xz, conll2000_test.txt.xz
    python benchmarks/chain_crf.py crfsuite FOLDER [c2 ...]    # the same by python-crfsuite, if installed
    python benchmarks/chain_crf.py words FOLDER                # ocr_letters.npz

CPU seconds of one thread (set OMP_NUM_THREADS=1), extraction of features apart. Ours is timed to the
certified relative gap 1e-3, from the matrix of features to the model; CRFsuite's L-BFGS to the first of its
iterations that is within 1e-3 of the lowest value it ever reaches (which it cannot know). Both minimise

    c2 |w|^2 + sum of -log p(labels | sentence)

over the weights of pairs of a feature and a label that occur together; ours has weights for the first and
last label and for all transitions besides. Memory is the peak of the process.
"""

import re
import resource
import sys
import time
from pathlib import Path

import numpy as np

from gapfit import LinearClassifier, SequenceLabeler
from gapfit.datasets.conll import chunk_f1, read_conll, window_features
from gapfit.estimators.tokens import FeatureNames

TOL = 1e-3


def peak() -> float:
    """Megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def conll(folder: Path, c2s: list[float]) -> None:
    train = read_conll(folder / "conll2000_train.txt.xz")
    test = read_conll(folder / "conll2000_test.txt.xz")
    tokens = [token for sentence in train.tokens for token in window_features(sentence)]
    names = FeatureNames.of(tokens)
    X, lengths = names(tokens), [len(sentence) for sentence in train.tokens]
    y = np.concatenate([np.array(labels) for labels in train.labels])
    Z = names([token for sentence in test.tokens for token in window_features(sentence)])
    del tokens
    test_lengths = [len(sentence) for sentence in test.tokens]
    data = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
    print(f"{X.shape[0]} tokens, {X.shape[1]} features, {X.nnz} entries, {data:.0f} MB; peak {peak():.0f} MB")
    SequenceLabeler(max_iter=1, tol=1.0).fit((X[:500], [500]), y[:500])  # compiled, or read from the cache
    for c2 in c2s:
        before = peak()
        began = time.process_time()
        model = SequenceLabeler(alpha=2 * c2 / len(lengths), tol=TOL, n_jobs=1).fit((X, lengths), y)
        seconds = time.process_time() - began
        found = np.split(model.predict((Z, test_lengths)), np.cumsum(test_lengths)[:-1])
        f1 = chunk_f1(test.labels, [own.tolist() for own in found])
        print(
            f"c2 {c2}: {seconds:.1f} s, {model.n_iter_} steps, relative gap "
            f"{model.certificates_[0].relative_gap:.1e}, objective {model.objective_ * len(lengths):.1f}, "
            f"{len(model.weights_)} weights, chunk F1 {100 * f1:.2f}, peak {before:.0f} -> {peak():.0f} MB"
        )


def crfsuite(folder: Path, c2s: list[float]) -> None:
    import pycrfsuite

    train = read_conll(folder / "conll2000_train.txt.xz")
    losses: list[tuple[float, float]] = []

    class Trainer(pycrfsuite.Trainer):
        def message(self, text: str) -> None:
            if found := re.search(r"Loss: ([0-9.]+)", text):
                losses.append((time.process_time() - began, float(found[1])))

    for c2 in c2s:
        losses.clear()
        trainer = Trainer(verbose=True)
        for sentence, labels in zip(train.tokens, train.labels, strict=True):
            trainer.append(window_features(sentence), labels)
        trainer.select("lbfgs")
        trainer.set_params({"c1": 0.0, "c2": c2, "max_iterations": 450, "epsilon": 1e-9, "period": 1000})
        began = time.process_time()
        trainer.train("crfsuite.model")
        values = np.array(losses)
        lowest = values[:, 1].min()
        step = int(np.argmax(values[:, 1] <= lowest * (1 + TOL)))
        print(
            f"c2 {c2}: {values[step, 0]:.1f} s, {step + 1} iterations to {TOL}, lowest value {lowest:.1f} "
            f"after {len(values)}, peak {peak():.0f} MB"
        )


def words(folder: Path) -> None:
    file = np.load(folder / "ocr_letters.npz")
    X, y = np.unpackbits(file["X"], axis=1).astype(np.float64), file["y"].astype(int)
    lengths, small = file["lengths"], file["folds"] == 0
    for name, chosen in (("small", small), ("large", ~small)):
        rows = np.repeat(chosen, lengths)
        for scale in (10.0, 1.0):
            began = time.process_time()
            alpha = scale / chosen.sum()
            model = SequenceLabeler(loss="margin", alpha=alpha, tol=1e-2, n_jobs=1, max_time=300)
            model.fit((X[rows], lengths[chosen]), y[rows])
            seconds = time.process_time() - began
            other = (X[~rows], lengths[~chosen])
            print(
                f"{name} split, alpha N = {scale:g}: {seconds:.2f} s to a relative gap of "
                f"{model.certificates_[0].relative_gap:.1e}, letters right {model.score(other, y[~rows]):.4f}"
            )
    accuracy(X, y, lengths, small)


def accuracy(X, y, lengths, chosen) -> None:
    """First fold for training, the nine others for testing; alpha by five folds within the first."""
    rows = np.repeat(chosen, lengths)
    word = np.repeat(np.arange(chosen.sum()) % 5, lengths[chosen])
    own = np.arange(chosen.sum()) % 5

    def chains(loss):
        def fit(keep_words, keep, scale):
            model = SequenceLabeler(
                loss=loss, alpha=scale / keep_words.sum(), tol=1e-2, n_jobs=1, max_time=60
            )
            return model.fit((X[rows][keep], lengths[chosen][keep_words]), y[rows][keep])

        return fit, lambda model, A, n, b: model.score((A, n), b)

    def rows_alone(keep_words, keep, scale):
        model = LinearClassifier(loss="softmax", alpha=scale / keep.sum(), tol=1e-3, n_jobs=1)
        return model.fit(X[rows][keep], y[rows][keep])

    methods = {
        "crf": chains("crf"),
        "margin": chains("margin"),
        "multiclass": (rows_alone, lambda model, A, n, b: model.score(A, b)),
    }
    for name, (fit, score) in methods.items():
        mean = {}
        for scale in (1.0, 3.0, 10.0, 30.0):
            parts = []
            for fold in range(5):
                model = fit(own != fold, word != fold, scale)
                inside = word == fold
                parts.append(score(model, X[rows][inside], lengths[chosen][own == fold], y[rows][inside]))
            mean[scale] = np.mean(parts)
        best = max(mean, key=lambda scale: mean[scale])
        model = fit(own >= 0, word >= 0, best)
        told = score(model, X[~rows], lengths[~chosen], y[~rows])
        print(f"{name}: alpha N = {best:g} (validated {mean[best]:.4f}), letters right {told:.4f}")


if __name__ == "__main__":
    command, folder = sys.argv[1], Path(sys.argv[2])
    if command == "words":
        words(folder)
    else:
        {"conll": conll, "crfsuite": crfsuite}[command](
            folder, [float(c2) for c2 in sys.argv[3:]] or [1.0, 0.1]
        )
