"""Handwritten words: time to a certified max-margin chain, and how much chains see beyond single letters.

    python benchmarks/chain_words.py FOLDER      # with ocr_letters.npz

Seconds are the CPU's for one thread (set OMP_NUM_THREADS=1). "Small" is the first fold for training, "large"
the nine others; N is the number of words. For accuracy the first fold is for training and the nine others for
testing. Everything that is chosen is chosen by five folds of words within the first: alpha, and for chains a
number by which all pixels are multiplied, which says how much heavier the penalty is on pixels than on
transitions; for single letters (whose scores have free offsets) alpha and the loss.
"""

import sys
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gapfit import LinearClassifier, SequenceLabeler
from gapfit.losses import CrammerSinger

SCALES = (1.0, 0.5, 0.2, 0.1)
ALPHAS = (1.0, 3.0, 5.0, 10.0, 30.0)  # times N, over the square of the scale
LETTERS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)  # times the number of letters


class Words:
    """Letters, one word after another."""

    def __init__(self, X, y, lengths) -> None:
        self.X, self.y, self.lengths = X, y, lengths

    def take(self, chosen) -> "Words":
        rows = np.repeat(chosen, self.lengths)
        return Words(self.X[rows], self.y[rows], self.lengths[chosen])


def chain(loss, data: Words, scale: float, alpha: float, limit: float = 60.0):
    model = SequenceLabeler(
        loss=loss, alpha=alpha * scale**2 / len(data.lengths), tol=1e-2, n_jobs=1, max_time=limit
    )
    return model.fit((scale * data.X, data.lengths), data.y)


def times(small: Words, large: Words) -> None:
    for (name, own, other), alpha in product((("small", small, large), ("large", large, small)), (10.0, 1.0)):
        began = time.process_time()
        model = chain("margin", own, 1.0, alpha, 300.0)
        seconds = time.process_time() - began
        right = model.score((other.X, other.lengths), other.y)
        print(
            f"{name} split, alpha N = {alpha:g}: {seconds:.2f} s to a relative gap of "
            f"{model.certificates_[0].relative_gap:.1e}, letters right {right:.4f}",
            flush=True,
        )


def accuracy(train: Words, test: Words) -> None:
    chains = [(scale, alpha) for scale in SCALES for alpha in ALPHAS]
    for loss in ("crf", "margin"):
        choose(
            loss,
            chains,
            lambda data, scale, alpha, loss=loss: chain(loss, data, scale, alpha),
            lambda model, data, scale, alpha: model.score((scale * data.X, data.lengths), data.y),
            train,
            test,
        )

    def letters(data, loss, alpha):
        model = LinearClassifier(loss=loss, alpha=alpha / len(data.y), tol=1e-2, n_jobs=1, max_time=60.0)
        return model.fit(data.X, data.y)

    choose(
        "single letters",
        [(loss, alpha) for loss in ("softmax", CrammerSinger()) for alpha in LETTERS],
        letters,
        lambda model, data, *_: model.score(data.X, data.y),
        train,
        test,
    )


def choose(name, grid, fit, score, train: Words, test: Words) -> None:
    fold = np.arange(len(train.lengths)) % 5
    validated = {}
    for point in grid:
        parts = []
        for k in range(5):
            model = fit(train.take(fold != k), *point)
            parts.append(score(model, train.take(fold == k), *point))
        validated[point] = float(np.mean(parts))
    best = max(validated, key=validated.__getitem__)
    told = score(fit(train, *best), test, *best)
    print(f"{name}: {best} (validated {validated[best]:.4f}), letters right {told:.4f}", flush=True)
    for point, value in validated.items():
        print(f"    {point}: {value:.4f}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    file = np.load(Path(sys.argv[1]) / "ocr_letters.npz")
    pixels = np.unpackbits(file["X"], axis=1).astype(np.float64)
    words = Words(pixels, file["y"].astype(int), file["lengths"])
    first = file["folds"] == 0
    times(words.take(first), words.take(~first))
    accuracy(words.take(first), words.take(~first))
