"""Handwritten words: time to a certified max-margin chain, and how much chains see beyond single letters.

    python benchmarks/chain_words.py FOLDER [NOTES]      # with ocr_letters.npz

Seconds are the CPU's for one thread (set OMP_NUM_THREADS=1). "Small" is the first fold for training, "large"
the nine others; N is the number of words. For accuracy the first fold is for training and the nine others for
testing. Everything that is chosen is chosen by five folds of words within the first: alpha, and for chains a
number by which all pixels are multiplied, which says how much heavier the penalty is on pixels than on
transitions; for single letters (whose scores have free offsets) alpha and the loss.

All numbers that are tried are powers of two. The search goes from a point to the best of its neighbours, a
factor of two up or down in either or both, until none is better: what is chosen lies at no edge. NOTES is a
file that keeps what was validated; a run that was cut off goes on from there.
"""

import json
import sys
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gapfit import LinearClassifier, SequenceLabeler
from gapfit.losses import CrammerSinger

LIMIT = 20.0  # seconds for a fit while something is chosen
TIMED = ((10.0, 3), (1.0, 1))  # alpha N, and how often it is timed; the fastest counts


class Words:
    """Letters, one word after another."""

    def __init__(self, X, y, lengths) -> None:
        self.X, self.y, self.lengths = X, y, lengths

    def take(self, chosen) -> "Words":
        rows = np.repeat(chosen, self.lengths)
        return Words(self.X[rows], self.y[rows], self.lengths[chosen])


class Chain:
    """A chain with pixels times 2^scale and alpha = 2^a 4^scale / N."""

    start = (-2, 2)

    def __init__(self, loss) -> None:
        self.loss = loss

    def fit(self, data: Words, scale: int, a: int):
        model = SequenceLabeler(
            loss=self.loss, alpha=2.0**a * 4.0**scale / len(data.lengths), tol=1e-2, n_jobs=1, max_time=LIMIT
        )
        return model.fit((2.0**scale * data.X, data.lengths), data.y)

    def score(self, model, data: Words, scale: int, a: int) -> float:
        return model.score((2.0**scale * data.X, data.lengths), data.y)


class Letters:
    """A classifier of single letters with alpha = 2^a / letters."""

    start = (2,)

    def __init__(self, loss) -> None:
        self.loss = loss

    def fit(self, data: Words, a: int):
        model = LinearClassifier(
            loss=self.loss, alpha=2.0**a / len(data.y), tol=1e-2, n_jobs=1, max_time=LIMIT
        )
        return model.fit(data.X, data.y)

    def score(self, model, data: Words, a: int) -> float:
        return model.score(data.X, data.y)


def times(small: Words, large: Words) -> None:
    splits = (("small", small, large), ("large", large, small))
    for (name, own, other), (alpha, often) in product(splits, TIMED):
        seconds = []
        for _ in range(often):
            began = time.process_time()
            model = SequenceLabeler(
                loss="margin", alpha=alpha / len(own.lengths), tol=1e-2, n_jobs=1, max_time=300.0
            ).fit((own.X, own.lengths), own.y)
            seconds.append(time.process_time() - began)
        right = model.score((other.X, other.lengths), other.y)
        print(
            f"{name} split, alpha N = {alpha:g}: {min(seconds):.2f} s to a relative gap of "
            f"{model.certificates_[0].relative_gap:.1e}, letters right {right:.4f}",
            flush=True,
        )


def accuracy(train: Words, test: Words, notes: Path | None) -> None:
    known = json.loads(notes.read_text()) if notes is not None and notes.exists() else {}
    fold = np.arange(len(train.lengths)) % 5

    def validated(name: str, model, point) -> float:
        key = f"{name} {point}"
        if key not in known:
            parts = []
            for k in range(5):
                fitted = model.fit(train.take(fold != k), *point)
                parts.append(model.score(fitted, train.take(fold == k), *point))
            known[key] = float(np.mean(parts))
            if notes is not None:
                notes.write_text(json.dumps(known))
            print(f"    {key}: {known[key]:.4f}", flush=True)
        return known[key]

    models = {
        "crf": Chain("crf"), "margin": Chain("margin"), "letters, softmax": Letters("softmax"),
        "letters, Crammer and Singer": Letters(CrammerSinger()),
    }  # fmt: skip
    for name, model in models.items():
        best, point = None, model.start
        while best != point:
            best = point
            around = product(*((k, k - 1, k + 1) for k in best))  # best itself comes first
            point = max(around, key=lambda at: validated(name, model, at))
        told = model.score(model.fit(train, *best), test, *best)
        print(
            f"{name}: {best} validated {validated(name, model, best):.4f}, letters right {told:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    file = np.load(Path(sys.argv[1]) / "ocr_letters.npz")
    pixels = np.unpackbits(file["X"], axis=1).astype(np.float64)
    words = Words(pixels, file["y"].astype(int), file["lengths"])
    first = file["folds"] == 0
    times(words.take(first), words.take(~first))
    accuracy(words.take(first), words.take(~first), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    print(f"{time.process_time():.0f} seconds in all")
