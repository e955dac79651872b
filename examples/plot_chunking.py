"""
Finding the parts of sentences
==============================

Chunking marks where noun phrases, verb phrases and others begin and end: a label for each word, B for the
first of a chunk, I for those inside it, O for none. The features are those that such taggers have: words,
tags and shapes in a window of two words, their pairs and triples, many thousand columns by name.

Where the folder ``GAPFIT_DATA`` holds ``sequence/conll2000_train.txt.xz`` (the CoNLL-2000 shared task), a
part of it is read; else sentences are made by a small grammar.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from gapfit import SequenceLabeler
from gapfit.datasets import read_conll, window_features
from gapfit.datasets.conll import chunk_f1

LEXICON = """
DT the a this every
JJ old round late plain sudden
NN price market offer bank plan year share report
NNS prices markets offers banks plans years
IN in of with under
MD may will could
VB offer plan report share
VBD rose offered planned reported
RB sharply late again
"""
PATTERNS = {
    "NP": ["DT NN", "DT JJ NN", "NNS", "JJ NNS", "DT NN NN"],
    "VP": ["VBD", "MD VB", "VBD RB"],
    "PP": ["IN"],
    "ADVP": ["RB"],
}


def sentence(rng):
    """A noun phrase, a verb phrase and, at times, more of them: (word, tag) and label of each word."""
    words = {tag: some for tag, *some in map(str.split, LEXICON.strip().splitlines())}
    more = [kinds for kinds in (["NP"], ["PP", "NP"], ["ADVP"]) if rng.random() < 0.5]
    order = ["NP", "VP", *(kind for kinds in more for kind in kinds)]
    tokens, labels = [], []
    for kind in order:
        for place, tag in enumerate(str(rng.choice(PATTERNS[kind])).split()):
            # tags come from a tagger, which errs at times
            said = tag if rng.random() < 0.85 else str(rng.choice(list(words)))
            tokens.append((str(rng.choice(words[tag])), said))
            labels.append(("I-" if place else "B-") + kind)
    return [*tokens, (".", ".")], [*labels, "O"]


folder = Path(os.environ.get("GAPFIT_DATA", "")) / "sequence"
if (folder / "conll2000_train.txt.xz").exists():
    tokens, labels = read_conll(folder / "conll2000_train.txt.xz")
    tokens, labels = tokens[:1600], labels[:1600]
else:
    rng = np.random.default_rng(0)
    tokens, labels = zip(*(sentence(rng) for _ in range(500)), strict=True)
X = [window_features(words) for words in tokens]
test = slice(len(X) * 3 // 4, None)

# %%
# A conditional random field on more and more sentences, and the same without what a chain adds: every word a
# sequence of its own, with all of its window's features.

sizes = [len(X) * share // 32 for share in (3, 6, 12, 24)]
alone, chained = [], []
for size in sizes:
    chain = SequenceLabeler(alpha=1 / size, tol=1e-2).fit(X[:size], labels[:size])
    chained.append(chunk_f1(labels[test], [found.tolist() for found in chain.predict(X[test])]))
    words = [[word] for row in X[:size] for word in row]
    single = SequenceLabeler(alpha=1 / len(words), tol=1e-2)
    single.fit(words, [[label] for row in labels[:size] for label in row])
    found = iter(single.predict([[word] for row in X[test] for word in row]))
    alone.append(chunk_f1(labels[test], [[str(next(found)[0]) for _ in row] for row in X[test]]))
    print(f"{size:5} sentences: F1 {chained[-1]:.3f} by chains, {alone[-1]:.3f} word by word")
weights = len(chain.weights_)
print(f"{weights} weights, certified within {chain.certificates_[0].relative_gap:.1e} of the optimum")

# %%
# The transitions know the rules of the labels: I follows B or I of its own kind.

figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.6), layout="constrained")
left.plot(sizes, chained, "o-", label="chain")
left.plot(sizes, alone, "s--", label="word by word")
left.set(title="F1 of the chunks", xlabel="sentences for training")
left.legend()
common = [k for k, name in enumerate(chain.classes_) if name[2:] in ("NP", "VP", "PP", "")]
image = right.imshow(chain.transitions_[np.ix_(common, common)], cmap="RdBu", vmin=-3, vmax=3)
names = chain.classes_[common]
right.set(title="Weights of transitions", xticks=range(len(names)), yticks=range(len(names)))
right.set_xticklabels(names, rotation=45)
right.set_yticklabels(names)
right.set(xlabel="to", ylabel="from")
figure.colorbar(image, ax=right)
plt.show()
