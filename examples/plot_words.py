"""
Reading whole words
===================

A letter that is hard to read is easier in its word. Here a classifier of single pictures stands beside two
chains, which learn the pictures and which letters follow each other, all from the same few words: a
conditional random field and a max-margin Markov network, each with its certificate.

Where the folder ``GAPFIT_DATA`` holds ``sequence/ocr_letters.npz`` (52,152 handwritten letters in 6,877
words), these are read; else years, 1900 to 2029, are put together from scikit-learn's digits and spoilt by
noise.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gapfit import LinearClassifier, SequenceLabeler


def letters(path):
    """Pictures, their letters, the lengths of the words, and which words are for training: the first fold."""
    file = np.load(path)
    pixels = np.unpackbits(file["X"], axis=1).astype(np.float64)
    names = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    return pixels.reshape(-1, 16, 8), names[file["y"].astype(int)], file["lengths"], file["folds"] == 0


def years(count=400):
    rng = np.random.default_rng(0)
    digits = load_digits()
    pictures = [digits.images[digits.target == k] / 16 for k in range(10)]
    y = np.array([int(digit) for year in rng.integers(1900, 2030, count) for digit in str(year)])
    X = np.array([pictures[k][rng.integers(len(pictures[k]))] for k in y])
    return X + 0.35 * rng.normal(size=X.shape), y.astype(str), np.full(count, 4), np.arange(count) < 100


path = Path(os.environ.get("GAPFIT_DATA", "")) / "sequence" / "ocr_letters.npz"
pictures, y, lengths, training = letters(path) if path.exists() else years()
train = np.repeat(training, lengths)

# %%
# Pixels are multiplied by a small number: all weights share one penalty, and so it weighs more on pixels than
# on transitions, of which there are fewer and which every word tells something about.

X = pictures.reshape(len(pictures), -1)
alone = LinearClassifier(loss="softmax", alpha=4 / train.sum(), tol=1e-2).fit(X[train], y[train])
right = {"single pictures": alone.predict(X[~train]) == y[~train]}
for name, loss in {"conditional random field": "crf", "max-margin network": "margin"}.items():
    chain = SequenceLabeler(loss=loss, alpha=4 * 0.25**2 / training.sum(), tol=1e-2)
    chain.fit((0.25 * X[train], lengths[training]), y[train])
    right[name] = chain.predict((0.25 * X[~train], lengths[~training])) == y[~train]
    print(f"{name}: certified within {chain.certificates_[0].relative_gap:.1e} of the optimum")
for name, found in right.items():
    print(f"{name:25} {found.mean():.3f} right")

# %%
# Some words that the chain reads and the classifier of single pictures does not, and how often each is right.

figure, (left, beside) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
ends = np.cumsum(lengths[~training])
words = [slice(a, b) for a, b in zip(np.append(0, ends[:-1]), ends, strict=True)]
saved = {
    "".join(y[~train][word]): word for word in words
    if right["max-margin network"][word].all() and not right["single pictures"][word].all()
}  # fmt: skip
saved = list(saved.values())[:5]  # five different ones
guess = alone.predict(X[~train])
size = max(word.stop - word.start for word in saved)
height, width = pictures.shape[1:]
sheet = np.zeros((len(saved) * (height + 2), size * width))
for row, word in enumerate(saved):
    line = np.concatenate(list(pictures[~train][word]), axis=1)
    sheet[row * (height + 2) : row * (height + 2) + height, : line.shape[1]] = line
left.imshow(sheet, cmap="gray_r")
left.set_yticks([row * (height + 2) + height / 2 for row in range(len(saved))])
left.set_yticklabels([f"{''.join(guess[word])} \u2192 {''.join(y[~train][word])}" for word in saved])
left.set(title="Read alone \u2192 read in the word", xticks=[])
shares = {name: found.mean() for name, found in right.items()}
beside.barh(list(shares), list(shares.values()), color=["#56B4E9", "#0072B2", "#D55E00"])
for place, share in enumerate(shares.values()):
    beside.text(share - 0.01, place, f"{share:.3f}", va="center", ha="right", color="white", weight="bold")
beside.invert_yaxis()
beside.set(title="Share of pictures read right", xlim=(0.5, 1.0))
plt.show()
