"""The CRFsuite side of chain_crf.py: one training run, in a process that needs python-crfsuite only.

    python benchmarks/chain_crfsuite.py FOLDER C2 ITERATIONS

FOLDER holds train.txt and test.txt: a token a line, its label and the names of its features apart by tabs, an
empty line after each sequence. The last line printed is a JSON object. Seconds are the CPU's, from the moment
when all sequences are in the trainer.
"""

import json
import re
import sys
import time
from pathlib import Path

import pycrfsuite


def peak() -> float:
    """Megabytes. (What getrusage says includes the parent, from before this program was loaded.)"""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def sequences(path: Path):
    labels, tokens = [], []
    for line in path.open(encoding="utf-8"):
        label, *names = line.rstrip("\n").split("\t")
        if label:
            labels.append(label)
            tokens.append(names)
        else:
            yield tokens, labels
            labels, tokens = [], []


class Trainer(pycrfsuite.Trainer):
    """Notes the loss after each iteration, and when."""

    began = 0.0

    def message(self, text: str) -> None:
        if found := re.search(r"Loss: ([0-9.]+)", text):
            losses.append((time.process_time() - self.began, float(found[1])))


folder, c2, iterations = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
libraries = peak()
losses: list[tuple[float, float]] = []
trainer = Trainer(verbose=True)
for tokens, labels in sequences(folder / "train.txt"):
    trainer.append(tokens, labels)
trainer.select("lbfgs")
trainer.set_params({"c1": 0.0, "c2": c2, "max_iterations": iterations, "epsilon": 1e-9, "period": 10_000})
Trainer.began = time.process_time()
trainer.train(str(folder / "crfsuite.model"))
memory = peak()
tagger = pycrfsuite.Tagger()
tagger.open(str(folder / "crfsuite.model"))
found = [tagger.tag(tokens) for tokens, _ in sequences(folder / "test.txt")]
print(json.dumps({"losses": losses, "peak": memory, "libraries": libraries, "labels": found}))
