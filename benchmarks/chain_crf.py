"""Chain CRFs beside CRFsuite: time and memory on CoNLL-2000, and memory on a million generated tokens.

    python benchmarks/chain_crf.py conll FOLDER [--peer PYTHON]   # with conll2000_{train,test}.txt.xz
    python benchmarks/chain_crf.py million                        # ours alone

PYTHON is an interpreter that has python-crfsuite. Every run is a process of its own, ours before and after
each of the peer's; both sides have the same features, those of CRFsuite's example for chunking: words and
tags in a window of two tokens, and their pairs and triples. Both minimise

    c2 |w|^2 + sum of -log p(labels | sentence)

over the weights of pairs of a feature and a label that occur together; ours has weights for the first and
last label and for all transitions besides.

Seconds are the CPU's for one thread, features ready: ours from the sparse matrix to the certified relative
gap 1e-3, with all that has to be built; CRFsuite's from the filled trainer to the first iteration of its
L-BFGS within 1e-3 of the lowest value that it reaches in many more (which it cannot know). Memory is the peak
of the process, and what of it came after the libraries were loaded. (scikit-learn loads pandas where that is
installed. Neither side needs it, so it is hidden.)
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOL = 1e-3
ITERATIONS = {1.0: 200, 0.1: 300}  # of CRFsuite; its value then is within 5e-6 of where it ends


def peak() -> float:
    """Megabytes. (What getrusage says includes the parent, from before this program was loaded.)"""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def names_of(sentence):
    """The names of the features of each token; a token is a word and its tag."""
    result = []
    for t in range(len(sentence)):
        names = []
        for column, spans in (
            (0, {1: range(-2, 3), 2: range(-1, 1)}),
            (1, {1: range(-2, 3), 2: range(-2, 2), 3: range(-2, 1)}),
        ):
            for span, firsts in spans.items():
                for first in firsts:
                    if t + first >= 0 and t + first + span <= len(sentence):
                        joined = "|".join(sentence[t + first + k][column] for k in range(span))
                        names.append(f"{column}[{first}..{span}]={joined}")
        names += ["first"] if t == 0 else []
        names += ["last"] if t == len(sentence) - 1 else []
        result.append(names)
    return result


def prepare(folder: Path, work: Path):
    """Write the features for both sides; return the labels of the test sentences."""
    import numpy as np
    from scipy import sparse

    from gapfit.datasets.conll import read_conll
    from gapfit.estimators.tokens import FeatureNames

    names = None
    for part in ("train", "test"):
        tokens, labels = read_conll(folder / f"conll2000_{part}.txt.xz")
        features = [names_of(sentence) for sentence in tokens]
        with (work / f"{part}.txt").open("w", encoding="utf-8") as file:
            for sentence, own in zip(features, labels, strict=True):
                file.writelines("\t".join([y, *token]) + "\n" for token, y in zip(sentence, own, strict=True))
                file.write("\n")
        flat = [token for sentence in features for token in sentence]
        names = names or FeatureNames.of(flat)
        X = names(flat)
        sparse.save_npz(work / f"{part}.npz", X, compressed=False)
        np.save(work / "dtype.npy", np.empty(0, X.dtype))
        np.save(work / f"{part}_lengths.npy", [len(own) for own in labels])
        np.save(work / f"{part}_labels.npy", [y for own in labels for y in own])
        if part == "train":
            print(f"{X.shape[0]} tokens, {len(labels)} sentences, {X.shape[1]} features, {X.nnz} entries")
    return labels


def ours(work: Path, c2: float) -> None:
    """One fit, as a process."""
    sys.modules["pandas"] = None  # type: ignore[assignment]
    import numpy as np
    from scipy import sparse

    from gapfit import SequenceLabeler

    rng = np.random.default_rng(0)
    dtype = np.load(work / "dtype.npy").dtype  # compiled code of the other one is not loaded
    toy = sparse.random(50, 5, 0.5, "csr", dtype, rng)
    SequenceLabeler(max_iter=2).fit((toy, [50]), rng.integers(0, 3, 50)).predict((toy, [50]))  # compiled code
    libraries = peak()
    X, lengths, y = (load(work / f"train{end}") for load, end in (
        (sparse.load_npz, ".npz"), (np.load, "_lengths.npy"), (np.load, "_labels.npy")
    ))  # fmt: skip
    data = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
    before, began = peak(), time.process_time()
    model = SequenceLabeler(alpha=2 * c2 / len(lengths), tol=TOL, n_jobs=1).fit((X, lengths), y)
    seconds, memory = time.process_time() - began, peak()
    found = []
    if (work / "test.npz").exists():
        ends = np.cumsum(np.load(work / "test_lengths.npy"))
        path = model.predict((sparse.load_npz(work / "test.npz"), np.diff(ends, prepend=0)))
        found = [own.tolist() for own in np.split(path, ends[:-1])]
    print(json.dumps({
        "seconds": seconds, "steps": model.n_iter_, "gap": model.certificates_[0].relative_gap,
        "objective": model.objective_ * len(lengths), "weights": len(model.weights_), "peak": memory,
        "libraries": libraries, "before": before, "data": data, "labels": found,
    }))  # fmt: skip


def run(command) -> dict:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    told = subprocess.run(command, capture_output=True, text=True, env=environment)
    if told.returncode:
        raise RuntimeError(told.stderr)
    return json.loads(told.stdout.splitlines()[-1])


def memory(told: dict) -> str:
    return f"peak {told['peak']:.0f} MB, {told['peak'] - told['libraries']:.0f} MB after the libraries"


def conll(folder: Path, peer: str) -> None:
    from gapfit.datasets.conll import chunk_f1

    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        truth = prepare(folder, work)
        for c2, iterations in ITERATIONS.items():
            mine = []
            for turn in range(2):
                mine.append(run([sys.executable, __file__, "ours", place, str(c2)]))
                told = mine[-1]
                print(
                    f"c2 {c2}, ours: {told['seconds']:.1f} s, {told['steps']} passes, "
                    f"certified {told['gap']:.1e}, objective {told['objective']:.1f}, "
                    f"{told['weights']} weights, "
                    f"chunk F1 {100 * chunk_f1(truth, told['labels']):.2f}, {memory(told)}",
                    flush=True,
                )
                if turn == 0:
                    script = str(Path(__file__).with_name("chain_crfsuite.py"))
                    told = run([peer, script, place, str(c2), str(iterations)])
                    lowest = min(loss for _, loss in told["losses"])
                    step = next(k for k, (_, loss) in enumerate(told["losses"]) if loss <= lowest * (1 + TOL))
                    theirs = told["losses"][step][0]
                    print(
                        f"c2 {c2}, CRFsuite: {theirs:.1f} s, {step + 1} iterations to {TOL}, lowest value "
                        f"{lowest:.1f}, chunk F1 {100 * chunk_f1(truth, told['labels']):.2f}, {memory(told)}",
                        flush=True,
                    )
            ratio = min(own["seconds"] for own in mine) / theirs
            worst = max(own["seconds"] for own in mine) / theirs
            print(f"c2 {c2}: ratio {ratio:.3f} (the slower of ours: {worst:.3f})", flush=True)


def million() -> None:
    """Labels that follow a hidden chain; a token has twenty features, some of which betray its label."""
    import numpy as np
    from scipy import sparse

    n, K, d, width = 1_000_000, 20, 100_000, 20
    rng = np.random.default_rng(0)
    lengths = np.full(n // 20, 20)
    labels = np.empty(n, int)
    move, jump = rng.random(n) < 0.7, rng.integers(0, K, n)
    labels[0] = 0
    for t in range(1, n):
        labels[t] = (labels[t - 1] + 1) % K if move[t] else jump[t]
    columns = rng.integers(0, d, (n, width), dtype=np.int32)
    telling = rng.random((n, width)) < 0.15
    columns[telling] = (
        columns[telling] // K * K + np.broadcast_to(labels[:, None], columns.shape)[telling]
    ) % d
    columns.sort(axis=1)
    for dtype in (np.float64, np.float32):
        X = sparse.csr_array(
            (
                np.ones(n * width, dtype),
                columns.ravel().copy(),
                np.arange(0, n * width + 1, width, dtype=np.int32),
            ),
            shape=(n, d),
        )
        X.sum_duplicates()
        with tempfile.TemporaryDirectory() as place:
            work = Path(place)
            sparse.save_npz(work / "train.npz", X, compressed=False)
            np.save(work / "dtype.npy", np.empty(0, dtype))
            np.save(work / "train_lengths.npy", lengths)
            np.save(work / "train_labels.npy", labels)
            told = run([sys.executable, __file__, "ours", place, "1.0"])
        beyond = told["peak"] - told["libraries"]
        print(
            f"{dtype.__name__}: {told['seconds']:.0f} s, {told['steps']} passes, "
            f"certified {told['gap']:.1e}, {told['weights']} weights, data {told['data']:.0f} MB, "
            f"{memory(told)}: {beyond / told['data']:.2f} times the data",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["conll", "million", "ours"])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("c2", type=float, nargs="?")
    parser.add_argument("--peer", default=sys.executable)
    given = parser.parse_args()
    if given.command == "conll":
        conll(given.folder, given.peer)
    elif given.command == "ours":
        ours(given.folder, given.c2)
    else:
        million()
